"""What a router's model or rules decide, and how its reply is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qwen_agentkit.agents.group.names import same_name
from qwen_agentkit.agents.group.views import text_of
from qwen_agentkit.schema import USER, Message

_CALL = re.compile(r"^[ \t>*`\"']*Call[ \t]*[:：][ \t]*(.*)$", re.MULTILINE)
# What a reply that routes may begin with: an object, a fence before one, or the word Call.
_OPENINGS = ("{", "```", "Call:", "Call：", "Call :")


@dataclass(frozen=True)
class Rule:
    """A rule that gives a request to a worker. It fires when any of its tests is met.

    Args:
        worker: Name of the worker.
        words: Words or phrases of the request, compared without case; of Latin letters as whole words.
        pattern: A regular expression searched in the request.
        test: A function of the request's text.
    """

    worker: str
    words: Sequence[str] = ()
    pattern: str | None = None
    test: Callable[[str], bool] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.words, str):
            object.__setattr__(self, "words", (self.words,))
        if not self.words and self.pattern is None and self.test is None:
            raise ValueError(f"The rule for {self.worker!r} has no test: give words, pattern or test")
        if self.pattern is not None:
            re.compile(self.pattern)

    def fires(self, text: str) -> bool:
        """Whether the request is for this rule's worker."""
        if self.pattern is not None and re.search(self.pattern, text):
            return True
        if self.test is not None and self.test(text):
            return True
        return any(_stands_in(word, text) for word in self.words)


def _stands_in(word: str, text: str) -> bool:
    before = r"(?<![A-Za-z0-9])" if re.match(r"[A-Za-z0-9]", word) else ""
    after = r"(?![A-Za-z0-9])" if re.search(r"[A-Za-z0-9]$", word) else ""
    return re.search(before + re.escape(word) + after, text, re.IGNORECASE) is not None


def rules_from(rules: Any, workers: Sequence[str]) -> list[Rule]:
    """The rules of a router: a list of `Rule`, or a dict from worker to a word or a list of words.

    Raises:
        ValueError: A rule is for somebody who is no worker.
    """
    if isinstance(rules, Mapping):
        rules = [Rule(worker, words) for worker, words in rules.items()]
    for rule in rules or ():
        if not isinstance(rule, Rule):
            raise ValueError(f"A rule of a router is a Rule, or rules are a dict of words by worker, not {rule!r}")
        if rule.worker not in workers:
            raise ValueError(f"A rule is for {rule.worker!r}; the workers are: {', '.join(workers)}")
    return list(rules or ())


@dataclass(frozen=True)
class Part:
    """A part of a request, for one worker."""

    worker: str
    task: str


@dataclass(frozen=True)
class Decision:
    """Where a request goes.

    Args:
        worker: The worker; None is nobody, the router answers itself.
        reason: Why.
        confidence: 0 to 1; a rule has 1.
        parts: The request was split into these, each for a worker.
        readable: False: the reply routes, but to nobody who is there, or cannot be read.
    """

    worker: str | None
    reason: str
    confidence: float = 1.0
    parts: tuple[Part, ...] = ()
    readable: bool = True


def request_of(messages: Sequence[Message]) -> str:
    """The text of the last user message."""
    return next((text_of(message) for message in reversed(messages) if message.role == USER), "")


def by_rules(rules: Sequence[Rule], messages: Sequence[Message]) -> Decision:
    """What the rules say. `worker` is None when none fires or they disagree, and `reason` says which."""
    request = request_of(messages)
    fired = list(dict.fromkeys(rule.worker for rule in rules if rule.fires(request)))
    if len(fired) == 1:
        return Decision(fired[0], "by rule")
    return Decision(None, f"rules disagree: {', '.join(fired)}" if fired else "no rule fires")


def may_route(text: str) -> bool:
    """Whether a reply that begins so may turn out to be routing."""
    text = text.lstrip()
    return any(text.startswith(opening) or opening.startswith(text) for opening in _OPENINGS)


def shown(text: str) -> str:
    """The part of a reply that is an answer for sure while the rest is still to come."""
    if may_route(text):
        return ""
    start = text.rfind("\n") + 1
    line = text[start:].lstrip(" \t>*`\"'")
    return text[:start].rstrip("\n") if "Call:".startswith(line[:5]) or "Call：".startswith(line[:5]) else text


def read_decision(text: str, workers: Sequence[str], may_split: bool = False) -> Decision | None:
    """Reads a router's reply.

    Args:
        text: The whole reply.
        workers: Names of the workers.
        may_split: Whether a plan of parts is looked for.

    Returns:
        The decision; None when the reply is no routing but an answer.
    """
    found = _json_decision(text, workers, may_split)
    if found is not None:
        return found
    lines = _CALL.findall(text)
    if not lines:
        return None
    # An answer may quote such a line; routing names a worker, or is nothing but that line.
    named = [worker for line in lines if (worker := same_name(line, workers)) is not None]
    if named:
        return Decision(named[-1], "named by the router", 1.0)
    if may_route(text):
        return Decision(None, f"the router named {lines[-1].strip()[:80]!r}, who is no worker", 0.0, readable=False)
    return None


def _json_decision(text: str, workers: Sequence[str], may_split: bool) -> Decision | None:
    from qwen_agentkit.llm.arguments import read_json

    if not may_route(text) or text.lstrip().startswith("Call"):
        return None
    try:
        value = read_json(text, objects_only=True).value
    except ValueError as error:
        # An answer may be an object or a block of code itself; only what tries to route is unreadable.
        return Decision(None, f"the reply cannot be read: {error}", 0.0, readable=False) if "worker" in text else None
    if not isinstance(value, dict):
        return None
    if may_split and isinstance(value.get("parts"), list):
        return _plan(value["parts"], workers)
    if "worker" not in value:
        return None
    if value["worker"] is None:
        return Decision(None, str(value.get("reason") or "no worker is needed"), 0.0, readable=False)
    worker = same_name(str(value["worker"]), workers)
    if worker is None:
        said = str(value["worker"])[:80]
        return Decision(None, f"the router named {said!r}, who is no worker", 0.0, readable=False)
    return Decision(worker, str(value.get("reason") or "named by the router"), _confidence(value.get("confidence")))


def _plan(parts: list[Any], workers: Sequence[str]) -> Decision:
    plan = []
    for part in parts:
        worker = same_name(str(part.get("worker", "")), workers) if isinstance(part, Mapping) else None
        task = str(part.get("task") or "").strip() if isinstance(part, Mapping) else ""
        if worker is None or not task:
            return Decision(None, f"the plan has a part that nobody can do: {part!r}"[:200], 0.0, readable=False)
        plan.append(Part(worker, task))
    if not plan:
        return Decision(None, "the plan is empty", 0.0, readable=False)
    if len(plan) == 1:
        return Decision(plan[0].worker, "one part", parts=())
    return Decision(None, f"split into {len(plan)} parts", parts=tuple(plan))


def _confidence(value: Any) -> float:
    try:
        number = float(str(value).strip().rstrip("%"))
    except ValueError:
        return 1.0  # not given: the model named somebody, and that is what it says
    if str(value).strip().endswith("%") or number > 1:
        number /= 100
    return min(1.0, max(0.0, number))
