"""Which files a command line's paths stand for."""

import os

from qwen_agentkit.cli.sources import find_sources


def write(path, text="x"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def test_a_folder_gives_its_documents_in_the_order_of_names(tmp_path):
    for name in ["b/2.txt", "b/1.PDF", "a.md", "b/skip.exe", ".git/x.txt", "c/.x.txt"]:
        write(tmp_path / "d" / name)
    found = find_sources([str(tmp_path / "d")])
    assert [os.path.relpath(file, tmp_path / "d") for file in found.files] == ["a.md", "b/1.PDF", "b/2.txt"]
    assert found.problems == []


def test_a_file_that_is_named_is_taken_whatever_it_is_called(tmp_path):
    name = write(tmp_path / "notes.xyz")
    assert find_sources([name]).files == [os.path.realpath(name)]


def test_a_file_given_twice_is_read_once_and_shown_as_first_given(tmp_path, monkeypatch):
    write(tmp_path / "a.txt")
    (tmp_path / "link.txt").symlink_to(tmp_path / "a.txt")
    monkeypatch.chdir(tmp_path)
    found = find_sources(["a.txt", "./a.txt", "link.txt", "."])
    assert len(found.files) == 1
    assert found.show(found.files[0]) == "a.txt"


def test_files_of_a_folder_or_a_pattern_are_shown_as_the_user_would_write_them(tmp_path, monkeypatch):
    write(tmp_path / "real" / "inner" / "a.txt")
    (tmp_path / "papers").symlink_to(tmp_path / "real")
    monkeypatch.chdir(tmp_path)
    for given in ("papers", "papers/", "./papers"):
        found = find_sources([given])
        assert [found.show(file) for file in found.files] == ["papers/inner/a.txt"]
    found = find_sources(["real/*/*.txt"])
    assert [found.show(file) for file in found.files] == ["real/inner/a.txt"]
    found = find_sources([str(tmp_path / "papers")])
    assert [found.show(file) for file in found.files] == [str(tmp_path / "papers/inner/a.txt")]


def test_what_is_missing_or_empty_is_a_problem(tmp_path):
    (tmp_path / "empty").mkdir()
    found = find_sources([str(tmp_path / "empty"), str(tmp_path / "gone.pdf")])
    assert found.files == []
    assert [problem["file"] for problem in found.problems] == [str(tmp_path / "empty"), str(tmp_path / "gone.pdf")]
    assert "no document" in found.problems[0]["reason"]
    assert "no such file" in found.problems[1]["reason"]


def test_a_link_that_leads_back_up_is_not_followed(tmp_path):
    write(tmp_path / "d" / "a.txt")
    (tmp_path / "d" / "loop").symlink_to(tmp_path / "d")
    assert len(find_sources([str(tmp_path / "d")]).files) == 1


def test_what_the_framework_wrote_is_not_read_as_a_document(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("QWEN_AGENTKIT_DEFAULT_WORKSPACE", raising=False)
    monkeypatch.delenv("QWEN_AGENT_DEFAULT_WORKSPACE", raising=False)
    write(tmp_path / "a.txt")
    write(tmp_path / "workspace" / "tools" / "b.txt")
    assert [os.path.basename(file) for file in find_sources(["."]).files] == ["a.txt"]
