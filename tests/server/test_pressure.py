"""Bounds of requests, the queue, slow readers, counts, and the end of a server."""

import json
import socket
import threading
import time

import pytest

from qwen_agentkit.agents import BasicAgent
from qwen_agentkit.events import ToolProgress
from qwen_agentkit.run_context import current_run
from qwen_agentkit.schema import Message
from qwen_agentkit.testing import ScriptedChatModel, reply
from tests.server.conftest import wait_until

ASK = {"messages": [{"role": "user", "content": "Oslo?"}]}
BACK = {**ASK, "background": True}


def agent(*script, **model):
    return BasicAgent(llm=ScriptedChatModel(list(script), repeat=True, **model), name="helper")


def hanging():
    return agent(reply("", hang_after=0))


def status_of(served, run_id):
    return served.client.get(f"/v1/runs/{run_id}").json()["status"]


def test_a_full_queue_is_answered_with_429_and_empties_in_order(serve):
    served = serve(agent(reply("a", delay=0.3)), max_running=1, max_waiting=1)
    first, second = (served.client.post("/v1/runs", json=BACK).json()["id"] for _ in range(2))
    third = served.client.post("/v1/runs", json=BACK)
    assert third.status_code == 429 and third.json()["error"]["type"] == "rate_limit_error"
    assert int(third.headers["retry-after"]) >= 1
    assert status_of(served, second) == "queued"
    wait_until(lambda: status_of(served, second) == "done")
    assert status_of(served, first) == "done"


def test_a_run_that_waits_can_be_cancelled(serve):
    served = serve(hanging(), max_running=1)
    first, second = (served.client.post("/v1/runs", json=BACK).json()["id"] for _ in range(2))
    served.client.post(f"/v1/runs/{second}/cancel")
    wait_until(lambda: status_of(served, second) == "cancelled")
    wait_until(lambda: status_of(served, first) == "running")


def test_one_user_can_not_take_all_places(serve):
    served = serve(hanging(), tokens={"a": "ada", "b": "bob"}, max_running=3, max_running_per_user=1)
    ada, bob = ({"Authorization": f"Bearer {token}"} for token in "ab")
    mine = [served.client.post("/v1/runs", json=BACK, headers=ada).json()["id"] for _ in range(2)]
    theirs = served.client.post("/v1/runs", json=BACK, headers=bob).json()["id"]

    def status(run, who):
        return served.client.get(f"/v1/runs/{run}", headers=who).json()["status"]

    wait_until(lambda: status(theirs, bob) == "running")
    assert [status(run, ada) for run in mine] == ["running", "queued"]


def test_a_body_that_is_too_large_is_refused(serve):
    served = serve(agent("a"), max_body_bytes=10_000, max_messages=3)
    big = served.client.post("/chat", json={"message": "x" * 20_000})
    assert big.status_code == 413 and big.json()["error"]["code"] == "request_too_large"

    def pieces():
        for _ in range(20):
            yield b"x" * 1000

    chunked = served.client.post("/chat", content=pieces(), headers={"Content-Type": "application/json"})
    assert chunked.status_code == 413 and chunked.json()["error"]["code"] == "request_too_large"
    many = served.client.post("/v1/runs", json={"messages": ASK["messages"] * 4})
    assert many.status_code == 400 and many.json()["error"]["code"] == "too_many"


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/chat", {"message": ""}, 422),
        ("POST", "/chat", {"massage": "Hi"}, 422),
        ("POST", "/chat", {"message": "Hi", "session_id": "a/b"}, 422),
        ("POST", "/v1/runs", {"messages": [{"role": "nobody"}]}, 400),
        ("POST", "/v1/runs", {**ASK, "limits": {"seconds": -1}}, 422),
        ("POST", "/v1/runs", {**ASK, "agent": "nobody"}, 404),
        ("GET", "/v1/runs/run_1", None, 404),
        ("GET", "/nowhere", None, 404),
        ("DELETE", "/chat", None, 405),
        ("GET", "/v1/sessions/none", None, 404),
    ],
)
def test_every_error_has_the_one_shape(serve, method, path, body, status):
    answer = serve(agent("a")).client.request(method, path, json=body)
    assert answer.status_code == status
    assert set(answer.json()) == {"error"} and set(answer.json()["error"]) == {"message", "type", "param", "code"}


