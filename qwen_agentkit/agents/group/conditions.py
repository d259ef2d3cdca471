"""The conditions that end a talk; join them with `&` and `|`."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from qwen_agentkit.agents.group.prompts import Prompts, check_prompts, prompt
from qwen_agentkit.agents.group.termination import CANCELLED, News, Stop, Termination
from qwen_agentkit.agents.group.views import is_reply, lines_of, text_of
from qwen_agentkit.schema import FUNCTION, SYSTEM, USER, Message


def _positive(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0 or math.isnan(value):
        raise ValueError(f"{name} is a number above 0, not {value!r}")


def _names(value: str | Iterable[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


class TextMention(Termination):
    """A text was said.

    Args:
        text: What must stand in a message, as it is written.
        sources: Only these members' messages count; None is everybody's in the team.
        include_task: The task's own text, and what comes from outside, counts too.
    """

    def __init__(self, text: str, sources: str | Iterable[str] | None = None, include_task: bool = False) -> None:
        if not isinstance(text, str) or not text:
            raise ValueError(f"TextMention wants a text, not {text!r}")
        self.text = text
        self.sources = None if sources is None else _names(sources)
        self.include_task = include_task
        super().__init__()

    def _check(self, news: News) -> Stop | None:
        if news.task and not self.include_task:
            return None
        for message, speaker in _spoken(news):
            if (self.sources is None or speaker in self.sources) and self.text in text_of(message):
                return Stop(f"{self.text!r} was said by {speaker or message.name or message.role}")
        return None


class MaxMessages(Termination):
    """So many messages, the task's own included.

    Args:
        max_messages: How many.
        include_calls: Tool calls, results and thinking count too.
    """

    _memory = {"_count": 0}
    _count: int
    bounded = True

    def __init__(self, max_messages: int, include_calls: bool = False) -> None:
        _positive("max_messages", max_messages)
        self.max_messages = max_messages
        self.include_calls = include_calls
        super().__init__()

    def _check(self, news: News) -> Stop | None:
        self._count += sum(
            1 for message in news.messages if message.role != SYSTEM and (self.include_calls or is_reply(message))
        )
        # A member that says nothing must not keep the talk going for ever.
        self._count += news.turns if not news.messages else 0
        if self._count < self.max_messages:
            return None
        return Stop(f"Maximum number of messages {self.max_messages} reached", "limit:messages")


class MaxRounds(Termination):
    """So many turns."""

    _memory = {"_count": 0}
    _count: int
    bounded = True

    def __init__(self, max_rounds: int) -> None:
        _positive("max_rounds", max_rounds)
        self.max_rounds = max_rounds
        super().__init__()

    def _check(self, news: News) -> Stop | None:
        self._count += news.turns
        if self._count < self.max_rounds:
            return None
        return Stop(f"Maximum number of rounds {self.max_rounds} reached", "limit:rounds")


class MaxTokens(Termination):
    """So many tokens were used in this run; a turn that passes the bound is broken off after its model call.

    Args:
        total: Tokens in and out together.
        prompt: Tokens in.
        completion: Tokens out.
    """

    def __init__(self, total: int | None = None, prompt: int | None = None, completion: int | None = None) -> None:
        self.bounds = {"total": total, "prompt": prompt, "completion": completion}
        given = {name: value for name, value in self.bounds.items() if value is not None}
        if not given:
            raise ValueError("MaxTokens wants at least one of total, prompt, completion")
        for name, value in given.items():
            _positive(name, value)
        super().__init__()

    def _check(self, news: News) -> Stop | None:
        used = {
            "total": news.usage.total_tokens,
            "prompt": news.usage.prompt_tokens,
            "completion": news.usage.completion_tokens,
        }
        for name, bound in self.bounds.items():
            if bound is not None and used[name] >= bound:
                return Stop(f"Token limit reached: {used[name]} of {bound} {name} tokens", "limit:tokens")
        return None

    def within(self, news: News) -> Stop | None:
        return self._check(news)


class Seconds(Termination):
    """So much time has passed since the run began (or since `reset`); a turn that goes on then is broken off."""

    _memory = {"_before": 0.0}
    _before: float
    bounded = True

    def __init__(self, seconds: float) -> None:
        _positive("seconds", seconds)
        self.seconds = float(seconds)
        super().__init__()

    def reset(self) -> None:
        super().reset()
        self._started = time.monotonic()

    def seconds_left(self) -> float | None:
        return max(0.0, self.seconds - self._before - (time.monotonic() - self._started))

    def within(self, news: News) -> Stop | None:
        return Stop(f"{self.seconds:g} seconds have passed", "limit:seconds") if not self.seconds_left() else None

    def _check(self, news: News) -> Stop | None:
        return self.within(news)

    def save_state(self) -> dict[str, Any]:
        return {**super().save_state(), "_before": self._before + time.monotonic() - self._started}

    def load_state(self, state: dict[str, Any]) -> None:
        super().load_state(state)
        self._started = time.monotonic()


class HandoffTo(Termination):
    """Somebody handed over to that name, a member or not (`user`, say)."""

    def __init__(self, target: str) -> None:
        self.target = target
        super().__init__()

    def _check(self, news: News) -> Stop | None:
        return Stop(f"Handed over to {self.target}", "handoff") if news.handed_to == self.target else None


class SourceIs(Termination):
    """One of these has spoken."""

    def __init__(self, sources: str | Iterable[str]) -> None:
        self.sources = _names(sources)
        super().__init__()

    def _check(self, news: News) -> Stop | None:
        if news.task:
            return None
        who = next((speaker for _, speaker in _spoken(news) if speaker in self.sources), None)
        return Stop(f"{who} has spoken") if who else None


class TextMessage(Termination):
    """A member said something in words (no tool call or result).

    Args:
        source: Only this member counts; None is anybody.
    """

    def __init__(self, source: str | None = None) -> None:
        self.source = source
        super().__init__()

    def _check(self, news: News) -> Stop | None:
        if news.task:
            return None
        for message, speaker in _spoken(news):
            if is_reply(message) and (self.source is None or speaker == self.source):
                return Stop(f"{speaker} gave an answer in words")
        return None


class StopMessage(Termination):
    """A message that is nothing but a stop word.

    Args:
        texts: The words.
    """

    def __init__(self, texts: Sequence[str] = ("[STOP]", "TERMINATE")) -> None:
        self.texts = _names(texts)
        super().__init__()

    def _check(self, news: News) -> Stop | None:
        if news.task:
            return None
        for message, speaker in _spoken(news):
            if text_of(message) in self.texts:
                return Stop(f"{speaker} stopped the talk")
        return None


class FunctionCalled(Termination):
    """A tool of that name has been run."""

    def __init__(self, function_name: str) -> None:
        self.function_name = function_name
        super().__init__()

    def _check(self, news: News) -> Stop | None:
        ran = any(message.role == FUNCTION and message.name == self.function_name for message in news.messages)
        return Stop(f"Tool {self.function_name} was run") if ran and not news.task else None


class WhenTrue(Termination):
    """A function of the program says so.

    Args:
        function: Gets the new messages; true ends the talk.
    """

    def __init__(self, function: Callable[[Sequence[Message]], bool]) -> None:
        self.function = function
        super().__init__()

    def _check(self, news: News) -> Stop | None:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return Stop(f"{name} said so") if self.function(news.messages) else None


class ExternalSwitch(Termination):
    """A switch that the program throws, from any thread; the talk ends after the turn that is going on.

    The switch is one for all copies, so a team's runs all hear it. `reset()` leaves it; `clear()` turns it back.
    """

    def __init__(self) -> None:
        self._switch = threading.Event()
        super().__init__()

    def set(self) -> None:
        """Ends the talk."""
        self._switch.set()

    def clear(self) -> None:
        """Turns the switch back."""
        self._switch.clear()

    def _check(self, news: News) -> Stop | None:
        return Stop("Stopped from outside", CANCELLED) if self._switch.is_set() else None

    def __copy__(self) -> ExternalSwitch:
        copied = type(self)()
        copied._switch = self._switch
        copied._fired = self._fired
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> ExternalSwitch:
        return self.__copy__()

    def __reduce__(self) -> tuple[type[ExternalSwitch], tuple[()]]:
        # Another process has a switch of its own.
        return type(self), ()


JUDGE = {
    "judge": {
        "en": "You watch over a conversation. Its task stands first. Say whether the task is done: answer DONE or "
        "CONTINUE as the first word, then one sentence why.\n\n{talk}",
        "zh": "你负责监督一场对话，任务在最前面。请判断任务是否已经完成：第一个词回答 DONE 或 CONTINUE，"
        "然后用一句话说明理由。\n\n{talk}",
    }
}


class Moderator(Termination):
    """An agent judges after each turn whether the task is done.

    Args:
        agent: Asked with the conversation; DONE as its first word ends the talk.
        prompts: `judge`, with the field `talk`.
    """

    def __init__(self, agent: Any, prompts: Prompts | None = None) -> None:
        check_prompts(prompts, JUDGE)
        self.agent = agent
        self.prompts = prompts
        super().__init__()

    def _check(self, news: News) -> Stop | None:
        if news.task:
            return None
        question = prompt(self.prompts, "judge", news.lang, JUDGE).format(talk=lines_of(news.conversation))
        reply = self.agent.run_nonstream([Message(USER, question)], lang=news.lang)
        verdict = "\n".join(filter(None, (text_of(message) for message in reply if is_reply(message))))
        word, _, why = verdict.strip().partition("DONE")
        if word.strip(" *`\"'") or "DONE" not in verdict:
            return None
        return Stop(f"{self.agent.name or 'The moderator'}: {' '.join(why.strip(' .:,*').split()) or 'done'}")


def _spoken(news: News) -> list[tuple[Message, str | None]]:
    """The new messages that are somebody's words, each with its speaker."""
    speakers = list(news.speakers) or [message.name for message in news.messages]
    return [
        (message, speaker)
        for message, speaker in zip(news.messages, speakers, strict=True)
        if message.role not in (FUNCTION, SYSTEM)
    ]
