"""The scripted model that users test their agents with."""

import copy
import threading
import time

import pytest

from qwen_agentkit.errors import ModelServiceError, RunCancelled
from qwen_agentkit.limits import Usage
from qwen_agentkit.run_context import RunContext
from qwen_agentkit.schema import FunctionCall, Message
from qwen_agentkit.testing import ScriptedChatModel, call, reply

HI = [{"role": "user", "content": "hi"}]
WEATHER = {"name": "weather", "description": "Weather.", "parameters": {"type": "object", "properties": {}}}


def ask(model, **settings):
    return model.chat([Message("user", "hi")], functions=[WEATHER], stream=False, **settings)


def test_replies_come_in_order_and_all_were_asked_for():
    model = ScriptedChatModel(["a", call("weather", city="Oslo"), ["text", call("weather")]])
    assert ask(model)[0].content == "a"
    with pytest.raises(AssertionError, match="2 of 3"):
        model.assert_complete()
    assert ask(model)[0].function_call.arguments == '{"city": "Oslo"}'
    text, one = ask(model)
    assert (text.content, one.function_call.name) == ("text", "weather")
    model.assert_complete()
    assert model.remaining == 0


def test_a_question_beyond_the_script_is_an_assertion_that_shows_it():
    model = ScriptedChatModel(["a"])
    ask(model)
    with pytest.raises(AssertionError, match="hi"):
        ask(model)


def test_a_script_can_be_repeated():
    model = ScriptedChatModel(["a", "b"], repeat=True)
    assert [ask(model)[0].content for _ in range(5)] == ["a", "b", "a", "b", "a"]


def test_requests_are_kept_as_a_service_would_see_them():
    model = ScriptedChatModel(["a"])
    ask(model, extra_generate_cfg={"seed": 7})
    (seen,) = model.requests
    assert [one.content for one in seen.messages] == ["hi"]
    assert seen.function_names == ["weather"]
    assert seen.generate_cfg == {"seed": 7}
    assert seen.request.stream is False


def test_an_entry_can_be_a_function_of_the_request():
    model = ScriptedChatModel([lambda request: f"you said {request.messages[-1].content}"])
    assert ask(model)[0].content == "you said hi"


def test_messages_are_given_as_they_are():
    written = [Message("assistant", "", reasoning_content="hm"), Message("assistant", "a")]
    one = {"role": "assistant", "content": "", "function_call": {"name": "weather", "arguments": "{}"}}
    model = ScriptedChatModel([written, one])
    assert [(m.reasoning_content, m.content) for m in ask(model)] == [("hm", ""), (None, "a")]
    assert ask(model)[0].function_call == FunctionCall("weather", "{}")


def test_chunks_are_cut_as_asked():
    model = ScriptedChatModel(["abcdef", reply("xyz", chunks=["x", "yz"])], chunk_size=2)
    texts = [one[-1]["content"] for one in model.chat(HI)]
    assert texts == ["ab", "abcd", "abcdef", "abcdef"]
    assert [one[-1]["content"] for one in model.chat(HI)] == ["x", "xyz", "xyz"]


def test_faults():
    model = ScriptedChatModel([RuntimeError("x"), reply("abcdef", fail_after=2)], chunk_size=2)
    with pytest.raises(RuntimeError):
        ask(model)
    shown = []
    with pytest.raises(ModelServiceError):
        for one in model.chat(HI):
            shown.append(one[-1]["content"])
    assert shown == ["ab", "abcd"]


def test_usage_can_be_set():
    model = ScriptedChatModel([reply("a", usage=Usage(100, 10))])
    assert ask(model)[0].extra["usage"]["total_tokens"] == 110


def test_a_hanging_model_is_cancelled():
    run = RunContext()
    threading.Timer(0.2, run.cancel.cancel).start()
    begun = time.monotonic()
    with pytest.raises(RunCancelled):
        run.enter().run(lambda: list(ScriptedChatModel([reply("abc", hang_after=1)], chunk_size=1).chat(HI)))
    assert time.monotonic() - begun < 1


def test_copies_share_the_script():
    model = ScriptedChatModel(["a", "b"])
    assert ask(copy.deepcopy(model))[0].content == "a"
    assert ask(model)[0].content == "b"
    assert len(model.requests) == 2


@pytest.mark.parametrize("wrong", ["text", call("weather"), reply("x"), {"role": "assistant"}])
def test_a_script_is_a_list(wrong):
    with pytest.raises(ValueError, match="list"):
        ScriptedChatModel(wrong)


def test_an_entry_that_means_nothing_is_named():
    with pytest.raises(ValueError, match="7"):
        ask(ScriptedChatModel([7]))


def test_call_takes_arguments_in_one_way():
    assert call("f", {"a": 1}).arguments == call("f", a=1).arguments == '{"a": 1}'
    assert call("f", "not json").arguments == "not json"
    with pytest.raises(ValueError, match="either"):
        call("f", {"a": 1}, b=2)
