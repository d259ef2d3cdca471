"""Agents that answer from documents and nothing else."""

from __future__ import annotations

from qwen_agentkit.utils.lazy import lazy_exports

_WHERE = {
    "BasicDocQA": ".basic_doc_qa",
    "DocQA": ".basic_doc_qa",
    "DocQAAgent": ".basic_doc_qa",
    "ParallelDocQA": ".parallel_doc_qa",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
__all__ = sorted(_WHERE)
