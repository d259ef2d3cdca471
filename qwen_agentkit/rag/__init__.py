"""Documents: reading, chunking, the index and search."""

from qwen_agentkit.utils.lazy import lazy_exports

_HERE = "qwen_agentkit.rag"

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "DocumentIndex": f"{_HERE}.index",
        "Hit": f"{_HERE}.hits",
        "AddReport": f"{_HERE}.report",
        "Problem": f"{_HERE}.report",
        "Change": f"{_HERE}.report",
        "Document": f"{_HERE}.document",
        "Block": f"{_HERE}.document",
        "Chunk": f"{_HERE}.chunking",
        "chunk_document": f"{_HERE}.chunking",
        "read_document": f"{_HERE}.reading",
        "read_documents": f"{_HERE}.workers",
        "DocumentCache": f"{_HERE}.cache",
        "ground": f"{_HERE}.citations",
        "Grounding": f"{_HERE}.citations",
        "Embedder": f"{_HERE}.embedders",
        "OpenAIEmbedder": f"{_HERE}.embedders",
        "DashScopeEmbedder": f"{_HERE}.embedders",
        "get_embedder": f"{_HERE}.embedders",
        "Reranker": f"{_HERE}.rerankers",
        "get_reranker": f"{_HERE}.rerankers",
    },
)
