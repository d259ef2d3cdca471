"""`qwen-agentkit sessions` and `memory`, and `chat --session`."""

import json
import signal
import threading
import time

import pytest

pytest.importorskip("sqlalchemy", reason="the extra `sessions` is not installed")

from qwen_agentkit import tool
from qwen_agentkit.agents import FnCallAgent
from qwen_agentkit.schema import Message
from qwen_agentkit.session import SessionStore
from qwen_agentkit.testing import ScriptedChatModel, call


@pytest.fixture
def talks(shell):
    with SessionStore() as store:
        for session_id, text in [("plans", "The company from Oslo makes bicycles."), ("food", "Soup is served at 6.")]:
            store.session(session_id).append(_messages(text))
        store.session("secret", "ada").append(_messages("Ada alone knows Oslo."))
    return shell


def _messages(text):
    return [Message("user", text), Message("assistant", "Noted.")]


def test_sessions_of_one_user_are_listed_shown_and_found(talks):
    held = json.loads(talks("sessions", "list", "--json").stdout)
    assert {info["session_id"] for info in held} == {"plans", "food"}
    assert "The company from Oslo" in talks("sessions", "list").stdout
    shown = talks("sessions", "show", "plans").stdout
    assert shown.index("makes bicycles") < shown.index("Noted.")
    found = json.loads(talks("sessions", "search", "which company in Oslo?", "--json").stdout)
    assert [fragment["session_id"] for fragment in found] == ["plans"]
    assert "secret" in talks("sessions", "list", "--user", "ada").stdout


def test_a_session_is_renamed_forked_exported_and_deleted(talks):
    assert talks("sessions", "rename", "plans", "Bicycles").returncode == 0
    forked = talks("sessions", "fork", "plans", "--at", "0", "--as", "again")
    assert (forked.returncode, forked.stdout) == (0, "again\n")
    exported = json.loads(talks("sessions", "export").stdout)
    assert {one["session_id"]: one["title"] for one in exported["sessions"]}["plans"] == "Bicycles"
    assert len(next(one for one in exported["sessions"] if one["session_id"] == "again")["conversation"]) == 1
    assert talks("sessions", "delete", "plans", "again").returncode == 0
    assert json.loads(talks("sessions", "delete", "--all", "--json").stdout) == {"deleted": 1}
    assert talks("sessions", "list", "--quiet").stderr == ""
    assert "secret" in talks("sessions", "list", "--user", "ada").stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "gone"),
        ("show", "secret"),
        ("rename", "plans", "  "),
        ("fork", "plans", "--at", "9"),
        ("delete",),
        ("delete", "plans", "gone"),
        ("delete", "plans", "--all"),
    ],
)
def test_what_is_not_there_is_status_2_and_changes_nothing(talks, arguments):
    before = talks("sessions", "export").stdout
    done = talks("sessions", *arguments)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert talks("sessions", "export").stdout == before


def test_a_chat_with_a_session_goes_on_where_it_was(shell, chat_server):
    options = ("chat", "--session", "me", "--model", "qwen3", "--model-server", chat_server.url)
    chat_server.script = ["Hello Ada.", "You are Ada.", "Who?"]
    assert shell(*options, typed="I am Ada.\n").stdout == "Hello Ada.\n"
    done = shell(*options, typed="Who am I?\n/new\nWho am I?\n")
    assert done.stdout == "You are Ada.\nWho?\n"
    said = [[message["content"] for message in seen.body["messages"]] for seen in chat_server.seen]
    assert said == [["I am Ada."], ["I am Ada.", "Hello Ada.", "Who am I?"], ["Who am I?"]]
    held = json.loads(shell("sessions", "list", "--json").stdout)
    assert sorted(info["messages"] for info in held) == [2, 4]


