"""qwen_agentkit: agents that chat, call tools, read documents and talk in groups.

Everything is imported when it is first used::

    from qwen_agentkit.agents import Assistant

    bot = Assistant(llm={"model": "qwen-max"}, files=["handbook.pdf"])
    for response in bot.run([{"role": "user", "content": "How long is the motor guaranteed?"}]):
        ...
"""

from __future__ import annotations

from qwen_agentkit.utils.lazy import lazy_exports
from qwen_agentkit.version import __version__

_WHERE = {
    "Agent": ".agent",
    "BasicAgent": ".agent",
    "CancelToken": ".cancel",
    "ContentItem": ".schema",
    "FunctionCall": ".schema",
    "Message": ".schema",
    "MultiAgentHub": ".agents.multi_agent_hub",
    "QwenAgentKitError": ".errors",
    "RunLimits": ".limits",
    "Usage": ".limits",
    "check_history": ".llm.history",
    "compact_now": ".llm.compaction",
    "parsed": ".llm.structured",
    "repair_history": ".llm.history",
    "tool": ".tools.function_tool",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
__all__ = [*sorted(_WHERE), "__version__"]
