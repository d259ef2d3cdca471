"""`web_extractor`: the text of a page or document of the web."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from qwen_agentkit.errors import DocParserError, MissingDependencyError, ToolArgumentsError, ToolServiceError
from qwen_agentkit.log import logger
from qwen_agentkit.tools.base import BaseTool, register_tool
from qwen_agentkit.tools.documents import Sources, find_sources, read_sources
from qwen_agentkit.utils.addresses import parse_address
from qwen_agentkit.utils.optional import need
from qwen_agentkit.utils.untrusted import as_data

# Bytes of a page that trafilatura is given; it takes time with the square of what is on it.
_MAX_PAGE = 5_000_000
# With less than this share of the page's words left, the main text was not found.
_LEAST_SHARE = 0.1


@register_tool("web_extractor")
class WebExtractor(BaseTool):
    """Fetches an address and gives its text, without menus and footers where `trafilatura` is installed (extra `web`).

    PDF, Office and other documents are read as well. Private addresses are not reached (`utils/web.py`).
    """

    description = "Gets the text of a web page, or of a document at a web address."
    parameters = {
        "type": "object",
        "properties": {"url": {"type": "string", "description": "Address of the page, with http:// or https://."}},
        "required": ["url"],
    }

    def call(self, params: str | dict[str, Any], **kwargs: Any) -> str:
        """The text in a fence, marked as data.

        Raises:
            ToolArgumentsError: `url` is no http(s) address.
            ToolServiceError: It cannot be fetched.
            DocParserError: It cannot be read.
        """
        url = self._verify_json_format_args(params)["url"].strip()
        try:
            parse_address(url)
        except ValueError as error:
            raise ToolArgumentsError(f"web_extractor: {error}") from None
        return as_data(page_text(url), url, kwargs.get("lang", "en"))


def page_text(url: str) -> str:
    """The text of what is at an address.

    Raises:
        ToolServiceError, DocParserError: As for the tool.
    """
    sources = find_sources([url])
    if not sources.paths:
        raise ToolServiceError(None, "not_fetched", sources.problems[0].reason)
    for _, document in read_sources(sources):
        if document.file_type == "html":
            main = _main_text(sources, url)
            if main is not None and len(main) >= _LEAST_SHARE * len(document.text):
                return main
        return document.text
    raise DocParserError(code="unreadable", message=f"{url}: {sources.problems[0].reason}")


def _main_text(sources: Sources, url: str) -> str | None:
    """What trafilatura takes for the page's own text; None without it or when it finds none."""
    path = sources.paths[url]
    if not _is_small(path):
        return None
    try:
        trafilatura = need("trafilatura", extra="web")
    except MissingDependencyError:
        logger.debug("trafilatura is not installed, so the whole page is given")
        return None
    return trafilatura.extract(path.read_bytes(), url=url, output_format="markdown", include_tables=True)


def _is_small(path: Path) -> bool:
    return path.stat().st_size <= _MAX_PAGE
