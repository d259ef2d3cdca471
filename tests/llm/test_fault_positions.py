"""A fault at every point of an answer ends in the answer or in one clear error, and what was shown only grows."""

import json
import time
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.llm import get_chat_model
from tests.servers.model_server import Answer

HI = [{"role": "user", "content": "hi"}]
SAVE = {"name": "save", "description": "", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}
TAGGED = 'Look. <tool_call>\n{"name": "save", "arguments": {"a": "one"}}\n</tool_call>'
SHAPES = {
    "text": Answer("abcdefghijkl", chunk=2),
    "thinking": Answer("answer", reasoning="thought", chunk=2),
    "calls": Answer("So.", calls=[("save", '{"a": "one two"}'), ("save", '{"a": "3"}')], chunk=5),
    "tags": Answer(TAGGED, chunk=8),
}
EVENTS = 14  # at least as many as the longest of them


def said(messages):
    """What counts of an answer: its text and its calls."""
    text = "".join(one["content"] for one in messages)
    return text, [one["function_call"]["arguments"] for one in messages if "function_call" in one]


def asked(server, shape, faulty, *, stream=True, continuing=False, **generate_cfg):
    """Asks a service whose first answer has the fault. Returns the lists shown, and the error that ended them."""
    whole = SHAPES[shape]

    def good(body):
        last = body["messages"][-1]
        # A service that goes on from a beginning sends the rest.
        begun = len(last["content"]) if last.get("partial") else 0
        return replace(whole, text=whole.text[begun:], reasoning="" if begun else whole.reasoning)

    server.seen.clear()
    server.script = [*(faulty if isinstance(faulty, list) else [faulty]), good]
    cfg = {"retry_wait": 0.0, "request_timeout": 0.5, **generate_cfg}
    if shape == "tags":
        cfg["fncall_prompt_type"] = "nous"
    where = {"model": "m", "model_server": server.url, **({"continuation": "partial"} if continuing else {})}
    model = get_chat_model({**where, "generate_cfg": cfg})
    shown = []
    try:
        reply = model.chat(HI, functions=[SAVE], stream=stream)
        for one in reply if stream else [reply]:
            shown.append(one)
    except ModelServiceError as error:
        return shown, error
    return shown, None


def wanted(server, shape):
    shown, error = asked(server, shape, SHAPES[shape])
    assert error is None
    return said(shown[-1])


def assert_answer_or_clear_error(shown, error, expected):
    assert all(later[0].startswith(earlier[0]) for earlier, later in pairwise(map(said, shown)))
    if error is None:
        assert said(shown[-1]) == expected
        return
    assert "The model 'm' at http://127.0.0.1" in str(error)
    assert error.extra["kind"] in ("broken_stream", "read_timeout", "not_json")
    assert "Traceback" not in str(error)


@pytest.mark.parametrize("continuing", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_connection_cut_anywhere(oai_server, shape, continuing):
    expected = wanted(oai_server, shape)
    for place in range(EVENTS):
        faulty = replace(SHAPES[shape], drop_after=place)
        shown, error = asked(oai_server, shape, faulty, continuing=continuing)
        assert_answer_or_clear_error(shown, error, expected)
        if continuing:
            assert error is None  # with the settings as they are
        elif error is not None:
            # Text was visible, and this service cannot go on from it.
            assert said(shown[-1])[0] and len(oai_server.seen) == 1


@pytest.mark.parametrize("max_retries", [0, 1])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_server_that_falls_silent_anywhere(oai_server, shape, max_retries):
    expected = wanted(oai_server, shape)
    for place in (0, 1, 4):
        begun = time.monotonic()
        faulty = replace(SHAPES[shape], hang_after=place)
        shown, error = asked(oai_server, shape, faulty, continuing=True, max_retries=max_retries)
        assert time.monotonic() - begun < 2
        assert_answer_or_clear_error(shown, error, expected)
        if max_retries:
            assert error is None


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    shape=st.sampled_from(["text", "thinking"]),
    place=st.integers(0, 8),
    junk=st.sampled_from(['{"choi', "[1, 2]", "null", "<html>", '{"choices": [{"delta": ', "}", "\x00"]),
    continuing=st.booleans(),
)
def test_wrong_json_anywhere(oai_server, shape, place, junk, continuing):
    whole = SHAPES[shape]
    pieces = [{"reasoning_content": one} for one in whole.reasoning] + [{"content": one} for one in whole.text]
    events = [json.dumps({"choices": [{"index": 0, "delta": piece}]}) for piece in pieces]
    stream = "".join(f"data: {one}\n\n" for one in [*events[:place], junk, *events[place:], "[DONE]"])
    faulty = Answer(raw=stream.encode(), content_type="text/event-stream")
    shown, error = asked(oai_server, shape, faulty, continuing=continuing)
    assert_answer_or_clear_error(shown, error, said([{"content": whole.text}]))


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_busy_service_twice_and_an_answer_that_is_cut_before_anything_is_shown(oai_server, shape, stream):
    expected = wanted(oai_server, shape)
    busy = Answer(status=429, error={"error": {"message": "slow down"}}, headers={"Retry-After": "0"})
    for faulty in ([busy, busy], [busy, replace(SHAPES[shape], drop_after=0)], [replace(SHAPES[shape], drop=True)]):
        shown, error = asked(oai_server, shape, faulty, stream=stream)
        assert error is None
        assert said(shown[-1]) == expected
        assert len(oai_server.seen) == len(faulty) + 1
