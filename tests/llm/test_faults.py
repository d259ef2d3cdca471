"""What goes wrong on the wire: each fault ends in an answer or in one clear error."""

import json
import socket
import time
from itertools import pairwise

import pytest

from qwen_agentkit.errors import ModelServiceError, RunCancelled
from qwen_agentkit.events import ModelRetried
from qwen_agentkit.llm import get_chat_model
from qwen_agentkit.run_context import RunContext
from tests.servers.model_server import Answer

HI = [{"role": "user", "content": "hi"}]


def model_for(server, **generate_cfg):
    cfg = {"retry_wait": 0.01, **generate_cfg}
    return get_chat_model({"model": "m", "model_server": server.url, "generate_cfg": cfg})


def last(snapshots):
    *_, one = snapshots
    return one


def text_of(messages):
    return "".join(one["content"] for one in messages)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    "fault",
    [
        Answer(drop=True),
        Answer(status=429, error={"error": {"message": "slow down"}}),
        Answer(status=500, error={"error": {"message": "oops"}}),
        Answer(status=503, raw=b"<html><title>503</title></html>", content_type="text/html"),
        Answer(status=408, error={"error": {"message": "late"}}),
        Answer(status=409, error={"error": {"message": "busy"}}),
    ],
    ids=["drop", "429", "500", "503", "408", "409"],
)
def test_what_fails_before_the_first_byte_is_tried_twice_more_by_default(oai_server, fault, stream):
    oai_server.script = [fault, fault, "fine"]
    answer = model_for(oai_server).chat(HI, stream=stream)
    assert text_of(last(answer) if stream else answer) == "fine"
    oai_server.script = [fault, fault, fault, "not asked"]
    with pytest.raises(ModelServiceError) as caught:
        last(model_for(oai_server).chat(HI))
    assert "'m' at http://127.0.0.1" in str(caught.value)
    assert len(oai_server.seen) == 6


def test_transport_retries_can_be_switched_off(oai_server):
    oai_server.script = [Answer(status=500, error={"error": {"message": "oops"}}), "not asked"]
    with pytest.raises(ModelServiceError):
        last(model_for(oai_server, transport_retries=0).chat(HI))
    assert len(oai_server.seen) == 1


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (400, "bad temperature", "bad_request"),
        (401, "wrong key", "auth"),
        (403, "not yours", "forbidden"),
        (404, "The model `m` does not exist", "model_not_found"),
        (404, "Not Found", "wrong_address"),
        (400, "This model's maximum context length is 8 tokens", "too_long"),
        (400, "Output data may contain inappropriate content", "inspection"),
        (429, "You exceeded your quota: insufficient_quota", "quota"),
    ],
)
def test_what_another_try_cannot_mend_is_not_tried_again(oai_server, status, message, kind):
    oai_server.script = [Answer(status=status, error={"error": {"message": message}}), "not asked"]
    with pytest.raises(ModelServiceError) as caught:
        last(model_for(oai_server, max_retries=3).chat(HI))
    assert len(oai_server.seen) == 1
    assert caught.value.extra["kind"] == kind
    assert caught.value.code == str(status)
    assert message in caught.value.message


def test_retry_after_is_kept(oai_server):
    wait = {"Retry-After": "0.3"}
    oai_server.script = [Answer(status=429, error={"error": {"message": "slow down"}}, headers=wait), "fine"]
    last(model_for(oai_server).chat(HI))
    first, second = oai_server.seen
    assert second.at - first.at >= 0.3


def test_a_wait_that_is_too_long_is_an_error_at_once(oai_server):
    wait = {"Retry-After": "4000"}
    oai_server.script = [Answer(status=429, error={"error": {"message": "slow down"}}, headers=wait), "fine"]
    with pytest.raises(ModelServiceError) as caught:
        last(model_for(oai_server).chat(HI))
    assert caught.value.extra["retry_after"] == 4000


@pytest.mark.parametrize("place", range(6))
def test_a_stream_cut_anywhere_is_gone_on_with_where_the_service_can(oai_server, place):
    def answer(body):
        begun = body["messages"][-1]
        if begun["role"] == "user":
            return Answer("abcdefghij", chunk=2, drop_after=place)
        assert begun["partial"] is True
        return Answer("abcdefghij"[len(begun["content"]) :], chunk=2)

    oai_server.script = [answer]
    if place < 2:  # nothing of the text was there, so the question is asked anew
        first = answer
        oai_server.script = [first, "abcdefghij"]
    cfg = {"model": "m", "model_server": oai_server.url, "continuation": "partial"}
    model = get_chat_model({**cfg, "generate_cfg": {"retry_wait": 0.01}})
    texts = [text_of(one) for one in model.chat(HI)]
    assert texts[-1] == "abcdefghij"
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))
    assert len(oai_server.seen) == 2


