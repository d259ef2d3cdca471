"""When a history is made shorter, by which policies, and who is told."""

from __future__ import annotations

import contextvars
import threading
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.events import HistoryCompacted
from qwen_agentkit.llm.compaction.policy import AskModel, Budget, Policy, SummarizeResult
from qwen_agentkit.llm.compaction.prune import PruneToolResults
from qwen_agentkit.llm.compaction.summary import RunningSummary
from qwen_agentkit.llm.compaction.window import Window
from qwen_agentkit.llm.history import repair_history
from qwen_agentkit.llm.length import count_function_tokens
from qwen_agentkit.llm.profiles import bounded_input_tokens, profile_of
from qwen_agentkit.log import logger
from qwen_agentkit.run_context import current_run
from qwen_agentkit.schema import Message, messages_from
from qwen_agentkit.utils.language import detect_language
from qwen_agentkit.utils.message_text import text_of

COMPACT_AT = 0.82
COMPACT_TO = 0.5
_WHEN = ("before_call", "after_turn")
# Names of the policies in a configuration ("by").
_POLICIES: dict[str, type[Any]] = {"window": Window, "prune": PruneToolResults, "summary": RunningSummary}

# Under this key of a run's `state` whoever holds the tools puts what sums up a result (`SummarizeResult`).
SUMMARIZE_RESULT = "llm.compaction.summarize_result"

# Set while a model writes a summary, so that its own request is not compacted in turn.
_compacting: contextvars.ContextVar[bool] = contextvars.ContextVar("qwen_agentkit_compacting", default=False)


@dataclass(frozen=True)
class Compaction:
    """Policies, and when they are applied.

    Args:
        policies: Applied in this order until the history is short enough.
        compact_at: Share of the model's input from which on the history is made shorter.
        compact_to: Share that it is brought down to.
        when: "before_call" (on the copy that is sent) or "after_turn" (on what is kept, by `compact_after_turn`).
        max_tokens: Tokens that the shares are of; None for the model's `max_input_tokens` and context window.
        model: The chat model (or its configuration) that writes summaries; None for the model that is asked.
    """

    policies: tuple[Policy, ...]
    compact_at: float = COMPACT_AT
    compact_to: float = COMPACT_TO
    when: str = "before_call"
    max_tokens: int | None = None
    model: Any = None

    def __post_init__(self) -> None:
        if not self.policies:
            raise ValueError("A compaction needs at least one policy")
        if not 0 < self.compact_to < self.compact_at <= 1:
            raise ValueError(
                "compact_to and compact_at are shares with 0 < compact_to < compact_at <= 1, "
                f"not {self.compact_to!r} and {self.compact_at!r}"
            )
        if self.when not in _WHEN:
            raise ValueError(f"when is one of {', '.join(_WHEN)}, not {self.when!r}")
        if self.max_tokens is not None and (not isinstance(self.max_tokens, int) or self.max_tokens <= 0):
            raise ValueError(f"max_tokens is a number of tokens above 0 or None, not {self.max_tokens!r}")


def compaction_from(setting: Any) -> Compaction | None:
    """The compaction that a configuration asks for.

    Args:
        setting: None or False for none; True for the defaults; a `Compaction`; a policy or a list of policies; or a
            dict such as ``{"compact_at": 0.8, "compact_to": 0.5, "by": "summary"}``, where `by` is "window",
            "prune", "summary" or a list of them, and the policies' own settings (`summary_chars`, `max_messages`,
            ...) stand beside it.

    Raises:
        ValueError: The setting is none of these, or names what no policy has.
    """
    if setting is None or setting is False:
        return None
    if isinstance(setting, Compaction):
        return setting
    if setting is True:
        return Compaction((PruneToolResults(), RunningSummary()))
    if isinstance(setting, Mapping):
        return _from_dict(setting)
    policies = tuple(setting) if isinstance(setting, (list, tuple)) else (setting,)
    for policy in policies:
        if not callable(getattr(policy, "compact", None)):
            raise ValueError(f"A compaction policy has a method compact(messages, budget), unlike {policy!r}")
    return Compaction(policies)


def _from_dict(setting: Mapping[str, Any]) -> Compaction:
    general = {one.name for one in fields(Compaction)} - {"policies"}
    names = setting.get("by", "summary")
    names = [names] if isinstance(names, str) else list(names)
    unknown = [name for name in names if name not in _POLICIES]
    if unknown or not names:
        raise ValueError(f"'by' is one of {', '.join(_POLICIES)} or a list of them, not {setting.get('by')!r}")
    rest = {key: value for key, value in setting.items() if key not in general and key != "by"}
    policies: list[Policy] = []
    for name in names:
        known = {one.name for one in fields(_POLICIES[name])} - {"name", "_known"}
        if name == "window":
            known -= {"max_tokens"}
        own = {key: value for key, value in rest.items() if key in known}
        policies.append(_POLICIES[name](**own))
        rest = {key: value for key, value in rest.items() if key not in known or key in _shared(names, name)}
    if rest:
        raise ValueError(f"The compaction by {', '.join(names)} has no setting {', '.join(map(repr, rest))}")
    return Compaction(tuple(policies), **{key: setting[key] for key in general if key in setting})


def _shared(names: Sequence[str], name: str) -> set[str]:
    """Settings that a later policy of the chain takes too (`summary_chars`)."""
    later = names[names.index(name) + 1 :]
    return {one.name for other in later for one in fields(_POLICIES[other])}


