"""Model classes written for Qwen-Agent: its override points keep working."""

import pytest

from qwen_agentkit.llm.base import BaseChatModel
from qwen_agentkit.llm.function_calling import BaseFnCallModel
from qwen_agentkit.llm.oai import TextChatAtOAI
from qwen_agentkit.llm.schema import ASSISTANT, FunctionCall, Message
from tests.servers.model_server import Answer

HI = [{"role": "user", "content": "hi"}]
WEATHER = {"name": "weather", "description": "Weather.", "parameters": {"type": "object", "properties": {}}}
CALL = 'I look.\n<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>'


def last(snapshots):
    *_, one = snapshots
    return one


class Written(BaseFnCallModel):
    """As a program for Qwen-Agent writes one."""

    def __init__(self, cfg=None):
        super().__init__(cfg or {"model": "mine"})
        self.seen = []

    def _chat_stream(self, messages, delta_stream, generate_cfg):
        self.seen.append((messages, generate_cfg))
        text = ""
        for letter in CALL:
            text += letter
            yield [Message(ASSISTANT, text)]

    def _chat_no_stream(self, messages, generate_cfg):
        self.seen.append((messages, generate_cfg))
        return [Message(ASSISTANT, CALL)]


@pytest.mark.parametrize("stream", [True, False])
def test_the_pair_of_hooks_is_a_whole_model(stream):
    model = Written()
    answer = model.chat(HI, functions=[WEATHER], stream=stream, extra_generate_cfg={"top_p": 0.5, "stop": ["END"]})
    text, call = last(answer) if stream else answer
    assert text["content"].strip() == "I look."
    assert call["function_call"] == {"name": "weather", "arguments": '{"city": "Oslo"}'}
    messages, cfg = model.seen[0]
    assert "<tools>" in str(messages[0].content)
    assert cfg["top_p"] == 0.5
    assert "END" in cfg["stop"]
    assert "max_input_tokens" not in cfg


def test_a_model_that_gives_function_calls_itself():
    class Calls(BaseChatModel):
        def _chat_stream(self, messages, delta_stream, generate_cfg):
            yield [Message(ASSISTANT, "", function_call=FunctionCall("weather", '{"a"'))]
            yield [Message(ASSISTANT, "", function_call=FunctionCall("weather", '{"a": 1}'), extra={"own": 7})]

    (call,) = Calls({"model": "x", "generate_cfg": {"use_raw_api": True}}).chat(HI, functions=[WEATHER], stream=False)
    assert call["function_call"]["arguments"] == '{"a": 1}'
    assert call["extra"]["own"] == 7


def test_an_override_over_a_backend_calls_it_by_super(oai_server):
    class Louder(TextChatAtOAI):
        def _chat_stream(self, messages, delta_stream, generate_cfg):
            for reply in super()._chat_stream(messages, delta_stream, generate_cfg):
                yield [Message(ASSISTANT, one.content.upper(), function_call=one.function_call) for one in reply]

    oai_server.script = [Answer("hello", chunk=2, delay=0.01), Answer("", calls=[("weather", "{}")])]
    model = Louder({"model": "m", "model_server": oai_server.url})
    assert last(model.chat(HI))[-1]["content"] == "HELLO"
    assert last(model.chat(HI, functions=[WEATHER]))[-1]["function_call"]["name"] == "weather"
    assert oai_server.last["tools"][0]["function"]["name"] == "weather"


def test_the_other_hooks(oai_server):
    seen = []

    class Watched(TextChatAtOAI):
        def _preprocess_messages(self, messages, lang, generate_cfg, functions=None, use_raw_api=False):
            seen.append("pre")
            messages[-1].content += "!"
            return super()._preprocess_messages(messages, lang, generate_cfg, functions, use_raw_api)

        def _postprocess_messages(self, messages, fncall_mode, generate_cfg):
            seen.append("post")
            return [*messages, Message(ASSISTANT, "added")]

        def _chat_with_functions(self, messages, functions, stream, delta_stream, generate_cfg, lang):
            seen.append(f"functions {lang}")
            return super()._chat_with_functions(messages, functions, stream, delta_stream, generate_cfg, lang)

        def _continue_assistant_response(self, messages, generate_cfg, stream):
            seen.append("continue")
            return super()._continue_assistant_response(messages, generate_cfg, stream)

    oai_server.script = ["a"]
    model = Watched({"model": "m", "model_server": oai_server.url})
    asked = [Message("user", "hi")]
    assert [one.content for one in model.chat(asked, functions=[WEATHER], stream=False)] == ["a", "added"]
    assert asked[0].content == "hi"
    assert oai_server.last["messages"][-1]["content"] == "hi!"
    model.chat([*asked, Message("assistant", "So")], stream=False)
    assert seen == ["pre", "functions en", "post", "pre", "continue", "post"]
    assert oai_server.last["messages"] == [{"role": "user", "content": "hi\n\nSo!"}]


def test_hooks_can_be_called_from_outside(oai_server):
    oai_server.script = ["a"]
    model = TextChatAtOAI({"model": "m", "model_server": oai_server.url})
    asked = [Message("user", "hi")]
    assert model._chat_no_stream(asked, {"top_p": 0.1})[-1].content == "a"
    assert last(model._chat_stream(asked, False, {}))[-1].content == "a"
    assert "".join(one.content for step in model._chat_stream(asked, True, {}) for one in step) == "a"
    assert oai_server.seen[0].body["top_p"] == 0.1


def test_a_stub_without_super_init_works():
    class Stub(BaseChatModel):
        def __init__(self):
            self.model = "stub"

        def _chat_no_stream(self, messages, generate_cfg):
            return [Message(ASSISTANT, "stub says")]

    assert Stub().chat(HI, stream=False)[-1]["content"] == "stub says"
    assert last(Stub().chat(HI))[-1]["content"] == "stub says"
