"""`/v1/runs`: events, resumption, background, cancel, approval, follow-ups, idempotency."""

import time

import pytest

from qwen_agentkit import tool
from qwen_agentkit.agents import Assistant, BasicAgent, GroupChat
from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.testing import ScriptedChatModel, call, reply
from tests.server.conftest import wait_until

ASK = {"messages": [{"role": "user", "content": "Oslo?"}]}
TERMINAL = {"done", "error", "cancelled"}


@tool
def refund(amount: int) -> str:
    """Pays money back."""
    return f"paid {amount}"


def basic(*script, **settings):
    return BasicAgent(llm=ScriptedChatModel(list(script), chunk_size=2), **{"name": "helper", **settings})


def slow(pieces=100, delay=0.05):
    return basic(reply("ab" * pieces, delay=delay))


def test_a_run_is_a_stream_of_numbered_events_with_one_end(serve):
    with serve(basic("Warm today.")).stream("POST", "/v1/runs", json=ASK) as (response, events):
        seen = list(events)
    assert response.headers["content-type"].startswith("text/event-stream")
    assert [number for number, _, _ in seen] == list(range(1, len(seen) + 1))
    kinds = [kind for _, kind, _ in seen]
    assert kinds[0] == "run_created" and kinds[-1] == "done"
    assert [kind for kind in kinds if kind in TERMINAL] == ["done"]
    assert "".join(data["text"] for _, kind, data in seen if kind == "text_delta") == "Warm today."
    last = seen[-1][2]
    assert last["answer"] == "Warm today." and last["reason"] == "answered"
    assert last["messages"][-1]["content"] == "Warm today."
    assert all(data["type"] == kind for _, kind, data in seen)
    assert seen[0][2]["id"] == response.headers["x-run-id"]


def test_the_log_has_the_place_of_what_was_not_foreseen_alone(serve, caplog):
    for error, has_place in [
        (ModelServiceError(code="502", message="The model is away"), False),
        (KeyError("x"), True),
    ]:
        caplog.clear()
        with serve(BasicAgent(llm=ScriptedChatModel([error]), name="helper")).stream("POST", "/v1/runs", json=ASK) as (
            _,
            events,
        ):
            assert list(events)[-1][1] == "error"
        (record,) = [one for one in caplog.records if "of helper failed" in one.message]
        assert bool(record.exc_info) is has_place and str(error) in record.message


def test_a_run_that_fails_ends_with_error_and_tells_no_traceback(serve):
    class Broken(BasicAgent):
        def _run(self, messages, lang="en", **kwargs):
            raise KeyError("a secret of the program")
            yield

    with serve(Broken(name="helper")).stream("POST", "/v1/runs", json=ASK) as (_, events):
        seen = list(events)
    assert seen[-1][1] == "error"
    assert seen[-1][2]["error"]["code"] == "agent_error" and seen[-1][2]["error"]["type"] == "server_error"
    assert "secret" not in str(seen)


def test_a_silent_stream_is_kept_alive(serve):
    served = serve(basic(reply("late", delay=0.4)), keep_alive_seconds=0.1)
    with served.stream("POST", "/v1/runs", json=ASK) as (_, events):
        kinds = [kind for _, kind, _ in events]
    assert kinds.count("comment") >= 2 and kinds[-1] == "done"


def test_a_lost_stream_goes_on_after_the_last_event(serve):
    served = serve(slow(40))
    with served.stream("POST", "/v1/runs", json=ASK) as (response, events):
        run_id = response.headers["x-run-id"]
        first = [next(events) for _ in range(8)]
    with served.stream("GET", f"/v1/runs/{run_id}/events", headers={"Last-Event-ID": str(first[-1][0])}) as (_, events):
        rest = list(events)
    seen = first + rest
    assert [number for number, _, _ in seen] == list(range(1, len(seen) + 1))
    assert "".join(data["text"] for _, kind, data in seen if kind == "text_delta") == "ab" * 40
    assert rest[-1][1] == "done"


def test_a_client_that_does_not_come_back_cancels_its_run(serve):
    served = serve(slow(), resume_seconds=0.2)
    with served.stream("POST", "/v1/runs", json=ASK) as (response, events):
        next(events)
    path = f"/v1/runs/{response.headers['x-run-id']}"
    assert served.client.get(path).json()["status"] == "running"
    wait_until(lambda: served.client.get(path).json()["status"] == "cancelled")
    assert served.client.get(path).json()["reason"] == "the client left"


def test_an_ended_run_can_be_read_again_from_the_start(serve):
    served = serve(basic("Warm."))
    with served.stream("POST", "/v1/runs", json=ASK) as (response, events):
        seen = list(events)
    with served.stream("GET", f"/v1/runs/{response.headers['x-run-id']}/events") as (_, events):
        assert list(events) == seen


