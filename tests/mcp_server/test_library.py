import pytest

from qwen_agentkit import settings
from qwen_agentkit.errors import ToolArgumentsError
from qwen_agentkit.mcp_server import library as module
from qwen_agentkit.mcp_server.library import Library


@pytest.fixture
def docs(tmp_path, monkeypatch):
    monkeypatch.setitem(vars(settings), "DEFAULT_WORKSPACE", str(tmp_path / "workspace"))
    folder = tmp_path / "docs"
    folder.mkdir()
    return folder


def test_the_parts_of_a_document_follow_each_other_and_make_it_whole(docs, monkeypatch):
    monkeypatch.setattr(module, "READING_CHARS", 100)
    text = "\n\n".join(f"Paragraph {number} says {'word ' * (number % 40)}end." for number in range(60))
    (docs / "long.md").write_text(text)
    library, start, parts, stops = Library([str(docs)]), 0, [], []
    while start is not None:
        part = library.read("long.md", start=start)
        assert part.start == start
        assert part.text
        parts.append(part.text)
        stops.append(part.end)
        start = part.next_start
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert stops == sorted(set(stops))
    assert part.end == part.length


def test_a_block_that_is_too_long_is_given_in_pieces(docs, monkeypatch):
    monkeypatch.setattr(module, "READING_CHARS", 50)
    (docs / "one.md").write_text("x" * 120)
    library = Library([str(docs)])
    first = library.read("one.md")
    assert (first.end, first.next_start) == (50, 50)
    assert library.read("one.md", start=100).next_start is None


def test_a_name_that_two_documents_have_is_asked_about(docs):
    for folder in ("a", "b"):
        (docs / folder).mkdir()
        (docs / folder / "same.md").write_text(folder)
    library = Library([str(docs)])
    with pytest.raises(ToolArgumentsError, match="more than one"):
        library.read("same.md")
    assert library.read("b/same.md").text == "b"
    with pytest.raises(ToolArgumentsError, match="no pages"):
        library.read("b/same.md", page=1)
    with pytest.raises(ToolArgumentsError, match="start is from 0"):
        library.read("b/same.md", start=5)
