"""Stored conversations: keys, isolation, search, versions, writers that are killed."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import uuid

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from qwen_agentkit import Message
from qwen_agentkit.errors import QwenAgentKitError
from qwen_agentkit.session import SessionStore, database


def user():
    return f"user-{uuid.uuid4().hex[:8]}"


def said(*texts):
    return [Message("user" if number % 2 == 0 else "assistant", text) for number, text in enumerate(texts)]


def test_messages_come_back_as_they_were(store):
    session = store.session("s", user())
    messages = [*said("hello", "hi"), Message("user", [{"text": "see"}, {"file": "a.pdf"}], extra={"mine": [1]})]
    session.append(messages[:1])
    session.append(messages[1:])
    assert session.messages() == messages
    again = store.session("s", session.user_id)
    assert again.messages() == messages and again.info().messages == 3


def test_two_users_with_one_session_id_never_share(store):
    first, second = store.session("same", user()), store.session("same", user())
    first.append(said("mine"))
    assert second.messages() == [] and store.find("same", user()) is None
    second.delete()
    assert first.messages() == said("mine")


def test_the_title_is_the_first_question_unless_renamed(store):
    session = store.session(user_id=user())
    session.append(said("What is   the guarantee of the motor?\n" * 5))
    assert session.info().title.startswith("What is the guarantee") and len(session.info().title) <= 60
    session.rename("Motor")
    session.append(said("another"))
    assert session.info().title == "Motor"
    with pytest.raises(ValueError, match="says something"):
        session.rename(" ")


def test_sessions_are_listed_last_used_first_and_deleted_whole(store):
    owner = user()
    for name in "abc":
        store.session(name, owner).append(said(name))
    store.session("a", owner).append(said("more"))
    assert [info.session_id for info in store.sessions(owner)] == ["a", "c", "b"]
    assert [info.session_id for info in store.sessions(owner, limit=1, offset=1)] == ["c"]
    store.session("c", owner).delete()
    assert [info.session_id for info in store.sessions(owner)] == ["a", "b"]
    with pytest.raises(KeyError, match="deleted"):
        held = store.session("b", owner)
        held.delete()
        held.append(said("x"))


def test_past_sessions_are_searched_in_both_languages_and_only_ones_own(store):
    owner, other = user(), user()
    store.session("a", owner).append(said("Tell me about the company Acme Pumps", "Acme makes pumps 100% well."))
    store.session("b", owner).append(said("那家做水泵的公司叫什么？", "叫南山机电。"))
    store.session("c", other).append(said("Acme again"))
    (first, *_) = store.search("acme pumps", owner)
    assert (first.session_id, first.role) == ("a", "user") and first.message == 0
    assert store.search("水泵公司", owner)[0].session_id == "b"
    assert {fragment.session_id for fragment in store.search("acme", owner)} == {"a"}
    assert store.search("100% well", owner) and store.search("nothing of that", owner) == []
    assert store.search("   ", owner) == []


def test_a_fork_has_the_messages_up_to_one_and_goes_its_own_way(store):
    session = store.session("s", user())
    session.append(said("a", "b", "c", "d"))
    forked = session.fork(at=1)
    forked.append(said("x"))
    assert [message.content for message in forked.messages()] == ["a", "b", "x"]
    assert len(session.messages()) == 4
    with pytest.raises(ValueError, match="0 to 3"):
        session.fork(at=9)
    with pytest.raises(ValueError, match="in use"):
        session.fork(at=0, session_id="s")


def test_all_of_a_users_data_is_exported_and_deleted(store):
    owner = user()
    store.session("a", owner).append(said("one"))
    store.session("b", owner).append(said("two"))
    exported = json.loads(json.dumps(store.export_user(owner)))
    assert [one["conversation"][0]["content"] for one in exported["sessions"]] == ["one", "two"]
    assert store.delete_user(owner) == 2 and store.sessions(owner) == []


@pytest.mark.parametrize("bad", ["", "x" * 300, "a\x00b", 3])
def test_ids_that_cannot_be_are_refused(store, bad):
    with pytest.raises(ValueError, match="user_id"):
        store.session("s", bad)


def test_one_run_at_a_time_and_a_wait_ends_when_it_may(store):
    session = store.session("s", user())
    with session.hold():
        with pytest.raises(TimeoutError, match="under way"), session.hold(wait=0.2):
            pass
        began = time.monotonic()
        with pytest.raises(TimeoutError), session.hold(cancelled=lambda: time.monotonic() - began > 0.2):
            pass
    with session.hold(wait=1):
        pass


CRASHING = """
    import os, sys, time
    from qwen_agentkit.session import SessionStore
    store = SessionStore(sys.argv[1])
    session = store.session("s", sys.argv[2])
    held = session.hold()
    held.__enter__()
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_killed_process_loses_its_hold_at_once(store, address):
    session = store.session("s", user())
    code = [sys.executable, "-c", textwrap.dedent(CRASHING), address, session.user_id]
    process = subprocess.Popen(code, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    with pytest.raises(TimeoutError), session.hold(wait=0.2):
        pass
    process.send_signal(signal.SIGKILL)
    process.wait()
    with session.hold(wait=10):
        pass


WRITER = """
    import sys
    from qwen_agentkit import Message
    from qwen_agentkit.session import SessionStore
    address, owner, name, count = sys.argv[1:]
    session = SessionStore(address).session("shared", owner)
    for number in range(int(count)):
        with session.hold():
            seen = len(session.messages())
            session.append([Message("user", f"{name} {number}", extra={"seen": seen})])
        print(number, flush=True)
"""


def test_writers_in_several_processes_lose_nothing_even_when_some_are_killed(store, address):
    owner, count = user(), 12
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(WRITER), address, owner, str(name), str(count)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in range(8)
    ]
    confirmed = {}
    for name, process in enumerate(processes[:2]):
        confirmed[name] = int(process.stdout.readline())
        process.kill()
    for name, process in enumerate(processes[2:], 2):
        process.wait(timeout=100)
        confirmed[name] = count - 1
    messages = store.session("shared", owner).messages()
    assert [message.extra["seen"] for message in messages] == list(range(len(messages)))
    contents = {message.content for message in messages}
    for name, last in confirmed.items():
        assert all(f"{name} {number}" in contents for number in range(last + 1))
    assert len(contents) == len(messages)


