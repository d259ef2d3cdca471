"""Lays a handbook out as a PDF: one list of blocks a page, a header, a footer with the page number."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

from reportlab import rl_config
from reportlab.lib import colors
from reportlab.lib.enums import TA_CENTER, TA_LEFT, TA_RIGHT
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    Flowable,
    ListFlowable,
    ListItem,
    PageBreak,
    Paragraph,
    SimpleDocTemplate,
    Spacer,
    Table,
    TableStyle,
)

ACCENT = colors.HexColor("#1f5f5b")
PALE = colors.HexColor("#e8f0ef")
WARM = colors.HexColor("#fbf3e3")
RULE = colors.HexColor("#cccccc")
GREY = colors.HexColor("#666666")
MARGIN = 20 * mm
WIDTH = A4[0] - 2 * MARGIN
PLAIN, BOLD = "Helvetica", "Helvetica-Bold"
# The name under which the font with Chinese characters is embedded.
CJK = "Book"


def write_pdf(path: Path, book: ModuleType, lang: str, font: Path | None = None) -> None:
    """Writes `book` (see `handbook.py`) to `path`. A `font` is embedded; without one Helvetica is named.

    Raises:
        ValueError: A page of the book does not fit on a page of paper.
    """
    # No time of day and no random identifier in the file.
    rl_config.invariant = 1
    if font is not None:
        pdfmetrics.registerFont(TTFont(CJK, str(font)))
    styles = _styles(lang)
    story: list[Flowable] = []
    for page in book.PAGES:
        if story:
            story.append(PageBreak())
        for kind, content in page:
            story += _flowables(kind, content, styles)

    def page_furniture(canvas: Canvas, document: Any) -> None:
        _header_and_footer(canvas, book, styles["furniture"], lang, len(book.PAGES))

    document = SimpleDocTemplate(
        str(path),
        pagesize=A4,
        # The frame pads by 6 points on each side.
        leftMargin=MARGIN - 6,
        rightMargin=MARGIN - 6,
        topMargin=24 * mm,
        bottomMargin=20 * mm,
        title=f"{book.TITLE}: {book.SUBTITLE}" if lang == "en" else f"{book.TITLE} {book.SUBTITLE}",
        author=book.MAKER,
        lang=lang,
    )
    document.build(story, onFirstPage=page_furniture, onLaterPages=page_furniture)
    if document.page != len(book.PAGES):
        raise ValueError(f"{path.name} has {document.page} pages, but its book {len(book.PAGES)}: shorten a page")


def _styles(lang: str) -> dict[str, ParagraphStyle]:
    base = ParagraphStyle(
        "p",
        fontName=PLAIN,
        fontSize=10.5 if lang == "en" else 11,
        leading=15 if lang == "en" else 18,
        spaceAfter=2.2 * mm,
        wordWrap=None if lang == "en" else "CJK",
    )

    def style(name: str, **changes: Any) -> ParagraphStyle:
        return ParagraphStyle(name, parent=base, **changes)

    return {
        "p": base,
        "item": style("item", spaceAfter=0.8 * mm),
        "cell": style("cell", fontSize=9.5, leading=12.5, spaceAfter=0),
        "head": style("head", fontName=BOLD, fontSize=9.5, leading=12.5, spaceAfter=0, textColor=colors.white),
        "right": style("right", alignment=TA_RIGHT, spaceAfter=0),
        "caption": style("caption", fontSize=8.5, leading=11, textColor=GREY, spaceBefore=1 * mm),
        "note": style("note", backColor=WARM, borderPadding=(4, 6, 4, 6), spaceBefore=2 * mm, spaceAfter=4 * mm),
        "furniture": style("furniture", fontSize=8.5, leading=11, textColor=GREY),
        "h1": style("h1", fontName=BOLD, fontSize=19, leading=24, textColor=ACCENT, spaceAfter=3 * mm),
        "h2": style(
            "h2", fontName=BOLD, fontSize=12.5, leading=17, textColor=ACCENT, spaceBefore=2.5 * mm, keepWithNext=1
        ),
        "title": style("title", fontName=BOLD, fontSize=40, leading=48, textColor=ACCENT, spaceBefore=14 * mm),
        "subtitle": style("subtitle", fontSize=17, leading=23, spaceAfter=3 * mm),
    }


def _paragraph(text: str, style: ParagraphStyle) -> Paragraph:
    """A paragraph in which Chinese characters are set in the embedded font and all others in the style's own."""
    return Paragraph(re.sub(r"[\u3000-\u9fff\uff00-\uffef]+", rf'<font name="{CJK}">\g<0></font>', text), style)


