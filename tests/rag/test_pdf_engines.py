"""Files that are locked, broken, scanned or in rare fonts: which engine reads them and what is said."""

from __future__ import annotations

import io

import pytest

from qwen_agentkit.errors import DamagedFile, EmptyDocument, PasswordRequired
from qwen_agentkit.rag.limits import ReadLimits
from qwen_agentkit.rag.ocr import OCR_NEEDED
from tests.rag.pdf_samples import HELVETICA, PROSE, WITHOUT_MEANING, by_hand, drawn, lines, scan
from tests.rag.test_pdf_text import read

ENGINES = ("auto", "pdfium", "pdfminer")


def locked(user: str, owner: str = "owner") -> bytes:
    from reportlab.lib.pdfencrypt import StandardEncryption

    encryption = StandardEncryption(user, ownerPassword=owner, canCopy=0, canPrint=0)
    return drawn(lambda canvas: lines(canvas, ["Confidential KILO."]), encrypt=encryption)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_file_with_permissions_only_opens(tmp_path, engine):
    assert "KILO" in read(tmp_path, locked(""), engine=engine).text


@pytest.mark.parametrize("engine", ENGINES)
def test_a_password_opens_and_its_lack_is_named(tmp_path, engine):
    data = locked("s3cret")
    with pytest.raises(PasswordRequired, match="needs a password"):
        read(tmp_path, data, engine=engine)
    with pytest.raises(PasswordRequired, match="given password does not open"):
        read(tmp_path, data, engine=engine, password="wrong")
    assert "KILO" in read(tmp_path, data, engine=engine, password="s3cret").text


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("font", "text"),
    [("STSong-Light", "账户余额汇总"), ("HeiseiMin-W3", "給与に関する通知"), ("HYSMyeongJo-Medium", "보증 기간")],
)
def test_cjk_fonts_without_a_unicode_map_are_readable(tmp_path, engine, font, text):
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont

    pdfmetrics.registerFont(UnicodeCIDFont(font))
    document = read(tmp_path, drawn(lambda canvas: lines(canvas, [text], font=font, size=14)), engine=engine)
    assert document.text == text and document.warnings == []


@pytest.mark.parametrize("engine", ENGINES)
def test_glyphs_without_a_meaning_are_counted_and_not_invented(tmp_path, engine):
    font, extra = WITHOUT_MEANING
    content = b"BT /F1 14 Tf 72 700 Td <002400250026002700280029> Tj ET"
    document = read(tmp_path, by_hand([content], font, extra), engine=engine)
    assert document.blocks == []
    assert document.warnings == [f"6 of 6 characters on page 1 cannot be mapped to text, {OCR_NEEDED}"]


def test_a_scan_says_that_it_needs_ocr(tmp_path):
    document = read(tmp_path, scan(3))
    assert document.blocks == [] and document.page_count == 3
    assert document.warnings == [f"no text layer on pages 1-3, {OCR_NEEDED}"]


def test_only_the_scanned_pages_are_named(tmp_path):
    import pypdfium2

    merged = pypdfium2.PdfDocument.new()
    for data in (scan(), drawn(lambda canvas: lines(canvas, PROSE)), scan()):
        merged.import_pages(pypdfium2.PdfDocument(data))
    stream = io.BytesIO()
    merged.save(stream)
    document = read(tmp_path, stream.getvalue())
    assert document.warnings == [f"no text layer on pages 1, 3, {OCR_NEEDED}"]
    assert [block.page for block in document.blocks] == [2]


def test_letters_drawn_as_outlines_need_ocr_too(tmp_path):
    def draw(canvas):
        for n in range(80):
            path = canvas.beginPath()
            path.moveTo(72 + n, 700)
            path.curveTo(74 + n, 704, 76 + n, 704, 78 + n, 700)
            canvas.drawPath(path)

    assert read(tmp_path, drawn(draw)).warnings == [f"no text layer on page 1, {OCR_NEEDED}"]


