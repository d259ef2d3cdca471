"""The progress ledger of an orchestrator: five answers about where the work stands, read from a model's JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qwen_agentkit.agents.group.names import names_in, same_name

QUESTIONS = (
    "is_request_satisfied",
    "is_in_loop",
    "is_progress_being_made",
    "next_speaker",
    "instruction_or_question",
)
_TRUE, _FALSE = ("true", "yes", "1", "是"), ("false", "no", "0", "否")


class UnreadableLedger(ValueError):
    """What a model gave is no ledger; the text says what is missing, made to be sent back to it."""


@dataclass(frozen=True)
class Ledger:
    """Where the work stands.

    Args:
        satisfied: The request is fully met.
        in_loop: The same thing is done again and again.
        progress: The last steps brought something.
        speaker: The member who goes on.
        instruction: What that member is told.
        reasons: Why, by question.
    """

    satisfied: bool
    in_loop: bool
    progress: bool
    speaker: str
    instruction: str
    reasons: Mapping[str, str]


def read_ledger(text: str, members: Sequence[str]) -> Ledger:
    """Reads a ledger.

    Fences and text around the JSON do not matter; an answer may stand without its `{"reason", "answer"}`. With one
    member the speaker need not be named.

    Args:
        text: The model's reply.
        members: Names of the members.

    Raises:
        UnreadableLedger: There is no JSON object, or answers are missing or wrong.
    """
    from qwen_agentkit.llm.arguments import read_json

    try:
        value = read_json(text, objects_only=True).value
    except ValueError as error:
        raise UnreadableLedger(f"the reply is no JSON object: {error}") from None
    if not isinstance(value, Mapping):
        raise UnreadableLedger("the reply is no JSON object")
    problems: list[str] = []
    satisfied = _truth(value, "is_request_satisfied", problems)
    in_loop = _truth(value, "is_in_loop", problems)
    progress = _truth(value, "is_progress_being_made", problems)
    speaker = _speaker(value, members, problems, needed=not satisfied)
    instruction = str(_answer(value, "instruction_or_question") or "").strip()
    if not instruction and not satisfied:
        problems.append("instruction_or_question is missing or empty")
    if problems:
        raise UnreadableLedger("; ".join(problems))
    reasons = {name: str(value[name].get("reason", "")) for name in QUESTIONS if isinstance(value.get(name), Mapping)}
    return Ledger(satisfied, in_loop, progress, speaker, instruction, reasons)


def _answer(value: Mapping[str, Any], name: str) -> Any:
    held = value.get(name)
    return held.get("answer") if isinstance(held, Mapping) else held


def _truth(value: Mapping[str, Any], name: str, problems: list[str]) -> bool:
    answer = _answer(value, name)
    if isinstance(answer, bool):
        return answer
    word = str(answer).strip().lower()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    problems.append(f"{name} is missing" if answer is None else f"{name} is true or false, not {str(answer)[:60]!r}")
    return False


def _speaker(value: Mapping[str, Any], members: Sequence[str], problems: list[str], needed: bool) -> str:
    if len(members) == 1:
        return members[0]
    answer = str(_answer(value, "next_speaker") or "")
    found = same_name(answer, members)
    if found is None:
        named = names_in(answer, members)
        found = named[0] if len(named) == 1 else None
    if found is None and needed:
        said = f"not {answer[:60]!r}" if answer else "and is missing"
        problems.append(f"next_speaker is one of {', '.join(members)}, {said}")
    return found or ""