def test_a_newer_store_is_refused_and_an_older_one_upgraded_with_a_backup(tmp_path, monkeypatch):
    address = f"sqlite:///{tmp_path}/old.sqlite"
    with SessionStore(address) as store:
        store.session("s", "u").append(said("kept"))

    def add_column(connection):
        connection.exec_driver_sql("ALTER TABLE qwen_agentkit_sessions ADD COLUMN colour TEXT")

    monkeypatch.setattr(database, "SCHEMA_VERSION", 3)
    monkeypatch.setitem(database.MIGRATIONS, 3, add_column)
    with SessionStore(address) as store:
        assert store.session("s", "u").messages() == said("kept")
    (backup,) = [name for name in os.listdir(tmp_path) if "version-2" in name]
    monkeypatch.setattr(database, "SCHEMA_VERSION", 2)
    with pytest.raises(ValueError, match="version 3"):
        SessionStore(address)
    with SessionStore(f"sqlite:///{tmp_path / backup}") as store:
        assert store.session("s", "u").messages() == said("kept")


def test_a_store_of_the_first_version_gets_what_the_second_has(tmp_path):
    address = f"sqlite:///{tmp_path}/first.sqlite"
    with SessionStore(address) as store:
        store.session("s", "u").append(said("kept"))
        with store._engine.begin() as connection:
            connection.exec_driver_sql("DROP TABLE qwen_agentkit_follow_ups")
            connection.exec_driver_sql("UPDATE qwen_agentkit_meta SET value = '1' WHERE key = 'schema_version'")
    with SessionStore(address, on_busy="follow_up") as store:
        session = store.session("s", "u")
        assert session.messages() == said("kept") and session.follow_up("x") is None
        with session.hold():
            assert session.follow_up("x").status == "pending"


@pytest.mark.parametrize("address_given", ["mysql://h/x", "nonsense", "sqlite:///\x00"])
def test_an_address_that_cannot_be_is_one_clear_error(address_given):
    with pytest.raises((ValueError, OSError)):
        SessionStore(address_given)


def test_a_store_that_cannot_be_opened_is_said_without_its_password(tmp_path):
    (tmp_path / "text.sqlite").write_text("no database " * 100)
    with pytest.raises(QwenAgentKitError, match=r"text\.sqlite cannot be opened: file is not a database"):
        SessionStore(f"sqlite:///{tmp_path}/text.sqlite")
    pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
    with pytest.raises(QwenAgentKitError, match="cannot be opened") as refused:
        SessionStore("postgresql://app:hidden@127.0.0.1:9/agents")
    assert "hidden" not in str(refused.value) and "\n" not in str(refused.value)


def test_a_fork_of_the_process_has_connections_of_its_own(store):
    owner = user()
    store.session("s", owner).append(said("before"))
    child = os.fork()
    if child == 0:
        try:
            store.session("s", owner).append(said("from the child"))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    store.session("s", owner).append(said("after"))
    assert [message.content for message in store.session("s", owner).messages()] == [
        "before",
        "from the child",
        "after",
    ]


calls = st.lists(
    st.tuples(
        st.sampled_from(["ann", "bob"]),
        st.sampled_from(["s", "t"]),
        st.sampled_from(["append", "fork", "delete", "search"]),
    ),
    max_size=12,
)


@given(calls)
@hypothesis_settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_users_call_they_see_only_what_is_theirs(tmp_path, script):
    with SessionStore(f"sqlite:///{tmp_path}/{uuid.uuid4().hex}.sqlite") as store:
        for owner, name, what in script:
            session = store.session(name, owner)
            if what == "append":
                session.append(said(f"secret of {owner}"))
            elif what == "delete":
                session.delete()
            elif what == "fork" and session.messages():
                session.fork(at=0)
            else:
                assert all(owner in fragment.text for fragment in store.search("secret", owner))
        for owner in ("ann", "bob"):
            for info in store.sessions(owner):
                for message in store.session(info.session_id, owner).messages():
                    assert message.content == f"secret of {owner}"


def test_threads_share_a_store(store):
    owner, errors = user(), []

    def write(name):
        try:
            for number in range(5):
                store.session(f"s{name}", owner).append(said(f"{name} {number}"))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(name,)) for name in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == [] and sum(info.messages for info in store.sessions(owner)) == 30
