"""The DashScope backends with the real SDK against a server on loopback."""

import base64
import threading
import time
from itertools import pairwise

import pytest

from qwen_agentkit.errors import ModelServiceError, RunCancelled
from qwen_agentkit.llm import get_chat_model
from qwen_agentkit.run_context import RunContext
from qwen_agentkit.schema import ContentItem, FunctionCall, Message
from tests.servers.model_server import Answer

WEATHER = {"name": "weather", "description": "Weather.", "parameters": {"type": "object", "properties": {}}}
HI = [{"role": "user", "content": "hi"}]


def model_for(server, **cfg):
    generate_cfg = {"retry_wait": 0.01, **cfg.pop("generate_cfg", {})}
    cfg = {"model": "qwen-max", "api_key": "k", "base_http_api_url": server.url, **cfg}
    return get_chat_model({**cfg, "generate_cfg": generate_cfg})


def last(snapshots):
    *_, one = snapshots
    return one


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_with_everything(dashscope_server, stream):
    calls = [("weather", '{"city":"海淀区"}'), ("weather", "{}")]
    dashscope_server.script = [Answer("I look.", reasoning="hm", calls=calls)]
    answer = model_for(dashscope_server).chat(HI, functions=[WEATHER], stream=stream)
    thinking, text, first, second = last(answer) if stream else answer
    assert thinking["reasoning_content"] == "hm"
    assert text["content"] == "I look."
    assert first["function_call"] == {"name": "weather", "arguments": '{"city": "海淀区"}'}
    assert second["extra"]["function_id"] == "call_1"
    usage = second["extra"]["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["finish_reason"]) == (11, 7, "tool_calls")
    assert second["extra"]["model_service_info"]["request_id"] == "r-1"


def test_the_request_is_dashscopes(dashscope_server):
    dashscope_server.script = ["fine"]
    history = [
        Message("user", "x"),
        Message("assistant", "", function_call=FunctionCall("weather", "{}"), extra={"function_id": "c1"}),
        Message("function", "21", name="weather", extra={"function_id": "c1"}),
    ]
    cfg = {"top_p": 0.5, "stop": "END", "max_response_tokens": 9, "thinking": False, "function_choice": "weather"}
    last(model_for(dashscope_server).chat(history, functions=[WEATHER], extra_generate_cfg=cfg))
    seen = dashscope_server.seen[0]
    assert seen.path == "/api/v1/services/aigc/text-generation/generation"
    assert seen.body["input"]["messages"] == [
        {"role": "user", "content": "x"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "21"},
    ]
    seen.body["parameters"].pop("stream", None)  # older SDKs send it in the body too
    assert seen.body["parameters"] == {
        "result_format": "message",
        "incremental_output": True,
        "top_p": 0.5,
        "stop": ["END"],
        "max_tokens": 9,
        "enable_thinking": False,
        "tools": [{"type": "function", "function": WEATHER}],
        "tool_choice": {"type": "function", "function": {"name": "weather"}},
    }


def test_two_models_with_two_keys_and_addresses_do_not_mix(dashscope_server, monkeypatch):
    import dashscope

    before = (dashscope.api_key, dashscope.base_http_api_url)
    monkeypatch.setenv("DASHSCOPE_API_KEY", "from the environment")
    dashscope_server.script = ["a"]
    first = model_for(dashscope_server, api_key="k1", headers={"X-Team": "blue"})
    second = model_for(dashscope_server, api_key="k2", base_http_api_url=f"{dashscope_server.root}/other")
    third = model_for(dashscope_server, api_key=None)
    threads = [threading.Thread(target=lambda m=m: last(m.chat(HI))) for m in (first, second, third) * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    pairs = {(seen.headers["Authorization"], seen.path.split("/services")[0]) for seen in dashscope_server.seen}
    assert pairs == {("Bearer k1", "/api/v1"), ("Bearer k2", "/other"), ("Bearer from the environment", "/api/v1")}
    assert {seen.headers["X-Team"] for seen in dashscope_server.seen} == {"blue", None}
    assert (dashscope.api_key, dashscope.base_http_api_url) == before


def test_without_a_key_nothing_is_asked(dashscope_server):
    with pytest.raises(ModelServiceError, match="DASHSCOPE_API_KEY"):
        last(model_for(dashscope_server, api_key=None).chat(HI))
    assert dashscope_server.seen == []


def test_one_connection_serves_all_requests_of_a_model(dashscope_server):
    dashscope_server.script = ["a"]
    model = model_for(dashscope_server)
    for _ in range(3):
        last(model.chat(HI))
    assert len({seen.connection for seen in dashscope_server.seen}) == 1


def test_a_proxy_of_the_environment_is_not_used_for_this_machine(dashscope_server, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    dashscope_server.script = ["a"]
    assert last(model_for(dashscope_server).chat(HI))[-1]["content"] == "a"


def test_an_answer_begun_is_gone_on_with(dashscope_server):
    dashscope_server.script = ["b"]
    last(model_for(dashscope_server).chat([*HI, {"role": "assistant", "content": "The answer is"}]))
    begun = {"role": "assistant", "content": "The answer is", "partial": True}
    assert dashscope_server.last["input"]["messages"] == [*HI, begun]


@pytest.mark.parametrize(
    ("status", "code", "kind", "requests"),
    [
        (401, "InvalidApiKey", "auth", 1),
        (404, "ModelNotFound", "model_not_found", 1),
        (400, "DataInspectionFailed", "inspection", 1),
        (400, "InvalidParameter", "bad_request", 1),
        (429, "Throttling.RateQuota", "rate_limited", 3),
        (500, "InternalError", "server_error", 3),
    ],
)
def test_errors_keep_the_services_code(dashscope_server, status, code, kind, requests):
    said = "Model not exist." if kind == "model_not_found" else "no"
    dashscope_server.script = [Answer(status=status, error={"code": code, "message": said, "request_id": "r"})]
    with pytest.raises(ModelServiceError) as caught:
        last(model_for(dashscope_server, generate_cfg={"max_retries": 2 if requests > 1 else 5}).chat(HI))
    assert (caught.value.code, caught.value.extra["kind"]) == (code, kind)
    assert dashscope_server.url in caught.value.message
    assert len(dashscope_server.seen) == requests


def test_the_sdk_writes_nothing_to_standard_error(dashscope_server, capfd):
    dashscope_server.script = [Answer("abcdef", chunk=1, drop_after=2)]
    with pytest.raises(ModelServiceError):
        last(model_for(dashscope_server, generate_cfg={"on_broken_stream": "raise"}).chat(HI))
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("place", range(5))
def test_a_stream_cut_anywhere_is_gone_on_with(dashscope_server, place):
    def answer(body):
        begun = body["input"]["messages"][-1]
        if begun["role"] == "user":
            return Answer("abcdefgh", chunk=2, drop_after=place) if len(dashscope_server.seen) == 1 else "abcdefgh"
        return Answer("abcdefgh"[len(begun["content"]) :], chunk=2)

    dashscope_server.script = [answer]
    texts = [one[-1]["content"] for one in model_for(dashscope_server, generate_cfg={"retry_wait": 0.01}).chat(HI)]
    assert texts[-1] == "abcdefgh"
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))


def test_a_connection_that_breaks_behind_the_end_of_the_answer_does_no_harm(dashscope_server):
    dashscope_server.script = [Answer("abcd", chunk=2, drop_after=3), "not asked"]
    assert list(model_for(dashscope_server).chat(HI))[-1][-1]["content"] == "abcd"
    assert len(dashscope_server.seen) == 1


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    "answer",
    [Answer("abcdefgh", chunk=1, hang_after=3), Answer(hang=True)],
    ids=["in a blocked read", "before headers"],
)
def test_a_cancel_is_heard_within_half_a_second(dashscope_server, answer, stream):
    dashscope_server.script = [answer]
    run = RunContext()
    at = []

    def cancel():
        at.append(time.monotonic())
        run.cancel.cancel()

    threading.Timer(0.3, cancel).start()
    with pytest.raises(RunCancelled):
        run.enter().run(lambda: list(model_for(dashscope_server).chat(HI, stream=stream)))
    assert time.monotonic() - at[0] < 0.5


