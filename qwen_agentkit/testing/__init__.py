"""Testing agents of one's own without a model: `from qwen_agentkit.testing import ScriptedChatModel, call`."""

from qwen_agentkit.utils.lazy import lazy_exports

_SCRIPTED = "qwen_agentkit.testing.scripted"

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        name: _SCRIPTED
        for name in ("ScriptedChatModel", "ScriptedCall", "ScriptedReply", "SeenRequest", "call", "reply")
    },
)
