"""Mutated documents through the reader: ``python tests/fuzz_documents.py --count 2000 --seed 1``.

Samples of every format are made here, broken at random (inside their zip members too), and read in the worker
processes. Whatever a file does, the answer is a document or an error of the package, in time, and chunks that keep
their rules. The table says how each format fared; what ended a worker is listed with the seed that makes it again.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from email.message import EmailMessage
from functools import cache
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from qwen_agentkit.errors import DocParserError
from qwen_agentkit.rag.chunking import chunk_document
from qwen_agentkit.rag.document import Document
from qwen_agentkit.rag.limits import ReadLimits
from qwen_agentkit.rag.workers import close_workers, read_documents
from tests.rag import pdf_samples

# Small, so that the files which reach a limit are many.
LIMITS = ReadLimits(file_bytes=20_000_000, inflated_bytes=50_000_000, text_characters=2_000_000, cells=200_000)
SECONDS = 20.0


@cache
def samples() -> dict[str, bytes]:
    """File name -> content, one or more of each format."""
    made = {f"sample.{ending}": content for ending, content in {**_pdfs(), **_office(), **_packages()}.items()}
    made.update({f"sample.{ending}": content for ending, content in _texts().items()})
    return made


def _pdfs() -> dict[str, bytes]:
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont

    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))

    def page(canvas):
        y = pdf_samples.lines(canvas, ["Heading of the page"], size=18)
        y = pdf_samples.lines(canvas, pdf_samples.PROSE, y=y + 10)
        pdf_samples.grid(canvas, [["Zone", "Load"], ["North", "410"], ["South", "385"]], x=72, y=y + 20)
        pdf_samples.lines(canvas, ["水泵应安装在坚固的基座上。"], y=y + 120, font="STSong-Light")
        canvas.acroForm.textfield(name="customer", value="Ada", x=72, y=200, width=100, height=20)

    plain = [b"BT /F1 12 Tf 72 700 Td (Page number %d) Tj ET" % n for n in range(1, 4)]
    font, extra = pdf_samples.WITHOUT_MEANING
    hebrew, hebrew_extra = pdf_samples.hebrew_font()
    return {
        "drawn.pdf": pdf_samples.drawn(page, page, pageCompression=0),
        "packed.pdf": pdf_samples.drawn(page, page, page),
        "hand.pdf": pdf_samples.by_hand(plain, pdf_samples.HELVETICA),
        "unmapped.pdf": pdf_samples.by_hand([b"BT /F1 14 Tf 72 700 Td <00240025> Tj ET"], font, extra),
        "hebrew.pdf": pdf_samples.by_hand([b"BT /F1 12 Tf 72 700 Td (ABCD EFG) Tj ET"], hebrew, hebrew_extra),
        "scan.pdf": pdf_samples.scan(2),
    }


def _office() -> dict[str, bytes]:
    import docx
    import openpyxl
    import pptx

    word = docx.Document()
    word.add_heading("Chapter 1 Safety", 1)
    word.add_paragraph("KX-19 is a solvent.")
    word.add_paragraph("first", style="List Bullet")
    table = word.add_table(2, 2)
    table.cell(0, 0).text, table.cell(1, 1).text = "Part", "25 Nm"
    book = openpyxl.Workbook()
    for row in (["Name", "Price", "Date"], ["Bolt", 1.5, "2024-02-29"], ["Nut", 1047924.38, None]):
        book.active.append(row)
    book.active.merge_cells("A3:B3")
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[1])
    slide.shapes.title.text, slide.placeholders[1].text = "Plan", "First point"
    slide.notes_slide.notes_text_frame.text = "Say this."
    result = {}
    for ending, made in (("docx", word), ("xlsx", book), ("pptx", show)):
        stream = io.BytesIO()
        made.save(stream)
        result[ending] = stream.getvalue()
    return result


def _packages() -> dict[str, bytes]:
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="b.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    book = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata/><manifest>'
        '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest>'
        '<spine><itemref idref="a"/></spine></package>'
    )
    chapter = '<html xmlns="http://www.w3.org/1999/xhtml"><body><h1>One</h1><p>Words of the chapter.</p></body></html>'
    office = "urn:oasis:names:tc:opendocument:xmlns:"
    text = (
        f'<office:document-content xmlns:office="{office}office:1.0" xmlns:text="{office}text:1.0" '
        f'xmlns:table="{office}table:1.0"><office:body><office:text><text:h text:outline-level="1">Head</text:h>'
        "<text:p>Words.</text:p><table:table><table:table-row><table:table-cell><text:p>cell</text:p>"
        "</table:table-cell></table:table-row></table:table></office:text></office:body></office:document-content>"
    )
    sheet = text.replace("office:text>", "office:spreadsheet>")
    kind = "application/vnd.oasis.opendocument."
    return {
        "epub": zipped(
            {
                "mimetype": b"application/epub+zip",
                "META-INF/container.xml": container.encode(),
                "b.opf": book.encode(),
                "a.xhtml": chapter.encode(),
            }
        ),
        "odt": zipped({"mimetype": f"{kind}text".encode(), "content.xml": text.encode()}),
        "ods": zipped({"mimetype": f"{kind}spreadsheet".encode(), "content.xml": sheet.encode()}),
    }


def _texts() -> dict[str, bytes]:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "ann@host.example", "bob@host.example", "会议纪要"
    mail.set_content("See you on Friday.\n")
    mail.add_alternative("<p>See you on <b>Friday</b>.</p>", subtype="html")
    mail.add_attachment(b"a,b\n1,2\n", maintype="text", subtype="csv", filename="n.csv")
    notebook = {"cells": [{"cell_type": "code", "source": ["x = 1\n"], "outputs": []}], "metadata": {}, "nbformat": 4}
    page = (
        "<html><head><title>T</title></head><body><h1>H</h1><p>Text</p><ul><li>one</ul><table><tr><td>1</table></body>"
    )
    return {
        "html": page.encode(),
        "csv": "name;price\nBolt;1,50\nMutter;2,10\n".encode("cp1252"),
        "tsv": b"a\tb\n00123\tNA\n",
        "md": b"# Title\n\nText with `code`.\n\n- one\n- two\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n",
        "gbk.txt": "采购管理办法：伍万元以上须经批准。".encode("gbk"),
        "wide.txt": "Zoë and 李雷 went home.".encode("utf-16"),
        "rtf": rb"{\rtf1\ansi{\fonttbl{\f0 Arial;}}\f0 Caf\'e9 \u26446?\par\trowd a\cell b\cell\row}",
        "eml": mail.as_bytes(),
        "ipynb": json.dumps(notebook).encode(),
        "json": b'{"a": [1, 2, {"b": "text"}], "c": null}',
        "jsonl": b'{"a": 1}\n{"a": 2}\n',
        "xml": b"<?xml version='1.0'?><list><item id='1'>One</item><item>Two</item></list>",
        "py": b"def f(x):\n    return x + 1\n",
    }


def zipped(members: dict[str, bytes]) -> bytes:
    """A zip package."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as package:
        for name, data in members.items():
            package.writestr(name, data)
    return stream.getvalue()


