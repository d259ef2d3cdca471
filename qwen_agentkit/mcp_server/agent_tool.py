"""The tool `ask`, behind which an agent stands, and the conversations it holds."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Annotated, Any

import anyio
from pydantic import Field

from qwen_agentkit.agent import Agent
from qwen_agentkit.mcp_server.asking import ask as ask_agent
from qwen_agentkit.mcp_server.sdk import Context, MCPServer, ToolError, hints

# Conversations that are kept; the one that rested longest is forgotten first.
MAX_CONVERSATIONS = 100


@dataclass
class AgentReply:
    """What an agent said.

    Args:
        answer: The text.
        conversation: Id to give with the next message, to go on.
        end: Why the run ended: `answered`, `limit:...`, `paused`, ...
        citations: What the answer rests on, where the agent reads documents.
    """

    answer: str
    conversation: str
    end: str = "answered"
    citations: list[dict[str, Any]] = field(default_factory=list)


class _Conversation:
    """Messages so far, and the lock by which one message is answered at a time."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.lock = anyio.Lock()


def build(agent: Agent) -> Any:
    """The server; see `entry.agent_server`."""
    name = agent.name or type(agent).__name__
    server = MCPServer(name, instructions=agent.description or None)
    held: OrderedDict[str, _Conversation] = OrderedDict()

    async def ask(
        message: Annotated[str, Field(description="What to say to the agent.")],
        context: Context,
        conversation: Annotated[str, Field(description="Id of a conversation to go on with; empty begins one.")] = "",
    ) -> AgentReply:
        if not message.strip():
            raise ToolError("message: a message is wanted")
        key = conversation or uuid.uuid4().hex
        if conversation and conversation not in held:
            raise ToolError(f"conversation: {conversation!r} is not known, or was forgotten; leave it out to begin one")
        talk = held.setdefault(key, _Conversation())
        held.move_to_end(key)
        while len(held) > MAX_CONVERSATIONS:
            held.popitem(last=False)
        async with talk.lock:
            asked = [*talk.messages, {"role": "user", "content": message}]
            said = await ask_agent(agent, asked, context)
            talk.messages = [*asked, *said.messages]
        return AgentReply(said.text, key, said.end, said.citations)

    described = agent.description or f"Asks the agent {name}."
    server.add_tool(ask, description=described, annotations=hints(f"Ask {name}", read_only=False))
    return server
