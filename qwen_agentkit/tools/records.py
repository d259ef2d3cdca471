"""`Record` and `Chunk`: a document as the drop-in tools hand it to each other.

They are the shapes of Qwen-Agent's `doc_parser`; whoever wants pages, sections and offsets finds them in a chunk's
`metadata`, beside `source`, `title` and `chunk_id`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from qwen_agentkit.utils.tokenization_qwen import count_tokens

if TYPE_CHECKING:
    from qwen_agentkit.rag.chunking import Chunk as DocumentChunk
    from qwen_agentkit.rag.hits import Hit

# What a chunk's metadata carries of where it stands in its document, where that is known.
PLACE_KEYS = ("page", "page_end", "sheet", "rows", "section", "start", "end")


@dataclass
class Chunk:
    """A passage.

    Args:
        content: Its text.
        metadata: `source`, `title`, `chunk_id`, and where it stands.
        token: Its tokens.
    """

    content: str
    metadata: dict[str, Any] = field(default_factory=dict)
    token: int = -1

    def __post_init__(self) -> None:
        if self.token < 0:
            self.token = count_tokens(self.content)

    def to_dict(self) -> dict[str, Any]:
        return {"content": self.content, "metadata": dict(self.metadata), "token": self.token}

    model_dump = to_dict


@dataclass
class Record:
    """A document cut into chunks.

    Args:
        url: Path or address.
        raw: The chunks, as objects or dicts.
        title: Its title.
    """

    url: str
    raw: list[Chunk]
    title: str = ""

    def __post_init__(self) -> None:
        self.raw = [chunk if isinstance(chunk, Chunk) else Chunk(**chunk) for chunk in self.raw]

    def to_dict(self) -> dict[str, Any]:
        return {"url": self.url, "raw": [chunk.to_dict() for chunk in self.raw], "title": self.title}

    model_dump = to_dict


def record_of_chunks(url: str, title: str, chunks: Sequence[DocumentChunk | Hit]) -> Record:
    """The record of a document's chunks."""
    raw = []
    for number, chunk in enumerate(chunks):
        metadata: dict[str, Any] = {"source": url, "title": title, "chunk_id": number}
        for key in PLACE_KEYS:
            value = getattr(chunk, key)
            if value is not None:
                metadata[key] = list(value) if isinstance(value, tuple) else value
        raw.append(Chunk(chunk.text, metadata, chunk.tokens))
    return Record(url, raw, title)


def record_of_hits(url: str, hits: Sequence[Hit]) -> Record:
    """The record of a document's passages in an index."""
    return record_of_chunks(url, (hits[0].title if hits else None) or "", hits)


def records_of(docs: Sequence[Record | Mapping[str, Any] | str | Sequence[str]], chunk_tokens: int) -> list[Record]:
    """Documents of any form that the search tools take, as records.

    Args:
        docs: Records (or their dicts), texts, and lists of texts, the pages of one document.
        chunk_tokens: The most tokens of a chunk of texts that have to be cut.

    Raises:
        ValueError: One of them is something else.
    """
    records: list[Record] = []
    for number, doc in enumerate(docs):
        if isinstance(doc, Record):
            records.append(doc)
        elif isinstance(doc, Mapping):
            records.append(Record(**doc))
        elif isinstance(doc, str):
            records.append(_record_of_pages(f"doc_{number}", [doc], chunk_tokens))
        elif isinstance(doc, Sequence) and all(isinstance(page, str) for page in doc):
            records.append(_record_of_pages(f"doc_{number}", doc, chunk_tokens))
        else:
            raise ValueError(f"docs[{number}] is a Record, a text or a list of texts, not {type(doc).__name__}")
    return records


def _record_of_pages(url: str, pages: Sequence[str], chunk_tokens: int) -> Record:
    from qwen_agentkit.rag.chunking import chunk_document
    from qwen_agentkit.rag.document import Block, Document

    blocks = [Block("text", page, page=number) for number, page in enumerate(pages, 1) if page.strip()]
    document = Document(url, "", "txt", blocks, page_count=len(pages))
    return record_of_chunks(url, "", chunk_document(document, chunk_tokens=chunk_tokens))
