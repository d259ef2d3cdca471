"""Files that come in are kept for their user alone; files that go out are those that may."""

import base64
from pathlib import Path

import pytest

from qwen_agentkit.gui.media import TooLarge, given_out, take_in, user_folder


def test_what_is_sent_is_kept_by_content(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    for folder, text in (("a", "one"), ("b", "two")):
        (tmp_path / folder / "notes.txt").write_text(text)
    first = take_in([tmp_path / "a/notes.txt"], "ada", 100)[0].file
    second = take_in([tmp_path / "b/notes.txt"], "ada", 100)[0].file
    assert first != second
    assert [Path(path).read_text() for path in (first, second)] == ["one", "two"]
    assert take_in([tmp_path / "a/notes.txt"], "ada", 100)[0].file == first


def test_kinds_are_told_by_the_name(tmp_path):
    kinds = {}
    for name in ("a.png", "a.wav", "a.mp4", "a.pdf", "a"):
        (tmp_path / name).write_bytes(b"x")
        kinds[name] = list(take_in([tmp_path / name], "ada", 100)[0].keys())
    assert kinds == {"a.png": ["image"], "a.wav": ["audio"], "a.mp4": ["video"], "a.pdf": ["file"], "a": ["file"]}


def test_a_large_file_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text("x" * 101)
    with pytest.raises(TooLarge, match=r"a\.txt"):
        take_in([tmp_path / "a.txt"], "ada", 100)


def test_only_allowed_files_go_out(tmp_path, workspace):
    workspace.mkdir()
    made, secret, document = workspace / "figure.png", tmp_path / "secret.txt", tmp_path / "doc.pdf"
    for path in (made, secret, document):
        path.write_bytes(b"x")
    (workspace / "link.png").symlink_to(secret)
    assert given_out(str(made), "ada") == made
    assert given_out(made.as_uri(), "ada") == made
    assert given_out(str(secret), "ada") is None
    assert given_out(str(workspace / "link.png"), "ada") is None
    assert given_out(str(workspace / "../secret.txt"), "ada") is None
    assert given_out(str(document), "ada") is None
    assert given_out(str(document), "ada", [str(document)]) == document
    assert given_out("https://example.com/a.png", "ada") is None
    assert given_out("a\x00b", "ada") is None


def test_nobody_is_given_the_sessions_or_the_files_of_others(tmp_path, workspace):
    (tmp_path / "a.png").write_bytes(b"x")
    kept = take_in([tmp_path / "a.png"], "ada", 100)[0].image
    assert given_out(kept, "ada") is not None
    assert given_out(kept, "bob") is None
    others = ("memory/ada/passages.txt", "documents/images/a.png", "tools/storage/a.value")
    for name in ("sessions.sqlite", "sessions.sqlite-wal", "sessions.sqlite.v1.bak", *others):
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_bytes(b"x")
        assert given_out(str(workspace / name), "ada") is None


def test_a_picture_given_as_text_is_written_for_its_user():
    data = base64.b64encode(b"picture").decode()
    path = given_out(f"data:image/png;base64,{data}", "ada")
    assert path.read_bytes() == b"picture" and path.suffix == ".png"
    assert user_folder("ada") in path.parents
    assert given_out("data:image/png;base64,???", "ada") is None