def test_a_run_in_the_background_is_polled(serve):
    served = serve(basic("Warm today."))
    answer = served.client.post("/v1/runs", json={**ASK, "background": True})
    assert answer.status_code == 202
    path = answer.headers["location"]
    wait_until(lambda: served.client.get(path).json()["status"] == "done")
    assert served.client.get(path).json()["answer"] == "Warm today."
    assert served.client.get("/v1/runs").json()["data"][0]["id"] == answer.json()["id"]


def test_a_run_can_be_asked_for_as_a_whole(serve):
    answer = serve(basic("Warm.")).client.post("/v1/runs", json={**ASK, "stream": False})
    assert answer.status_code == 200 and answer.json()["status"] == "done" and answer.json()["answer"] == "Warm."


def test_cancel_ends_the_stream_and_keeps_what_was_said(serve):
    served = serve(slow())
    with served.stream("POST", "/v1/runs", json=ASK) as (response, events):
        while next(events)[1] != "text_delta":
            pass
        served.client.post(f"/v1/runs/{response.headers['x-run-id']}/cancel")
        rest = list(events)
    assert rest[-1][1] == "cancelled" and [kind for _, kind, _ in rest if kind in TERMINAL] == ["cancelled"]
    assert rest[-1][2]["answer"].startswith("ab")


def approving(**settings):
    model = ScriptedChatModel([call("refund", amount=5, id="call_1"), "Done."])
    return Assistant(llm=model, name="helper", function_list=[refund], approve={"refund": "pause"}, **settings)


@pytest.mark.parametrize(
    "decision", [True, {"call_1": True}, {"call_1": {"allow": True, "arguments": '{"amount": 7}'}}]
)
def test_a_paused_run_goes_on_in_the_same_stream(serve, decision):
    served = serve(approving())
    with served.stream("POST", "/v1/runs", json=ASK) as (response, events):
        path = f"/v1/runs/{response.headers['x-run-id']}"
        before = []
        while not before or before[-1][1] != "run_paused":
            before.append(next(events))
        assert served.client.get(path).json()["status"] == "paused"
        assert before[-1][2]["approvals"] == [{"call_id": "call_1", "name": "refund", "arguments": '{"amount": 5}'}]
        assert served.client.post(f"{path}/approval", json={"decisions": decision}).status_code == 200
        after = list(events)
    paid = next(data for _, kind, data in after if kind == "tool_call_finished")
    assert paid["result"] == ("paid 7" if "7" in str(decision) else "paid 5")
    assert after[-1][1] == "done" and after[-1][2]["answer"] == "Done."


def test_a_denied_call_is_not_made(serve):
    served = serve(approving())
    run = served.client.post("/v1/runs", json={**ASK, "background": True}).json()
    path = f"/v1/runs/{run['id']}"
    wait_until(lambda: served.client.get(path).json()["status"] == "paused")
    served.client.post(f"{path}/approval", json={"decisions": {"call_1": "not today"}})
    wait_until(lambda: served.client.get(path).json()["status"] == "done")
    assert "not today" in str(served.client.get(path).json()["messages"])
    assert "paid" not in str(served.client.get(path).json()["messages"])


def test_decisions_that_fit_nothing_are_refused(serve):
    served = serve(approving())
    run = served.client.post("/v1/runs", json={**ASK, "background": True}).json()
    path = f"/v1/runs/{run['id']}"
    wait_until(lambda: served.client.get(path).json()["status"] == "paused")
    assert served.client.post(f"{path}/approval", json={"decisions": {"call_9": True}}).status_code == 400
    assert served.client.post(f"{path}/approval", json={"decisions": {"call_1": {"allow": "x"}}}).status_code == 400
    served.client.post(f"{path}/cancel")
    wait_until(lambda: served.client.get(path).json()["status"] == "cancelled")
    assert served.client.post(f"{path}/approval", json={"decisions": True}).status_code == 409


def test_a_pause_in_a_session_leaves_a_history_that_goes_on(serve):
    served = serve(approving())
    body = {**ASK, "background": True, "session_id": "s"}
    path = f"/v1/runs/{served.client.post('/v1/runs', json=body).json()['id']}"
    wait_until(lambda: served.client.get(path).json()["status"] == "paused")
    assert served.client.post("/v1/runs", json=body).json()["error"]["code"] == "run_paused"
    served.client.post(f"{path}/approval", json={"decisions": True})
    wait_until(lambda: served.client.get(path).json()["status"] == "done")
    kept = served.client.get("/v1/sessions/s/messages").json()["data"]
    assert [message["role"] for message in kept] == ["user", "assistant", "function", "assistant"]
    assert kept[2]["content"] == "paid 5" and kept[3]["content"] == "Done."


def test_a_pause_that_is_cancelled_leaves_no_open_call_in_the_session(serve):
    served = serve(approving())
    path = (
        "/v1/runs/" + served.client.post("/v1/runs", json={**ASK, "background": True, "session_id": "s"}).json()["id"]
    )
    wait_until(lambda: served.client.get(path).json()["status"] == "paused")
    served.client.post(f"{path}/cancel")
    wait_until(lambda: served.client.get(path).json()["status"] == "cancelled")
    kept = served.client.get("/v1/sessions/s/messages").json()["data"]
    assert [message["role"] for message in kept] == ["user", "assistant", "function"]


