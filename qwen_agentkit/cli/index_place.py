"""Which index of documents a command works on."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qwen_agentkit import settings
from qwen_agentkit.cli import configuration
from qwen_agentkit.cli.status import WrongUse
from qwen_agentkit.config_file import with_key

if TYPE_CHECKING:
    from qwen_agentkit.rag.index import DocumentIndex

VARIABLE = "QWEN_AGENTKIT_INDEX"

IndexPlace = Annotated[
    str | None,
    typer.Option(
        "--index",
        metavar="FOLDER",
        help=f"Folder of an index; without it that of {VARIABLE} or of the configuration file, else `index` in the "
        "workspace.",
    ),
]


def named_index(given: str | None) -> str | None:
    """The index that the flag, the environment or the configuration names; None when none does."""
    return given or os.environ.get(VARIABLE) or configuration.current().index


def open_index(given: str | None, make: bool = False, password: str | None = None) -> DocumentIndex:
    """Opens the index that is meant.

    Args:
        given: What `--index` says.
        make: Whether it is made when it is not there.
        password: Opens encrypted files that are added.

    Raises:
        WrongUse: There is none, or the configured embedder lacks its key.
    """
    from qwen_agentkit.rag.index import DocumentIndex
    from qwen_agentkit.rag.index_files import CATALOG_FILE

    folder = named_index(given) or os.path.join(settings.DEFAULT_WORKSPACE, "index")
    if not make and not os.path.exists(os.path.join(os.path.expanduser(folder), CATALOG_FILE)):
        raise WrongUse(f"there is no index in {folder}; make one with: qwen-agentkit index add FILES --index {folder}")
    config = configuration.current()
    return DocumentIndex(
        folder,
        embedder=_with_key(config.embedder),
        reranker=_with_key(config.reranker),
        reading={"password": password} if password else None,
    )


def embedder() -> Any:
    """The embedder of the configuration, None when there is none."""
    return _with_key(configuration.current().embedder)


def _with_key(held: Any) -> Any:
    if not isinstance(held, dict):
        return held
    try:
        return with_key(held, f"[stores] of {configuration.current().path}")
    except ValueError as error:
        raise WrongUse(str(error)) from None
