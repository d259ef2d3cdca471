"""Tables of a PDF become Markdown where they stand; what is no table does not."""

from __future__ import annotations

import time

import pytest

from qwen_agentkit.rag.document import TABLE
from tests.rag.pdf_samples import HEIGHT, PROSE, drawn, grid, lines
from tests.rag.test_pdf_text import kinds, read

ENGINES = ("auto", "pdfium", "pdfminer")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_ruled_table_stands_between_its_paragraphs(tmp_path, engine):
    def draw(canvas):
        lines(canvas, ["LEAD paragraph above."])
        grid(canvas, [["Zone", "Load"], ["North", "410"], ["South", "385"]], x=72, y=90)
        lines(canvas, ["MIDDLE paragraph."], y=180)
        grid(canvas, [["Crew", "Shift", "Lead"], ["Blue", "Night", "Iris"]], x=72, y=200)
        lines(canvas, ["TAIL paragraph."], y=270)

    document = read(tmp_path, drawn(draw), engine=engine)
    assert [block.text for block in document.blocks] == [
        "LEAD paragraph above.",
        "| Zone | Load |\n| --- | --- |\n| North | 410 |\n| South | 385 |",
        "MIDDLE paragraph.",
        "| Crew | Shift | Lead |\n| --- | --- | --- |\n| Blue | Night | Iris |",
        "TAIL paragraph.",
    ]


def test_columns_ruled_by_lines_and_rows_by_their_text(tmp_path):
    def draw(canvas):
        for x in (72, 172, 272, 372):
            canvas.line(x, HEIGHT - 90, x, HEIGHT - 190)
        for y in (90, 110, 190):
            canvas.line(72, HEIGHT - y, 372, HEIGHT - y)
        for j, column in enumerate(
            (["Part", "Bolt", "Nut", "Seal"], ["Size", "M8", "M10", "40"], ["N", "4", "8", "1"])
        ):
            for i, cell in enumerate(column):
                canvas.drawString(78 + 100 * j, HEIGHT - 104 - 20 * i, cell)

    table = kinds(read(tmp_path, drawn(draw)), TABLE)
    assert table == [
        "| Part | Size | N |\n| --- | --- | --- |\n| Bolt | M8 | 4 |\n| Nut | M10 | 8 |\n| Seal | 40 | 1 |"
    ]


def test_text_that_wraps_within_a_cell_stays_one_row(tmp_path):
    def draw(canvas):
        for x in (72, 272, 472):
            canvas.line(x, HEIGHT - 90, x, HEIGHT - 170)
        for y in (90, 110, 170):
            canvas.line(72, HEIGHT - y, 472, HEIGHT - y)
        canvas.drawString(78, HEIGHT - 104, "Fault")
        canvas.drawString(278, HEIGHT - 104, "Remedy")
        for i, text in enumerate(("Pump makes", "a loud noise")):
            canvas.drawString(78, HEIGHT - 126 - 14 * i, text)
        for i, text in enumerate(("Fill the housing", "with water", "and start again")):
            canvas.drawString(278, HEIGHT - 126 - 14 * i, text)

    (table,) = kinds(read(tmp_path, drawn(draw)), TABLE)
    assert table.splitlines()[2] == "| Pump makes a loud noise | Fill the housing with water and start again |"


def test_merged_cells_say_their_text_in_every_row(tmp_path):
    def draw(canvas):
        for x, y, width, height, text in (
            (72, 90, 100, 20, "Region"),
            (172, 90, 100, 20, "Town"),
            (272, 90, 100, 20, "N"),
            (72, 110, 100, 40, "West"),
            (172, 110, 100, 20, "Porto"),
            (272, 110, 100, 20, "3"),
            (172, 130, 100, 20, "Faro"),
            (272, 130, 100, 20, "5"),
        ):
            canvas.rect(x, HEIGHT - y - height, width, height)
            canvas.drawString(x + 4, HEIGHT - y - height / 2 - 4, text)

    (table,) = kinds(read(tmp_path, drawn(draw)), TABLE)
    assert table.splitlines()[2:] == ["| West | Porto | 3 |", "| West | Faro | 5 |"]


