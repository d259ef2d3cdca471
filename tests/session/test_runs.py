"""Runs in stored sessions, and conversations in memory."""

import subprocess
import sys
import textwrap
import threading
import uuid

import pytest

from qwen_agentkit import Agent, CancelToken, Message, tool
from qwen_agentkit.agents import FnCallAgent
from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.follow_ups import FollowUps
from qwen_agentkit.llm.history import check_history
from qwen_agentkit.schema import ContentItem
from qwen_agentkit.session import SessionStore
from qwen_agentkit.testing import ScriptedChatModel, call, reply


@tool
def echo(text: str = "") -> str:
    """Says it back."""
    return f"echo {text}"


@pytest.fixture
def session(store):
    return store.session("s", f"user-{uuid.uuid4().hex[:8]}")


def test_a_session_holds_the_history_so_only_new_messages_are_passed(session):
    model = ScriptedChatModel([call("echo", text="a"), "first", "second"])
    agent = FnCallAgent(function_list=[echo], llm=model, system_message="Be kind.")
    assert agent.run_nonstream([{"role": "user", "content": "one"}], session=session)[-1]["content"] == "first"
    assert agent.chat("two", session=session) == "second"
    assert [message.role for message in session.messages()] == [
        "user",
        "assistant",
        "function",
        "assistant",
        "user",
        "assistant",
    ]
    sent = model.requests[-1].messages
    assert sent[0].role == "system" and "one" in str(sent) and "echo a" in str(sent)
    assert all(message.role != "system" for message in session.messages())


def test_a_run_whose_reader_leaves_keeps_what_was_said(session):
    agent = FnCallAgent(
        llm=ScriptedChatModel([reply("one two three", chunks=["one ", "two ", "three"], delay=0.1), "next"])
    )
    steps = agent.run([Message("user", "go")], session=session)
    next(steps)
    steps.close()
    last = session.messages()[-1]
    assert last.content.startswith("one") and last.extra["end"] == "cancelled"
    assert agent.chat("and now?", session=session) == "next"


def test_an_error_leaves_a_history_that_says_where_it_stopped(session):
    script = [call("echo", text="a"), ModelServiceError(code="400", message="no"), "again"]
    agent = FnCallAgent(function_list=[echo], llm=ScriptedChatModel(script))
    with pytest.raises(ModelServiceError):
        agent.run_nonstream([Message("user", "go")], session=session)
    messages = session.messages()
    assert messages[-1].extra["end"] == "error" and check_history(messages) == []
    assert agent.chat("go on", session=session) == "again"


CRASHING = """
    import os, sys, time
    from qwen_agentkit import tool
    from qwen_agentkit.agents import FnCallAgent
    from qwen_agentkit.session import SessionStore
    from qwen_agentkit.testing import ScriptedChatModel, call

    @tool
    def look(step: int) -> str:
        "Looks."
        if step == 2:
            os._exit(9)
        return f"seen {step}"

    session = SessionStore(sys.argv[1]).session("s", sys.argv[2])
    agent = FnCallAgent(function_list=[look], llm=ScriptedChatModel([call("look", step=1), call("look", step=2)]))
    agent.run_nonstream([{"role": "user", "content": "go"}], session=session)
"""


def test_a_crash_in_the_middle_of_a_run_leaves_a_valid_history(session, address):
    code = [sys.executable, "-c", textwrap.dedent(CRASHING), address, session.user_id]
    assert subprocess.run(code, capture_output=True, timeout=60).returncode == 9
    agent = FnCallAgent(llm=ScriptedChatModel(["I am back."]))
    assert agent.chat("what happened?", session=session) == "I am back."
    messages = session.messages()
    assert check_history(messages) == []
    assert any(message.content == "seen 1" for message in messages)
    assert any((message.extra or {}).get("end") == "error" for message in messages)


def test_a_second_run_waits_for_the_first(session):
    go_on = threading.Event()

    class Slow(Agent):
        def _run(self, messages, **kwargs):
            yield [Message("assistant", "thinking")]
            go_on.wait(5)
            yield [Message("assistant", f"saw {len(messages)}")]

    agent, answers = Slow(), {}
    first = threading.Thread(target=lambda: answers.update(first=agent.chat("1", session=session)))
    first.start()
    while session.info().messages == 0:
        pass
    second = threading.Thread(target=lambda: answers.update(second=agent.chat("2", session=session)))
    second.start()
    second.join(0.3)
    assert "second" not in answers
    go_on.set()
    first.join(5)
    second.join(5)
    assert answers == {"first": "saw 1", "second": "saw 3"}


def test_a_wait_can_be_cancelled(session):
    token = CancelToken()
    with session.hold():
        threading.Timer(0.2, token.cancel).start()
        with pytest.raises(TimeoutError):
            FnCallAgent(llm=ScriptedChatModel(["x"])).run_nonstream(
                [Message("user", "q")], session=session, cancel=token
            )


def test_a_message_that_arrives_meanwhile_becomes_a_follow_up(address):
    with SessionStore(address, on_busy="follow_up") as store:
        session = store.session("s", f"user-{uuid.uuid4().hex[:8]}")
        started, sent = threading.Event(), threading.Event()

        @tool
        def working() -> str:
            """Works."""
            started.set()
            sent.wait(5)
            return "done"

        model = ScriptedChatModel([call("working"), "ok", "later"])
        agent, answers = FnCallAgent(function_list=[working], llm=model), []
        run = threading.Thread(target=lambda: answers.append(agent.chat("go", session=session)))
        run.start()
        assert started.wait(5)
        follower = threading.Thread(
            target=lambda: answers.append(agent.run_nonstream([Message("user", "in blue")], session=session))
        )
        follower.start()
        while not store._mailboxes[session.key]._waiting:
            pass
        sent.set()
        run.join(5)
        follower.join(5)
        assert [] in answers and "ok" in answers
        assert "in blue" in str([message.content for message in session.messages()])
        assert session.follow_up("too late") is None
        assert agent.chat("now", session=session) == "later"


