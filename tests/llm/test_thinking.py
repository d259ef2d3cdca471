"""One switch for thinking, in each service's own spelling."""

import pytest

from qwen_agentkit.llm import get_chat_model
from qwen_agentkit.llm.thinking import style_of, thinking_fields

HI = [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    ("address", "on", "off"),
    [
        ("https://dashscope.aliyuncs.com/compatible-mode/v1", {"enable_thinking": True}, {"enable_thinking": False}),
        ("https://api.deepseek.com/v1", {"thinking": {"type": "enabled"}}, {"thinking": {"type": "disabled"}}),
        ("https://openrouter.ai/api/v1", {"reasoning": {"enabled": True}}, {"reasoning": {"enabled": False}}),
        ("https://api.openai.com/v1", {}, {"reasoning_effort": "none"}),
        ("http://localhost:11434/v1", {}, {"reasoning_effort": "none"}),
        (
            "http://gpu7:8000/v1",
            {"chat_template_kwargs": {"enable_thinking": True}},
            {"chat_template_kwargs": {"enable_thinking": False}},
        ),
    ],
)
def test_each_service_has_its_spelling(address, on, off):
    style = style_of(address)
    assert thinking_fields(True, style) == on
    assert thinking_fields(False, style) == off
    assert thinking_fields(None, style) == {}


def test_a_style_can_be_named():
    assert style_of("http://gpu7:8000/v1", "typed") == "typed"
    with pytest.raises(ValueError, match="chat_template"):
        style_of("http://gpu7:8000/v1", "loud")


def test_a_host_that_only_looks_alike_is_not_taken_for_it():
    assert style_of("https://notopenai.com/v1") == "chat_template"


def test_the_switch_joins_what_the_user_sends_himself(oai_server):
    oai_server.script = ["a"]
    generate_cfg = {"thinking": False, "extra_body": {"chat_template_kwargs": {"mine": 1}}}
    get_chat_model({"model": "m", "model_server": oai_server.url, "generate_cfg": generate_cfg}).chat(HI, stream=False)
    assert oai_server.last["chat_template_kwargs"] == {"enable_thinking": False, "mine": 1}


def test_thought_in_content_splits_a_text_that_begins_with_thinking(oai_server):
    oai_server.script = ["hm hm</think>\n\nanswer"]
    cfg = {"model": "m", "model_server": oai_server.url, "generate_cfg": {"thought_in_content": True}}
    thinking, text = get_chat_model(cfg).chat(HI, stream=False)
    assert thinking["reasoning_content"].strip() == "hm hm"
    assert text["content"].strip() == "answer"


def test_reasoning_goes_back_only_to_services_that_ask_for_it():
    from qwen_agentkit.llm.oai_messages import to_oai_messages
    from qwen_agentkit.schema import FunctionCall, Message

    call = Message("assistant", "", function_call=FunctionCall("f", "{}"), extra={"function_id": "c"})
    history = [
        Message("user", "1"),
        Message("assistant", "", reasoning_content="old"),
        Message("assistant", "said"),
        Message("user", "2"),
        Message("assistant", "", reasoning_content="new"),
        call,
        Message("function", "r", extra={"function_id": "c"}),
    ]
    sent = to_oai_messages(history, send_reasoning=True)
    assert [one.get("reasoning_content") for one in sent if one["role"] == "assistant"] == [None, "new"]
    assert not any("reasoning_content" in one for one in to_oai_messages(history))
