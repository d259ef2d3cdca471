"""What one speaker of a team sees of the conversation.

Their own turns are assistant messages, with their tool calls and results. What the others said is put together
in user messages, a line `name: words` each, with the others' images and files; the others' tool calls, results
and thinking are hidden. Where one of them handed the conversation over to this speaker, the results of that turn
are shown too. Each such user message ends with the speaker's own `name: `, so that the beginning of a view stays
byte for byte the same from turn to turn and a service's prompt cache serves it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from qwen_agentkit.agents.group.handoffs import handed_over_to, shown_result
from qwen_agentkit.agents.multi_agent_hub import MultiAgentHub
from qwen_agentkit.agents.user_agent import is_pending
from qwen_agentkit.schema import ASSISTANT, FUNCTION, SYSTEM, USER, ContentItem, Message


def owners_by_name(members: Sequence[Any]) -> dict[str, str]:
    """Name -> the member whose messages carry it: each member's own, and those of the agents inside a member."""
    owners = {name: member.name for member in members for name in _inner_names(member, set())}
    return owners | {member.name: member.name for member in members}


def _inner_names(agent: Any, seen: set[int]) -> Iterator[str]:
    if id(agent) in seen or not isinstance(agent, MultiAgentHub):
        return
    seen.add(id(agent))
    for inner in agent.agents:
        if inner.name:
            yield inner.name
        yield from _inner_names(inner, seen)


def owners_of(messages: Sequence[Message], members: Sequence[Any]) -> list[str | None]:
    """The member who said each message, None for one from outside the team.

    A tool's result belongs to whoever made the call. A user message without a name that follows a human
    member's pause is that human's.
    """
    by_name = owners_by_name(members)
    callers: dict[str, str | None] = {}
    owners: list[str | None] = []
    speaking: str | None = None
    for position, message in enumerate(messages):
        function_id = (message.extra or {}).get("function_id")
        if message.role == FUNCTION:
            owner = callers.get(function_id, speaking) if function_id else speaking
        elif message.role == SYSTEM:
            owner = None
        else:
            owner = by_name.get(message.name or "")
            if (
                owner is None
                and message.role == USER
                and not message.name
                and position
                and is_pending(messages[position - 1])
            ):
                owner = owners[-1]
            speaking = owner
            if message.function_call is not None and function_id:
                callers[function_id] = owner
        owners.append(owner)
    return owners


def view_for(
    name: str,
    messages: Sequence[Message],
    owners: Sequence[str | None],
    intro: str = "",
) -> list[Message]:
    """The conversation as a member sees it.

    Args:
        name: The member.
        messages: The conversation; not changed.
        owners: Who said each, as `owners_of` tells.
        intro: Put behind the conversation's own system message.

    Returns:
        A new list, the last message of role user.
    """
    head = [text for text in (_text(m) for m in messages if m.role == SYSTEM) if text]
    if intro:
        head.append(intro)
    view = [Message(SYSTEM, "\n\n".join(head))] if head else []
    heard: list[ContentItem] = []
    own_turn = False
    handed = handed_over_to(name, messages, owners)
    for position, (message, owner) in enumerate(zip(messages, owners, strict=True)):
        if message.role == SYSTEM or is_pending(message):
            continue
        if owner == name:
            if heard or not own_turn:
                view.append(_heard(heard, name))
                heard = []
            own_turn = True
            view.append(message.model_copy(update={"role": ASSISTANT}) if message.role == USER else message)
            continue
        said = _said(message)
        if position in handed:
            said += shown_result(message, owner or "", _handoff_message(messages, position))
        if said:
            own_turn = False
            heard.extend(said)
    view.append(_heard(heard, name))
    return view


def talk_for_team(
    name: str,
    messages: Sequence[Message],
    owners: Sequence[str | None],
    intro: str = "",
) -> list[Message]:
    """The conversation as a team that is itself a member gets it: what others said stays one named message each.

    Args:
        name, messages, owners, intro: As for `view_for`.

    Returns:
        A new list.
    """
    talk = [Message(SYSTEM, intro)] if intro else []
    for message, owner in zip(messages, owners, strict=True):
        if owner == name or message.role == SYSTEM:
            talk.append(message)
        elif message.role != FUNCTION and not is_pending(message) and message.content:
            talk.append(Message(USER, message.content, name=speaker_name(message)))
    return talk


def lines_of(messages: Sequence[Message]) -> str:
    """The conversation as plain lines `name: words`, without tool calls, results and thinking."""
    lines = []
    for message in messages:
        if message.role == SYSTEM or is_pending(message):
            continue
        text = _text(message)
        if text and message.role != FUNCTION:
            lines.append(f"{speaker_name(message)}: {text}")
    return "\n".join(lines)


def speaker_name(message: Message) -> str:
    """The name a message is shown under."""
    return message.name or message.role


def text_of(message: Message) -> str:
    """The text of a message, stripped; of a list the text items, a line each."""
    return _text(message)


def _handoff_message(messages: Sequence[Message], position: int) -> str:
    """What the handoff that ends the turn at `position` says."""
    notes = ((message.extra or {}).get("handoff") for message in messages[position:])
    return next((note.get("message", "") for note in notes if isinstance(note, dict)), "")


def _said(message: Message) -> list[ContentItem]:
    """What the others hear of a message: its text under the speaker's name, and its images, files and the like."""
    if message.role == FUNCTION:
        return []
    text = _text(message)
    items = [] if isinstance(message.content, str) else [item for item in message.content if item.type != "text"]
    if not text and not items:
        return []
    return [
        ContentItem(text=f"{speaker_name(message)}: {text}".rstrip() if text else f"{speaker_name(message)}:"),
        *items,
    ]


def _heard(items: list[ContentItem], name: str) -> Message:
    """One user message of what was heard, ending with the name of who is to speak."""
    items = [*items, ContentItem(text=f"{name}: ")]
    if all(item.text is not None for item in items):
        return Message(USER, "\n".join(item.text or "" for item in items))
    merged: list[ContentItem] = []
    for item in items:
        if item.text is not None and merged and merged[-1].text is not None:
            merged[-1] = ContentItem(text=f"{merged[-1].text}\n{item.text}")
        else:
            merged.append(item)
    return Message(USER, merged)


def _text(message: Message) -> str:
    if isinstance(message.content, str):
        return message.content.strip()
    return "\n".join(item.text for item in message.content if item.text).strip()


def is_reply(message: Message) -> bool:
    """Whether a message has words of its speaker for the others (not a call, a result or thinking)."""
    return message.role in (ASSISTANT, USER) and bool(_text(message)) and not is_pending(message)
