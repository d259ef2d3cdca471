"""`/chat`, `/chat/stream`, `/reset`."""

from qwen_agentkit.agents import BasicAgent
from qwen_agentkit.testing import ScriptedChatModel, reply
from tests.server.conftest import wait_until


def agent(*script):
    return BasicAgent(llm=ScriptedChatModel(list(script), chunk_size=3), name="helper")


def test_a_conversation_goes_on_in_the_session_that_was_made(serve):
    bot = agent("Hello Ada.", "You are Ada.")
    client = serve(bot).client
    first = client.post("/chat", json={"message": "I am Ada."}).json()
    assert first["answer"] == "Hello Ada." and first["end"] == "answered"
    second = client.post("/chat", json={"message": "Who am I?", "session_id": first["session_id"]}).json()
    assert second["answer"] == "You are Ada." and second["session_id"] == first["session_id"]
    assert [message.content for message in bot.llm.requests[1].messages] == ["I am Ada.", "Hello Ada.", "Who am I?"]


def test_a_stream_has_deltas_and_one_end(serve):
    served = serve(agent(reply("Warm today.", reasoning="Hm.")))
    with served.stream("POST", "/chat/stream", json={"message": "Oslo?"}) as (_, events):
        seen = list(events)
    assert seen[0][1] == "run_created" and seen[0][2]["session_id"].startswith("session_")
    assert "".join(data["text"] for _, kind, data in seen if kind == "delta") == "Warm today."
    assert "".join(data["text"] for _, kind, data in seen if kind == "reasoning") == "Hm."
    assert [kind for _, kind, _ in seen if kind in ("done", "error", "cancelled")] == ["done"]
    assert seen[-1][2]["answer"] == "Warm today."


def test_a_stream_of_a_failing_agent_ends_with_error(serve):
    class Broken(BasicAgent):
        def _run(self, messages, lang="en", **kwargs):
            raise RuntimeError("no")
            yield

    with serve(Broken(name="helper")).stream("POST", "/chat/stream", json={"message": "Oslo?"}) as (_, events):
        seen = list(events)
    assert seen[-1][1] == "error" and seen[-1][2]["error"]["code"] == "agent_error"


def test_reset_forgets_the_history(serve):
    bot = agent("Hello Ada.", "I do not know.")
    client = serve(bot).client
    session = client.post("/chat", json={"message": "I am Ada."}).json()["session_id"]
    assert client.post("/reset", json={"session_id": session}).json() == {"session_id": session, "reset": True}
    client.post("/chat", json={"message": "Who am I?", "session_id": session})
    assert [message.content for message in bot.llm.requests[1].messages] == ["Who am I?"]


def test_one_run_at_a_time_in_a_session(serve):
    bot = agent(reply("First.", delay=0.1), "Second.")
    served = serve(bot)
    client = served.client
    for text in ("one", "two"):
        body = {"messages": [{"role": "user", "content": text}], "session_id": "s", "background": True}
        client.post("/v1/runs", json=body)
        wait_until(lambda: bot.llm.requests)
    wait_until(lambda: all(run["status"] == "done" for run in client.get("/v1/runs").json()["data"]))
    kept = [message["content"] for message in client.get("/v1/sessions/s/messages").json()["data"]]
    assert kept == ["one", "First.", "two", "Second."]


def test_a_session_that_is_idle_leaves_memory_and_keeps_its_history(serve):
    served = serve(agent("Hello.", "Again."), session_idle_seconds=0.3)
    served.client.post("/chat", json={"message": "Hi", "session_id": "s"})
    assert len(served.service.sessions) == 1
    wait_until(lambda: len(served.service.sessions) == 0)
    assert served.client.post("/chat", json={"message": "Hi again", "session_id": "s"}).json()["answer"] == "Again."
    kept = served.client.get("/v1/sessions/s/messages").json()["data"]
    assert [message["content"] for message in kept] == ["Hi", "Hello.", "Hi again", "Again."]


def test_a_message_for_a_busy_session_may_go_to_its_run(serve, tmp_path):
    import time

    from qwen_agentkit import tool
    from qwen_agentkit.agents import Assistant
    from qwen_agentkit.session import SessionStore
    from qwen_agentkit.testing import call

    @tool
    def wait() -> str:
        """Takes a while."""
        time.sleep(0.6)
        return "waited"

    model = ScriptedChatModel([call("wait"), "Done."])
    store = SessionStore(f"sqlite:///{tmp_path}/busy.sqlite", on_busy="follow_up")
    client = serve(Assistant(llm=model, name="helper", function_list=[wait]), store=store).client
    client.post(
        "/v1/runs", json={"messages": [{"role": "user", "content": "Go"}], "session_id": "s", "background": True}
    )
    wait_until(lambda: model.requests)
    second = client.post("/chat", json={"message": "Bergen, too.", "session_id": "s"}).json()
    assert second["end"] == "follow_up" and second["answer"] == ""
    # The sender is told as the run takes the text; the model is asked a moment later.
    wait_until(lambda: len(model.requests) > 1)
    assert "Bergen, too." in str(model.requests[1].messages)
