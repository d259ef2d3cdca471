"""`vector_search`: passages by meaning, with an embedding model."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from qwen_agentkit.errors import ToolServiceError
from qwen_agentkit.tools.base import register_tool
from qwen_agentkit.tools.records import Record
from qwen_agentkit.tools.search_tools.base_search import BaseSearch, Scored
from qwen_agentkit.tools.service import ask_service
from qwen_agentkit.utils.environment import environment
from qwen_agentkit.utils.optional import need

_DASHSCOPE = "https://dashscope.aliyuncs.com/compatible-mode/v1"
_DASHSCOPE_MODEL = "text-embedding-v4"
# Texts of one request: DashScope's bound is 10.
_BATCH = 10
# Vectors that are remembered, about 4 KB each.
_MAX_REMEMBERED = 20_000

Embed = Callable[[list[str]], Sequence[Sequence[float]]]


@register_tool("vector_search")
class VectorSearch(BaseSearch):
    """Finds passages by their meaning.

    Args:
        cfg: `embedder`: a function from a list of texts to their vectors, or an object with such an `embed`.
            Without it an endpoint of the OpenAI protocol is asked: `embedding_server` (an address up to `/v1`; else
            `QWEN_AGENTKIT_EMBEDDING_SERVER`, else DashScope), `embedding_model`, `embedding_api_key` (else
            `QWEN_AGENTKIT_EMBEDDING_API_KEY`, `DASHSCOPE_API_KEY` for DashScope).
    """

    def __init__(self, cfg: Mapping[str, Any] | None = None) -> None:
        super().__init__(cfg)
        embedder = self.cfg.get("embedder")
        embed = getattr(embedder, "embed", embedder)
        if embedder is not None and not callable(embed):
            raise ValueError(f"vector_search: embedder is a function of a list of texts, not {embedder!r}")
        self._embed: Embed = embed if embed is not None else self._ask_endpoint
        self._lock = threading.Lock()
        self._remembered: OrderedDict[bytes, Any] = OrderedDict()

    def sort_by_scores(self, query: str, docs: Sequence[Record], **kwargs: Any) -> Scored:
        """Chunks by the cosine of their vectors and the query's.

        Raises:
            ToolServiceError: No embedding model is configured or it does not answer.
        """
        numpy = need("numpy")
        places = [(record.url, number) for record in docs for number in range(len(record.raw))]
        vectors = self._vectors([*(chunk.content for record in docs for chunk in record.raw), query])
        matrix = numpy.asarray(vectors, dtype="float32")
        matrix /= numpy.maximum(numpy.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)
        scores = matrix[:-1] @ matrix[-1]
        order = numpy.argsort(-scores, kind="stable")
        return [(*places[position], float(scores[position])) for position in order]

    def _vectors(self, texts: list[str]) -> list[Any]:
        """The vector of each text; a text that was seen before is not sent again."""
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        with self._lock:
            missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._remembered}
        new: dict[bytes, Any] = {}
        waiting = list(missing.items())
        for start in range(0, len(waiting), _BATCH):
            batch = waiting[start : start + _BATCH]
            vectors = list(self._embed([text for _, text in batch]))
            if len(vectors) != len(batch):
                raise ToolServiceError(None, "bad_reply", f"{len(batch)} texts were embedded as {len(vectors)} vectors")
            new.update(zip((key for key, _ in batch), vectors, strict=True))
        with self._lock:
            result = [new[key] if key in new else self._remembered[key] for key in keys]
            self._remembered.update(new)
            while len(self._remembered) > _MAX_REMEMBERED:
                self._remembered.popitem(last=False)
        lengths = {len(vector) for vector in result}
        if len(lengths) > 1:
            raise ToolServiceError(None, "bad_reply", f"The embedding model gave vectors of lengths {sorted(lengths)}")
        return result

    def _ask_endpoint(self, texts: list[str]) -> list[list[float]]:
        server = self.cfg.get("embedding_server") or environment("EMBEDDING_SERVER")
        model = self.cfg.get("embedding_model") or environment("EMBEDDING_MODEL")
        key = self.cfg.get("embedding_api_key") or environment("EMBEDDING_API_KEY")
        if server is None:
            key = key or environment("DASHSCOPE_API_KEY", plain=True)
            if not key:
                raise ToolServiceError(
                    None,
                    "not_configured",
                    "vector_search has no embedding model: give it an embedder, set QWEN_AGENTKIT_EMBEDDING_SERVER to "
                    "an OpenAI-compatible address, or DASHSCOPE_API_KEY for DashScope's.",
                )
            server, model = _DASHSCOPE, model or _DASHSCOPE_MODEL
        response = ask_service(
            f"{server.rstrip('/')}/embeddings",
            method="POST",
            json_body={"model": model or "default", "input": texts},
            headers={"Authorization": f"Bearer {key}"} if key else {},
        )
        data = response.json().get("data")
        if not isinstance(data, list) or not all(isinstance(one, dict) and "embedding" in one for one in data):
            raise ToolServiceError(None, "bad_reply", f"{server} did not answer with embeddings")
        return [one["embedding"] for one in sorted(data, key=lambda one: one.get("index", 0))]
