"""Runs go on while pages come and go: approvals, follow-ups, stop, and branches."""

import threading
import time

import pytest

pytest.importorskip("sqlalchemy")

from qwen_agentkit import RunLimits, tool
from qwen_agentkit.agents import Assistant, BasicAgent, FnCallAgent, GroupChat
from qwen_agentkit.agents.loop.approval import Decision
from qwen_agentkit.gui import ask_in_page
from qwen_agentkit.gui.agents_shown import cast_of
from qwen_agentkit.gui.config import page_config
from qwen_agentkit.gui.conversations import Conversations
from qwen_agentkit.gui.live_runs import LiveRun, LiveRuns
from qwen_agentkit.gui.page import Page, Visitor
from qwen_agentkit.schema import ContentItem, Message
from qwen_agentkit.session import SessionStore
from qwen_agentkit.testing import ScriptedChatModel, call, reply
from qwen_agentkit.tools.base import BaseTool

VISITOR = Visitor("local", "en", "tab")


@tool
def refund(order: str) -> str:
    """Pays back.

    Args:
        order: The order.
    """
    return f"refunded {order}"


def slow(text="word " * 400, delay=0.02):
    return reply(text, chunks=text.split(" "), delay=delay)


def until(holds, seconds=10):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.01)


@pytest.fixture
def session():
    with SessionStore(on_busy="follow_up") as store:
        yield store.session("s")


def start(agent, session, text="Hello", **kwargs):
    return LiveRun(agent, session, [Message("user", text)], kwargs, leave_seconds=0.2)


def texts(messages):
    return [(message.role, message.content) for message in messages]


def test_a_run_is_kept_in_its_session(session):
    run = start(BasicAgent(llm=ScriptedChatModel(["Hi."])), session)
    frames = list(run.watch())
    assert frames and run.done and run.error is None
    assert texts(session.messages()) == [("user", "Hello"), ("assistant", "Hi.")]


def test_what_fails_is_said_and_does_not_hang(session):
    run = start(BasicAgent(llm=ScriptedChatModel([ValueError("no such model\nmore")])), session)
    assert run.wait(10) and run.error == "no such model"


def test_stop_ends_it_and_keeps_what_was_said(session):
    run = start(BasicAgent(llm=ScriptedChatModel([slow()])), session)
    until(lambda: run.response)
    run.stop()
    assert run.wait(5)
    assert session.messages()[-1].extra["end"] == "cancelled"


def test_a_run_that_nobody_watches_ends(session):
    run = start(BasicAgent(llm=ScriptedChatModel([slow()])), session)
    watching = run.watch()
    next(watching)
    watching.close()
    assert run.wait(5)
    assert session.messages()[-1].extra["end"] == "cancelled"


def test_a_page_that_is_loaded_again_finds_the_run(session):
    run = start(BasicAgent(llm=ScriptedChatModel([slow("word " * 40)])), session)
    watching = run.watch()
    next(watching)
    watching.close()
    list(run.watch())
    assert run.done and not run.cancel.cancelled


def test_a_run_goes_on_while_its_user_looks_at_something_else(session):
    run = LiveRun(
        BasicAgent(llm=ScriptedChatModel([slow("word " * 50)])),
        session,
        [Message("user", "Hello")],
        {},
        is_here=lambda: True,
        leave_seconds=0.05,
    )
    watching = run.watch()
    next(watching)
    watching.close()
    assert run.wait(10) and not run.cancel.cancelled


def test_a_message_sent_meanwhile_is_answered_next(session):
    model = ScriptedChatModel([slow("one " * 30), "Two."])
    run = start(BasicAgent(llm=model), session)
    until(lambda: run.response)
    assert run.send(Message("user", "And?"))
    assert [message.content for message in run.queued] == ["And?"]
    assert run.wait(10)
    assert texts(session.messages())[2:] == [("user", "And?"), ("assistant", "Two.")]
    assert not run.send(Message("user", "Late"))


def test_a_text_reaches_the_model_with_the_next_tool_result(session):
    gate = threading.Event()

    @tool
    def look() -> str:
        """Looks."""
        gate.wait(10)
        return "seen"

    model = ScriptedChatModel([call("look"), "Done."])
    run = start(Assistant(llm=model, function_list=[look]), session)
    until(lambda: any(message.function_call for message in run.response))
    run.send(Message("user", "Only the left side"))
    gate.set()
    assert run.wait(10)
    assert "Only the left side" in str(model.requests[1].messages[-1].content)
    assert not any(message.content == "Only the left side" for message in session.messages())


def test_a_file_sent_meanwhile_waits_for_the_next_turn(session, tmp_path):
    (tmp_path / "a.txt").write_text("x")
    run = start(BasicAgent(llm=ScriptedChatModel([slow("one " * 20), "Two."])), session)
    until(lambda: run.response)
    run.send(Message("user", [ContentItem(text="see"), ContentItem(file=str(tmp_path / "a.txt"))]))
    assert run.wait(10)
    assert session.messages()[2].content[1].file == str(tmp_path / "a.txt")


