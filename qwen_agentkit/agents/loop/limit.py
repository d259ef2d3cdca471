"""What happens when a turn has used up its model calls."""

from __future__ import annotations

from qwen_agentkit.schema import ASSISTANT, USER, Message

_CLOSING = {
    "en": "No further tool calls are possible in this turn. With what is known so far, give the best answer you "
    "can, and say what remains open.",
    "zh": "本轮不能再调用工具了。请根据目前已知的内容给出尽可能好的回答，并说明还有哪些没有弄清楚。",
}
_FIXED = {
    "en": "The limit of {which} was reached before there was an answer.",
    "zh": "在得到答案之前已达到上限（{which}）。",
}


def model_call_limit(*candidates: int | None) -> int:
    """The first number given, from the run's argument down to the settings.

    Raises:
        ValueError: It is no whole number of at least 1.
    """
    for value in candidates:
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"The limit of model calls is a whole number of at least 1, not {value!r}")
        return value
    raise ValueError("No limit of model calls is set")


def closing_request(conversation: list[Message], lang: str) -> list[Message]:
    """The conversation with the request to answer now."""
    return [*conversation, Message(USER, _CLOSING["zh" if lang == "zh" else "en"])]


def limit_answer(which: str, lang: str) -> Message:
    """The answer when the model gave none at the limit."""
    return Message(ASSISTANT, _FIXED["zh" if lang == "zh" else "en"].format(which=which.replace("_", " ")))
