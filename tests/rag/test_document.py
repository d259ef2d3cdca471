"""`Document` and the builder that parsers write into."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwen_agentkit.errors import LimitExceededInFile
from qwen_agentkit.rag.builder import MAX_WARNINGS, DocumentBuilder
from qwen_agentkit.rag.document import BLOCK_KINDS, Block, Document, DocumentImage
from qwen_agentkit.rag.limits import ReadLimits

blocks = st.builds(
    Block,
    kind=st.sampled_from(BLOCK_KINDS),
    text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40),
    level=st.none() | st.integers(1, 6),
    page=st.none() | st.integers(1, 9),
    sheet=st.none() | st.just("S"),
    rows=st.none() | st.tuples(st.integers(1, 5), st.integers(5, 9)),
)


@given(st.lists(blocks, max_size=8))
def test_every_span_is_the_text_of_its_block(given_blocks):
    document = Document("s", "t", "txt", given_blocks)
    spans = document.block_spans()
    assert [document.text[start:end] for start, end in spans] == [block.text for block in given_blocks]
    assert not spans or spans[-1][1] == len(document.text)


@given(st.lists(blocks, max_size=8))
def test_json_gives_the_same_document_back(given_blocks):
    document = Document("s", "t", "pdf", given_blocks, 3, ["one"], [DocumentImage("image/png", b"\x89\x00", 2)])
    assert Document.from_json(json.loads(json.dumps(document.to_json()))) == document


def test_items_of_a_list_stand_on_lines_and_all_else_apart():
    kinds = [("text", "Buy:"), ("list_item", "- milk"), ("list_item", "- eggs"), ("text", "Today.")]
    document = Document("s", "t", "md", [Block(kind, text) for kind, text in kinds])
    assert document.text == "Buy:\n\n- milk\n- eggs\n\nToday."


def test_a_section_is_the_path_of_headings_above():
    document = Document(
        "s",
        "t",
        "md",
        [
            Block("text", "before"),
            Block("heading", "Chapter 1\nSafety", level=1),
            Block("heading", "1.1 Chemicals", level=2),
            Block("text", "KX-19"),
            Block("heading", "Chapter 2", level=1),
            Block("text", "end"),
        ],
    )
    assert document.sections() == [
        None,
        "Chapter 1 Safety",
        "Chapter 1 Safety > 1.1 Chemicals",
        "Chapter 1 Safety > 1.1 Chemicals",
        "Chapter 2",
        "Chapter 2",
    ]


def test_a_block_of_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="given 'footer'"):
        Block("footer", "x")


def test_a_picture_becomes_an_item_for_a_model_that_sees():
    item = DocumentImage("image/png", b"abc").content_item()
    assert item.image == "data:image/png;base64,YWJj"


def test_text_beyond_the_limit_is_cut_and_said():
    out = DocumentBuilder("s", "txt", ReadLimits(text_characters=10))
    out.add("text", "123456")
    with pytest.raises(LimitExceededInFile, match="10 characters"):
        out.add("text", "789012345")
    assert [block.text for block in out.document("t").blocks] == ["123456", "7890"]


def test_cells_beyond_the_limit_are_refused():
    out = DocumentBuilder("s", "xlsx", ReadLimits(cells=5))
    out.count_cells(5)
    with pytest.raises(LimitExceededInFile, match="5 cells"):
        out.count_cells(1)


def test_blank_blocks_are_dropped_and_blocks_are_told_at_once():
    told = []
    out = DocumentBuilder("s", "txt", on_block=told.append)
    out.add("text", " \n ")
    out.add("text", "x", page=2)
    assert told == out.blocks == [Block("text", "x", page=2)]


def test_halves_of_surrogate_pairs_never_reach_the_text():
    out = DocumentBuilder("s", "txt")
    out.add("text", "pair \ud83d\ude00 half \ud83d end")
    assert out.blocks[0].text == "pair \U0001f600 half \ufffd end"
    out.blocks[0].text.encode("utf-8")


def test_the_character_nul_never_reaches_the_text():
    out = DocumentBuilder("s", "txt")
    out.add("text", "a\x00b\x00")
    out.add("text", "\x00")
    assert [block.text for block in out.blocks] == ["ab"]


def test_warnings_are_single_lines_said_once_and_bounded():
    out = DocumentBuilder("s", "txt")
    out.warn("a\n b")
    out.warn("a b")
    for number in range(MAX_WARNINGS + 5):
        out.warn(f"n{number}")
    warnings = out.document("t").warnings
    assert warnings[0] == "a b" and len(warnings) == MAX_WARNINGS + 1
    assert warnings[-1] == "6 further warnings were left out"


def test_pictures_are_kept_while_there_is_room():
    out = DocumentBuilder("s", "pdf", ReadLimits(image_bytes=5))
    out.add_image(DocumentImage("image/png", b"1234"))
    out.add_image(DocumentImage("image/png", b"5678"))
    assert len(out.images) == 1 and "left out" in out.warnings[0]


def test_the_title_is_the_documents_own_or_the_default():
    out = DocumentBuilder("s", "txt")
    assert out.document("name.txt").title == "name.txt"
    out.title = "  The\nManual "
    assert out.document("name.txt").title == "The Manual"
