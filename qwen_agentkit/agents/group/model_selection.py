"""Who speaks next, by asking a model, and by rules first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from qwen_agentkit.agents.group.selection import Choice, Situation, SpeakerSelection
from qwen_agentkit.schema import Message


class ByModel(SpeakerSelection):
    """A host with a model decides.

    Its answer is read for names of candidates only, as whole words. An answer that names nobody or several gets
    an explanation and another try; after the last one the next candidate in turn speaks. `[STOP]` ends the talk.

    Args:
        host: A `GroupChatAutoRouter`, or any agent that answers with a name.
        attempts: Times the model is asked for one choice.
    """

    def __init__(self, host: Any, attempts: int = 3) -> None:
        if attempts < 1:
            raise ValueError(f"attempts is at least 1, not {attempts!r}")
        self.host = host
        self.attempts = attempts

    def choose(self, situation: Situation) -> Choice:
        from qwen_agentkit.agents.group_chat_auto_router import GroupChatAutoRouter, read_choice

        if len(situation.candidates) == 1 and len(situation.members) > 1:
            return Choice(situation.candidates[0], "the only candidate")
        if isinstance(self.host, GroupChatAutoRouter):
            return self.host.choose(situation.messages, situation.candidates, situation.lang, self.attempts)
        reply = self.host.run_nonstream(situation.messages, lang=situation.lang)
        names, stop = read_choice(reply, situation.candidates)
        if stop:
            return Choice(None, f"{self.host.name} ended the talk")
        if len(names) == 1:
            return Choice(names[0], f"chosen by {self.host.name}")
        return Choice(situation.after(situation.last_speaker), f"{self.host.name} named nobody who can speak")


Rule = Callable[[list[Message]], "str | None"]


class Hybrid(SpeakerSelection):
    """Rules first, which are free; a model (or any other selection) only when none or several fire.

    Args:
        rules: Functions of the messages, each returning a name or None.
        otherwise: Asked when no rule fires, or rules name different members; then among those only.
    """

    def __init__(self, rules: Sequence[Rule], otherwise: SpeakerSelection) -> None:
        self.rules = list(rules)
        self.otherwise = otherwise

    def choose(self, situation: Situation) -> Choice:
        fired = [name for rule in self.rules if (name := rule(situation.messages)) is not None]
        unknown = [name for name in fired if name not in situation.names]
        if unknown:
            raise ValueError(f"A rule named {unknown[0]!r}; members are: {', '.join(situation.names)}")
        named = [name for name in dict.fromkeys(fired) if name in situation.candidates]
        if len(named) == 1:
            return Choice(named[0], "by rule")
        if named:
            situation.candidates = [name for name in situation.candidates if name in named]
        return self.otherwise.choose(situation)
