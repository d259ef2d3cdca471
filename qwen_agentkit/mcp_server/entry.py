"""The two servers. The `mcp` package is imported when one is made."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from qwen_agentkit.errors import QwenAgentKitError
from qwen_agentkit.log import logger
from qwen_agentkit.utils.optional import need

if TYPE_CHECKING:
    from qwen_agentkit.agent import Agent
    from qwen_agentkit.mcp_server.library import Library


def documents_server(files: Sequence[str], agent: Agent, model: str = "") -> Any:
    """A server with the tools `search_documents`, `read_document` and `ask_documents`.

    Args:
        files: Paths, folders, patterns, addresses. Folders are looked at anew at each call.
        agent: Who answers `ask_documents`, over the same files.
        model: Name of its model, told with each answer.

    Returns:
        A server of the `mcp` package; `run("stdio")` serves.

    Raises:
        MissingDependencyError: The extra `mcp` is not installed.
    """
    need("mcp", extra="mcp")
    from qwen_agentkit.mcp_server.document_tools import build
    from qwen_agentkit.mcp_server.library import Library

    library = Library(files)
    # The documents are read while the client shakes hands; what is asked meanwhile waits for it.
    threading.Thread(target=_read_ahead, args=(library,), name="qwen-agentkit-mcp-reading", daemon=True).start()
    return build(library, agent, model)


def agent_server(agent: Agent) -> Any:
    """A server with one tool, `ask`, that passes a message on to an agent or a team and keeps the conversations.

    Args:
        agent: The agent; its name and description are told to the client.

    Returns:
        A server of the `mcp` package; `run("stdio")` serves.

    Raises:
        MissingDependencyError: The extra `mcp` is not installed.
    """
    need("mcp", extra="mcp")
    from qwen_agentkit.mcp_server.agent_tool import build

    return build(agent)


def _read_ahead(library: Library) -> None:
    try:
        for problem in library.refresh():
            logger.warning("%s could not be read: %s", problem.document, problem.reason)
    except (QwenAgentKitError, ValueError, OSError) as error:
        # Told again, to the client, when it asks.
        logger.warning("The documents could not be read ahead: %s", error)
