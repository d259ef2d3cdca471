import os

import pytest

from qwen_agentkit import settings
from qwen_agentkit.utils.paths import allowed_path, may_be_read
from qwen_agentkit.utils.session_ends import session_mark


@pytest.fixture(autouse=True)
def workspace(tmp_path, monkeypatch):
    monkeypatch.setitem(vars(settings), "DEFAULT_WORKSPACE", str(tmp_path / "workspace"))
    (tmp_path / "workspace").mkdir()
    (tmp_path / "docs" / "deep").mkdir(parents=True)
    (tmp_path / "docs" / "deep" / "a.txt").write_text("a")
    (tmp_path / "secret.txt").write_text("s")


def test_the_workspace_the_agents_files_and_configured_folders_are_allowed(tmp_path, monkeypatch):
    inside = tmp_path / "workspace" / "x.txt"
    assert allowed_path(str(inside)) == inside.resolve()
    a = tmp_path / "docs" / "deep" / "a.txt"
    for files in ([str(a)], [str(tmp_path / "docs")], [str(tmp_path / "docs" / "**" / "*.txt")], [a.as_uri()]):
        assert allowed_path(str(a), files) == a.resolve()
        assert allowed_path(a.as_uri(), files) == a.resolve()
    with pytest.raises(ValueError):
        allowed_path(str(a))
    monkeypatch.setitem(vars(settings), "ALLOWED_FOLDERS", [str(tmp_path / "docs")])
    assert allowed_path(str(a)) == a.resolve()


@pytest.mark.parametrize("path", ["/etc/passwd", "file:///etc/passwd", "~/.ssh/id_rsa", "", "a\x00b", None])
def test_anything_else_is_refused_in_one_line(path, tmp_path):
    with pytest.raises(ValueError) as caught:
        allowed_path(path, [str(tmp_path / "docs"), "https://example.com/etc/passwd"])
    assert "\n" not in str(caught.value)


def test_dots_and_links_cannot_lead_out(tmp_path):
    docs = tmp_path / "docs"
    os.symlink(tmp_path / "secret.txt", docs / "link.txt")
    for path in (docs / "link.txt", docs / ".." / "secret.txt"):
        with pytest.raises(ValueError):
            allowed_path(str(path), [str(docs)])
    # A folder whose name only begins like an allowed one is another folder.
    (tmp_path / "docs2").mkdir()
    with pytest.raises(ValueError):
        allowed_path(str(tmp_path / "docs2" / "x"), [str(docs)])


def test_a_link_that_the_user_gave_is_allowed_with_what_it_points_to(tmp_path):
    os.symlink(tmp_path / "secret.txt", tmp_path / "given.txt")
    assert allowed_path(str(tmp_path / "given.txt"), [str(tmp_path / "given.txt")]).name == "secret.txt"


def test_a_relative_path_begins_in_the_given_folder(tmp_path):
    assert allowed_path("deep/a.txt", folder=str(tmp_path / "docs")) == (tmp_path / "docs/deep/a.txt").resolve()
    with pytest.raises(ValueError):
        allowed_path("../secret.txt", folder=str(tmp_path / "docs"))


STORES = [
    "sessions.sqlite",
    "sessions.sqlite-wal",
    "memory/ada/passages.txt",
    "web/ada/letter.txt",
    "documents/web/page.html",
    "knowledge/1/catalog.sqlite",
    "index/passages.txt",
    "tools/storage/note.value",
    "tools/large_results/call_1.txt",
    "dialogue_history_s1_20260101_000000_abc.txt",
]


@pytest.mark.parametrize("name", STORES)
def test_what_the_framework_keeps_in_the_workspace_is_not_for_models(name, tmp_path):
    kept = tmp_path / "workspace" / name
    for files in ([], [str(tmp_path)], [str(tmp_path / "workspace")]):
        with pytest.raises(ValueError):
            allowed_path(str(kept), files)
    # Unless that file itself was given: what a user sends is kept in such a folder.
    assert allowed_path(str(kept), [str(kept)]) == kept.resolve()


def test_a_link_into_a_store_is_the_store(tmp_path):
    os.symlink(tmp_path / "workspace" / "web", tmp_path / "workspace" / "harmless")
    with pytest.raises(ValueError):
        allowed_path(str(tmp_path / "workspace" / "harmless" / "letter.txt"))


def test_the_database_that_the_settings_name_is_a_store_wherever_it_lies(tmp_path, monkeypatch):
    database = tmp_path / "docs" / "talk.db"
    monkeypatch.setitem(vars(settings), "SESSIONS", f"sqlite:///{database}")
    for path in (database, f"{database}-wal"):
        with pytest.raises(ValueError):
            allowed_path(str(path), [str(tmp_path / "docs")])
    assert allowed_path(f"{database}.txt", [str(tmp_path / "docs")]).name == "talk.db.txt"


def test_a_stored_session_reaches_its_own_folders_and_those_of_no_other(tmp_path):
    own, other = session_mark("ada", "s1"), session_mark("bob", "s1")
    tools = tmp_path / "workspace" / "tools" / "code_interpreter"
    assert allowed_path(str(tools / own / "a.csv"), conversation=own)
    with pytest.raises(ValueError):
        allowed_path(str(tools / other / "a.csv"), conversation=own)
    # Without a session a folder's name is what opens it; it is not found from above.
    assert allowed_path(str(tools / other / "a.csv"))
    assert not may_be_read(tools.resolve() / other / "a.csv", named=tools.resolve())