@pytest.mark.parametrize("approve", ["pause", ask_in_page])
@pytest.mark.parametrize("allowed", [True, False])
def test_a_call_waits_for_the_person(session, approve, allowed):
    model = ScriptedChatModel([call("refund", order="A1"), "Ended.", "Next."])
    run = start(Assistant(llm=model, function_list=[refund], approve=approve), session)
    until(lambda: run.question)
    assert (run.question.name, run.question.arguments) == ("refund", '{"order": "A1"}')
    assert not run.decide("another", Decision(True))
    assert run.decide(run.question.call_id, Decision(allowed, "too much"))
    assert run.wait(10) and run.error is None
    said = session.messages()
    assert [message.role for message in said] == ["user", "assistant", "function", "assistant"]
    assert ("refunded A1" in said[2].content) is allowed
    assert ("too much" in said[2].content) is not allowed
    # And the history is one that the next run can use.
    again = start(Assistant(llm=model, function_list=[refund]), session, "Thanks")
    assert again.wait(10) and session.messages()[-1].content == "Next."


@pytest.mark.parametrize("approve", ["pause", ask_in_page])
def test_stop_while_a_call_waits_denies_it(session, approve):
    model = ScriptedChatModel([call("refund", order="A1"), "Ended."])
    run = start(Assistant(llm=model, function_list=[refund], approve=approve), session)
    until(lambda: run.question)
    run.stop()
    assert run.wait(10)
    assert not any("refunded" in str(message.content) for message in session.messages())


def test_a_call_that_waits_past_the_limit_of_the_run_is_not_made(session):
    model = ScriptedChatModel([call("refund", order="A1"), "Ended."])
    bot = Assistant(llm=model, function_list=[refund], approve="pause")
    run = LiveRun(bot, session, [Message("user", "q")], {"limits": RunLimits(seconds=0.5)})
    until(lambda: run.question)
    assert run.wait(10) and run.question is None and run.error is None
    assert session.messages()[-1].extra["end"].startswith("limit")
    assert not any("refunded" in str(message.content) for message in session.messages())


def test_a_waiting_call_waits_on_when_the_page_is_left(session):
    model = ScriptedChatModel([call("refund", order="A1"), "Ended."])
    run = start(Assistant(llm=model, function_list=[refund], approve=ask_in_page), session)
    until(lambda: run.question)
    watching = run.watch()
    next(watching)
    watching.close()
    time.sleep(0.6)
    run.decide(run.question.call_id, Decision(True))
    assert run.wait(10) and session.messages()[-1].content == "Ended."


@pytest.mark.parametrize("approve", ["pause", ask_in_page])
def test_a_member_of_a_team_asks_too(session, approve):
    member = Assistant(
        llm=ScriptedChatModel([call("refund", order="A1"), "Paid."]),
        function_list=[refund],
        name="Ken",
        approve=approve,
    )
    other = Assistant(llm=ScriptedChatModel(["Fine."]), name="Mia")
    team = GroupChat([member, other], agent_selection_method="round_robin", max_round=2, name="team")
    run = start(team, session)
    until(lambda: run.question)
    run.decide(run.question.call_id, Decision(True))
    assert run.wait(10) and run.error is None
    assert any("refunded A1" in str(message.content) for message in session.messages())
    assert [message.content for message in session.messages()][-2:] == ["Paid.", "Fine."]


def test_an_agent_that_is_a_tool_asks_too(session):
    clerk = Assistant(
        llm=ScriptedChatModel([call("refund", order="A1"), "Paid."]),
        function_list=[refund],
        name="clerk",
        description="Pays.",
        approve="pause",
    )
    boss = Assistant(llm=ScriptedChatModel([call("clerk", request="Pay A1"), "Done."]), function_list=[clerk])
    run = start(boss, session)
    until(lambda: run.question)
    run.decide(run.question.call_id, Decision(True))
    assert run.wait(10) and run.error is None
    assert [message.content for message in session.messages()][-2:] == ["Paid.", "Done."]


def test_outside_of_a_page_the_call_pauses():
    bot = Assistant(llm=ScriptedChatModel([call("refund", order="A1")]), function_list=[refund], approve=ask_in_page)
    assert bot.run_nonstream([Message("user", "q")])[-1].extra["end"] == "paused"


def test_no_more_runs_work_at_once_than_allowed():
    with SessionStore(on_busy="follow_up") as store:
        runs = LiveRuns(limit=1)
        first = runs.start(BasicAgent(llm=ScriptedChatModel([slow()])), store.session("a"), [Message("user", "q")], {})
        until(lambda: first.response)
        second = runs.start(BasicAgent(llm=ScriptedChatModel(["b"])), store.session("b"), [Message("user", "q")], {})
        time.sleep(0.3)
        assert not second.response and not second.done
        first.stop()
        assert second.wait(10) and second.response[-1].content == "b"


