"""Documents and agents for any MCP client (extra `mcp`): `documents_server(files, agent)`, `agent_server(agent)`.

Both give a server of the official package; `server.run("stdio")` serves the program that started this one.
"""

from __future__ import annotations

from qwen_agentkit.utils.lazy import lazy_exports

_WHERE = {"agent_server": ".entry", "documents_server": ".entry"}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
__all__ = sorted(_WHERE)