@pytest.mark.parametrize(
    ("body", "param", "told"),
    [
        (b'{"message": ""}', "message", "message: String should have at least 1 character"),
        (b'{"message": [5]}', "message", "message.0: Input should be a valid dictionary"),
        (b'{"message": "Hi", "list": []}', "list", "list: Extra inputs are not permitted"),
        (b"message=Hi", None, "body: JSON decode error"),
    ],
)
def test_what_is_wrong_with_a_body_is_said_by_its_fields(serve, body, param, told):
    headers = {"Content-Type": "application/json"}
    error = serve(agent("a")).client.post("/chat", content=body, headers=headers).json()["error"]
    assert error["param"] == param and told in error["message"] and "[" not in error["message"]


class Chatty(BasicAgent):
    """Tells 20 MB of progress before it answers."""

    def _run(self, messages, lang="en", **kwargs):
        for number in range(5000):
            current_run().emit(ToolProgress, call_id="call_1", name="count", data=f"{number} " + "x" * 4000)
        yield [Message("assistant", "Done.")]


def lazy_client(served):
    """A client that asks for a stream and takes nothing of it; its run."""
    lazy = socket.socket()
    lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    lazy.connect(("127.0.0.1", served.port))
    body = json.dumps(ASK)
    head = ["POST /v1/runs HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json"]
    lazy.sendall("\r\n".join([*head, f"Content-Length: {len(body)}", "", body]).encode())
    wait_until(lambda: served.service.board.of_user("local"))
    (run,) = served.service.board.of_user("local")
    return lazy, run


def test_a_slow_reader_slows_only_itself(serve):
    served = serve(Chatty(name="helper"))
    lazy, slow = lazy_client(served)
    # The run stands still, a bounded number of events ahead, while nobody takes them.
    seen = -1
    while slow.log.last != seen:
        seen = slow.log.last
        time.sleep(0.3)
    assert slow.status == "running" and seen < 5000
    with served.stream("POST", "/v1/runs", json=ASK) as (_, events):
        kinds = [kind for _, kind, _ in events]
    assert kinds[-1] == "done" and kinds.count("tool_progress") == 5000
    assert slow.log.last == seen and slow.status == "running"
    lazy.close()


def test_a_reader_that_takes_nothing_loses_its_run(serve):
    served = serve(Chatty(name="helper"), stalled_seconds=0.3)
    lazy, run = lazy_client(served)
    wait_until(lambda: run.status == "cancelled")
    assert run.reason == "the reader stalled"
    lazy.close()


def test_metrics_count_runs_tokens_and_requests_by_route(serve):
    served = serve(agent("Warm."))
    served.client.post("/chat", json={"message": "Oslo?", "session_id": "s"})
    served.client.get("/v1/sessions/s")
    answer = served.client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    assert 'qwen_agentkit_runs_total{agent="helper",status="done"} 1.0' in lines
    assert "qwen_agentkit_runs_running 0.0" in lines
    assert "qwen_agentkit_sessions_in_memory 1.0" in lines
    assert 'qwen_agentkit_http_requests_total{method="POST",route="/chat",status="200"} 1.0' in lines
    assert any(
        line.startswith('qwen_agentkit_http_requests_total{method="GET",route="/v1/sessions/{') for line in lines
    )
    assert any(line.startswith('qwen_agentkit_first_text_seconds_count{agent="helper"} 1') for line in lines)


def test_healthz_says_what_is_under_way(serve):
    served = serve(hanging())
    served.client.post("/v1/runs", json=BACK)
    wait_until(lambda: served.client.get("/healthz").json()["runs"] == {"running": 1, "waiting": 0})
    assert served.client.get("/healthz").json()["status"] == "ok"


def test_a_server_that_stops_lets_short_answers_end_and_cancels_long_ones(serve):
    served = serve(agent(reply("abcd", chunks=list("abcd"), delay=0.15)), shutdown_seconds=1.5)
    long = serve(hanging(), shutdown_seconds=0.5)
    ends = {}

    def read(name, server):
        with server.stream("POST", "/v1/runs", json=ASK) as (_, events):
            ends[name] = [kind for _, kind, _ in events][-1]

    threads = [threading.Thread(target=read, args=pair) for pair in (("short", served), ("long", long))]
    for thread in threads:
        thread.start()
    wait_until(lambda: served.service.board.running and long.service.board.running)
    served.stop()
    long.stop()
    for thread in threads:
        thread.join(10)
    assert ends == {"short": "done", "long": "cancelled"}
    served.thread.join(10)
    assert not served.thread.is_alive()


def test_threads_are_used_again(serve):
    def threads():
        return sum(thread.name == "qwen-agentkit-run" for thread in threading.enumerate())

    served, before = serve(agent("a")), threads()
    for _ in range(20):
        served.client.post("/v1/runs", json={**ASK, "stream": False})
    assert threads() - before <= 4
