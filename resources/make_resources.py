"""Makes the sample documents of this folder. Making them again changes nothing.

    python resources/make_resources.py

Needs the `dev` extra, and for the Chinese handbook the font Droid Sans Fallback (Apache-2.0; Debian's
package fonts-droid-fallback), of which the characters used are embedded. Everything in the documents
is invented; the words stand in `content/`.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import sys
import zipfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

from content import handbook, handbook_zh, office  # noqa: E402
from content.pdf import write_pdf  # noqa: E402

# The moment that every document names as its own, so that two runs give the same bytes.
MOMENT = datetime.datetime(2026, 1, 15, 9, 0, 0)
CJK_FONT = Path("/usr/share/fonts/truetype/droid/DroidSansFallbackFull.ttf")


def main() -> None:
    parser = argparse.ArgumentParser(description="Makes the sample documents.")
    parser.add_argument("--to", type=Path, default=FOLDER, help="folder to write to (default: this one)")
    parser.add_argument("--cjk-font", type=Path, default=CJK_FONT, help="TrueType font with Chinese characters")
    options = parser.parse_args()
    if not options.cjk_font.is_file():
        parser.error(f"{options.cjk_font} is missing; install fonts-droid-fallback or name a font with --cjk-font")
    options.to.mkdir(parents=True, exist_ok=True)

    write_pdf(options.to / "handbook.pdf", handbook, lang="en")
    write_pdf(options.to / "handbook_zh.pdf", handbook_zh, lang="zh", font=options.cjk_font)
    write_staff_policy(options.to / "staff_policy.docx")
    write_review(options.to / "project_review.pptx")
    write_prices(options.to / "prices.xlsx")
    with open(options.to / "repairs.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(office.REPAIRS)
    (options.to / "shop.html").write_text(office.SHOP_PAGE, encoding="utf-8")
    (options.to / "meeting_notes.md").write_text(office.MEETING_NOTES, encoding="utf-8")


def write_staff_policy(path: Path) -> None:
    import docx

    document = docx.Document()
    document.core_properties.title = office.STAFF_POLICY_TITLE
    document.core_properties.author = handbook.MAKER
    document.core_properties.created = document.core_properties.modified = MOMENT
    document.add_heading(office.STAFF_POLICY_TITLE, level=0)
    for kind, content in office.STAFF_POLICY:
        if kind in ("h1", "h2"):
            document.add_heading(content, level=int(kind[1]))
        elif kind == "p":
            document.add_paragraph(content)
        elif kind in ("ul", "ol"):
            for item in content:
                document.add_paragraph(item, style="List Bullet" if kind == "ul" else "List Number")
        elif kind == "table":
            table = document.add_table(rows=0, cols=len(content[0]), style="Light Grid Accent 1")
            for row in content:
                for cell, text in zip(table.add_row().cells, row, strict=True):
                    cell.text = text
        else:
            raise ValueError(f"A Word document has no block of kind {kind!r} here")
    document.save(str(path))
    freeze(path)


def write_review(path: Path) -> None:
    import pptx
    from pptx.util import Inches, Pt

    deck = pptx.Presentation()
    deck.core_properties.title = office.REVIEW_TITLE
    deck.core_properties.author = handbook.MAKER
    deck.core_properties.created = deck.core_properties.modified = MOMENT
    first = deck.slides.add_slide(deck.slide_layouts[0])
    first.shapes.title.text = office.REVIEW_TITLE
    first.placeholders[1].text = "Brackwater Works, 2 July 2026"
    for title, body, notes in office.REVIEW_SLIDES:
        is_table = isinstance(body[0], list)
        slide = deck.slides.add_slide(deck.slide_layouts[5 if is_table else 1])
        slide.shapes.title.text = title
        if is_table:
            size = (Inches(0.7), Inches(1.8), Inches(8.6), Inches(3.0))
            table = slide.shapes.add_table(len(body), len(body[0]), *size).table
            for row_number, row in enumerate(body):
                for column, text in enumerate(row):
                    table.cell(row_number, column).text = text
        else:
            frame = slide.placeholders[1].text_frame
            frame.text = body[0]
            for line in body[1:]:
                frame.add_paragraph().text = line
            for paragraph in frame.paragraphs:
                paragraph.font.size = Pt(24)
        slide.notes_slide.notes_text_frame.text = notes
    deck.save(str(path))
    freeze(path)


def write_prices(path: Path) -> None:
    import xlsxwriter

    book = xlsxwriter.Workbook(str(path))
    book.set_properties({"title": "Price list 2026", "author": handbook.MAKER, "created": MOMENT})
    bold = book.add_format({"bold": True})
    money = book.add_format({"num_format": "#,##0.00"})
    for name, rows in office.PRICE_SHEETS.items():
        sheet = book.add_worksheet(name)
        sheet.freeze_panes(1, 0)
        sheet.set_column(0, 0, 30)
        sheet.set_column(1, len(rows[0]) - 1, 16)
        for number, row in enumerate(rows):
            for column, value in enumerate(row):
                sheet.write(number, column, value, bold if number == 0 else money if isinstance(value, float) else None)
    book.close()
    freeze(path)


def freeze(path: Path) -> None:
    """Writes a zip file again with one fixed moment on every entry: the packers put the time of day there."""
    with zipfile.ZipFile(path) as archive:
        entries = [(entry.filename, archive.read(entry)) for entry in archive.infolist()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries:
            entry = zipfile.ZipInfo(name, MOMENT.timetuple()[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)


if __name__ == "__main__":
    main()