def test_ocr_is_asked_for_pages_without_text_alone(tmp_path):
    seen = []

    def read_picture(picture: bytes) -> str:
        seen.append(picture[:8])
        return "Read by eye."

    document = read(tmp_path, scan(2), ocr=read_picture)
    assert [(b.text, b.page) for b in document.blocks] == [("Read by eye.", 1), ("Read by eye.", 2)]
    assert seen == [b"\x89PNG\r\n\x1a\n"] * 2
    assert document.warnings == ["page 1 was read by OCR", "page 2 was read by OCR"]
    seen.clear()
    read(tmp_path, drawn(lambda canvas: lines(canvas, PROSE)), ocr=read_picture)
    assert seen == []


def test_a_wrong_ocr_is_the_callers_mistake(tmp_path):
    for wrong in ("tesseract", "no.such.module:function", 7):
        with pytest.raises(ValueError, match="ocr"):
            read(tmp_path, scan(), ocr=wrong)


def test_an_unknown_engine_is_the_callers_mistake(tmp_path):
    with pytest.raises(ValueError, match="auto, pdfium, pdfminer; given 'poppler'"):
        read(tmp_path, scan(), engine="poppler")


@pytest.mark.parametrize("share", [0.3, 0.5, 0.8, 0.95])
def test_a_file_cut_off_gives_its_whole_pages_or_is_called_damaged(tmp_path, share):
    data = by_hand([b"BT /F1 12 Tf 72 700 Td (Page token PT%dX) Tj ET" % n for n in range(1, 6)], HELVETICA)
    try:
        document = read(tmp_path, data[: int(len(data) * share)])
    except DamagedFile as error:
        assert share < 0.5, error
        return
    assert any("damaged or cut off" in warning for warning in document.warnings)
    assert "PT1X" in document.text


def test_compressed_objects_of_a_cut_file_are_recovered(tmp_path):
    import pypdfium2

    document = pypdfium2.PdfDocument(
        drawn(*[lambda canvas, n=n: lines(canvas, [f"Token PT{n}X"]) for n in range(1, 4)])
    )
    stream = io.BytesIO()
    document.save(stream)
    data = stream.getvalue()
    recovered = read(tmp_path, data[: data.rfind(b"xref") - 40])
    assert "PT1X" in recovered.text


def test_a_pdf_in_name_only_is_damaged(tmp_path):
    with pytest.raises(DamagedFile, match=r"sample\.pdf: not a readable PDF"):
        read(tmp_path, b"%PDF-1.4\nnothing that is an object\n")


def test_a_pdf_without_anything_on_it_is_empty(tmp_path):
    with pytest.raises(EmptyDocument, match="no text"):
        read(tmp_path, drawn(lambda canvas: None))


def test_pages_beyond_the_limit_are_left_out_and_said(tmp_path):
    pages = [lambda canvas, n=n: lines(canvas, [f"Token PT{n}X"]) for n in range(1, 6)]
    document = read(tmp_path, drawn(*pages), limits=ReadLimits(pages=2))
    assert "PT2X" in document.text and "PT3X" not in document.text
    assert document.warnings == ["only the first 2 of 5 pages were read (limit on pages)"]
    assert document.page_count == 5


def test_text_beyond_the_limit_is_left_out_and_said(tmp_path):
    pages = [lambda canvas: lines(canvas, PROSE)] * 3
    document = read(tmp_path, drawn(*pages), limits=ReadLimits(text_characters=600))
    assert len("".join(block.text for block in document.blocks)) == 600
    assert any("600 characters" in warning and "kept" in warning for warning in document.warnings)


def test_one_bad_page_costs_itself_alone(tmp_path):
    data = by_hand([b"BT /F1 12 Tf 72 700 Td (Page token PT%dX) Tj ET" % n for n in range(1, 4)], HELVETICA)
    # The second page object is no page any more.
    at = data.find(b"<< /Type /Page ", data.find(b"PT1X"))
    broken = data[:at] + b"[1 2 3 4 5 6 7 " + data[at + 15 :]
    document = read(tmp_path, broken)
    assert [(b.text, b.page) for b in document.blocks] == [("Page token PT1X", 1), ("Page token PT3X", 3)]
    assert document.warnings == ["could not read page 2"]


def test_progress_is_told_page_by_page(tmp_path):
    told = []
    read(tmp_path, drawn(*[lambda canvas: lines(canvas, PROSE)] * 3), on_progress=lambda *pages: told.append(pages))
    assert told == [(1, 3), (2, 3), (3, 3)]
