"""What is installed: the packages that the base install brings, and those of each extra."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass

# Package -> the module that is imported.
BASE = {
    "openai": "openai",
    "dashscope": "dashscope",
    "json5": "json5",
    "json-repair": "json_repair",
    "tenacity": "tenacity",
    "tiktoken": "tiktoken",
    "pydantic": "pydantic",
    "requests": "requests",
    "jsonschema": "jsonschema",
    "referencing": "referencing",
    "charset-normalizer": "charset_normalizer",
    "lxml": "lxml",
    "pdfminer.six": "pdfminer",
    "pypdfium2": "pypdfium2",
    "python-calamine": "python_calamine",
    "xlrd": "xlrd",
    "pillow": "PIL",
    "jieba": "jieba",
    "numpy": "numpy",
    "PyStemmer": "Stemmer",
    "rank-bm25": "rank_bm25",
    "tantivy": "tantivy",
    "rich": "rich",
    "typer": "typer",
}

# Extra -> (what it is for, its packages), all but those that unite others or are for developers.
EXTRAS = {
    "cache": ("answers of models kept on disk", {"diskcache": "diskcache"}),
    "mcp": ("tools of MCP servers, and `mcp`", {"mcp": "mcp", "anyio": "anyio", "httpx": "httpx"}),
    "code": ("cells as in a notebook and plots for a model's code", {"ipython": "IPython", "matplotlib": "matplotlib"}),
    "sessions": ("stored conversations, and `sessions`, `memory`", {"sqlalchemy": "sqlalchemy"}),
    "postgres": ("conversations in PostgreSQL", {"sqlalchemy": "sqlalchemy", "psycopg": "psycopg"}),
    "server": (
        "`serve`",
        {
            "fastapi": "fastapi",
            "prometheus-client": "prometheus_client",
            "python-multipart": "python_multipart",
            "sqlalchemy": "sqlalchemy",
            "uvicorn": "uvicorn",
        },
    ),
    "gui": ("`web`", {"gradio": "gradio", "markdown-it-py": "markdown_it", "sqlalchemy": "sqlalchemy"}),
    "tables": ("tables of PDF pages with unusual rulings", {"pdfplumber": "pdfplumber"}),
    "vectors": ("a graph over very many vectors", {"faiss-cpu": "faiss"}),
    "otel": ("spans of runs", {"opentelemetry-api": "opentelemetry"}),
    "web": (
        "the text of web pages without what stands around it",
        {"trafilatura": "trafilatura", "lxml-html-clean": "lxml_html_clean"},
    ),
    "ocr": ("scanned pages", {"rapidocr": "rapidocr", "onnxruntime": "onnxruntime"}),
    "local": ("GGUF models in this process", {"llama-cpp-python": "llama_cpp"}),
    "transformers": ("Transformers models in this process", {"torch": "torch", "transformers": "transformers"}),
    "openvino": ("OpenVINO models in this process", {"optimum": "optimum", "transformers": "transformers"}),
    "milvus": ("indexes in a Milvus server", {"pymilvus": "pymilvus"}),
    "ray": ("work in a Ray cluster", {"ray": "ray"}),
}


@dataclass(frozen=True)
class Installed:
    """A group of packages.

    Args:
        versions: Package -> version, of those that are there.
        missing: Those that are not.
    """

    versions: dict[str, str]
    missing: list[str]


def look_at(packages: dict[str, str]) -> Installed:
    """Which of some packages are there; none of them is imported."""
    versions: dict[str, str] = {}
    missing: list[str] = []
    for package, module in packages.items():
        if importlib.util.find_spec(module) is None:
            missing.append(package)
            continue
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = "?"  # a copy of the module that no installer knows of
    return Installed(versions, missing)


def in_words(versions: dict[str, str], only: Sequence[str] | None = None) -> str:
    """Packages with their versions, in one line."""
    names = versions if only is None else only
    return ", ".join(f"{name} {versions[name]}" for name in names)
