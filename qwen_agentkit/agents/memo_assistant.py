"""`MemoAssistant`: an assistant that notes what is worth remembering in the tool `storage`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from qwen_agentkit.agents.assistant import Assistant
from qwen_agentkit.schema import SYSTEM, USER, Message
from qwen_agentkit.system_message import appended

# User turns of the conversation that are sent to the model.
MAX_TURNS = 400

MEMORY_PROMPT = {
    "en": "Your memory of this conversation is short. With the tool storage you keep what matters later, such "
    "as what the user likes, facts about them, or important events: note such things often, under short "
    "keys that say what they hold. Everything that you have noted in this conversation stands here, so "
    "it need not be read again:\n<info>\n{notes}\n</info>",
    "zh": "你对这段对话的记忆很短。请用 storage 工具记下以后用得到的内容，例如用户的喜好、个人情况或重要事件："
    "要经常记录，键要简短并能说明内容。你在这段对话中记下的所有内容都列在这里，无需再去读取：\n<info>\n"
    "{notes}\n</info>",
}


class MemoAssistant(Assistant):
    """Shows its model, in the system message, what it has stored in the course of the conversation.

    Args:
        function_list: Tools beside `storage`.
        llm, system_message, name, description, files: As for `Assistant`.
        **kwargs: As for `Assistant`.
    """

    def __init__(
        self,
        function_list: Sequence[Any] | None = None,
        llm: Any = None,
        system_message: str | None = "",
        name: str | None = None,
        description: str | None = None,
        files: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(["storage", *(function_list or [])], llm, system_message, name, description, files, **kwargs)

    def _run(
        self, messages: list[Message], lang: str = "en", knowledge: str | list[dict] = "", **kwargs: Any
    ) -> Iterator[list[Message]]:
        lines = "\n".join(f"{key}: {value}" for key, value in notes_in(messages).items())
        prompt = MEMORY_PROMPT["zh" if lang == "zh" else "en"].format(notes=lines)
        asked = appended(newest_turns(messages, MAX_TURNS), prompt)
        yield from super()._run(asked, lang=lang, knowledge=knowledge, **kwargs)


def notes_in(messages: Sequence[Message]) -> dict[str, Any]:
    """What the calls of `storage` in a conversation have left stored, by key; calls that failed are not told apart."""
    from qwen_agentkit.llm.arguments import read_json

    notes: dict[str, Any] = {}
    for message in messages:
        if message.function_call is None or message.function_call.name != "storage":
            continue
        try:
            arguments = read_json(message.function_call.arguments, objects_only=True).value
        except ValueError:
            continue
        if not isinstance(arguments, dict) or "key" not in arguments:
            continue
        if arguments.get("operate") == "put":
            notes[str(arguments["key"])] = arguments.get("value", "")
        elif arguments.get("operate") == "delete":
            notes.pop(str(arguments["key"]), None)
    return notes


def newest_turns(messages: Sequence[Message], turns: int) -> list[Message]:
    """The newest turns of a conversation, each from a user's message on, behind its system message."""
    starts = [position for position, message in enumerate(messages) if message.role == USER]
    if len(starts) <= turns:
        return list(messages)
    head = [messages[0]] if messages[0].role == SYSTEM else []
    return [*head, *messages[starts[-turns] :]]
