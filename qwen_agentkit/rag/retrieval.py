"""The passages that a question asks for, out of one or several knowledge bases, within a budget of tokens."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from qwen_agentkit.rag.fusion import fuse
from qwen_agentkit.rag.hits import Hit
from qwen_agentkit.rag.knowledge_base import KnowledgeBase
from qwen_agentkit.utils.knowledge import retrieval_from_passages
from qwen_agentkit.utils.tokenization_qwen import count_tokens, tokenizer

KEYWORD_SEARCH, FRONT_PAGE_SEARCH = "keyword_search", "front_page_search"

# Front pages of a document, and the share of the budget that those of all documents may take.
_FRONT_PAGES = 2
_FRONT_SHARE = 0.25
_MOST_FRONT_PASSAGES = 40
# Documents with a hit whose opening is shown beside it.
_MOST_FRONTS = 5
# The best hits that their neighbours are joined to while the budget allows.
_HITS_WITH_NEIGHBOURS = 5
_LEAST_HITS, _MOST_HITS = 30, 400

Place = tuple[str, int]


def retrieve(
    query: str, bases: Sequence[KnowledgeBase], max_ref_token: int, searchers: Sequence[str] = (KEYWORD_SEARCH,)
) -> list[dict[str, Any]]:
    """Finds passages.

    Args:
        query: A question or words; or JSON with `keywords` and `text`, as `Memory` makes it.
        bases: Where to look; their results are merged by rank fusion. They are taken as they are, see `refresh`.
        max_ref_token: Tokens of all passages together.
        searchers: `keyword_search`, and `front_page_search` for the openings of documents beside it.

    Returns:
        `{"url", "text": [...], "passages": [...]}` for each document, the best document first, its passages in
        reading order. Everything when it fits the budget; the front parts when nothing matches or nothing is asked.
    """
    bases = list(bases)
    if sum(base.tokens for base in bases) <= max_ref_token:
        return _result([hit for _, hits in _documents(bases) for hit in hits])
    if max_ref_token < 1:
        return []
    words = query_text(query)
    hits = _search(words, bases, max_ref_token) if words.strip() else []
    if not hits:
        return _result(_front_parts(bases, max_ref_token))
    # The best hit is there whatever the budget: openings come beside it, not in its place.
    hits = [_cut(hits[0], max_ref_token), *hits[1:]]
    wanted = _fronts(bases, hits, max_ref_token) if FRONT_PAGE_SEARCH in searchers else []
    wanted = [hit for hit in _within([hits[0], *wanted], max_ref_token) if hit is not hits[0]]
    chosen = _within([*wanted, *hits], max_ref_token)
    left = max_ref_token - sum(hit.tokens for hit in chosen)
    known = {_place(hit) for hit in chosen}
    neighbours = [hit for hit in _neighbours(bases, hits[:_HITS_WITH_NEIGHBOURS]) if _place(hit) not in known]
    return _result([*chosen, *_within(neighbours, left)])


def query_text(query: str) -> str:
    """The words to search for in a query that may be JSON with keywords beside the question."""
    if not query.lstrip().startswith("{"):
        return query
    try:
        held = json.loads(query)
    except ValueError:
        return query
    if not isinstance(held, dict):
        return query
    words = [held["text"]] if isinstance(held.get("text"), str) else []
    for key in ("keywords", "keywords_zh", "keywords_en"):
        values = held.get(key) or []
        words += [str(value) for value in (values if isinstance(values, list) else [values])]
    return " ".join(words) or query


def _documents(bases: Sequence[KnowledgeBase]) -> Iterator[tuple[str, list[Hit]]]:
    """Each document of the bases once, with its passages."""
    seen: set[str] = set()
    for base in bases:
        for source in base.sources:
            if source not in seen:
                seen.add(source)
                yield source, base.passages(source)


def _search(words: str, bases: Sequence[KnowledgeBase], budget: int) -> list[Hit]:
    """Hits enough to fill the budget, the best first."""
    usual = max(1, sum(base.tokens for base in bases) // max(1, sum(base.count for base in bases)))
    top_k = min(_MOST_HITS, max(_LEAST_HITS, 3 * budget // (2 * usual)))
    found = [base.search(words, top_k) for base in bases]
    if len(found) == 1:
        return found[0]
    by_place = {_place(hit): hit for hits in found for hit in hits}
    fused = fuse({str(number): [_place(hit) for hit in hits] for number, hits in enumerate(found)})
    return [by_place[place] for place, _, _ in fused]


def _fronts(bases: Sequence[KnowledgeBase], hits: Sequence[Hit], budget: int) -> list[Hit]:
    """Openings worth showing: the front pages of the only document, or the first passage of each best one."""
    sources = list(dict.fromkeys(source for base in bases for source in base.sources))
    holders = {source: base for base in bases for source in base.sources}
    if len(sources) == 1:
        opening = holders[sources[0]].passages(sources[0], 0, _MOST_FRONT_PASSAGES)
        fronts = [hit for hit in opening if (hit.page if hit.page is not None else hit.number + 1) <= _FRONT_PAGES]
    else:
        best = list(dict.fromkeys(hit.source for hit in hits))[:_MOST_FRONTS]
        fronts = [hit for source in best for hit in holders[source].passages(source, 0, 0)]
    return _within(fronts, int(budget * _FRONT_SHARE))


def _front_parts(bases: Sequence[KnowledgeBase], budget: int) -> list[Hit]:
    """The beginnings of all documents, the budget shared evenly."""
    documents = [hits for _, hits in _documents(bases) if hits]
    chosen: list[Hit] = []
    left = budget
    for position, hits in enumerate(documents):
        part = _leading(hits, left // (len(documents) - position))
        left -= sum(hit.tokens for hit in part)
        chosen += part
    return chosen


def _leading(hits: Sequence[Hit], budget: int) -> list[Hit]:
    chosen = []
    for hit in hits:
        if hit.tokens > budget:
            break
        budget -= hit.tokens
        chosen.append(hit)
    return chosen


def _neighbours(bases: Sequence[KnowledgeBase], hits: Sequence[Hit]) -> Iterator[Hit]:
    """The passages before and behind the best hits."""
    holders = {source: base for base in bases for source in base.sources}
    for hit in hits:
        around = holders[hit.source].passages(hit.source, max(0, hit.number - 1), hit.number + 1)
        yield from (beside for beside in reversed(around) if beside.number != hit.number)


def _within(hits: Sequence[Hit], budget: int) -> list[Hit]:
    """The first that fit, each once; one that does not fit is passed over for a smaller one behind it."""
    chosen: dict[Place, Hit] = {}
    for hit in hits:
        if _place(hit) not in chosen and hit.tokens <= budget:
            chosen[_place(hit)] = hit
            budget -= hit.tokens
    return list(chosen.values())


def _cut(hit: Hit, budget: int) -> Hit:
    """A hit, cut behind what the budget has room for."""
    if hit.tokens <= budget:
        return hit
    text = tokenizer.truncate(hit.text, max_token=budget)
    end = hit.end
    if hit.start is not None and hit.end is not None:
        # Before its `start` a passage may repeat a heading or the head of a table, so it is counted from behind.
        end = max(hit.start, hit.end - (len(hit.text) - len(text)))
    return replace(hit, text=text, end=end, tokens=count_tokens(text))


def _place(hit: Hit) -> Place:
    return hit.source, hit.number


def _result(hits: Sequence[Hit]) -> list[dict[str, Any]]:
    order = {source: position for position, source in enumerate(dict.fromkeys(hit.source for hit in hits))}
    in_order = sorted(hits, key=lambda hit: (order[hit.source], hit.number))
    return retrieval_from_passages(hit.passage(n) for n, hit in enumerate(in_order, 1))
