"""Each text dialect through a whole `chat`: tools in the prompt, the call out of the reply, the result back in."""

from __future__ import annotations

import pytest

from qwen_agentkit.testing import ScriptedChatModel
from tests.llm.dialects.corpus import FUNCTIONS, WRITERS

ARGUMENTS = {"city": "海淀区", "days": 2}


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("dialect", list(WRITERS))
def test_a_tool_is_called_and_its_result_answered(dialect, stream):
    cfg = {"fncall_prompt_type": dialect, "use_raw_api": False}
    model = ScriptedChatModel([f"I look.\n{WRITERS[dialect]('get_weather', ARGUMENTS)}\n", "It is 21 degrees."])

    def ask(messages):
        reply = model.chat(messages, functions=FUNCTIONS, stream=stream, extra_generate_cfg=cfg)
        return list(reply)[-1] if stream else reply

    messages = [{"role": "user", "content": "Weather?"}]
    first = ask(messages)
    assert [one["content"] for one in first] == ["I look.", ""]
    assert first[1]["function_call"] == {"name": "get_weather", "arguments": '{"city": "海淀区", "days": 2}'}

    function_id = first[1]["extra"]["function_id"]
    result = {"role": "function", "name": "get_weather", "content": "21", "extra": {"function_id": function_id}}
    last = ask([*messages, *first, result])
    assert last[-1]["content"] == "It is 21 degrees."
    assert "function_call" not in last[-1]

    sent = model.requests[1].messages
    assert "get_weather" in sent[0].content
    assert all(one.function_call is None and one.role != "function" for one in sent)
    assert "21" in str(sent[-1].content) and "海淀区" in str([one.content for one in sent])


@pytest.mark.parametrize("dialect", list(WRITERS))
def test_past_calls_are_plain_text_when_no_tools_are_offered(dialect):
    model = ScriptedChatModel(["Fine."])
    history = [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": "", "function_call": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}},
        {"role": "function", "name": "get_weather", "content": [{"text": "21"}, {"text": "degrees"}]},
    ]
    cfg = {"fncall_prompt_type": dialect, "use_raw_api": False}
    reply = model.chat(
        history, functions=FUNCTIONS, stream=False, extra_generate_cfg={**cfg, "function_choice": "none"}
    )
    assert reply[-1]["content"] == "Fine."
    (sent,) = model.requests[0].messages
    assert sent.role == "user" and "Oslo" in str(sent.content) and "degrees" in str(sent.content)