def test_a_run_that_ended_at_once_can_still_be_shown():
    with SessionStore(on_busy="follow_up") as store:
        runs, session = LiveRuns(), store.session("a")
        run = runs.start(BasicAgent(llm=ScriptedChatModel([ValueError("no")])), session, [Message("user", "q")], {})
        assert run.wait(10)
        assert runs.find(session.key) is None
        assert runs.last(session.key) is run and run.error == "no"


@pytest.fixture
def page():
    model = ScriptedChatModel(["One.", "Two.", "Three."])
    cast = cast_of(Assistant(llm=model, name="Bot"))
    held = Page(cast, page_config({"user.name": "Ada"}), Conversations(None), LiveRuns(4))
    yield held
    held.conversations.close()


def say(page, session, text):
    run = page.send(session, page.message(text, [], VISITOR, session), None, VISITOR)
    assert run.wait(10)


def test_a_message_sent_again_goes_into_a_branch(page):
    session = page.conversations.new("local")
    say(page, session, "a < b?")
    say(page, session, "Second")
    branch, message = page.again(session, 2, VISITOR, text="Second, &lt;changed>")
    assert message.content == "Second, <changed>" and message.name == "Ada"
    assert [one.content for one in branch.messages()] == ["a < b?", "One."]
    assert len(session.messages()) == 4
    assert branch.info().title == "a < b? (2)"
    first, message = page.again(session, 1, VISITOR)
    assert message.content == "a < b?" and first.messages() == [] and first.info().title == "a < b? (3)"


def test_an_answer_that_is_not_there_cannot_be_had_again(page):
    with pytest.raises(ValueError, match="no message"):
        page.again(page.conversations.new("local"), 0, VISITOR)


def test_a_conversation_belongs_to_its_user(page):
    session = page.conversations.new("local")
    say(page, session, "Mine, about bicycles")
    assert page.conversations.open(session.session_id, "other") is None
    assert page.conversations.listed("other", "en") == []
    assert page.conversations.listed("other", "en", "bicycles") == []
    assert page.conversations.listed("local", "en", "bicycles") == [("Mine, about bicycles", session.session_id)]


def test_an_empty_message_is_none(page):
    assert page.message("  ", [], VISITOR, None) is None


def test_a_conversation_begins_with_what_was_given():
    conversations = Conversations(None, [Message("assistant", "Welcome.")])
    assert [message.content for message in conversations.new("local").messages()] == ["Welcome."]
    conversations.close()


class Working(BaseTool):
    """Stands until it is let go."""

    name = "working"
    description = "Works."
    parameters = {"type": "object", "properties": {}}

    def __init__(self):
        super().__init__()
        self.begun, self.let_go = threading.Event(), threading.Event()

    def call(self, params, **kwargs):
        self.begun.set()
        self.let_go.wait(10)
        return "done"


@pytest.fixture
def elsewhere(session):
    """A run in the same session that the page knows nothing of, as in another process."""
    work = Working()
    with SessionStore() as store:
        agent = FnCallAgent([work], ScriptedChatModel([call("working"), "Done in blue."]))
        run = threading.Thread(target=lambda: agent.chat("go", session=store.session("s")))
        run.start()
        assert work.begun.wait(5)
        yield work
        work.let_go.set()
        run.join(10)


def test_what_is_said_while_another_process_answers_goes_there_and_its_answer_is_shown(session, elsewhere):
    run = start(BasicAgent(llm=ScriptedChatModel([])), session, "In blue, please.")
    assert not run.wait(0.3)
    elsewhere.let_go.set()
    assert run.wait(10) and run.error is None
    assert run.base[-1].content == "Done in blue." and "In blue, please." in str(run.base)
    assert run.base == session.messages()


def test_the_wait_for_another_process_can_be_stopped(session, elsewhere):
    run = start(BasicAgent(llm=ScriptedChatModel([])), session, "Never mind.")
    assert not run.wait(0.3)
    run.stop()
    assert run.wait(5)
    elsewhere.let_go.set()
    assert "Never mind." not in str(session.messages())


def test_what_is_said_meanwhile_waits_for_its_turn_where_that_is_set():
    work = Working()
    agent = FnCallAgent([work], ScriptedChatModel([call("working"), "Done.", "And now blue."]))
    with SessionStore(on_busy="wait") as store:
        run = start(agent, store.session("t"), "go")
        assert work.begun.wait(5)
        assert run.send(Message("user", "In blue, please."))
        work.let_go.set()
        assert run.wait(10)
        said = texts(store.session("t").messages())
    assert said[-3:] == [("assistant", "Done."), ("user", "In blue, please."), ("assistant", "And now blue.")]
