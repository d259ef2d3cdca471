"""Agents: each name is imported from its own file when it is first used."""

from __future__ import annotations

from qwen_agentkit.utils.lazy import lazy_exports

_WHERE = {
    # the names of Qwen-Agent
    "Agent": "qwen_agentkit.agent",
    "ArticleAgent": ".article_agent",
    "Assistant": ".assistant",
    "BasicAgent": "qwen_agentkit.agent",
    "DialogueRetrievalAgent": ".dialogue_retrieval_agent",
    "DialogueSimulator": ".dialogue_simulator",
    "DocQAAgent": ".doc_qa",
    "FnCallAgent": ".fncall_agent",
    "GroupChat": ".group_chat",
    "GroupChatAutoRouter": ".group_chat_auto_router",
    "GroupChatCreator": ".group_chat_creator",
    "HumanSimulator": ".human_simulator",
    "MultiAgentHub": ".multi_agent_hub",
    "ParallelDocQA": ".doc_qa",
    "ReActChat": ".react_chat",
    "Router": ".router",
    "TIRMathAgent": ".tir_agent",
    "UserAgent": ".user_agent",
    "VirtualMemoryAgent": ".virtual_memory_agent",
    "WriteFromScratch": ".write_from_scratch",
    # further agents
    "BasicDocQA": ".doc_qa",
    "DocQA": ".doc_qa",
    "Graph": ".graph",
    "MemoAssistant": ".memo_assistant",
    "Orchestrator": ".orchestrator",
    # what a program gives to them
    "Checkpoint": ".loop.turn",
    "Decision": ".loop.approval",
    "ExternalSwitch": ".group",
    "FollowUps": "qwen_agentkit.follow_ups",
    "Handoff": ".handoff",
    "HandoffTo": ".group",
    "Hooks": ".hooks",
    "MaxMessages": ".group",
    "MaxRounds": ".group",
    "MaxTokens": ".group",
    "PENDING_USER_INPUT": ".user_agent",
    "Remembered": ".loop.approval",
    "RepeatGuard": ".loop.repeats",
    "Seconds": ".group",
    "StopTurn": ".hooks",
    "TeamState": ".group",
    "TextMention": ".group",
    "ToolSearch": ".loop.tool_search",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
__all__ = sorted(_WHERE)
