"""`web_search`: asks a search engine of the web, whichever is configured."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

from qwen_agentkit.errors import ToolServiceError
from qwen_agentkit.tools.base import BaseTool, register_tool
from qwen_agentkit.tools.service import ask_service, service_key
from qwen_agentkit.utils.environment import environment
from qwen_agentkit.utils.untrusted import as_data

MAX_RESULTS = 10
# Characters of one snippet; Tavily can give whole pages.
MAX_SNIPPET = 1000

_SERPER = "https://google.serper.dev/search"
_TAVILY = "https://api.tavily.com/search"
_DUCKDUCKGO = "https://html.duckduckgo.com/html/"
_NOTHING = {"en": "Nothing was found for {query!r}.", "zh": "没有找到与 {query!r} 有关的结果。"}
_SOURCE = {"en": "a web search for {query!r}", "zh": "网络搜索 {query!r}"}


@dataclass(frozen=True)
class SearchHit:
    """One result of a search engine."""

    title: str
    url: str
    snippet: str = ""
    date: str = ""


@register_tool("web_search")
class WebSearch(BaseTool):
    """Searches the web.

    Args:
        cfg: `engine` (`serper`, `tavily`, `searxng`, `duckduckgo`); without it, or `QWEN_AGENTKIT_WEB_SEARCH_ENGINE`,
            the first of them that is configured: a key in `SERPER_API_KEY` or `TAVILY_API_KEY`, an address in
            `SEARXNG_URL`. DuckDuckGo needs no key and is used only when it is named. `api_key` and `url` are taken
            in place of those of the environment (`SERPER_URL`, `TAVILY_URL`, `DUCKDUCKGO_URL`). `max_results`.

    Raises:
        ValueError: `engine` is none of the four.
    """

    description = "Searches the web and gives titles, addresses and excerpts."
    parameters = {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "What to search for."}},
        "required": ["query"],
    }

    def __init__(self, cfg: Mapping[str, Any] | None = None) -> None:
        super().__init__(cfg)
        engine = self.cfg.get("engine")
        if engine is not None and engine not in _ENGINES:
            raise ValueError(f"web_search: engine is one of {', '.join(_ENGINES)}, not {engine!r}")

    def call(self, params: str | dict[str, Any], **kwargs: Any) -> str:
        """The results as numbered text in a fence, marked as data.

        Raises:
            ToolServiceError: No engine is configured, or it does not answer.
        """
        query = self._verify_json_format_args(params)["query"].strip()
        lang = kwargs.get("lang", "en")
        hits = self.search(query)
        if not hits:
            return _NOTHING.get(lang, _NOTHING["en"]).format(query=query)
        listed = "\n\n".join(
            f'[{number}]"{hit.title}\n{hit.snippet}"{hit.date}\n{hit.url}' for number, hit in enumerate(hits, 1)
        )
        return as_data(listed, _SOURCE.get(lang, _SOURCE["en"]).format(query=query), lang)

    def search(self, query: str) -> list[SearchHit]:
        """The results as objects.

        Raises:
            ToolServiceError: As for `call`.
        """
        hits = _ENGINES[self._engine()](query, self.cfg)
        return [
            SearchHit(_plain(hit.title), hit.url, _plain(hit.snippet)[:MAX_SNIPPET], _plain(hit.date))
            for hit in hits[: self.cfg.get("max_results", MAX_RESULTS)]
            if hit.url
        ]

    def _engine(self) -> str:
        named = self.cfg.get("engine") or environment("WEB_SEARCH_ENGINE")
        if named:
            if named not in _ENGINES:
                raise ToolServiceError(
                    None, "not_configured", f"QWEN_AGENTKIT_WEB_SEARCH_ENGINE is one of {', '.join(_ENGINES)}"
                )
            return named
        for engine, variable in (
            ("serper", "SERPER_API_KEY"),
            ("tavily", "TAVILY_API_KEY"),
            ("searxng", "SEARXNG_URL"),
        ):
            if environment(variable, plain=True):
                return engine
        raise ToolServiceError(
            None,
            "not_configured",
            "web_search has no search engine: set SERPER_API_KEY (https://serper.dev), TAVILY_API_KEY "
            "(https://tavily.com) or SEARXNG_URL, or QWEN_AGENTKIT_WEB_SEARCH_ENGINE=duckduckgo, which needs no key.",
        )


def _serper(query: str, cfg: Mapping[str, Any]) -> list[SearchHit]:
    key = service_key("web_search", cfg.get("api_key"), "SERPER_API_KEY", "https://serper.dev")
    url = cfg.get("url") or environment("SERPER_URL", plain=True) or _SERPER
    reply = ask_service(url, method="POST", json_body={"q": query}, headers={"X-API-KEY": key}).json()
    return [
        SearchHit(_text(one, "title"), _text(one, "link"), _text(one, "snippet"), _text(one, "date"))
        for one in _items(reply, "organic")
    ]


def _tavily(query: str, cfg: Mapping[str, Any]) -> list[SearchHit]:
    key = service_key("web_search", cfg.get("api_key"), "TAVILY_API_KEY", "https://tavily.com")
    url = cfg.get("url") or environment("TAVILY_URL", plain=True) or _TAVILY
    body = {"query": query, "max_results": cfg.get("max_results", MAX_RESULTS)}
    reply = ask_service(url, method="POST", json_body=body, headers={"Authorization": f"Bearer {key}"}).json()
    return [
        SearchHit(_text(one, "title"), _text(one, "url"), _text(one, "content"), _text(one, "published_date"))
        for one in _items(reply, "results")
    ]


def _searxng(query: str, cfg: Mapping[str, Any]) -> list[SearchHit]:
    url = cfg.get("url") or environment("SEARXNG_URL", plain=True)
    if not url:
        raise ToolServiceError(None, "not_configured", "web_search with SearXNG needs its address in SEARXNG_URL.")
    address = url.rstrip("/") if url.rstrip("/").endswith("/search") else f"{url.rstrip('/')}/search"
    reply = ask_service(address, params={"q": query, "format": "json"}).json()
    return [
        SearchHit(_text(one, "title"), _text(one, "url"), _text(one, "content"), _text(one, "publishedDate"))
        for one in _items(reply, "results")
    ]


def _duckduckgo(query: str, cfg: Mapping[str, Any]) -> list[SearchHit]:
    url = cfg.get("url") or environment("DUCKDUCKGO_URL", plain=True) or _DUCKDUCKGO
    response = ask_service(url, params={"q": query})
    if response.status == 202 or not response.body:
        raise ToolServiceError(None, "429", "DuckDuckGo does not answer automatic questions at the moment.")
    from lxml import html as lxml_html

    page = lxml_html.document_fromstring(response.text)
    hits = []
    for result in page.xpath('//div[contains(concat(" ", @class, " "), " result ")]'):
        links = result.xpath('.//a[contains(@class, "result__a")]')
        # Advertisements are results too, and say so in their class.
        if not links or "result--ad" in (result.get("class") or ""):
            continue
        snippet = " ".join(result.xpath('string(.//*[contains(@class, "result__snippet")])').split())
        hits.append(SearchHit(links[0].text_content(), _behind(links[0].get("href") or ""), snippet))
    return hits


def _behind(link: str) -> str:
    """The address behind DuckDuckGo's own redirect (`//duckduckgo.com/l/?uddg=...`)."""
    target = parse_qs(urlsplit(link).query).get("uddg")
    return target[0] if target else link


_ENGINES: dict[str, Callable[[str, Mapping[str, Any]], list[SearchHit]]] = {
    "serper": _serper,
    "tavily": _tavily,
    "searxng": _searxng,
    "duckduckgo": _duckduckgo,
}


def _items(reply: Any, key: str) -> list[Mapping[str, Any]]:
    items = reply.get(key, []) if isinstance(reply, Mapping) else None
    if not isinstance(items, list):
        raise ToolServiceError(None, "bad_reply", f"The search engine's answer has no list {key!r}")
    return [item for item in items if isinstance(item, Mapping)]


def _text(item: Mapping[str, Any], key: str) -> str:
    value = item.get(key)
    return value if isinstance(value, str) else ""


def _plain(text: str) -> str:
    """Text in one line, without the tags and entities with which engines mark what matched."""
    return " ".join(html.unescape(re.sub(r"</?(?:b|em|strong|mark|span)\b[^>]*>", "", text)).split())
