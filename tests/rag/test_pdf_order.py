"""The order in which a page is read: columns, turned pages, scripts from right to left and from top to bottom."""

from __future__ import annotations

import pytest

from qwen_agentkit.rag.document import HEADING, NOTE
from tests.rag.pdf_samples import HEIGHT, PROSE, by_hand, drawn, hebrew_font, lines
from tests.rag.test_pdf_text import kinds, read


def places(text: str, *words: str) -> list[int]:
    found = [text.find(word) for word in words]
    assert -1 not in found, (words, text)
    return found


@pytest.mark.parametrize("engine", ["auto", "pdfium", "pdfminer"])
def test_columns_that_alternate_in_the_file_are_read_one_after_the_other(tmp_path, engine):
    def draw(canvas):
        for i in range(12):
            canvas.drawString(60, HEIGHT - 80 - 14 * i, f"left column line {i:02d} with words")
            canvas.drawString(320, HEIGHT - 80 - 14 * i, f"right column line {i:02d} with words")

    text = read(tmp_path, drawn(draw), engine=engine).text
    order = places(text, "left column line 00", "left column line 11", "right column line 00", "right column line 11")
    assert order == sorted(order)


def test_three_columns_under_a_headline_and_over_a_last_line(tmp_path):
    def draw(canvas):
        lines(canvas, ["A headline that spans all the columns"], size=20, y=60)
        for i in range(15):
            for j, name in enumerate("ABC"):
                canvas.setFont("Helvetica", 9)
                canvas.drawString(50 + 175 * j, HEIGHT - 110 - 11 * i, f"{name} words in line {i:02d} of text")
        lines(
            canvas,
            ["A line over the whole width that ends the page and is read last of all, far under them."],
            y=300,
            size=9,
        )

    document = read(tmp_path, drawn(draw))
    order = places(
        document.text, "A headline", "A words in line 00", "A words in line 14", "B words", "C words", "ends the page"
    )
    assert order == sorted(order)
    assert kinds(document, HEADING) == ["A headline that spans all the columns"]


def test_a_sentence_that_goes_on_in_the_next_column_is_whole(tmp_path):
    def draw(canvas):
        for i in range(11):
            canvas.drawString(60, HEIGHT - 80 - 14 * i, f"line {i:02d} of the left column runs on")
            canvas.drawString(320, HEIGHT - 80 - 14 * i, f"line {i:02d} of the right column runs")
        canvas.drawString(60, HEIGHT - 80 - 14 * 11, "and its last sentence is inter-")
        canvas.drawString(320, HEIGHT - 66, "rupted at the end of the column.")

    document = read(tmp_path, drawn(draw))
    assert "and its last sentence is interrupted at the end of the column." in document.text


def test_columns_beside_a_figure_stay_columns(tmp_path):
    def draw(canvas):
        for i in range(30):
            canvas.drawString(50, HEIGHT - 80 - 14 * i, f"left prose number {i:02d} runs on here")
        for i in range(6):
            for j in range(3):
                canvas.drawString(330 + 70 * j, HEIGHT - 80 - 14 * i, f"n{i}{j}")
        for i in range(8, 30):
            canvas.drawString(330, HEIGHT - 80 - 14 * i, f"right prose number {i:02d} runs on")

    text = read(tmp_path, drawn(draw)).text
    order = places(text, "left prose number 00", "left prose number 29", "right prose number 08")
    assert order == sorted(order)


@pytest.mark.parametrize("rotate", [90, 180, 270])
def test_a_turned_page_reads_as_it_is_shown(tmp_path, rotate):
    matrix = {90: b"0 1 -1 0 595 0", 180: b"-1 0 0 -1 595 842", 270: b"0 -1 1 0 0 842"}[rotate]
    content = b"q %s cm BT /F1 12 Tf 72 500 Td (First line shown.) Tj 0 -40 Td (Second line shown.) Tj ET Q" % matrix
    from tests.rag.pdf_samples import HELVETICA

    text = read(tmp_path, by_hand([content], HELVETICA, rotate=rotate)).text
    assert text == "First line shown.\n\nSecond line shown."


def test_text_laid_on_its_side_is_read_as_if_the_page_were_turned(tmp_path):
    def draw(canvas):
        canvas.rotate(90)
        canvas.setFont("Helvetica", 11)
        for i, text in enumerate(PROSE):
            canvas.drawString(72, -100 - 14 * i, text)

    document = read(tmp_path, drawn(draw))
    assert document.text == " ".join(PROSE)


def test_a_stamp_at_the_side_is_a_note_and_does_not_disturb(tmp_path):
    def draw(canvas):
        lines(canvas, PROSE)
        canvas.rotate(90)
        canvas.drawString(200, -30, "Draft of May")

    document = read(tmp_path, drawn(draw))
    assert document.blocks[0].text == " ".join(PROSE) and kinds(document, NOTE) == ["Draft of May"]


def test_right_to_left_text_is_kept_with_its_lines(tmp_path):
    font, extra = hebrew_font()
    content = b"BT /F1 12 Tf 72 700 Td (ABCD EFG) Tj 0 -16 Td (HIJK) Tj 0 -60 Td (LMN) Tj ET"
    document = read(tmp_path, by_hand([content], font, extra))
    text = document.text
    assert sum(text.count(chr(0x05D0 + index)) for index in range(14)) == 14
    assert len(document.blocks) == 2 and document.warnings == []


def test_hard_breaks_stay_breaks(tmp_path):
    address = ["Pump Works Ltd", "12 River Road", "Leeds"]
    document = read(tmp_path, drawn(lambda canvas: lines(canvas, PROSE, y=lines(canvas, address) + 30)))
    assert document.blocks[0].text == "\n".join(address)