def test_a_pause_that_nobody_decides_about_ends(serve):
    served = serve(approving(), approval_seconds=0.1, session_idle_seconds=0.2)
    path = "/v1/runs/" + served.client.post("/v1/runs", json={**ASK, "background": True}).json()["id"]
    wait_until(lambda: served.client.get(path).json()["status"] == "cancelled")
    assert served.client.get(path).json()["reason"] == "no decision came"


def test_a_paused_member_of_a_team_goes_on(serve):
    team = GroupChat([approving(), basic("Fine.", name="other")], "round_robin", max_round=1, name="team")
    served = serve(team)
    path = "/v1/runs/" + served.client.post("/v1/runs", json={**ASK, "background": True}).json()["id"]
    wait_until(lambda: served.client.get(path).json()["status"] == "paused")
    served.client.post(f"{path}/approval", json={"decisions": True})
    wait_until(lambda: served.client.get(path).json()["status"] == "done")
    assert "paid 5" in str(served.client.get(path).json()["messages"])


def test_a_follow_up_reaches_the_model_with_the_next_result(serve):
    @tool
    def wait() -> str:
        """Takes a while."""
        time.sleep(0.6)
        return "waited"

    model = ScriptedChatModel([call("wait"), "Done."])
    served = serve(Assistant(llm=model, name="helper", function_list=[wait]))
    path = "/v1/runs/" + served.client.post("/v1/runs", json={**ASK, "background": True}).json()["id"]
    wait_until(lambda: model.requests)
    ticket = served.client.post(f"{path}/follow_ups", json={"text": "Bergen, too."})
    assert ticket.status_code == 202 and ticket.json()["status"] == "pending"
    wait_until(lambda: served.client.get(path).json()["status"] == "done")
    assert served.client.get(path).json()["follow_ups"] == [{"text": "Bergen, too.", "status": "delivered"}]
    assert "Bergen, too." in str(model.requests[1].messages)
    assert served.client.post(f"{path}/follow_ups", json={"text": "late"}).json()["error"]["code"] == "run_ended"


def test_the_same_key_begins_one_run(serve):
    model = ScriptedChatModel(["One.", "Two."])
    served = serve(BasicAgent(llm=model, name="helper"))
    headers = {"Idempotency-Key": "k1"}
    answers = [served.client.post("/v1/runs", json={**ASK, "stream": False}, headers=headers).json() for _ in range(2)]
    assert answers[0] == answers[1] and len(model.requests) == 1
    other = served.client.post(
        "/v1/runs", json={"messages": [{"role": "user", "content": "?"}], "stream": False}, headers=headers
    )
    assert other.status_code == 422 and other.json()["error"]["code"] == "idempotency_key_reused"


def test_the_same_request_with_its_key_resumes_its_stream(serve):
    served = serve(basic("Warm today."))
    headers = {"Idempotency-Key": "k"}
    with served.stream("POST", "/v1/runs", json=ASK, headers=headers) as (_, events):
        seen = list(events)
    with served.stream("POST", "/v1/runs", json=ASK, headers={**headers, "Last-Event-ID": "3"}) as (_, events):
        assert list(events) == seen[3:]


def test_limits_of_a_request_bound_its_run(serve):
    served = serve(slow(200))
    body = {**ASK, "stream": False, "limits": {"seconds": 0.3}}
    answer = served.client.post("/v1/runs", json=body).json()
    assert answer["status"] == "done" and answer["reason"] == "limit:seconds"


def test_an_answer_has_the_schema_that_was_asked_for(serve):
    body = {**ASK, "stream": False, "output_schema": {"properties": {"n": {"type": "integer"}}, "required": ["n"]}}
    answer = serve(basic('{"n": 3}')).client.post("/v1/runs", json=body).json()
    assert answer["messages"][-1]["extra"]["parsed"] == {"n": 3}


def test_ended_runs_are_forgotten_after_their_time(serve):
    served = serve(basic("a"), run_kept_seconds=0.1, session_idle_seconds=0.2)
    path = "/v1/runs/" + served.client.post("/v1/runs", json={**ASK, "stream": False}).json()["id"]
    wait_until(lambda: served.client.get(path).status_code == 404)


def test_what_a_slow_background_run_said_is_a_snapshot_when_it_is_kept_no_more(serve, monkeypatch):
    monkeypatch.setattr("qwen_agentkit.server.event_log.KEPT", 20)
    served = serve(basic("ab" * 60))
    path = "/v1/runs/" + served.client.post("/v1/runs", json={**ASK, "background": True}).json()["id"]
    wait_until(lambda: served.client.get(path).json()["status"] == "done")
    with served.stream("GET", f"{path}/events") as (_, events):
        seen = list(events)
    assert seen[0][1] == "snapshot" and seen[0][2]["answer"] == "ab" * 60 and seen[-1][1] == "done"
    assert len(seen) == 21
