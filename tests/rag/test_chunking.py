"""Chunks keep to their limit, their place and their structure, whatever the text."""

from __future__ import annotations

import json
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qwen_agentkit.rag.chunking import MIN_CHUNK_TOKENS, Chunk, chunk_document
from qwen_agentkit.rag.document import Block, Document
from qwen_agentkit.utils.tokenization_qwen import count_tokens

SENTENCES = [f"Sentence number {n} says that part {n} of the pump is made of steel." for n in range(60)]


def document(*blocks: Block) -> Document:
    return Document("/docs/a", "A", "txt", list(blocks))


def checked(given_document: Document, chunk_tokens: int, overlap_tokens: int | None = None) -> list[Chunk]:
    """The chunks, after what must hold for every document was checked."""
    text = given_document.text
    chunks = chunk_document(given_document, chunk_tokens, overlap_tokens)
    covered = 0
    for number, chunk in enumerate(chunks):
        assert chunk.number == number
        assert chunk.tokens == count_tokens(chunk.text) <= chunk_tokens
        assert chunk.text.endswith(text[chunk.start : chunk.end])
        assert not text[covered : chunk.start].strip()
        if number:
            assert chunk.start > chunks[number - 1].start and chunk.end > chunks[number - 1].end
        covered = chunk.end
    assert not text[covered:].strip()
    return chunks


texts = st.one_of(
    st.text(max_size=300),
    st.text("ab 。，.\n", max_size=300),
    st.text("甲乙丙丁", max_size=200),
    st.text("👩\u200d🔬é\u0301\ufe0f ", max_size=120),
    st.integers(1, 2000).map(lambda n: "x" * n),
    st.integers(1, 2000).map(lambda n: " " * n + "end"),
    st.lists(st.sampled_from(SENTENCES), max_size=8).map(" ".join),
    st.integers(2, 30).map(lambda n: "| a | b |\n| --- | --- |\n" + "\n".join(f"| r{i} | {i * i} |" for i in range(n))),
    st.integers(1, 30).map(lambda n: "\n".join(f"    line_{i} = {i}" for i in range(n))),
)
any_block = st.builds(
    Block,
    kind=st.sampled_from(["heading", "text", "list_item", "table", "code", "note"]),
    text=texts.map(lambda text: "".join(c for c in text if not "\ud800" <= c <= "\udfff")).filter(str.strip),
    level=st.just(2),
    page=st.integers(1, 3),
    rows=st.none() | st.just((4, 9)),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(any_block, max_size=6), st.integers(MIN_CHUNK_TOKENS, 60), st.none() | st.integers(0, 80))
def test_the_limit_holds_and_nothing_is_lost_for_any_document(blocks, chunk_tokens, overlap_tokens):
    checked(document(*sorted(blocks, key=lambda block: block.page)), chunk_tokens, overlap_tokens)


def test_a_short_document_is_one_chunk():
    (chunk,) = checked(document(Block("text", "One."), Block("text", "Two.")), 500)
    assert chunk == Chunk("/docs/a", "A", "One.\n\nTwo.", None, None, None, None, None, 0, 10, chunk.tokens, 0)


def test_a_heading_begins_a_chunk_and_stays_with_its_text():
    chunks = checked(
        document(
            Block("text", "Preface of the book."),
            Block("heading", "Chapter 1 Safety", level=1),
            Block("heading", "1.1 Chemicals", level=2),
            Block("text", "KX-19 is a solvent."),
            Block("heading", "1.2 Tools", level=2),
            Block("text", "A spanner."),
        ),
        500,
    )
    assert [chunk.section for chunk in chunks] == [
        None,
        "Chapter 1 Safety > 1.1 Chemicals",
        "Chapter 1 Safety > 1.2 Tools",
    ]
    assert chunks[1].text == "Chapter 1 Safety\n\n1.1 Chemicals\n\nKX-19 is a solvent."


def test_a_heading_is_not_left_behind_by_a_long_text_or_table():
    rows = "\n".join(f"| row {i} | {i} |" for i in range(80))
    for block in (Block("text", " ".join(SENTENCES)), Block("table", f"| a | b |\n| --- | --- |\n{rows}")):
        chunks = checked(document(Block("heading", "Prices", level=1), block), 100)
        assert chunks[0].text.startswith("Prices\n\n") and chunks[0].tokens > 50
        assert {chunk.section for chunk in chunks} == {"Prices"}


def test_text_is_cut_between_sentences_and_overlaps_by_whole_ones():
    chunks = checked(document(Block("text", " ".join(SENTENCES))), 100, 20)
    assert len(chunks) > 10
    for before, after in pairwise(chunks):
        assert before.text.endswith("steel.") and after.text.startswith("Sentence number")
        assert after.start < before.end
        assert count_tokens(before.text[after.start - before.start :]) <= 20


def test_without_overlap_nothing_stands_twice():
    chunks = checked(document(Block("text", " ".join(SENTENCES))), 100, 0)
    assert sum(len(chunk.text) for chunk in chunks) <= len(" ".join(SENTENCES))


def test_chinese_is_cut_at_its_own_marks():
    sentence = "水泵应安装在坚固的基座上，并用两个法兰连接。"
    chunks = checked(document(Block("text", sentence * 40)), 60, 0)
    assert all(chunk.text.endswith("。") for chunk in chunks)