def test_a_silent_server_is_found_by_the_timeout(dashscope_server):
    dashscope_server.script = [Answer("abcd", chunk=1, hang_after=3)]
    with pytest.raises(ModelServiceError) as caught:
        last(model_for(dashscope_server, generate_cfg={"request_timeout": 0.3}).chat(HI))
    assert caught.value.extra["kind"] == "read_timeout"


def test_vision_models_get_parts_and_give_text(dashscope_server):
    dashscope_server.script = [Answer("a cat", chunk=2)]
    model = model_for(dashscope_server, model="qwen-vl-max", model_type="qwenvl_dashscope")
    content = [ContentItem(image="http://h/cat.jpg"), ContentItem(text="What is it?")]
    answer = last(model.chat([Message("system", "s"), Message("user", content)]))
    assert answer[-1].content == "a cat"
    assert dashscope_server.seen[0].path.endswith("/multimodal-generation/generation")
    assert dashscope_server.last["input"]["messages"] == [
        {"role": "system", "content": [{"text": "s"}]},
        {"role": "user", "content": [{"image": "http://h/cat.jpg"}, {"text": "What is it?"}]},
    ]


def test_audio_models_get_audio(dashscope_server):
    dashscope_server.script = ["a voice"]
    model = model_for(dashscope_server, model="qwen2-audio-instruct", model_type="qwenaudio_dashscope")
    last(model.chat([Message("user", [ContentItem(audio="http://h/a.wav"), ContentItem(text="Who?")])]))
    assert dashscope_server.last["input"]["messages"][0]["content"] == [{"audio": "http://h/a.wav"}, {"text": "Who?"}]


