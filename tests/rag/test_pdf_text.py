"""What a PDF says: headings, paragraphs, lists, program text, running lines, notes, titles."""

from __future__ import annotations

from qwen_agentkit.rag.chunking import chunk_document
from qwen_agentkit.rag.document import CODE, HEADING, LIST_ITEM, NOTE, TEXT
from qwen_agentkit.rag.reading import read_document
from tests.rag.pdf_samples import HEIGHT, PROSE, drawn, lines


def read(tmp_path, data: bytes, **options):
    path = tmp_path / "sample.pdf"
    path.write_bytes(data)
    return read_document(path, **options)


def kinds(document, kind):
    return [block.text for block in document.blocks if block.kind == kind]


def manual(canvas):
    y = lines(canvas, ["Pump manual"], size=22)
    y = lines(canvas, ["1 Installation"], y=y + 14, size=15)
    y = lines(canvas, PROSE, y=y + 6)
    y = lines(canvas, ["1.1 Tools"], y=y + 14, size=13)
    lines(canvas, ["A ring spanner KX-19 is needed."], y=y + 6)


def test_headings_are_found_by_their_size_and_give_the_section(tmp_path):
    document = read(tmp_path, drawn(manual))
    assert [(b.text, b.level) for b in document.blocks if b.kind == HEADING] == [
        ("Pump manual", 1),
        ("1 Installation", 2),
        ("1.1 Tools", 3),
    ]
    chunk = next(chunk for chunk in chunk_document(document) if "KX-19" in chunk.text)
    assert chunk.section == "Pump manual > 1 Installation > 1.1 Tools" and chunk.page == 1


def test_lines_of_a_paragraph_are_joined(tmp_path):
    document = read(tmp_path, drawn(manual))
    assert kinds(document, TEXT)[0] == " ".join(PROSE)


def test_bold_lines_of_body_size_are_headings(tmp_path):
    def draw(canvas):
        y = lines(canvas, ["Warranty"], font="Helvetica-Bold")
        y = lines(canvas, PROSE, y=y + 4)
        y = lines(canvas, ["Note: keep the bill."], y=y + 10, font="Helvetica-Bold")

    document = read(tmp_path, drawn(draw))
    assert kinds(document, HEADING) == ["Warranty"]
    assert "Note: keep the bill." in kinds(document, TEXT)


def test_bold_words_that_begin_a_paragraph_are_no_heading(tmp_path):
    def draw(canvas):
        y = lines(
            canvas,
            ["Alternative minimum tax for the owners of pumps and motors, of boilers and of other"],
            font="Helvetica-Bold",
        )
        canvas.drawString(72, HEIGHT - y, "machines.")
        canvas.setFont("Helvetica", 11)
        canvas.drawString(130, HEIGHT - y, "The amount is decreased to $33,750 and is paid at the end.")
        lines(canvas, PROSE, y=y + 30)

    document = read(tmp_path, drawn(draw))
    assert kinds(document, HEADING) == []
    assert document.blocks[0].text.startswith(
        "Alternative minimum tax for the owners of pumps and motors, of boilers and of other machines. The"
    )


def test_an_item_may_go_on_left_of_its_marker(tmp_path):
    def draw(canvas):
        y = lines(canvas, PROSE)
        canvas.drawString(
            84, HEIGHT - y, "1. Children under the age of eighteen years at the end of that same year in which the old"
        )
        lines(canvas, ["pump was sold to their parents."], y=y + 13.75)

    items = kinds(read(tmp_path, drawn(draw)), LIST_ITEM)
    assert len(items) == 1 and items[0].endswith("in which the old pump was sold to their parents.")


def test_the_outline_of_the_file_decides_what_is_a_heading(tmp_path):
    def draw(canvas):
        canvas.bookmarkPage("a")
        canvas.addOutlineEntry("Chapter One", "a", level=0)
        canvas.addOutlineEntry("Plain Section", "a", level=1)
        y = lines(canvas, ["Chapter One"], size=18)
        y = lines(canvas, ["Plain Section"], y=y + 12)
        lines(canvas, PROSE, y=y + 12)

    document = read(tmp_path, drawn(draw))
    assert [(b.text, b.level) for b in document.blocks if b.kind == HEADING] == [
        ("Chapter One", 1),
        ("Plain Section", 2),
    ]


def test_a_word_broken_at_the_end_of_a_line_is_closed_up(tmp_path):
    def draw(canvas):
        lines(
            canvas,
            ["The guarantee of the instal-", "lation is long, and a well-", "known firm gives it. A well-known one."],
        )

    text = read(tmp_path, drawn(draw)).text
    assert "installation" in text and "a well-known firm" in text


