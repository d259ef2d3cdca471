"""Citations on the page: the `[1]` of a text as links to the source, and the list of sources under it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape as html_escape
from typing import Any

from qwen_agentkit.gui.sources import place_words, source_address
from qwen_agentkit.gui.texts import say
from qwen_agentkit.gui.tickets import Tickets
from qwen_agentkit.utils.work_dir import name_of

# As `rag.citations` reads them: [1], [1, 2], [1-3], 【1】; not the brackets of a Markdown link.
_MARK = re.compile(r"[\[【［]\^?\s*(\d{1,3}(?:\s*[,，、;–-]\s*\d{1,3})*)\s*[\]】］](?!\()")
_NUMBER = re.compile(r"\d+")
_WANTED = ("source", "page", "page_end", "sheet", "rows", "section", "quote", "start", "end")


class Cited:
    """The citations of one message.

    Args:
        citations: A message's `extra["citations"]`; what is no citation is left out.
        tickets: Where their tickets come from.
        lang: Language of the page.
    """

    def __init__(self, citations: Any, tickets: Tickets, lang: str) -> None:
        listed = citations if isinstance(citations, Sequence) else []
        self._lang = lang
        self._citations = [
            one
            for one in listed
            if isinstance(one, Mapping) and isinstance(one.get("n"), int) and isinstance(one.get("source"), str)
        ]
        self._addresses = [self._address(one, tickets) for one in self._citations]
        self._first = {one["n"]: place for place, one in reversed(list(enumerate(self._citations)))}

    def _address(self, citation: Mapping[str, Any], tickets: Tickets) -> str:
        held = {key: citation[key] for key in _WANTED if citation.get(key) is not None}
        return source_address(tickets.issue("source", citation=held), self._lang)

    def linked(self, text: str) -> str:
        """A piece of Markdown (no code) with its marks as links."""
        return _MARK.sub(self._link, text) if self._citations else text

    def _link(self, match: re.Match[str]) -> str:
        def one(number: re.Match[str]) -> str:
            place = self._first.get(int(number[0]))
            return number[0] if place is None else f"[{number[0]}]({self._addresses[place]})"

        return rf"\[{_NUMBER.sub(one, match[1])}\]"

    def listed(self) -> str:
        """The sources as HTML, one link for each place; "" when there is none."""
        if not self._citations:
            return ""
        links = dict.fromkeys(
            f'<a href="{address}">{html_escape(self._line(one))}</a>'
            for one, address in sorted(
                zip(self._citations, self._addresses, strict=True), key=lambda pair: pair[0]["n"]
            )
        )
        return f'<div class="qak-sources"><b>{say("sources", self._lang)}</b>{"".join(links)}</div>'

    def _line(self, citation: Mapping[str, Any]) -> str:
        return " · ".join(
            filter(None, [f"[{citation['n']}] {name_of(citation['source'])}", place_words(citation, self._lang)])
        )