def test_a_vision_model_takes_tools_in_its_prompt(dashscope_server):
    text = '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
    dashscope_server.script = [Answer(text, chunk=5)]
    model = model_for(dashscope_server, model="qwen-vl-max", model_type="qwenvl_dashscope")
    (one,) = last(model.chat([Message("user", "x")], functions=[WEATHER]))
    assert one.function_call.name == "weather"
    assert "tools" not in dashscope_server.last["parameters"]


def test_pictures_that_a_model_paints_are_content(dashscope_server):
    pieces = [{"content": [{"text": "Here: "}]}, {"content": [{"image": "http://h/new.png"}]}]
    dashscope_server.script = [Answer(pieces=pieces)]
    model = model_for(dashscope_server, model="qwen-vlo", model_type="qwenvlo_dashscope")
    (one,) = last(model.chat([Message("user", "paint")]))
    assert [(item.type, item.value) for item in one.content] == [("text", "Here: "), ("image", "http://h/new.png")]


def test_local_pictures_are_named_by_file_addresses(tmp_path):
    from qwen_agentkit.llm.qwenvl_dashscope import dashscope_parts

    path = tmp_path / "p.png"
    assert dashscope_parts([ContentItem(image=str(path))]) == [{"image": f"file://{path}"}]
    data = f"data:image/png;base64,{base64.b64encode(b'x').decode()}"
    assert dashscope_parts([ContentItem(image=data)]) == [{"image": data}]


def test_a_users_own_session_is_used(dashscope_server):
    import requests

    session = requests.Session()
    session.headers["X-Own"] = "1"
    dashscope_server.script = ["a"]
    last(model_for(dashscope_server, http_client=session).chat(HI))
    assert dashscope_server.seen[0].headers["X-Own"] == "1"
