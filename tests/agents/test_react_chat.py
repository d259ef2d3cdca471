"""ReActChat: one growing text over the same loop."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwen_agentkit import Message, tool
from qwen_agentkit.agents import ReActChat
from qwen_agentkit.agents.react_chat import as_transcript
from qwen_agentkit.schema import ContentItem, FunctionCall
from qwen_agentkit.testing import ScriptedChatModel

USER = [{"role": "user", "content": "Weather in Oslo?"}]


@tool
def weather(city: str) -> str:
    """Weather in a city."""
    return f"21 degrees in {city}"


SCRIPT = [
    'Thought: I need the weather.\nAction: weather\nAction Input: {"city": "Oslo"}\n',
    "Thought: now I know.\nFinal Answer: 21 degrees.",
]


@pytest.mark.parametrize("chunk_size", [None, 1, 7])
def test_the_turn_is_one_message_that_begins_with_thought_and_grows(chunk_size):
    agent = ReActChat(function_list=[weather], llm=ScriptedChatModel(SCRIPT, chunk_size=chunk_size))
    texts = []
    for response in agent.run(USER):
        assert [message["role"] for message in response] == ["assistant"]
        texts.append(response[0]["content"])
    assert all(text.startswith("Thought: ") for text in texts)
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))
    assert texts[-1] == (
        'Thought: I need the weather.\nAction: weather\nAction Input: {"city": "Oslo"}\n'
        "Observation: 21 degrees in Oslo\nThought: now I know.\nFinal Answer: 21 degrees."
    )


def test_the_tools_are_in_the_prompt_and_the_observation_goes_back():
    agent = ReActChat(function_list=[weather], llm=ScriptedChatModel(SCRIPT))
    agent.run_nonstream(USER)
    first, second = agent.llm.requests
    assert "weather" in str(first.messages) and "Action Input:" in str(first.messages) and first.functions == []
    assert "21 degrees in Oslo" in str(second.messages)


def test_an_answer_without_an_action_ends_the_turn():
    agent = ReActChat(function_list=[weather], llm=ScriptedChatModel(["Hello."]))
    assert agent.run_nonstream(USER)[0]["content"] == "Thought: Hello."


def test_an_empty_reply_is_no_error():
    agent = ReActChat(function_list=[weather], llm=ScriptedChatModel([""]))
    assert len(agent.run_nonstream(USER)) <= 1


def test_an_observation_that_the_model_invents_is_not_believed():
    script = [
        'Action: weather\nAction Input: {"city": "Oslo"}\nObservation: -40 degrees\nThought: cold',
        "Final Answer: mild.",
    ]
    text = ReActChat(function_list=[weather], llm=ScriptedChatModel(script)).run_nonstream(USER)[0]["content"]
    assert "-40" not in text and "21 degrees in Oslo" in text and text.endswith("mild.")


def test_the_limit_ends_in_an_answer():
    model = ScriptedChatModel([*[SCRIPT[0]] * 2, "So far: 21 degrees."])
    last = ReActChat(function_list=[weather], llm=model, max_llm_call_per_run=2).run_nonstream(USER)
    assert last[0]["content"].endswith("So far: 21 degrees.") and last[0]["extra"]["end"] == "limit:model_calls"


def test_images_in_a_question_are_named_in_the_text():
    model = ScriptedChatModel(["ok"])
    ReActChat(function_list=[weather], llm=model).run_nonstream(
        [Message("user", [ContentItem(text="what is this?"), ContentItem(image="a.png")])]
    )
    assert "what is this?" in str(model.requests[0].messages)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("no action here", (False, None, None, "no action here")),
        ("Thought: t\nAction: f\nAction Input: {}\nObservation: x", (True, "f", "{}", "Thought: t")),
        ("Action: a\nAction Input: 1\nAction: b\nAction Input: 2", (True, "b", "2", "Action: a\nAction Input: 1")),
        ("Action: \nAction Input: 1", (False, None, None, "Action: \nAction Input: 1")),
    ],
)
def test_detect_tool_reads_text(text, found):
    assert ReActChat(llm=ScriptedChatModel())._detect_tool(text) == found


parts = st.one_of(
    st.builds(lambda text: Message("assistant", text), st.text(max_size=12) | st.just("Thought: x")),
    st.builds(lambda: Message("assistant", "", function_call=FunctionCall("f", "{}"))),
    st.builds(lambda: Message("function", "r", name="f")),
)


@given(st.lists(parts, max_size=6))
def test_a_transcript_only_grows_while_its_response_does(response):
    texts = []
    for end in range(1, len(response) + 1):
        last = response[end - 1]
        steps = range(len(last.content) + 1) if last.role == "assistant" and not last.function_call else [0]
        for length in steps:
            shown = last.content if last.role == "function" else last.content[:length]
            texts.append(as_transcript([*response[: end - 1], last.model_copy(update={"content": shown})])[0].content)
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))