def _flowables(kind: str, content: Any, styles: dict[str, ParagraphStyle]) -> list[Flowable]:
    if kind == "cover":
        title, subtitle, edition = content
        return [
            _paragraph(title, styles["title"]),
            _paragraph(subtitle, styles["subtitle"]),
            _paragraph(edition, styles["caption"]),
            Spacer(1, 12 * mm),
        ]
    if kind in ("p", "note", "caption", "h2"):
        return [_paragraph(content, styles[kind])]
    if kind == "h1":
        return [_Bookmark(content), _paragraph(content, styles["h1"])]
    if kind in ("ul", "ol"):
        items = [ListItem(_paragraph(text, styles["item"])) for text in content]
        numbered = kind == "ol"
        bullets = ListFlowable(
            items,
            bulletType="1" if numbered else "bullet",
            bulletFormat="%s." if numbered else None,
            bulletFontName=PLAIN,
            bulletFontSize=10,
            start=None if numbered else "\u2013",
            leftIndent=6 * mm,
        )
        return [bullets, Spacer(1, 2 * mm)]
    if kind == "table":
        return [_table(content, styles), Spacer(1, 3 * mm)]
    if kind == "contents":
        rows = [[_paragraph(title, styles["p"]), _paragraph(str(page), styles["right"])] for title, page in content]
        rules = [
            ("LINEBELOW", (0, 0), (-1, -1), 0.4, colors.HexColor("#cccccc")),
            ("VALIGN", (0, 0), (-1, -1), "MIDDLE"),
        ]
        return [Table(rows, colWidths=[WIDTH - 20 * mm, 20 * mm], style=TableStyle(rules))]
    raise ValueError(f"A handbook has no block of kind {kind!r}")


def _table(rows: list[list[str]], styles: dict[str, ParagraphStyle]) -> Table:
    """A ruled table whose columns are as wide as their longest texts ask, within the page."""
    longest = [max(_width(row[column], styles["head"]) for row in rows) + 14 for column in range(len(rows[0]))]
    if sum(longest) > WIDTH:
        # Columns that fit their even share keep their width; the long ones share what is left.
        share = WIDTH / len(longest)
        spare = WIDTH - sum(width for width in longest if width <= share)
        wanted = sum(width for width in longest if width > share)
        longest = [width if width <= share else spare * width / wanted for width in longest]
    else:
        longest = [width * WIDTH / sum(longest) for width in longest]
    cells = [
        [_paragraph(text, styles["head" if number == 0 else "cell"]) for text in row] for number, row in enumerate(rows)
    ]
    look = [
        ("BACKGROUND", (0, 0), (-1, 0), ACCENT),
        ("ROWBACKGROUNDS", (0, 1), (-1, -1), [colors.white, PALE]),
        ("GRID", (0, 0), (-1, -1), 0.4, colors.HexColor("#a9c3c0")),
        ("VALIGN", (0, 0), (-1, -1), "MIDDLE"),
        ("TOPPADDING", (0, 0), (-1, -1), 2.5),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 3.5),
    ]
    is_form = len(rows) == 2 and not any(rows[1])
    heights = [None, 9 * mm] if is_form else None
    return Table(cells, colWidths=longest, rowHeights=heights, style=TableStyle(look), repeatRows=1)


def _width(text: str, style: ParagraphStyle) -> float:
    return sum(
        style.fontSize if character >= "\u3000" else pdfmetrics.stringWidth(character, style.fontName, style.fontSize)
        for character in text
    )


class _Bookmark(Flowable):
    """An entry of the outline; takes no room."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.width = self.height = 0

    def draw(self) -> None:
        self.canv.bookmarkPage(self.text)
        self.canv.addOutlineEntry(self.text, self.text, level=0)


def _header_and_footer(canvas: Canvas, book: ModuleType, style: ParagraphStyle, lang: str, pages: int) -> None:
    number = canvas.getPageNumber()
    if number > 1:
        header = f"{book.TITLE} {'handbook' if lang == 'en' else book.SUBTITLE}"
        _draw(canvas, header, style, TA_LEFT, A4[1] - 15 * mm)
        _draw(canvas, book.MAKER, style, TA_RIGHT, A4[1] - 15 * mm)
        canvas.saveState()
        canvas.setStrokeColor(ACCENT)
        canvas.setLineWidth(0.6)
        canvas.line(MARGIN, A4[1] - 16.5 * mm, A4[0] - MARGIN, A4[1] - 16.5 * mm)
        canvas.restoreState()
    footer = f"Page {number} of {pages}" if lang == "en" else f"第 {number} 页，共 {pages} 页"
    _draw(canvas, footer, style, TA_CENTER, 10 * mm)


def _draw(canvas: Canvas, text: str, style: ParagraphStyle, alignment: int, y: float) -> None:
    """One line of text at the height `y`, between the margins."""
    line = _paragraph(text, ParagraphStyle("line", parent=style, alignment=alignment))
    line.wrap(WIDTH, 20 * mm)
    line.drawOn(canvas, MARGIN, y)