RUNNING_ELSEWHERE = """
    import sys
    from pathlib import Path
    from qwen_agentkit import tool
    from qwen_agentkit.agents import FnCallAgent
    from qwen_agentkit.session import SessionStore
    from qwen_agentkit.testing import ScriptedChatModel, call

    session = SessionStore(sys.argv[1]).session("s", sys.argv[2])

    @tool
    def working() -> str:
        'Works.'
        print("working", flush=True)
        sys.stdin.readline()
        return "done"

    model = ScriptedChatModel([call("working"), "ok"])
    FnCallAgent(function_list=[working], llm=model).chat("go", session=session)
"""


@pytest.fixture
def running_elsewhere(address):
    """A run in another process that stands in a tool until it gets a line; with it, its session as seen from here."""
    with SessionStore(address, on_busy="follow_up") as store:
        session = store.session("s", f"user-{uuid.uuid4().hex[:8]}")
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(RUNNING_ELSEWHERE), address, session.user_id],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout.readline() == "working\n"
        yield process, session
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def let_go(process):
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.wait(20) == 0


def test_a_follow_up_reaches_a_run_in_another_process(running_elsewhere):
    process, session = running_elsewhere
    ticket = session.follow_up("in blue, please")
    assert ticket.wait(0.3) == "pending"
    let_go(process)
    assert ticket.wait(10) == "delivered"
    assert "in blue, please" in str([message.content for message in session.messages()])


def test_a_message_becomes_a_follow_up_of_a_run_in_another_process(running_elsewhere):
    process, session = running_elsewhere
    agent, answers = FnCallAgent(llm=ScriptedChatModel(["later"])), []
    follower = threading.Thread(
        target=lambda: answers.append(agent.run_nonstream([Message("user", "in red")], session=session))
    )
    follower.start()
    follower.join(0.5)
    assert follower.is_alive()
    let_go(process)
    follower.join(10)
    assert answers == [[]]
    assert "in red" in str([message.content for message in session.messages()])
    assert agent.chat("now?", session=session) == "later"


def test_a_message_with_a_file_is_a_turn_of_its_own_and_loses_nothing(running_elsewhere):
    process, session = running_elsewhere
    agent, answers = FnCallAgent(llm=ScriptedChatModel(["seen"])), []
    message = Message("user", [ContentItem(text="look"), ContentItem(file="plan.pdf")])
    follower = threading.Thread(target=lambda: answers.append(agent.run_nonstream([message], session=session)))
    follower.start()
    follower.join(0.5)
    let_go(process)
    follower.join(10)
    assert answers[0][-1].content == "seen"
    assert session.messages()[-2].content[1].file == "plan.pdf"


def test_a_follow_up_of_a_run_that_died_is_not_delivered_and_becomes_a_turn(running_elsewhere):
    process, session = running_elsewhere
    ticket = session.follow_up("too late")
    process.kill()
    process.wait()
    assert ticket.wait(10) == "not_delivered"
    assert FnCallAgent(llm=ScriptedChatModel(["seen"])).chat("too late", session=session) == "seen"
    check_history(session.messages())


def test_a_follow_up_that_was_taken_back_reaches_nobody(running_elsewhere):
    process, session = running_elsewhere
    token = CancelToken()
    threading.Timer(0.3, token.cancel).start()
    with pytest.raises(TimeoutError):
        FnCallAgent(llm=ScriptedChatModel(["x"])).run_nonstream(
            [Message("user", "never mind")], session=session, cancel=token
        )
    ticket = session.follow_up("nor this")
    ticket.withdraw()
    assert ticket.wait(1) == "not_delivered"
    let_go(process)
    said = str([message.content for message in session.messages()])
    assert "never mind" not in said and "nor this" not in said


def test_a_follow_up_of_a_deleted_session_is_not_delivered(running_elsewhere):
    _, session = running_elsewhere
    ticket = session.follow_up("where am I?")
    session.delete()
    assert ticket.wait(5) == "not_delivered"


def test_a_local_follow_up_can_be_taken_back():
    mail = FollowUps()
    kept, taken_back = mail.send("keep"), mail.send("take back")
    taken_back.withdraw()
    assert taken_back.status == "not_delivered" and "take back" not in mail.take("en")
    kept.withdraw()
    assert kept.status == "delivered"


def test_what_a_message_does_that_arrives_meanwhile_is_a_setting(address, monkeypatch):
    with SessionStore(address) as store:
        assert store.on_busy == "wait"
    monkeypatch.setenv("QWEN_AGENTKIT_ON_BUSY", "follow_up")
    with SessionStore(address) as store, SessionStore(address, on_busy="wait") as other:
        assert (store.on_busy, other.on_busy) == ("follow_up", "wait")
    monkeypatch.setenv("QWEN_AGENTKIT_ON_BUSY", "often")
    with pytest.raises(ValueError, match="wait or follow_up"):
        SessionStore(address)


def test_a_conversation_in_memory_holds_its_history_and_forgets_it(session):
    model = ScriptedChatModel(["first", "second", "third"])
    agent = FnCallAgent(llm=model, system_message="Be kind.")
    talk = agent.conversation()
    assert talk.send("one") == "first"
    assert list(talk.stream("two"))[-1][-1].content == "second"
    assert [message.content for message in talk.messages] == ["one", "first", "two", "second"]
    talk.reset()
    assert talk.send("three") == "third" and len(model.requests[-1].messages) == 2
    assert model.requests[-1].messages[0].content == "Be kind."