def test_a_cut_stream_is_an_error_where_the_service_cannot_go_on(oai_server):
    oai_server.script = [Answer("abcdefghij", chunk=2, drop_after=3), "not asked"]
    shown = []
    with pytest.raises(ModelServiceError) as caught:
        for one in model_for(oai_server, max_retries=2).chat(HI):
            shown.append(text_of(one))
    assert caught.value.extra["kind"] == "broken_stream"
    assert shown[-1] == "abcd"
    assert len(oai_server.seen) == 1


def test_a_stream_cut_before_anything_of_it_was_shown_is_asked_for_anew(oai_server):
    oai_server.script = [Answer(calls=[("f", '{"a": 1}')], chunk=2, drop_after=4), Answer(calls=[("f", '{"a": 1}')])]
    shown = list(model_for(oai_server).chat(HI, functions=[{"name": "f", "description": "", "parameters": {}}]))
    assert [one["function_call"]["arguments"] for one in shown[-1]] == ['{"a": 1}']
    assert len(oai_server.seen) == 2


@pytest.mark.parametrize("place", [3, 4])
def test_a_connection_that_breaks_behind_the_end_of_the_answer_does_no_harm(oai_server, place):
    # Behind the finish reason, before and after the usage.
    oai_server.script = [Answer(pieces=[{"role": "assistant"}, {"content": "whole"}], drop_after=place), "not asked"]
    assert text_of(last(model_for(oai_server).chat(HI))) == "whole"
    assert len(oai_server.seen) == 1


def test_on_broken_stream_raise_does_not_go_on(oai_server):
    oai_server.script = [Answer("abcdefghij", chunk=2, drop_after=3), "not asked"]
    cfg = {"max_retries": 2, "on_broken_stream": "raise"}
    model = get_chat_model(
        {"model": "m", "model_server": oai_server.url, "continuation": "partial", "generate_cfg": cfg}
    )
    with pytest.raises(ModelServiceError):
        last(model.chat(HI))
    assert len(oai_server.seen) == 1


def test_thinking_that_breaks_off_is_begun_anew_and_stays(oai_server):
    oai_server.script = [Answer("x", reasoning="abcd", chunk=2, drop_after=3), Answer("fine", reasoning="ef")]
    texts = list(model_for(oai_server, max_retries=1).chat(HI))
    thinking, text = texts[-1]
    assert thinking["reasoning_content"] == "abcd\n\nef"
    assert text["content"] == "fine"


def test_a_complete_call_in_the_text_before_the_break_is_the_answer(oai_server):
    text = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>\n and so'
    oai_server.script = [Answer(text, chunk=10, drop_after=8)]
    function = {"name": "f", "description": "", "parameters": {"type": "object", "properties": {}}}
    answer = last(model_for(oai_server, fncall_prompt_type="nous").chat(HI, functions=[function]))
    assert [one["function_call"]["name"] for one in answer if "function_call" in one] == ["f"]


def choice(delta, **fields):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": None, **fields}]}


def events(*objects):
    data = b"".join(b"data: %s\n\n" % json.dumps(one).encode() for one in objects)
    return Answer(raw=data + b"data: [DONE]\n\n", content_type="text/event-stream")


@pytest.mark.parametrize(
    "error",
    [
        {"error": {"message": "out of memory"}},
        {"error": {"message": "out of memory"}, **choice({"content": ""})},
        {"object": "error", "message": "out of memory", "code": 50001},
    ],
)
def test_an_error_in_the_middle_of_a_stream_is_raised_in_each_shape(oai_server, error):
    oai_server.script = [events(choice({"content": "Hel"}), error)]
    with pytest.raises(ModelServiceError, match="out of memory"):
        last(model_for(oai_server, transport_retries=0).chat(HI))


@pytest.mark.parametrize(
    "wrong",
    [
        {"choices": [None]},
        choice(["Hel"]),
        choice({"content": 5}),
        choice({"tool_calls": [None]}),
        choice({"tool_calls": [{"index": 0, "id": "a", "function": "weather"}]}),
    ],
)
@pytest.mark.parametrize("begun", [True, False])
def test_an_event_of_another_form_is_an_error_that_shows_it(oai_server, wrong, begun):
    oai_server.script = [events(*[choice({"content": "Hel"})] * begun, wrong)]
    with pytest.raises(ModelServiceError, match="not of the protocol's form") as caught:
        last(model_for(oai_server, transport_retries=0).chat(HI))
    assert json.dumps(wrong)[:40] in str(caught.value)


def test_a_first_choice_whose_number_is_null_is_the_answer(oai_server):
    oai_server.script = [events(choice({"content": "Hello"}, index=None), choice({}, index=None, finish_reason="stop"))]
    assert text_of(last(model_for(oai_server).chat(HI))) == "Hello"


