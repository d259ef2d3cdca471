"""The facts of long-term memory in the database of sessions (extra `sessions`)."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from qwen_agentkit.session.database import metadata, sa
from qwen_agentkit.session.store import SessionStore

table = sa.Table(
    "qwen_agentkit_facts",
    metadata,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("user_id", sa.String(255), nullable=False, index=True),
    sa.Column("agent", sa.String(255), nullable=False),
    sa.Column("topic", sa.Text, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("points", sa.Text, nullable=False),
    sa.Column("source", sa.Text),
    sa.Column("created_at", sa.Float, nullable=False),
    sa.Column("updated_at", sa.Float, nullable=False),
)


@dataclass(frozen=True)
class Fact:
    """Something that is remembered of a user.

    Args:
        id: Its id.
        user_id: Of whom.
        text: The fact.
        topic: What it is about.
        points: Key points.
        agent: Name of the agent that it is for; "" for all.
        source: Where it was said: `{"session_id", "message"}`, None where unknown.
        created_at: When it was first said, in seconds since 1970.
        updated_at: When it was last said or changed.
    """

    id: str
    user_id: str
    text: str
    topic: str = ""
    points: list[str] = field(default_factory=list)
    agent: str = ""
    source: dict[str, Any] | None = None
    created_at: float = 0.0
    updated_at: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


class FactStore:
    """Facts by user. Every statement carries the user.

    Args:
        sessions: The store whose database they are kept in.
    """

    def __init__(self, sessions: SessionStore) -> None:
        self._sessions = sessions
        with sessions._engine.begin() as connection:
            table.create(connection, checkfirst=True)

    def add(
        self,
        user_id: str,
        text: str,
        topic: str = "",
        points: Sequence[str] = (),
        agent: str = "",
        source: Mapping[str, Any] | None = None,
        created_at: float | None = None,
    ) -> Fact:
        """Keeps a fact.

        Raises:
            ValueError: The text or the user is blank.
        """
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"A fact is text that says something, not {text!r}")
        if not isinstance(user_id, str) or not user_id:
            raise ValueError(f"user_id is text that is not empty, not {user_id!r}")
        moment = time.time() if created_at is None else created_at
        fact = Fact(
            f"fact_{uuid.uuid4().hex[:12]}",
            user_id,
            text.strip(),
            topic.strip(),
            [str(point) for point in points],
            agent,
            dict(source) if source else None,
            moment,
            moment,
        )
        with self._sessions._engine.begin() as connection:
            connection.execute(table.insert().values(**_row(fact)))
        return fact

    def change(self, user_id: str, fact_id: str, **changes: Any) -> Fact:
        """Changes fields of a fact.

        Raises:
            KeyError: The user has no such fact.
            ValueError: There is no such field.
        """
        unknown = set(changes) - {"text", "topic", "points", "agent", "source", "updated_at"}
        if unknown:
            raise ValueError(f"A fact has no {', '.join(sorted(unknown))} to change")
        values = {"updated_at": time.time(), **changes}
        for name in ("points", "source"):
            if name in values:
                values[name] = None if values[name] is None else json.dumps(values[name], ensure_ascii=False)
        with self._sessions._engine.begin() as connection:
            mine = sa.and_(table.c.id == fact_id, table.c.user_id == user_id)
            changed = connection.execute(table.update().where(mine).values(**values))
            if changed.rowcount != 1:
                raise KeyError(f"The user {user_id!r} has no fact {fact_id!r}")
            return _fact(connection.execute(sa.select(table).where(mine)).one())

    def delete(self, user_id: str, fact_id: str) -> bool:
        """Erases a fact; whether there was one."""
        with self._sessions._engine.begin() as connection:
            gone = connection.execute(table.delete().where(table.c.id == fact_id, table.c.user_id == user_id))
            return gone.rowcount == 1

    def delete_user(self, user_id: str) -> int:
        """Erases all facts of a user; how many there were."""
        with self._sessions._engine.begin() as connection:
            return connection.execute(table.delete().where(table.c.user_id == user_id)).rowcount

    def of_user(self, user_id: str, agent: str | None = None) -> list[Fact]:
        """A user's facts, the newest first.

        Args:
            user_id: Whose.
            agent: Those for that agent and those for all; None is all there are.
        """
        wanted = sa.select(table).where(table.c.user_id == user_id).order_by(table.c.updated_at.desc(), table.c.id)
        if agent is not None:
            wanted = wanted.where(table.c.agent.in_(["", agent]))
        with self._sessions._reading() as connection:
            return [_fact(row) for row in connection.execute(wanted)]


def _row(fact: Fact) -> dict[str, Any]:
    values = fact.to_dict()
    values["points"] = json.dumps(fact.points, ensure_ascii=False)
    values["source"] = None if fact.source is None else json.dumps(fact.source, ensure_ascii=False)
    return values


def _fact(row: Any) -> Fact:
    return Fact(
        row.id,
        row.user_id,
        row.text,
        row.topic,
        json.loads(row.points),
        row.agent,
        None if row.source is None else json.loads(row.source),
        row.created_at,
        row.updated_at,
    )
