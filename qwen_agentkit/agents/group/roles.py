"""Members of a team from a configuration: the dict form of `GroupChat(agents=...)`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qwen_agentkit.agent import Agent
from qwen_agentkit.agents.user_agent import UserAgent

FIELDS = ("name", "description", "instructions", "knowledge_files", "selected_tools", "is_human")


def members_from(config: Mapping[str, Any], llm: Any) -> list[Agent]:
    """The members that a configuration describes.

    Args:
        config: `{"background": ..., "agents": [{"name", "description", "instructions", "knowledge_files",
            "selected_tools", "is_human"}, ...]}`.
        llm: The model of those that are no human.

    Raises:
        ValueError: There are no agents, or one has no name.
    """
    roles = config.get("agents")
    if not isinstance(roles, (list, tuple)) or not roles:
        raise ValueError(f"The configuration of a group chat has a list 'agents' with at least one role, not {roles!r}")
    return [_member(role, position, llm) for position, role in enumerate(roles)]


def _member(role: Any, position: int, llm: Any) -> Agent:
    if not isinstance(role, Mapping) or not str(role.get("name") or "").strip():
        raise ValueError(f"agents[{position}] of the configuration is a dict with a 'name', not {role!r}")
    name = str(role["name"]).strip()
    description = str(role.get("description") or "").strip()
    if role.get("is_human"):
        return UserAgent(name=name, description=description)
    if llm is None:
        raise ValueError(f"{name!r} is no human and needs a model: give GroupChat(..., llm={{'model': ...}})")
    from qwen_agentkit.agents.assistant import Assistant

    # Instructions that are there say who somebody is; the description is for the others.
    return Assistant(
        llm=llm,
        system_message=str(role.get("instructions") or "").strip() or description,
        name=name,
        description=description,
        files=list(role.get("knowledge_files") or []),
        function_list=list(role.get("selected_tools") or []),
    )