def test_wrong_json_in_the_stream_is_an_error(oai_server):
    stream = b'data: {"choices": [{"index": 0, "delta": {"content": "ab"}}]}\n\ndata: {"choi\n\ndata: [DONE]\n\n'
    oai_server.script = [Answer(raw=stream, content_type="text/event-stream")]
    with pytest.raises(ModelServiceError, match="no JSON object"):
        last(model_for(oai_server).chat(HI))


@pytest.mark.parametrize("stream", [True, False])
def test_a_web_page_is_named(oai_server, stream):
    oai_server.script = [Answer(raw=b"<html><title>Welcome</title></html>", content_type="text/html")]
    with pytest.raises(ModelServiceError) as caught:
        answer = model_for(oai_server).chat(HI, stream=stream)
        last(answer)
    assert caught.value.extra["kind"] == "not_json"
    assert "/v1" in caught.value.message


def test_a_silent_server_is_found_by_the_timeout(oai_server):
    oai_server.script = [Answer("abcd", chunk=1, hang_after=3)]
    begun = time.monotonic()
    with pytest.raises(ModelServiceError) as caught:
        last(model_for(oai_server, request_timeout=0.3).chat(HI))
    assert caught.value.extra["kind"] == "read_timeout"
    assert time.monotonic() - begun < 3


def test_a_closed_port_is_named_quickly():
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    model = get_chat_model(
        {"model": "m", "model_server": f"http://127.0.0.1:{port}/v1", "generate_cfg": {"retry_wait": 0.01}}
    )
    with pytest.raises(ModelServiceError) as caught:
        last(model.chat(HI))
    assert caught.value.extra["kind"] == "connection"
    assert str(port) in caught.value.message


def test_a_host_that_does_not_answer_is_found_within_the_connect_timeout():
    # A listener whose queue is full takes no further connection, as a host behind a firewall.
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    port = listener.getsockname()[1]
    fillers = []
    for _ in range(4):
        filler = socket.socket()
        filler.setblocking(False)
        filler.connect_ex(("127.0.0.1", port))
        fillers.append(filler)
    cfg = {"model": "m", "model_server": f"http://127.0.0.1:{port}/v1", "connect_timeout": 0.4}
    begun = time.monotonic()
    try:
        with pytest.raises(ModelServiceError) as caught:
            last(get_chat_model(cfg).chat(HI))
    finally:
        for one in [*fillers, listener]:
            one.close()
    assert caught.value.extra["kind"] == "connect_timeout"
    assert time.monotonic() - begun < 2


def test_each_retry_is_told_to_the_run(oai_server):
    events = []
    run = RunContext(sink=events.append)
    oai_server.script = [Answer(drop=True), "fine"]
    run.enter().run(lambda: last(model_for(oai_server).chat(HI)))
    (retried,) = [event for event in events if isinstance(event, ModelRetried)]
    assert (retried.model, retried.attempt) == ("m", 1)


@pytest.mark.parametrize(
    "answer",
    [
        Answer("abcdefgh", chunk=1, hang_after=3),
        Answer(hang=True),
        Answer(status=429, error={"error": {"message": "slow down"}}, headers={"Retry-After": "20"}),
    ],
    ids=["in a blocked read", "before the headers", "in a retry wait"],
)
@pytest.mark.parametrize("stream", [True, False])
def test_a_cancel_is_heard_within_half_a_second(oai_server, answer, stream):
    import threading

    oai_server.script = [answer]
    run = RunContext()
    model = model_for(oai_server)
    cancelled_at = []

    def cancel():
        cancelled_at.append(time.monotonic())
        run.cancel.cancel("stop")

    threading.Timer(0.4, cancel).start()

    def ask():
        reply = model.chat(HI, stream=stream)
        for _ in reply:
            pass

    with pytest.raises(RunCancelled):
        run.enter().run(ask)
    assert time.monotonic() - cancelled_at[0] < 0.5


def test_a_model_is_usable_after_a_cancel(oai_server):
    import threading

    oai_server.script = [Answer("abcdefgh", chunk=1, hang_after=3), "fine"]
    model = model_for(oai_server)
    run = RunContext()
    threading.Timer(0.2, run.cancel.cancel).start()
    with pytest.raises(RunCancelled):
        run.enter().run(lambda: last(model.chat(HI)))
    assert text_of(last(model.chat(HI))) == "fine"


def test_a_run_that_is_cancelled_already_asks_nothing(oai_server):
    oai_server.script = ["not asked"]
    run = RunContext()
    run.cancel.cancel()
    with pytest.raises(RunCancelled):
        run.enter().run(lambda: last(model_for(oai_server).chat(HI)))
    assert oai_server.seen == []
