"""PDF files made for the tests: with reportlab, and byte by byte where a fault or a rare font is wanted."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence

from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

HEIGHT = A4[1]


def drawn(*pages: Callable[[Canvas], None], **options) -> bytes:
    """A PDF with one page for each function that draws one; `options` go to reportlab's canvas."""
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=A4, **options)
    for draw in pages:
        draw(canvas)
        canvas.showPage()
    canvas.save()
    return stream.getvalue()


def lines(
    canvas: Canvas, texts: Sequence[str], x: float = 72, y: float = 72, size: float = 11, font: str = "Helvetica"
) -> float:
    """Draws lines of text downwards from `y` points below the top; gives the place of the next line."""
    canvas.setFont(font, size)
    for text in texts:
        canvas.drawString(x, HEIGHT - y, text)
        y += 1.25 * size
    return y


def grid(canvas: Canvas, rows: Sequence[Sequence[str]], x: float, y: float, width: float = 90, height: float = 20):
    """A ruled table, each cell a box of its own."""
    canvas.setFont("Helvetica", 10)
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            top = HEIGHT - y - i * height
            canvas.rect(x + j * width, top - height, width, height)
            canvas.drawString(x + j * width + 4, top - height + 6, cell)


def by_hand(contents: Sequence[bytes], font: bytes, extra: Sequence[bytes] = (), rotate: int = 0) -> bytes:
    """A PDF written object by object: a page for each content stream, one font named F1.

    Args:
        contents: Content streams.
        font: The font object (number 3).
        extra: Further objects, numbered from 4.
        rotate: /Rotate of the pages.
    """
    first = 4 + len(extra)
    pages = [first + 2 * index for index in range(len(contents))]
    kids = b" ".join(b"%d 0 R" % number for number in pages)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(contents)),
        font,
        *extra,
    ]
    for number, content in zip(pages, contents, strict=True):
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Rotate %d "
            b"/Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>" % (rotate, number + 1)
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
    out = bytearray(b"%PDF-1.7\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)


HELVETICA = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"

# A composite font whose glyphs have numbers and no meaning: no ToUnicode, no character collection, not embedded.
WITHOUT_MEANING = (
    b"<< /Type /Font /Subtype /Type0 /BaseFont /Nameless /Encoding /Identity-H /DescendantFonts [4 0 R] >>",
    (
        b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Nameless /DW 600 "
        b"/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>",
    ),
)


def hebrew_font() -> tuple[bytes, tuple[bytes, ...]]:
    """A font whose letters A to Z stand for the letters of the Hebrew alphabet."""
    mapping = b"".join(b"<%02X> <%04X>\n" % (0x41 + index, 0x05D0 + index) for index in range(26))
    cmap = (
        b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def\n"
        b"1 begincodespacerange <00> <FF> endcodespacerange\n26 beginbfchar\n" + mapping + b"endbfchar\nendcmap end end"
    )
    return (
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 4 0 R >>",
        (b"<< /Length %d >>\nstream\n%s\nendstream" % (len(cmap), cmap),),
    )


def scan(pages: int = 1) -> bytes:
    """Pages that hold a picture and no text."""
    from PIL import Image
    from reportlab.lib.utils import ImageReader

    picture = Image.new("RGB", (120, 80), "white")
    for x in range(20, 100):
        picture.putpixel((x, 40), (0, 0, 0))

    def draw(canvas: Canvas) -> None:
        canvas.drawImage(ImageReader(picture), 72, 400, width=300, height=200)

    return drawn(*[draw] * pages)


PROSE = (
    "The pump is mounted on a firm base and connected by two flanges. Before the first start the",
    "housing is filled with water through the upper plug until no more air comes out of it. Never",
    "let the pump run dry, since the seal is cooled by the liquid that it pumps. The motor turns to",
    "the right when it is seen from the fan, and a wrong direction is heard at once as a rattle. If",
    "the noise does not end within a minute, switch the motor off and ask a trained electrician.",
)
"""Five lines of running text."""