def test_items_of_a_list_are_items(tmp_path):
    def draw(canvas):
        y = lines(canvas, ["Bring along these three things for the work in the house:"])
        y = lines(
            canvas,
            [
                "\u2022 a spanner",
                "\u2022 a bucket which holds all the water that is in the upper part of",
                "  the house",
                "\u2022 a lamp",
            ],
            y=y + 4,
        )
        y = lines(canvas, ["1. Switch off.", "2. Open the lid."], y=y + 14)
        lines(canvas, ["It weighs 2.60 kg."], y=y + 14)

    document = read(tmp_path, drawn(draw))
    assert kinds(document, LIST_ITEM) == [
        "- a spanner",
        "- a bucket which holds all the water that is in the upper part of the house",
        "- a lamp",
        "1. Switch off.",
        "2. Open the lid.",
    ]
    assert "It weighs 2.60 kg." in kinds(document, TEXT)


def test_typewriter_text_keeps_its_lines_and_indents(tmp_path):
    code = ["def f(x):", "    if x:", "        return 'a  b'"]

    def draw(canvas):
        y = lines(canvas, PROSE)
        lines(canvas, code, y=y + 10, font="Courier", size=10)

    assert kinds(read(tmp_path, drawn(draw)), CODE) == ["\n".join(code)]


def test_a_file_all_in_typewriter_is_text(tmp_path):
    document = read(tmp_path, drawn(lambda canvas: lines(canvas, PROSE, font="Courier", size=9)))
    assert kinds(document, TEXT) == [" ".join(PROSE)]


def test_headers_and_footers_are_kept_once(tmp_path):
    def page(number):
        def draw(canvas):
            lines(canvas, ["Handbook of the pump"], y=36, size=9)
            y = lines(canvas, PROSE)
            lines(canvas, [f"Sum of page {number}: {number * 137} pieces"], y=y + 10)
            lines(canvas, [f"Page {number} of 6"], y=HEIGHT - 30, size=9)

        return draw

    document = read(tmp_path, drawn(*[page(n) for n in range(1, 7)]))
    assert kinds(document, NOTE) == ["Handbook of the pump", "Page 1 of 6"]
    assert document.text.count("Handbook of the pump") == 1
    assert all(f"Sum of page {n}: {n * 137} pieces" in document.text for n in range(1, 7))
    assert document.page_count == 6


def test_what_stands_alone_on_a_page_is_never_taken_for_a_header(tmp_path):
    pages = [lambda canvas, n=n: lines(canvas, [f"Page token PT{n}X", f"Page {n}"]) for n in range(1, 6)]
    document = read(tmp_path, drawn(*pages))
    for n in range(1, 6):
        assert [b.page for b in document.blocks if f"PT{n}X" in b.text] == [n]
        assert [b.page for b in document.blocks if f"Page {n}" in b.text] == [n]


def test_every_chunk_carries_its_page(tmp_path):
    pages = [lambda canvas, n=n: lines(canvas, [f"Token PT{n}X.", *PROSE]) for n in range(1, 4)]
    chunks = chunk_document(read(tmp_path, drawn(*pages)))
    assert [(c.page, c.page_end) for c in chunks] == [(1, 1), (2, 2), (3, 3)]
    assert "PT2X" in chunks[1].text


def test_comments_and_filled_fields_are_notes(tmp_path):
    def draw(canvas):
        lines(canvas, PROSE)
        canvas.textAnnotation("Check this again", Rect=[10, 10, 40, 40])
        canvas.acroForm.textfield(name="customer", value="Ada Lovelace", x=72, y=400, width=200, height=20)

    notes = kinds(read(tmp_path, drawn(draw)), NOTE)
    assert any("Comment: Check this again" in note for note in notes)
    assert any("Ada Lovelace" in note for note in notes)


def test_the_title_is_the_files_own_or_its_name(tmp_path):
    def draw(canvas):
        canvas.setTitle("Handbook of pumps")
        lines(canvas, PROSE)

    assert read(tmp_path, drawn(draw)).title == "Handbook of pumps"
    assert read(tmp_path, drawn(lambda canvas: lines(canvas, PROSE))).title == "sample.pdf"


def test_chinese_lines_are_joined_without_spaces(tmp_path):
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont

    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
    text = (
        "水泵应安装在坚固的基座上，并用两个法兰连接。首次启动前，应通过上部的螺塞向泵壳内注水，直到不再有空气逸出为止。"
    )
    rows = [text[at : at + 20] for at in range(0, len(text), 20)]
    document = read(tmp_path, drawn(lambda canvas: lines(canvas, rows, font="STSong-Light", size=12)))
    assert document.blocks[0].text == text


def test_pictures_are_kept_when_asked_for(tmp_path):
    from tests.rag.pdf_samples import scan

    assert read(tmp_path, scan()).images == []
    images = read(tmp_path, scan(), keep_images=True).images
    assert len(images) == 1 and images[0].page == 1
    assert images[0].media_type == "image/png" and images[0].data.startswith(b"\x89PNG")
