"""Limits that the client keeps of itself."""

import threading
import time

import pytest

from qwen_agentkit.errors import RunCancelled
from qwen_agentkit.llm import rate_limits
from qwen_agentkit.llm.rate_limits import RateLimiter, limiter_of
from qwen_agentkit.run_context import RunContext
from qwen_agentkit.schema import Message
from qwen_agentkit.testing import ScriptedChatModel
from qwen_agentkit.utils.tokenization_qwen import count_tokens

ASKED = [Message("user", "hi")]


@pytest.fixture
def short_minute(monkeypatch):
    count_tokens("the vocabulary is read at its first use, which takes longer than such a minute")
    monkeypatch.setattr(rate_limits, "MINUTE", 0.3)


def times_of(limiter, count, messages=ASKED, hold=0.0):
    begun = time.monotonic()
    times = []

    def ask():
        with limiter.slot(messages):
            times.append(time.monotonic() - begun)
            time.sleep(hold)

    threads = [threading.Thread(target=ask) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    return sorted(times)


def test_requests_a_minute(short_minute):
    times = times_of(RateLimiter(requests_per_minute=2), 5)
    assert times[1] < 0.25 <= times[2]
    assert times[3] < 0.55 <= times[4]


def test_tokens_a_minute(short_minute):
    message = [Message("user", "word " * 100)]
    times = times_of(RateLimiter(tokens_per_minute=250), 3, message)
    assert times[1] < 0.25 <= times[2]


def test_past_thinking_is_not_sent_and_does_not_count_but_tools_do(short_minute):
    thought = [Message("user", "hi"), Message("assistant", "", reasoning_content="word " * 400), Message("user", "go")]
    assert times_of(RateLimiter(tokens_per_minute=100), 2, thought)[1] < 0.25
    limiter = RateLimiter(tokens_per_minute=100)
    tool = {"name": "f", "description": "word " * 60, "parameters": {}}
    begun = time.monotonic()
    for _ in range(2):
        with limiter.slot(ASKED, [tool]):
            pass
    assert time.monotonic() - begun >= 0.25


def test_a_request_larger_than_the_limit_goes_out_alone(short_minute):
    assert len(times_of(RateLimiter(tokens_per_minute=10), 2, [Message("user", "word " * 100)])) == 2


def test_requests_in_flight():
    limiter = RateLimiter(in_flight=2)
    running, most = [], []

    def ask():
        with limiter.slot(ASKED):
            running.append(1)
            most.append(len(running))
            time.sleep(0.02)
            running.pop()

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(most) == 8
    assert max(most) == 2


def test_a_failed_request_gives_its_place_back():
    limiter = RateLimiter(in_flight=1)
    with pytest.raises(ZeroDivisionError), limiter.slot(ASKED):
        raise ZeroDivisionError
    with limiter.slot(ASKED):
        pass


def test_a_cancel_ends_the_wait():
    limiter = RateLimiter(in_flight=1)
    run = RunContext()

    def ask():
        with limiter.slot(ASKED):
            pytest.fail("the place is taken")

    with limiter.slot(ASKED):
        threading.Timer(0.1, run.cancel.cancel).start()
        begun = time.monotonic()
        with pytest.raises(RunCancelled):
            run.enter().run(ask)
        assert time.monotonic() - begun < 0.6
    with limiter.slot(ASKED):
        pass


def test_models_of_one_service_and_key_share_their_limits():
    cfg = {"model": "m", "rate_limits": {"in_flight": 1}}
    first, second = ScriptedChatModel([], cfg=cfg), ScriptedChatModel([], cfg=dict(cfg))
    assert limiter_of(first) is limiter_of(second)
    assert limiter_of(ScriptedChatModel([], cfg={**cfg, "api_key": "k"})) is not limiter_of(first)


def test_a_stream_counts_until_it_is_read():
    model = ScriptedChatModel(["abc", "def"], chunk_size=1, cfg={"model": "n", "rate_limits": {"in_flight": 1}})
    stream = model.chat([{"role": "user", "content": "x"}])
    next(stream)
    run = RunContext()
    threading.Timer(0.1, run.cancel.cancel).start()
    with pytest.raises(RunCancelled):
        run.enter().run(lambda: list(model.chat([{"role": "user", "content": "x"}])))
    stream.close()
    assert list(model.chat([{"role": "user", "content": "x"}]))
