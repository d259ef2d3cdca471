"""A cited source as a page of its own: the PDF page as a picture with the quote marked, or the text around the quote.

The page is plain HTML without a script, so it may stand in a frame of the chat page or in a tab of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote as percent_encode

from qwen_agentkit.errors import DocParserError, ToolServiceError
from qwen_agentkit.gui import pdf_page
from qwen_agentkit.gui.texts import say
from qwen_agentkit.utils.work_dir import name_of

# Characters of a text that are shown before and behind the quote.
_AROUND = 2_000
_PDF_MARK = b"%PDF-"
_PDF_MARK_WITHIN = 1_024

_STYLE = """
:root { color-scheme: light; --back: #fff; --ink: #1f2328; --soft: #667085; --line: #d8dde6; --mark: #ffe45a; }
:root.dark { color-scheme: dark; --back: #14171c; --ink: #e6e8ec; --soft: #9aa3b2; --line: #353b46; --mark: #7a6500; }
body { margin: 0; background: var(--back); color: var(--ink); line-height: 1.55;
  font-family: system-ui, "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", sans-serif; font-size: 15px; }
header { position: sticky; top: 0; background: var(--back); border-bottom: 1px solid var(--line); padding: 10px 16px;
  z-index: 1; }
h1 { font-size: 15px; margin: 0 0 2px; overflow-wrap: anywhere; }
header p { margin: 0; color: var(--soft); font-size: 13px; }
nav a { color: inherit; margin-right: 14px; font-size: 13px; }
blockquote { margin: 8px 0 0; padding: 2px 10px; border-left: 3px solid var(--mark); color: var(--soft);
  font-size: 13px; max-height: 6.2em; overflow: auto; white-space: pre-wrap; }
main { padding: 14px 16px; }
figure { margin: 0; position: relative; }
img { width: 100%; height: auto; border: 1px solid var(--line); display: block; }
#quote { position: absolute; scroll-margin-top: 40vh; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font: inherit; margin: 0; }
mark { background: var(--mark); color: inherit; border-radius: 2px; scroll-margin-top: 35vh; }
.note { color: var(--soft); margin: 0 0 10px; }
"""


class SourceGone(Exception):
    """The source cannot be shown; the text says why, for a person."""


def source_page(
    citation: Mapping[str, Any], ticket: str, lang: str, dark: bool, page: int | None = None, root: str = "../"
) -> str:
    """The HTML of a cited source.

    Args:
        citation: A citation as in a message's `extra["citations"]`.
        ticket: Its ticket, for the pictures' addresses.
        lang: `en` or `zh`.
        dark: Whether it is shown on dark ground.
        page: Another page of a PDF than the cited one.
        root: Where the routes begin, seen from the page's own address.

    Raises:
        SourceGone: The file is not there any more, or cannot be read.
    """
    path = local_copy(citation["source"])
    try:
        if _is_pdf(path) and citation.get("page") is not None:
            body, place = _pdf_body(path, citation, ticket, lang, dark, page, root)
        else:
            body, place = _text_body(citation, lang), place_of(citation, lang)
    except (DocParserError, OSError, ValueError) as error:
        raise SourceGone(getattr(error, "message", None) or str(error)) from error
    name = name_of(citation["source"])
    cited = f"<blockquote>{escape(citation['quote'])}</blockquote>" if citation.get("quote") else ""
    return document(name, f"<header><h1>{escape(name)}</h1>{place}{cited}</header><main>{body}</main>", lang, dark)


def document(title: str, body: str, lang: str, dark: bool) -> str:
    """A whole HTML document with the style of the source pages. `body` is HTML."""
    return (
        f'<!doctype html><html lang="{lang}" class="{"dark" if dark else "light"}"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body>{body}</body></html>"
    )


def page_picture(citation: Mapping[str, Any], page: int | None) -> bytes:
    """The picture of a cited PDF page, PNG, the quote marked where the page holds it.

    Raises:
        SourceGone: The file is not there any more, cannot be read, or has no such page.
    """
    path = local_copy(citation["source"])
    try:
        found = pdf_page.locate(path, citation["page"], citation.get("page_end"), citation.get("quote") or "")
        number = page or found.first
        return pdf_page.picture(path, number, found.spans.get(number))
    except (DocParserError, OSError, ValueError) as error:
        raise SourceGone(getattr(error, "message", None) or str(error)) from error


def place_of(citation: Mapping[str, Any], lang: str) -> str:
    """Where in its source a citation stands, as a line of HTML; "" when it does not say."""
    words = place_words(citation, lang)
    return f"<p>{escape(words)}</p>" if words else ""


def place_words(citation: Mapping[str, Any], lang: str) -> str:
    """Page, sheet, rows and section of a citation in words."""
    parts = []
    if (page := citation.get("page")) is not None:
        end = citation.get("page_end")
        parts.append(say("page", lang, page) if end in (None, page) else say("pages", lang, page, end))
    if citation.get("sheet"):
        parts.append(say("sheet", lang, citation["sheet"]))
    if rows := citation.get("rows"):
        parts.append(say("row", lang, rows[0]) if rows[0] == rows[-1] else say("rows", lang, rows[0], rows[-1]))
    if citation.get("section"):
        parts.append(str(citation["section"]))
    return " · ".join(parts)


def local_copy(source: str) -> Path:
    """The local file that holds a source; one of the web comes from the cache, or is fetched again.

    Raises:
        SourceGone: There is none.
    """
    from qwen_agentkit.tools.documents import find_sources

    try:
        found = find_sources([source])
    except (OSError, ValueError, ToolServiceError) as error:
        raise SourceGone(str(error)) from error
    path = next(iter(found.paths.values()), None)
    if path is None or not path.is_file():
        raise SourceGone(found.problems[0].reason if found.problems else source)
    return path


def _is_pdf(path: Path) -> bool:
    with path.open("rb") as file:
        return _PDF_MARK in file.read(_PDF_MARK_WITHIN)


def _pdf_body(
    path: Path, citation: Mapping[str, Any], ticket: str, lang: str, dark: bool, page: int | None, root: str
) -> tuple[str, str]:
    found = pdf_page.locate(path, citation["page"], citation.get("page_end"), citation.get("quote") or "")
    number = page or found.first
    if not 1 <= number <= found.page_count:
        raise ValueError(f"1 - {found.page_count}")
    theme = "&theme=dark" if dark else ""

    def link(to: int, words: str) -> str:
        return f'<a href="{root}source/{ticket}?page={to}{theme}&lang={lang}">{escape(words)}</a>'

    links = []
    if number > 1:
        links.append(link(number - 1, say("previous", lang)))
    if number < found.page_count:
        links.append(link(number + 1, say("next", lang)))
    place = f"<p>{escape(say('of', lang, number, found.page_count))}</p><nav>{''.join(links)}</nav>"
    note = "" if found.spans else f'<p class="note">{escape(say("quote_missing", lang))}</p>'
    top = f'<a id="quote" style="top:{found.top:.1%}"></a>' if number == found.first and found.top else ""
    width, height = found.size
    size = f' width="{width:.0f}" height="{height:.0f}"' if number == found.first else ""
    words = escape(citation.get("quote") or "", quote=True)
    picture = f'<img src="{root}page/{ticket}?page={number}"{size} alt="{words}">'
    return f"{note}<figure>{picture}{top}</figure>", place


def _text_body(citation: Mapping[str, Any], lang: str) -> str:
    text, span = _text_and_span(citation)
    if span is None:
        note = f'<p class="note">{escape(say("quote_missing", lang))}</p>'
        return f"{note}<pre>{escape(text[: 2 * _AROUND])}</pre>"
    start, end = span
    before, after = text[max(0, start - _AROUND) : start], text[end : end + _AROUND]
    head = "… " if start > _AROUND else ""
    tail = " …" if end + _AROUND < len(text) else ""
    marked = f'<mark id="quote">{escape(text[start:end])}</mark>'
    return f"<pre>{head}{escape(before)}{marked}{escape(after)}{tail}</pre>"


def _text_and_span(citation: Mapping[str, Any]) -> tuple[str, tuple[int, int] | None]:
    """The text of a document as it was read, and where the quote stands in it."""
    from qwen_agentkit.tools.documents import find_sources, read_sources
    from qwen_agentkit.utils.text.quotes import find_quote

    wanted = find_sources([citation["source"]])
    read = next(iter(read_sources(wanted)), None)
    if read is None:
        raise SourceGone(wanted.problems[0].reason if wanted.problems else citation["source"])
    text, quote = read[1].text, citation.get("quote") or ""
    start, end = citation.get("start"), citation.get("end")
    if isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(text):
        # The file may have been edited since: the offsets count only where the words are the same.
        near = find_quote(quote, text[start:end]) if quote else None
        if not quote or (near is not None and near.score > 0.9):
            return text, (start, end)
    match = find_quote(quote, text) if quote.strip() else None
    return text, (match.start, match.end) if match else None


def file_address(ticket: str, name: str) -> str:
    """The address of a file's route, seen from the page."""
    return f"qak/file/{ticket}/{percent_encode(name)}"


def source_address(ticket: str, lang: str) -> str:
    """The address of a source's page, seen from the chat page."""
    return f"qak/source/{ticket}?lang={lang}#quote"
