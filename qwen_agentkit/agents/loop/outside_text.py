"""Text that other people wrote (documents, pages, services): fenced where it enters, and known where it has entered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from qwen_agentkit.agents.loop.tool_round import ToolCall
from qwen_agentkit.schema import FUNCTION, SYSTEM, USER, ContentItem, Message
from qwen_agentkit.tools.base import BaseTool
from qwen_agentkit.utils.knowledge import read_knowledge
from qwen_agentkit.utils.message_files import files_of
from qwen_agentkit.utils.message_text import text_of
from qwen_agentkit.utils.untrusted import as_data, is_marked


def fenced(
    content: str | list[ContentItem], call: ToolCall, tool: BaseTool | None, lang: str
) -> str | list[ContentItem]:
    """A result with its text marked as data, where the tool asks for that.

    Args:
        content: The result, without remarks of the framework.
        call: The call it belongs to.
        tool: Its tool, None when there is none of that name.
        lang: Language of the mark.
    """
    if tool is None or not tool.fenced or tool.return_direct:
        return content
    if isinstance(content, str):
        return as_data(content, call.name, lang)
    return [item if item.text is None else ContentItem(text=as_data(item.text, call.name, lang)) for item in content]


def find_risky(
    calls: Sequence[ToolCall], tools: Mapping[str, BaseTool], conversation: Sequence[Message]
) -> list[ToolCall]:
    """The calls that change something outside and that outside text may have asked for.

    Args:
        calls: Calls that the model wants to make.
        tools: The tools at this moment.
        conversation: What the model was given.
    """
    changing = [call for call in calls if (tool := tools.get(call.name)) is not None and tool.side_effects]
    return changing if changing and has_outside_text(conversation, tools) else []


def has_outside_text(conversation: Sequence[Message], tools: Mapping[str, BaseTool]) -> bool:
    """Whether a conversation holds passages of documents, files, pages, or results of tools that are not their own.

    A result of a tool that is no longer there counts.
    """
    for message in conversation:
        if message.role == FUNCTION:
            tool = tools.get(message.name or "")
            if tool is None or tool.untrusted:
                return True
        elif message.role in (SYSTEM, USER):
            text = text_of(message)
            if is_marked(text) or read_knowledge(text) or files_of([message]):
                return True
    return False