def test_facts_are_added_found_and_forgotten(shell):
    fact = shell("memory", "add", "Ada is allergic to nuts.", "--topic", "food", "--user", "ada").stdout.strip()
    assert shell("memory", "list").stdout == ""
    assert "allergic to nuts" in shell("memory", "list", "--user", "ada").stdout
    (found,) = json.loads(shell("memory", "search", "who has allergies to nuts", "--user", "ada", "--json").stdout)
    assert (found["kind"], found["id"], found["topic"]) == ("fact", fact, "food")
    assert shell("memory", "forget", fact).returncode == 2
    assert shell("memory", "forget").returncode == 2
    assert shell("memory", "forget", fact, "--user", "ada").returncode == 0
    assert shell("memory", "list", "--user", "ada", "--json").stdout == "[]\n"


def test_forgetting_a_user_is_complete_and_search_covers_past_sessions(talks):
    talks("memory", "add", "Bicycles are liked.")
    found = json.loads(talks("memory", "search", "the company from Oslo", "--json").stdout)
    assert ("message", "plans") in [(one["kind"], one.get("session_id")) for one in found]
    assert json.loads(talks("memory", "forget", "--all", "--json").stdout) == {"forgotten": 1}
    assert talks("memory", "list", "--json").stdout == "[]\n"


def test_a_database_that_does_not_answer_is_one_line_and_status_1(shell):
    pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
    for command in (["sessions", "list"], ["memory", "list"], ["transcript", "--session", "x"]):
        done = shell(*command, "--store", "postgresql+psycopg://app:hidden@127.0.0.1:9/agents")
        assert (done.returncode, done.stdout) == (1, "")
        assert "app@127.0.0.1:9" in done.stderr
        assert "hidden" not in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_another_store_is_another_set_of_sessions(talks, tmp_path):
    address = f"sqlite:///{tmp_path}/other.sqlite"
    assert talks("sessions", "list", "--store", address, "--json").stdout == "[]\n"


def test_what_is_typed_while_another_process_answers_goes_to_that_answer(cli, chat_server, tmp_path):
    begun, let_go = threading.Event(), threading.Event()

    @tool
    def working() -> str:
        """Works."""
        begun.set()
        let_go.wait(30)
        return "done"

    address = f"sqlite:///{tmp_path}/shared.sqlite"
    with SessionStore(address) as store:
        agent = FnCallAgent([working], ScriptedChatModel([call("working"), "Done in blue."]))
        run = threading.Thread(target=lambda: agent.chat("go", session=store.session("plans")))
        run.start()
        assert begun.wait(10)
        model = ("--model", "qwen3", "--model-server", chat_server.url)
        place = ("--session", "plans", "--store", address)
        asking = cli.start("chat", *model, *place, "--on-busy", "follow_up")
        asking.stdin.write("In blue, please.\n")
        asking.stdin.flush()
        while not _posted(store):
            time.sleep(0.05)
        let_go.set()
        out, err = asking.communicate(timeout=30)
        run.join(10)
        assert (asking.returncode, out) == (0, ""), err
        assert "An answer is under way in this conversation elsewhere." in err
        assert "went to the answer that is under way" in err
        assert "In blue, please." in str(store.session("plans").messages())
    assert chat_server.seen == []
    wrong = cli("chat", *model, *place, "--on-busy", "often", typed="x\n")
    assert wrong.returncode == 2 and "'often' is not one of 'wait', 'follow_up'" in wrong.stderr


def test_ctrl_c_stops_waiting_for_another_answer(cli, chat_server):
    address = f"sqlite:///{cli.folder}/s.sqlite"
    chat_server.script = ["Later."]
    model = ("--model", "qwen3", "--model-server", chat_server.url)
    with SessionStore(address) as store, store.session("plans").hold():
        asking = cli.start("chat", *model, "--session", "plans", "--store", address)
        asking.stdin.write("And?\n")
        asking.stdin.flush()
        assert "Ctrl-C stops waiting" in asking.stderr.readline()
        time.sleep(0.3)
        asking.send_signal(signal.SIGINT)
        assert asking.stderr.readline() == "Stopped.\n"
        out, err = asking.communicate(timeout=30)
    assert (asking.returncode, out, err) == (0, "", "")
    assert chat_server.seen == []


def _posted(store):
    with store._engine.connect() as connection:
        return connection.exec_driver_sql("SELECT count(*) FROM qwen_agentkit_follow_ups").scalar()
