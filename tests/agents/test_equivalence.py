"""One scripted run through run, run_nonstream, arun and run_events: the same transcript, whatever happens in it."""

import asyncio

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from qwen_agentkit import CancelToken, Message, RunLimits, tool
from qwen_agentkit.agents import FnCallAgent, ReActChat
from qwen_agentkit.errors import ModelServiceError, QwenAgentKitError
from qwen_agentkit.events import MessageReplaced, RunEnded, RunStarted, TextDelta, ToolCallFinished, ToolCallStarted
from qwen_agentkit.llm.history import check_history
from qwen_agentkit.testing import ScriptedChatModel, call, reply

USER = [Message("user", "go")]


@tool
def echo(text: str = "") -> str:
    """Says it back."""
    return f"echo {text}"


@tool
def broken() -> str:
    """Fails."""
    raise ConnectionError("down")


entries = st.one_of(
    st.sampled_from(["one two three", "", "Thought: hm"]),
    st.builds(lambda text: call("echo", text=text), st.sampled_from("ab")),
    st.builds(lambda: ["Let me see. ", call("echo", text="x"), call("broken"), call("missing")]),
    st.builds(lambda: call("echo", "{bad")),
    st.builds(lambda: reply("thinking first", reasoning="hm")),
    st.builds(lambda: ModelServiceError(code="400", message="refused")),
)
scripts = st.lists(entries, max_size=4)
limits = st.none() | st.builds(
    RunLimits, model_calls=st.none() | st.integers(1, 3), tool_calls=st.none() | st.integers(0, 2)
)


def agent(script, chunk, kind=FnCallAgent):
    model = ScriptedChatModel([*script, "end"], chunk_size=chunk)
    return kind(function_list=[echo, broken], llm=model, max_llm_call_per_run=3)


def told(message):
    call_told = message.function_call and (message.function_call.name, message.function_call.arguments)
    return message.role, message.content, message.reasoning_content, call_told, message.name


def outcome(read):
    """The transcript that a reader saw last, and the error that ended it."""
    seen: list = []
    try:
        for response in read():
            seen = response
    except QwenAgentKitError as error:
        return list(map(told, seen)), type(error).__name__
    return list(map(told, seen)), None


async def drained(stream):
    return [response async for response in stream]


@given(scripts, st.sampled_from([None, 1, 3]), limits)
@hypothesis_settings(max_examples=60)
def test_every_way_of_running_gives_the_same_transcript(script, chunk, bounds):
    def run():
        return agent(script, chunk).run(USER, limits=bounds)

    streamed = outcome(run)
    whole = outcome(lambda: [agent(script, chunk).run_nonstream(USER, limits=bounds)])
    assert whole == streamed or (streamed[1] and whole == ([], streamed[1]))
    seen: list = []

    async def read():
        async for response in agent(script, chunk).arun(USER, limits=bounds):
            seen.append(response)

    error = None
    try:
        asyncio.run(read())
    except QwenAgentKitError as raised:
        error = type(raised).__name__
    assert (list(map(told, seen[-1])) if seen else [], error) == streamed


@given(scripts, st.sampled_from([None, 2]))
@hypothesis_settings(max_examples=60)
def test_events_add_up_to_the_transcript(script, chunk):
    transcript, failed = outcome(lambda: agent(script, chunk).run(USER))
    events = []
    try:
        for event in agent(script, chunk).run_events(USER):
            events.append(event)
    except QwenAgentKitError as error:
        assert type(error).__name__ == failed
    assert isinstance(events[0], RunStarted) and isinstance(events[-1], RunEnded)
    assert not [event for event in events if isinstance(event, MessageReplaced)]
    texts: dict[str, str] = {}
    for event in events:
        if isinstance(event, TextDelta):
            texts[event.message_id] = texts.get(event.message_id, "") + event.text
    assert list(texts.values()) == [text for role, text, _, call_told, _ in transcript if role == "assistant" and text]
    started = [event.call_id for event in events if isinstance(event, ToolCallStarted)]
    finished = [event.call_id for event in events if isinstance(event, ToolCallFinished)]
    assert len(set(started)) == len(started) and sorted(started) == sorted(finished)


@given(scripts, st.sampled_from([None, 1]), st.integers(0, 8), st.sampled_from([FnCallAgent, ReActChat]))
@hypothesis_settings(max_examples=80)
def test_after_a_cancel_or_a_fault_at_any_step_the_history_is_valid_and_the_next_turn_works(script, chunk, step, kind):
    token, last = CancelToken(), []
    try:
        for number, response in enumerate(agent(script, chunk, kind).run(USER, cancel=token)):
            last = response
            if number == step:
                token.cancel()
    except ModelServiceError:
        from qwen_agentkit.llm.history import repair_history

        last = repair_history([*USER, *last])[1:]
    assert check_history([*USER, *last]) == []
    model = ScriptedChatModel(["next"])
    following = FnCallAgent(function_list=[echo], llm=model).run_nonstream([*USER, *last, Message("user", "and now?")])
    assert following[-1].content == "next"
    assert check_history(model.requests[0].messages) == []
