"""A citation opens the page of its document with the quote marked."""

import io

import pytest
from PIL import Image

from qwen_agentkit.gui import pdf_page
from qwen_agentkit.gui.sources import SourceGone, page_picture, source_page

QUOTE = "The motor is guaranteed for 27 months from the date of purchase."


def citation(path, **more):
    return {"n": 1, "source": str(path), "page": 7, "quote": QUOTE, **more}


def is_marked(pixel):
    red, green, blue = pixel[:3]
    return red > 200 and green > 180 and blue < 140


def marked_box(data):
    image = Image.open(io.BytesIO(data)).convert("RGB")
    pixels = image.load()
    found = [(x, y) for x in range(0, image.width, 2) for y in range(0, image.height, 2) if is_marked(pixels[x, y])]
    if not found:
        return None
    xs, ys = zip(*found, strict=True)
    return min(xs) / image.width, min(ys) / image.height, max(xs) / image.width, max(ys) / image.height


def test_the_quote_is_marked_where_it_stands(handbook):
    found = pdf_page.locate(handbook, 7, None, QUOTE)
    left, top, right, bottom = marked_box(page_picture(citation(handbook), None))
    assert found.first == 7 and abs(found.top - top) < 0.01
    # One line in the upper half of the page, within its margins.
    assert 0.05 < left < 0.2 and 0.4 < right < 0.8 and bottom - top < 0.03


def test_a_quote_over_two_lines_has_both_marked(handbook):
    long = "There is no limit on the distance ridden. A motor that is changed under the warranty keeps the time"
    _, top, _, bottom = marked_box(page_picture(citation(handbook, quote=long), None))
    assert bottom - top > 0.025


def test_a_page_that_lies_on_its_side_is_marked_as_it_is_shown(tmp_path):
    import pypdfium2
    from reportlab.pdfgen.canvas import Canvas

    upright, path = tmp_path / "upright.pdf", tmp_path / "turned.pdf"
    canvas = Canvas(str(upright), pagesize=(400, 600))
    canvas.drawString(50, 550, "Turned by a quarter to the right")
    canvas.save()
    document = pypdfium2.PdfDocument(upright)
    document[0].set_rotation(90)
    document.save(path)
    found = pdf_page.locate(path, 1, None, "Turned by a quarter to the right")
    assert found.size[0] > found.size[1]
    left, top, right, bottom = marked_box(pdf_page.picture(path, 1, found.spans[1]))
    # The upper left corner of the sheet is the upper right one of what is shown.
    assert left > 0.85 and bottom - top > 0.3 and right - left < 0.1


def test_a_quote_that_runs_over_a_page_break_is_marked_on_both(tmp_path):
    from reportlab.pdfgen.canvas import Canvas

    path = tmp_path / "two.pdf"
    canvas = Canvas(str(path), pagesize=(400, 600))
    canvas.drawString(50, 60, "The lease begins on the first day of the")
    canvas.showPage()
    canvas.drawString(50, 550, "month that follows the signature.")
    canvas.save()
    quote = "The lease begins on the first day of the month that follows the signature."
    found = pdf_page.locate(path, 1, 2, quote)
    assert found.first == 1 and sorted(found.spans) == [1, 2]
    assert marked_box(pdf_page.picture(path, 2, found.spans[2])) is not None


def test_a_quote_that_is_not_there_shows_the_page_and_says_so(handbook):
    wrong = citation(handbook, quote="Nobody ever wrote this sentence anywhere.")
    assert marked_box(page_picture(wrong, None)) is None
    assert "could not be found" in source_page(wrong, "t", "en", dark=False)


def test_the_page_is_html_without_a_script_and_leads_on(handbook):
    html = source_page(citation(handbook, quote='x"><script>alert(1)</script>'), "t", "en", dark=True)
    assert "<script" not in html
    assert "page/t?page=7" in html and "source/t?page=6" in html and "source/t?page=8" in html
    assert "Page 7 of 10" in html


def test_a_text_document_shows_the_quote_in_its_surroundings(tmp_path):
    path = tmp_path / "notes.md"
    path.write_text("# Minutes\n\nBefore <b>it</b>.\n\nThe fence is painted green in May.\n\nAfter it.\n")
    html = source_page({"source": str(path), "quote": "The fence is painted green"}, "t", "en", dark=False)
    assert '<mark id="quote">The fence is painted green</mark>' in html
    assert "&lt;b&gt;" in html and "After it." in html


def test_offsets_of_an_edited_file_do_not_mislead(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("A new beginning of the file. The fence is painted green in May.")
    html = source_page(
        {"source": str(path), "quote": "The fence is painted green", "start": 0, "end": 20}, "t", "en", dark=False
    )
    assert '<mark id="quote">The fence is painted green</mark>' in html


@pytest.mark.parametrize("page", [0, 11, 99])
def test_a_page_that_is_not_there_is_said_to_be_missing(handbook, page):
    with pytest.raises(SourceGone):
        source_page(citation(handbook), "t", "en", dark=False, page=page or 99)
    with pytest.raises(SourceGone):
        page_picture(citation(handbook, page=99), None)


def test_a_file_that_is_gone_is_said_to_be(handbook):
    handbook.unlink()
    with pytest.raises(SourceGone, match="no such file"):
        source_page(citation(handbook), "t", "en", dark=False)