def test_a_long_sentence_is_cut_at_commas():
    text = ", ".join(f"part {n} of the machine" for n in range(80)) + "."
    chunks = checked(document(Block("text", text)), 50)
    assert all(chunk.text.endswith((",", ".")) for chunk in chunks)


def test_text_without_any_mark_is_cut_by_length_alone():
    chunks = checked(document(Block("text", "甲乙丙丁" * 2_800)), 512)
    assert min(chunk.tokens for chunk in chunks[:-1]) > 400


def test_an_overlap_larger_than_the_chunk_still_ends():
    text = "Chunky bits of text. " * 60
    start = time.process_time()
    checked(document(Block("text", text.strip())), 10, 500)
    assert time.process_time() - start < 2


def test_a_character_of_several_parts_is_not_cut():
    chunks = checked(document(Block("text", "👩\u200d🔬" * 100)), 20)
    assert all(not chunk.text.startswith("\u200d") and not chunk.text.endswith("\u200d") for chunk in chunks)


def table(rows: int, sheet: str | None = "Prices", first: int = 3) -> Block:
    lines = ["| Name | Price |", "| --- | --- |", *[f"| Part {n} | {n * 3} |" for n in range(1, rows)]]
    return Block("table", "\n".join(lines), sheet=sheet, rows=(first, first + rows - 1))


def test_every_piece_of_a_table_has_the_header_and_whole_rows():
    block = table(200)
    chunks = checked(document(block), 120)
    assert len(chunks) > 5
    for chunk in chunks:
        lines = chunk.text.splitlines()
        assert lines[:2] == ["| Name | Price |", "| --- | --- |"]
        assert all(line.startswith("| Part ") and line.endswith(" |") for line in lines[2:])


def test_every_piece_of_a_table_names_its_own_rows():
    chunks = checked(document(table(200)), 120)
    assert chunks[0].rows[0] == 3 and chunks[-1].rows[1] == 202
    for before, after in pairwise(chunks):
        assert after.rows[0] == before.rows[1] + 1
    for chunk in chunks[1:]:
        numbers = [int(line.split()[2]) for line in chunk.text.splitlines()[2:]]
        assert (chunk.rows[0] - 3, chunk.rows[1] - 3) == (numbers[0], numbers[-1])


def test_a_header_that_is_too_large_is_not_repeated():
    header = "| " + " | ".join(f"a long name of column {n}" for n in range(12)) + " |"
    rule = "|" + " --- |" * 12
    rows = ["| " + " | ".join([str(n)] * 12) + " |" for n in range(20)]
    chunks = checked(document(Block("table", "\n".join([header, rule, *rows]))), 150)
    assert sum("a long name" in chunk.text for chunk in chunks) == 1


def test_a_row_that_is_too_long_is_cut():
    row = "| " + " ".join(SENTENCES) + " | 7 |"
    checked(document(Block("table", f"| a | b |\n| --- | --- |\n{row}\n| short | 8 |")), 100)


def test_sheets_do_not_mix():
    chunks = checked(document(table(3, "One", 1), table(3, "Two", 1)), 500)
    assert [chunk.sheet for chunk in chunks] == ["One", "Two"]


def test_pages_are_kept_apart_unless_a_sentence_runs_on():
    ends = document(Block("text", "Page one ends.", page=1), Block("text", "Page two.", page=2))
    assert [(c.page, c.page_end) for c in checked(ends, 500)] == [(1, 1), (2, 2)]
    runs_on = document(
        Block("text", "The motor is guaranteed for", page=1),
        Block("text", "twenty-seven months.", page=2),
        Block("text", "Page two goes on.", page=2),
    )
    assert [(c.page, c.page_end) for c in checked(runs_on, 500)] == [(1, 2), (2, 2)]


def test_program_text_is_cut_between_lines_and_keeps_its_indent():
    code = "\n".join(f"    if x == {n}:\n        return {n}" for n in range(60))
    chunks = checked(document(Block("code", code)), 80)
    assert all(chunk.text.startswith("    ") for chunk in chunks)
    assert {line for chunk in chunks for line in chunk.text.splitlines()} == set(code.splitlines())


def test_json_gives_the_same_chunk_back():
    for chunk in checked(document(table(30)), 60):
        assert Chunk.from_json(json.loads(json.dumps(chunk.to_json()))) == chunk


@pytest.mark.parametrize(("tokens", "overlap", "named"), [(7, None, "chunk_tokens"), (100, -1, "overlap_tokens")])
def test_impossible_sizes_are_refused(tokens, overlap, named):
    with pytest.raises(ValueError, match=named):
        chunk_document(document(), tokens, overlap)


@pytest.mark.parametrize(
    "text",
    [
        "甲乙丙丁" * 50_000,
        "x" * 200_000,
        " ".join(f"word{n}" for n in range(30_000)),
        "".join(f"第{n}条规定如下。" for n in range(20_000)),
        "a" + " " * 200_000 + "b",
        "\n".join(["-"] * 50_000),
    ],
    ids=["no breaks", "one word", "no marks", "short sentences", "spaces", "lines"],
)
def test_a_large_text_takes_time_in_proportion(text):
    start = time.process_time()
    chunk_document(document(Block("text", text)), 500)
    # Ten million characters a minute are 0.6 s for a hundred thousand.
    assert time.process_time() - start < 0.6 * len(text) / 100_000 + 0.5
