"""The models behind a model."""

from itertools import pairwise

import pytest

from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.events import ModelSwitched
from qwen_agentkit.llm import fallback, get_chat_model
from qwen_agentkit.run_context import RunContext
from qwen_agentkit.schema import ContentItem, Message
from qwen_agentkit.testing import ScriptedChatModel, reply
from tests.servers.model_server import Answer
from tests.servers.oai_server import OAIServer

HI = [{"role": "user", "content": "hi"}]
DOWN = ModelServiceError(code="503", message="down", extra={"kind": "server_error"})


def primary(script, *others, chunk_size=None, **cfg):
    generate_cfg = {"transport_retries": 0, **cfg.pop("generate_cfg", {})}
    return ScriptedChatModel(
        script,
        chunk_size=chunk_size,
        cfg={"model": "first", "fallback": list(others), "generate_cfg": generate_cfg, **cfg},
    )


def other(script, **cfg):
    return ScriptedChatModel(script, cfg={"model": "second", **cfg})


def text_of(messages):
    return "".join(one["content"] for one in messages)


def test_a_fallback_answers_for_this_request_only():
    second = other(["from the second"])
    model = primary([DOWN, "from the first"], second)
    answer = model.chat(HI, stream=False)
    assert text_of(answer) == "from the second"
    assert answer[-1]["extra"]["usage"]["model"] == "second"
    assert text_of(model.chat(HI, stream=False)) == "from the first"
    second.assert_complete()


def test_each_keeps_its_own_name_key_and_address():
    first, second = OAIServer(), OAIServer()
    try:
        first.script = [Answer(status=401, error={"error": {"message": "bad key"}})]
        second.script = ["fine"]
        model = get_chat_model(
            {
                "model": "one",
                "model_server": first.url,
                "api_key": "k1",
                "fallback": [{"model": "two", "model_server": second.url, "api_key": "k2"}],
            }
        )
        assert text_of(model.chat(HI, stream=False)) == "fine"
        assert (first.last["model"], first.seen[0].headers["Authorization"]) == ("one", "Bearer k1")
        assert (second.last["model"], second.seen[0].headers["Authorization"]) == ("two", "Bearer k2")
    finally:
        first.close()
        second.close()


def test_when_all_fail_the_last_error_is_raised():
    last_error = ModelServiceError(code="503", message="down too", extra={"kind": "server_error"})
    with pytest.raises(ModelServiceError, match="down too"):
        primary([DOWN], other([last_error], generate_cfg={"transport_retries": 0})).chat(HI, stream=False)


def test_a_request_that_no_model_would_take_is_not_passed_on():
    second = other(["not asked"])
    bad = ModelServiceError(code="400", message="bad temperature", extra={"kind": "bad_request"})
    with pytest.raises(ModelServiceError, match="temperature"):
        primary([bad], second).chat(HI, stream=False)
    assert second.requests == []


@pytest.mark.parametrize("kind", ["too_long", "inspection", "auth", "model_not_found", "quota", "rate_limited"])
def test_what_another_model_may_take_is_passed_on(kind):
    error = ModelServiceError(code="400", message="no", extra={"kind": kind})
    assert text_of(primary([error], other(["fine"])).chat(HI, stream=False)) == "fine"


def test_a_stream_that_broke_after_text_goes_on_in_the_fallback():
    second = other(["lo world"])
    model = primary([reply("hello world", fail_after=2)], second, chunk_size=2)
    texts = [text_of(one) for one in model.chat(HI)]
    assert texts[-1] == "hell" + "lo world"
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))
    assert second.requests[0].messages[-1].content == "hell"


def test_the_fallback_that_can_go_on_does_though_the_first_could_not():
    cannot, can = other(["not asked"], takes_beginnings=False), other(["o world"])
    model = primary([reply("hello world", fail_after=2)], cannot, can, chunk_size=2, takes_beginnings=False)
    assert text_of(list(model.chat(HI))[-1]) == "hello world"
    assert cannot.requests == []


@pytest.mark.parametrize("setting", [{"takes_beginnings": False}, {"generate_cfg": {"on_broken_stream": "raise"}}])
def test_a_broken_stream_is_an_error_when_nobody_can_or_may_go_on(setting):
    second = other(["not asked"], takes_beginnings=False)
    model = primary([reply("hello world", fail_after=2)], second, chunk_size=2, **setting)
    with pytest.raises(ModelServiceError, match="broke"):
        list(model.chat(HI))
    assert second.requests == []


def test_thinking_that_broke_off_is_begun_anew_by_any_fallback():
    second = other([reply("answer", reasoning="new")], takes_beginnings=False)
    model = primary([reply("x", reasoning="old", fail_after=2)], second, chunk_size=2)
    thinking, text = list(model.chat(HI))[-1]
    assert (thinking["reasoning_content"], text["content"]) == ("old\n\nnew", "answer")


def test_an_empty_reply_goes_to_the_fallback_when_that_is_set():
    model = primary([""], other(["fine"]), generate_cfg={"empty_reply": "fallback"})
    assert text_of(model.chat(HI, stream=False)) == "fine"


def test_a_model_that_takes_no_images_is_left_out():
    seeing = other(["a cat"], multimodal=True)
    blind = primary(["not asked"], seeing)
    answer = blind.chat([Message("user", [ContentItem(image="http://h/x.png")])], stream=False)
    assert text_of(answer) == "a cat"
    assert blind.requests == []


def test_a_model_whose_context_is_too_small_is_left_out():
    small = primary(["not asked"], other(["fine"]), context_window=50)
    assert text_of(small.chat([Message("user", "word " * 500)], stream=False)) == "fine"
    assert small.requests == []


def test_a_model_without_tools_is_left_out():
    tools = [{"name": "f", "description": "", "parameters": {"type": "object", "properties": {}}}]
    model = primary(["not asked"], other(["fine"]), profile={"tools": False})
    assert text_of(model.chat(HI, functions=tools, stream=False)) == "fine"


def test_when_none_fits_the_model_itself_is_asked():
    model = primary(["fine"], other(["not asked"]))
    assert text_of(model.chat([Message("user", [ContentItem(image="http://h/x.png")])], stream=False)) == "fine"


def test_a_model_that_fails_again_and_again_is_left_out_for_a_while(monkeypatch):
    second = other(["a"] * 10)
    model = primary([DOWN, DOWN, DOWN, "back"], second)
    for _ in range(5):
        assert text_of(model.chat(HI, stream=False)) == "a"
    assert len(model.requests) == fallback.FAILURES_TO_OPEN
    clock = fallback.time.monotonic
    monkeypatch.setattr(fallback.time, "monotonic", lambda: clock() + fallback.SECONDS_OPEN)
    assert text_of(model.chat(HI, stream=False)) == "back"


def test_switches_are_told_to_the_run():
    events = []
    run = RunContext(sink=events.append)
    run.enter().run(lambda: primary([DOWN], other(["fine"])).chat(HI, stream=False))
    (switch,) = [event for event in events if isinstance(event, ModelSwitched)]
    assert (switch.source, switch.target, switch.reason) == ("first", "second", "down")


def test_retries_come_before_the_fallback():
    second = other(["not asked"])
    model = primary([DOWN, "fine"], second, generate_cfg={"max_retries": 1})
    assert text_of(model.chat(HI, stream=False)) == "fine"
    assert second.requests == []
