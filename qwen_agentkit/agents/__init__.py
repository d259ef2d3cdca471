"""Agents: each name is imported from its own file when it is first used."""

from __future__ import annotations

from qwen_agentkit.utils.lazy import lazy_exports

_WHERE = {
    "Agent": "qwen_agentkit.agent",
    "BasicAgent": "qwen_agentkit.agent",
    "Assistant": ".assistant",
    "BasicDocQA": ".doc_qa",
    "DocQA": ".doc_qa",
    "DocQAAgent": ".doc_qa",
    "FnCallAgent": ".fncall_agent",
    "GroupChat": ".group_chat",
    "GroupChatAutoRouter": ".group_chat_auto_router",
    "MultiAgentHub": ".multi_agent_hub",
    "ParallelDocQA": ".doc_qa",
    "ReActChat": ".react_chat",
    "UserAgent": ".user_agent",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
__all__ = sorted(_WHERE)
