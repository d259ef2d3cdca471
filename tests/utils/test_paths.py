import os

import pytest

from qwen_agentkit import settings
from qwen_agentkit.utils.paths import allowed_path


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