def test_a_table_without_rules_is_found_by_its_columns(tmp_path):
    rows = [("Year", "Pumps", "Motors"), ("2021", "1,204", "88"), ("2022", "1,377", "95"), ("2023", "1,490", "102")]

    def draw(canvas):
        y = lines(canvas, PROSE)
        canvas.setFont("Helvetica", 11)
        for i, row in enumerate(rows):
            for j, cell in enumerate(row):
                canvas.drawString(72 + 120 * j, HEIGHT - y - 20 - 14 * i, cell)

    (table,) = kinds(read(tmp_path, drawn(draw)), TABLE)
    assert table.splitlines()[2] == "| 2021 | 1,204 | 88 |"


def test_two_columns_of_prose_are_no_table(tmp_path):
    def draw(canvas):
        for i in range(12):
            canvas.drawString(60, HEIGHT - 80 - 14 * i, f"left column line {i:02d} with words")
            canvas.drawString(320, HEIGHT - 80 - 14 * i, f"right column line {i:02d} with words")

    assert kinds(read(tmp_path, drawn(draw)), TABLE) == []


def test_a_frame_around_text_is_no_table(tmp_path):
    def draw(canvas):
        canvas.rect(60, HEIGHT - 180, 480, 130)
        lines(canvas, PROSE)

    document = read(tmp_path, drawn(draw))
    assert kinds(document, TABLE) == [] and document.blocks[0].text == " ".join(PROSE)


def test_a_table_of_contents_is_no_table(tmp_path):
    def draw(canvas):
        lines(canvas, [f"{n} Chapter about things {'.' * 60} {n * 7}" for n in range(1, 8)])

    assert kinds(read(tmp_path, drawn(draw)), TABLE) == []


def test_pipes_in_cells_are_escaped(tmp_path):
    document = read(tmp_path, drawn(lambda canvas: grid(canvas, [["a|b", "c"], ["d", "e"]], x=72, y=90)))
    assert r"| a\|b | c |" in document.text


@pytest.mark.parametrize("engine", ENGINES)
def test_a_dense_grid_takes_seconds_at_most(tmp_path, engine):
    def draw(canvas):
        canvas.setFont("Helvetica", 5)
        for i in range(70):
            for j in range(40):
                canvas.drawString(20 + 14 * j, HEIGHT - 20 - 11 * i, str(i * 40 + j))

    data = drawn(draw)
    start = time.process_time()
    document = read(tmp_path, data, engine=engine)
    assert time.process_time() - start < 5
    assert all(str(number) in document.text for number in (0, 996, 2799))


def test_a_drawing_of_ten_thousand_lines_is_no_table_and_quick(tmp_path):
    def draw(canvas):
        for i in range(10_000):
            canvas.line(50 + i % 400, 100, 50 + i % 400, 700)
        lines(canvas, PROSE)

    start = time.process_time()
    document = read(tmp_path, drawn(draw))
    assert time.process_time() - start < 5 and kinds(document, TABLE) == []
    assert "The pump is mounted" in document.text


def test_pdfplumber_reads_tables_when_asked_for(tmp_path):
    pytest.importorskip("pdfplumber")

    def draw(canvas):
        lines(canvas, ["LEAD paragraph above."])
        grid(canvas, [["Zone", "Load"], ["North", "410"], ["South", "385"]], x=72, y=90)
        lines(canvas, ["TAIL paragraph."], y=180)

    document = read(tmp_path, drawn(draw, draw), tables="pdfplumber")
    table = "| Zone | Load |\n| --- | --- |\n| North | 410 |\n| South | 385 |"
    assert [block.text for block in document.blocks] == ["LEAD paragraph above.", table, "TAIL paragraph."] * 2
    with pytest.raises(ValueError, match="auto, pdfplumber; given 'camelot'"):
        read(tmp_path, drawn(draw), tables="camelot")
