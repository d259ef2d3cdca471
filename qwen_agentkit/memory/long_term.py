"""`LongTermMemory`: what is known of a user over all conversations, and what was said in them."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qwen_agentkit import settings
from qwen_agentkit.memory.facts import Fact, FactStore
from qwen_agentkit.memory.learning import draw_facts
from qwen_agentkit.rag.open_indexes import OpenIndexes, SharedIndex
from qwen_agentkit.schema import Message
from qwen_agentkit.session.session import LOCAL_USER, Fragment
from qwen_agentkit.session.store import SessionStore
from qwen_agentkit.utils.text.folding import fold

# What two facts may differ in and say the same: marks around words, and articles.
_MARKS = ".,;:!?。、\"'()"
_ARTICLES = frozenset({"a", "an", "the"})


@dataclass(frozen=True)
class Recollection:
    """Something that a search of memory found: a fact, or a fragment of a past session."""

    text: str
    created_at: float
    score: float
    fact: Fact | None = None
    fragment: Fragment | None = None


class LongTermMemory:
    """Remembers facts of users, and finds past conversations.

    Facts are kept in the database of sessions, so any number of processes share them; they are found through an
    index like that of documents, by words, and with an embedder by meaning too.

    Args:
        sessions: The store of sessions, whose conversations are searched as well; None is the workspace's.
        embedder: See `rag.embedders`.
        folder: Where the indexes lie; None is `memory` in the workspace. They can be deleted at any time.

    Raises:
        MissingDependencyError: SQLAlchemy is not installed.
    """

    def __init__(
        self,
        sessions: SessionStore | None = None,
        embedder: Any = None,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        self.sessions = sessions or SessionStore()
        self.facts = FactStore(self.sessions)
        self._embedder = embedder
        self._folder = (
            Path(folder) if folder is not None else Path(os.path.abspath(settings.DEFAULT_WORKSPACE), "memory")
        )
        self._lock = threading.Lock()
        self._indexes = OpenIndexes()
        # The facts that each index holds, with the date of each.
        self._states: weakref.WeakKeyDictionary[SharedIndex, dict[str, float]] = weakref.WeakKeyDictionary()

    def add(
        self,
        text: str,
        user_id: str = LOCAL_USER,
        *,
        topic: str = "",
        points: Sequence[str] = (),
        agent: str = "",
        source: Mapping[str, Any] | None = None,
        created_at: float | None = None,
    ) -> Fact:
        """Remembers a fact. One that says the same again is not kept twice: its date is renewed.

        Args:
            text: The fact.
            user_id: Of whom.
            topic: What it is about.
            points: Key points.
            agent: Name of the agent that it is for; "" for all.
            source: `{"session_id", "message"}` where it was said.
            created_at: When, in seconds since 1970; None is now.
        """
        for known in self.facts.of_user(user_id):
            if known.agent == agent and _same(known.text, text):
                return self.facts.change(user_id, known.id, text=text if len(text) > len(known.text) else known.text)
        return self.facts.add(user_id, text, topic, points, agent, source, created_at)

    def update(self, fact_id: str, user_id: str = LOCAL_USER, **changes: Any) -> Fact:
        """Changes `text`, `topic`, `points`, `agent` or `source` of a fact.

        Raises:
            KeyError: The user has no such fact.
        """
        return self.facts.change(user_id, fact_id, **changes)

    def delete(self, fact_id: str, user_id: str = LOCAL_USER) -> bool:
        """Forgets a fact, in the index too; whether there was one."""
        gone = self.facts.delete(user_id, fact_id)
        self._index(user_id)
        return gone

    def forget_user(self, user_id: str) -> int:
        """Forgets all facts of a user and erases their index; how many there were. Sessions are the store's own."""
        count = self.facts.delete_user(user_id)
        with self._lock:
            self._indexes.close(user_id)
            shutil.rmtree(self._place(user_id), ignore_errors=True)
        return count

    def of_user(self, user_id: str = LOCAL_USER, agent: str | None = None) -> list[Fact]:
        """A user's facts, the newest first; with `agent` those for that agent and those for all."""
        return self.facts.of_user(user_id, agent)

    def search(
        self,
        query: str,
        user_id: str = LOCAL_USER,
        *,
        agent: str | None = None,
        limit: int = 5,
        fragments: bool = True,
    ) -> list[Recollection]:
        """What fits a question best.

        Args:
            query: The question, in any language.
            user_id: Whose memory.
            agent: Facts for that agent and for all; None is every fact.
            limit: The most facts, and the most fragments.
            fragments: Whether past sessions are searched too.

        Returns:
            Facts, the best first, then fragments of past sessions, the best first.
        """
        facts = {fact.id: fact for fact in self.facts.of_user(user_id, agent)}
        found: list[Recollection] = []
        if facts and query.strip():
            shared = self._index(user_id)
            hits = shared.index.search(query, limit, lambda hit: hit.source in facts)
            found = [
                Recollection(facts[hit.source].text, facts[hit.source].updated_at, hit.score, fact=facts[hit.source])
                for hit in hits
            ]
        if fragments:
            for fragment in self.sessions.search(query, user_id, limit):
                found.append(Recollection(fragment.text, fragment.created_at, fragment.score, fragment=fragment))
        return found

    def learn(
        self, messages: Sequence[Message | dict], llm: Any, user_id: str = LOCAL_USER, *, agent: str = "", **source: Any
    ) -> list[Fact]:
        """Draws facts from a conversation with a model and remembers them.

        What contradicts an older fact does not replace it: both stay, each with its date.

        Args:
            messages: The conversation.
            llm: The model, or its configuration.
            user_id: Of whom.
            agent: Name of the agent that they are for.
            **source: Kept as the facts' source (`session_id=...`).

        Returns:
            The facts, new or renewed.

        Raises:
            ModelServiceError: The model did not answer.
        """
        return [
            self.add(
                drawn["text"], user_id, topic=drawn["topic"], points=drawn["points"], agent=agent, source=source or None
            )
            for drawn in draw_facts(messages, llm)
        ]

    def _place(self, user_id: str) -> Path:
        return self._folder / hashlib.sha256(user_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def _index(self, user_id: str) -> SharedIndex:
        """The user's index, as the facts are now."""
        with self._lock:
            shared = self._indexes.get(user_id, self._place(user_id), embedder=self._embedder)
            index = shared.index
            facts = {fact.id: fact for fact in self.facts.of_user(user_id)}
            state = {fact.id: fact.updated_at for fact in facts.values()}
            if self._states.get(shared) == state:
                return shared
            held = {entry["source"] for entry in index.sources()}
            if held - set(facts):
                index.remove(sorted(held - set(facts)))
            index.add_texts([(fact.id, _indexed(fact), fact.topic) for fact in facts.values()])
            self._states[shared] = state
            return shared

    def close(self) -> None:
        """Closes the indexes."""
        with self._lock:
            self._indexes.close()

    def __deepcopy__(self, memo: dict[int, object]) -> LongTermMemory:
        return self


def _indexed(fact: Fact) -> str:
    return "\n".join([fact.text, *fact.points])


def _same(one: str, other: str) -> bool:
    """Whether two facts have the same words. A word more or other letters may say the contrary (no, unmarried)."""
    return _words(one) == _words(other)


def _words(text: str) -> list[str]:
    words = [word.strip(_MARKS) for word in fold(text).lower().split()]
    return [word for word in words if word and word not in _ARTICLES]