def compact(
    model: Any, messages: Sequence[Message], functions: Iterable[Mapping[str, Any]] | None = None
) -> list[Message]:
    """The history that is sent: made shorter where the model's configuration asks for it and it is time.

    Args:
        model: The chat model that is asked (read are `cfg["compaction"]`, its profile and options).
        messages: A valid history; it is not changed.
        functions: Schemas of the tools that go with it.
    """
    compaction = _compaction_of(model)
    if compaction is None or compaction.when != "before_call" or _compacting.get():
        return list(messages)
    return _compacted(compaction, model, list(messages), functions, forced=False, lasting=False)


def compact_after_turn(
    model: Any, messages: Sequence[Message], functions: Iterable[Mapping[str, Any]] | None = None
) -> list[Message]:
    """The history to keep after a turn, for a model whose compaction is set to "after_turn"; else as it is."""
    compaction = _compaction_of(model)
    if compaction is None or compaction.when != "after_turn":
        return list(messages)
    return _compacted(compaction, model, repair_history(messages), functions, forced=False, lasting=True)


def compact_now(
    messages: Iterable[Message | Mapping[str, Any]],
    model: Any = None,
    *,
    by: Any = None,
    functions: Iterable[Mapping[str, Any]] | None = None,
) -> list[Message]:
    """Makes a history shorter at once, by hand.

    Args:
        messages: The history, `Message` objects or dicts; it is not changed.
        model: The chat model it is for.
        by: What `compaction_from` takes; None for the model's own compaction, or the default.
        functions: Schemas of the tools that go with it.

    Returns:
        A valid history of at most the share `compact_to`, as far as whole rounds allow.

    Raises:
        ValueError: There is neither a model nor `max_tokens` to say how long the history may be.
    """
    compaction = compaction_from(by) if by is not None else _compaction_of(model)
    compaction = compaction or Compaction((PruneToolResults(), RunningSummary()))
    return _compacted(compaction, model, repair_history(messages_from(messages)), functions, forced=True, lasting=True)


def _compacted(
    compaction: Compaction,
    model: Any,
    messages: list[Message],
    functions: Iterable[Mapping[str, Any]] | None,
    *,
    forced: bool,
    lasting: bool,
) -> list[Message]:
    limit = _limit(compaction, model)
    if limit is None:
        if forced:
            raise ValueError("How long the history may be is not known: give a model, or max_tokens")
        return messages
    run = current_run()
    summarize: SummarizeResult | None = run.state.get(SUMMARIZE_RESULT) if run is not None else None
    budget = Budget(
        low=int(limit * compaction.compact_to),
        high=int(limit * compaction.compact_at),
        tools=count_function_tokens(functions),
        forced=forced,
        lang=detect_language(messages),
        ask=_asker(compaction, model),
        summarize=summarize,
    )
    shorter = messages
    for policy in compaction.policies:
        if budget.to_drop(shorter) > 0 or policy.due(shorter):
            shorter = _applied(policy, shorter, budget)
    if shorter is not messages:
        _report(compaction, budget.tokens(messages), budget.tokens(shorter), lasting)
    return shorter


def _applied(policy: Policy, messages: list[Message], budget: Budget) -> list[Message]:
    token = _compacting.set(True)
    try:
        shorter = policy.compact(messages, budget)
    except ModelServiceError as error:
        logger.warning("The history was not made shorter by %s: %s", policy.name, error)
        return messages
    finally:
        _compacting.reset(token)
    return messages if shorter is messages else repair_history(shorter)


def _report(compaction: Compaction, before: int, after: int, lasting: bool) -> None:
    run = current_run()
    if run is None:
        return
    told: dict[str, int] = run.own("history_compacted", dict)
    name = "+".join(policy.name for policy in compaction.policies)
    # The same cut is made anew for each request; it is told once.
    if lasting or told.get(name) != before - after:
        told[name] = before - after
        run.emit(HistoryCompacted, policy=name, tokens_before=before, tokens_after=after)


def _limit(compaction: Compaction, model: Any) -> int | None:
    if compaction.max_tokens is not None:
        return compaction.max_tokens
    if model is None:
        return None
    options = model.options() if hasattr(model, "options") else None
    asked = getattr(options, "max_input_tokens", 0) or 0
    if asked <= 0:
        return profile_of(model).context_window
    return bounded_input_tokens(model, asked, getattr(options, "max_response_tokens", None))


def _asker(compaction: Compaction, model: Any) -> AskModel | None:
    writer = compaction.model or model
    if writer is None:
        return None

    def ask(messages: list[Message]) -> str:
        chat_model = writer
        if isinstance(writer, (str, Mapping)):
            from qwen_agentkit.llm.registry import get_chat_model

            chat_model = get_chat_model(writer)
        reply = chat_model.chat(messages, stream=False)
        return "".join(text_of(message) for message in reply if message.function_call is None)

    return ask


_by_model: weakref.WeakKeyDictionary[Any, tuple[Any, Compaction | None]] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def _compaction_of(model: Any) -> Compaction | None:
    """The model's compaction, made once, so that a running summary keeps what it knows."""
    cfg = getattr(model, "cfg", None)
    setting = cfg.get("compaction") if isinstance(cfg, Mapping) else None
    if setting is None or setting is False:
        return None
    with _lock:
        held = _by_model.get(model)
        if held is None or held[0] is not setting:
            held = (setting, compaction_from(setting))
            _by_model[model] = held
        return held[1]