def mutated(data: bytes, rng: random.Random) -> bytes:
    """The bytes with some of them changed, lost, doubled or moved; in zip packages also within a member."""
    if data.startswith(b"PK\x03\x04") and rng.random() < 0.75:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            members = {name: package.read(name) for name in package.namelist()}
        name = rng.choice(list(members))
        if rng.random() < 0.1:
            del members[name]
        else:
            members[name] = mutated(members[name], rng)
        return zipped(members)
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        if not out:
            break
        at = rng.randrange(len(out))
        length = min(rng.choice((1, 2, 8, 64, 512)), len(out) - at)
        match rng.randrange(8):
            case 0:
                out[at] ^= 1 << rng.randrange(8)
            case 1:
                out[at : at + length] = rng.randbytes(length)
            case 2:
                del out[at : at + length]
            case 3:
                out[at:at] = out[at : at + length] * rng.choice((1, 2, 50))
            case 4:
                del out[at:]
            case 5:
                other = rng.randrange(len(out))
                out[at:at] = out[other : other + length]
            case 6:
                out[at : at + length] = rng.choice((b"\xff", b"\x00", b"9", b"<", b"(", b"/", b"&#")) * length
            case 7:
                digits = [place for place in range(at, min(at + 400, len(out))) if 0x30 <= out[place] <= 0x39]
                if digits:
                    place = rng.choice(digits)
                    out[place : place + 1] = rng.choice((b"0", b"-1", b"99999999", b"2147483648"))
    return bytes(out)


def broken_files(folder: Path, count: int, seed: int) -> Iterator[Path]:
    """Writes mutated samples; each file's name holds what makes it again."""
    names = sorted(samples())
    for number in range(count):
        rng = random.Random(f"{seed}-{number}")
        name = names[number % len(names)]
        path = folder / f"{seed}-{number}-{name}"
        path.write_bytes(mutated(samples()[name], rng))
        yield path


def problem_of(document: Document) -> str | None:
    """What is wrong with a document that was read, if anything."""
    if document.text.strip() == "None":
        return "the text is None"
    if "\x00" in document.text:
        return "a NUL in the text"
    if document.page_count is not None and any((block.page or 1) > document.page_count for block in document.blocks):
        return "a block beyond the last page"
    for chunk in chunk_document(document, 100):
        if chunk.tokens > 100 or not chunk.text.endswith(document.text[chunk.start : chunk.end]):
            return "a chunk that breaks its rules"
    try:
        json.dumps(document.to_json(), ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return "text that cannot be written"
    return None


def run(count: int, seed: int, folder: Path) -> tuple[dict[str, Counter[str]], list[str]]:
    """Reads mutated files.

    Returns:
        Outcomes by format, and what must not be, one line each.
    """
    paths = list(broken_files(folder, count, seed))
    table: dict[str, Counter[str]] = {}
    problems: list[str] = []
    answered = 0
    for path, result in read_documents(paths, limits=LIMITS, seconds=SECONDS):
        answered += 1
        name = Path(path).name
        outcomes = table.setdefault(name.rpartition(".")[2], Counter())
        if isinstance(result, Document):
            outcomes["partial" if result.warnings else "read"] += 1
            wrong = problem_of(result)
            if wrong is not None:
                problems.append(f"{name}: {wrong}")
            said = " ".join(result.warnings)
        else:
            outcomes[type(result).__name__] += 1
            said = str(result)
            if type(result) is DocParserError:
                problems.append(f"{name}: {said}")
        if "ended with" in said or "takes longer than" in said:
            outcomes["ended a worker"] += 1
            print(f"survived: {name}: {said[-120:]}", file=sys.stderr)
    if answered != count:
        problems.append(f"{count - answered} files have no answer")
    return table, problems


def main() -> int:
    """Runs by hand and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200, help="files to read")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        table, problems = run(arguments.count, arguments.seed, Path(folder))
    close_workers()
    for kind in sorted(table):
        print(f"{kind:8}", ", ".join(f"{name} {number}" for name, number in sorted(table[kind].items())))
    total: Counter[str] = sum(table.values(), Counter())
    print(f"{arguments.count} files in {time.monotonic() - start:.0f} s:", dict(total))
    try:
        import resource

        print(f"memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB at most")
    except ImportError:
        print("this system does not tell the memory used")
    for line in problems:
        print("WRONG:", line)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
