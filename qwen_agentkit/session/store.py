"""`SessionStore`: the conversations of all users, in SQLite or PostgreSQL (extra `sessions`).

The key of a session is (user_id, session_id); every statement carries it, so that no call can reach another user's
rows. Messages are only ever added.
"""

from __future__ import annotations

import json
import os
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from qwen_agentkit import settings
from qwen_agentkit.follow_ups import FollowUps, Ticket, checked_text
from qwen_agentkit.schema import USER, Message
from qwen_agentkit.session.database import follow_ups, open_engine, runs, sa, sessions
from qwen_agentkit.session.database import messages as messages_table
from qwen_agentkit.session.lease import holder_of
from qwen_agentkit.session.posted import old, post, take
from qwen_agentkit.session.session import LOCAL_USER, Fragment, Session, SessionInfo
from qwen_agentkit.utils.message_text import text_of
from qwen_agentkit.utils.session_ends import tell_deleted

Key = tuple[str, str]

_TITLE_CHARACTERS = 60
_LONGEST_ID = 255
# Messages that a search ranks.
_MOST_CANDIDATES = 2_000


class SessionStore:
    """Keeps conversations.

    Args:
        address: An SQLAlchemy address: `sqlite:///path.sqlite`, `postgresql+psycopg://user@host/name`. None is
            `settings.SESSIONS`, and when that is empty `sessions.sqlite` in the workspace.
        on_busy: What a message does that arrives while a run is under way in its session: `wait` for the run's
            end, or `follow_up`: go to that run, in whatever process, and wait only where the run takes it no more.
            None is `settings.ON_BUSY`, and when that is empty `wait`.

    Raises:
        MissingDependencyError: SQLAlchemy (or, for PostgreSQL, psycopg) is not installed.
        ValueError: The address is not understood, or the store is of a newer version.
        QwenAgentKitError: The database cannot be reached, or the file is none.
    """

    def __init__(self, address: str | None = None, on_busy: str | None = None) -> None:
        on_busy = on_busy or settings.ON_BUSY or "wait"
        if on_busy not in ("wait", "follow_up"):
            raise ValueError(f"on_busy is 'wait' or 'follow_up', not {on_busy!r}")
        self.on_busy = on_busy
        self._mailboxes: dict[Key, FollowUps] = {}
        address = address or settings.SESSIONS
        if not address:
            path = Path(os.path.abspath(settings.DEFAULT_WORKSPACE), "sessions.sqlite")
            address = f"sqlite:///{path}"
        self.address = address
        self._lock = threading.Lock()
        self._engine_here: Any = open_engine(address)
        self._pid = os.getpid()

    @property
    def _engine(self) -> Any:
        with self._lock:
            if self._pid != os.getpid():
                # Connections must not cross a fork.
                self._engine_here.dispose(close=False)
                self._engine_here = open_engine(self.address)
                self._pid = os.getpid()
            return self._engine_here

    def close(self) -> None:
        """Closes all connections."""
        self._engine.dispose()

    def __enter__(self) -> SessionStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.address, self.on_busy)

    def __deepcopy__(self, memo: dict[int, object]) -> SessionStore:
        return self

    # ---- sessions of a user

    def session(self, session_id: str | None = None, user_id: str = LOCAL_USER) -> Session:
        """The session of that id, made when it is new.

        Args:
            session_id: None makes a new one with an id of its own.
            user_id: Whose it is.

        Raises:
            ValueError: An id is no text, empty, or longer than 255 characters.
        """
        key = (_checked(user_id, "user_id"), _checked(session_id or f"session_{uuid.uuid4().hex[:12]}", "session_id"))
        moment = time.time()
        values = {"user_id": key[0], "session_id": key[1], "title": "", "created_at": moment, "updated_at": moment}
        with self._engine.begin() as connection:
            if self._row(connection, key) is None:
                try:
                    with connection.begin_nested():
                        connection.execute(sessions.insert().values(**values))
                except sa.exc.IntegrityError:
                    pass  # made by another process between the two statements
        return Session(self, *key)

    def find(self, session_id: str, user_id: str = LOCAL_USER) -> Session | None:
        """The session of that id, None when there is none."""
        with self._reading() as connection:
            row = self._row(connection, (user_id, session_id))
        return None if row is None else Session(self, user_id, session_id)

    def sessions(self, user_id: str = LOCAL_USER, limit: int = 50, offset: int = 0) -> list[SessionInfo]:
        """A user's sessions, the last used first."""
        count = sa.select(sa.func.count()).where(messages_table.c.session == sessions.c.id).scalar_subquery()
        wanted = (
            sa.select(sessions, count.label("count"))
            .where(sessions.c.user_id == user_id)
            .order_by(sessions.c.updated_at.desc(), sessions.c.id.desc())
            .limit(limit)
            .offset(offset)
        )
        with self._reading() as connection:
            return [_info(row) for row in connection.execute(wanted)]

    def search(self, text: str, user_id: str = LOCAL_USER, limit: int = 10) -> list[Fragment]:
        """Messages of a user's sessions that fit words best.

        Args:
            text: A question or words, in any language.
            user_id: Whose sessions.
            limit: The most fragments.
        """
        from qwen_agentkit.utils.text.bm25 import rank
        from qwen_agentkit.utils.text.segment import query_terms

        terms = [term for term in dict.fromkeys(query_terms(text)) if term]
        if not terms:
            return []
        matches = sa.or_(*(messages_table.c.terms.contains(f" {term} ", autoescape=True) for term in terms[:40]))
        wanted = (
            sa.select(sessions.c.session_id, sessions.c.title, messages_table)
            .join(sessions, sessions.c.id == messages_table.c.session)
            .where(sessions.c.user_id == user_id, matches)
            .order_by(messages_table.c.id.desc())
            .limit(_MOST_CANDIDATES)
        )
        with self._reading() as connection:
            rows = connection.execute(wanted).all()
        texts = [text_of(Message(**json.loads(row.body))) for row in rows]
        scores = rank(text, texts) if texts else []
        found = sorted(zip(scores, range(len(rows)), strict=True), key=lambda pair: (-pair[0], pair[1]))
        return [
            Fragment(
                rows[at].session_id,
                rows[at].title,
                rows[at].position,
                rows[at].role,
                texts[at],
                rows[at].created_at,
                score,
            )
            for score, at in found[:limit]
            if score > 0
        ]

    def export_user(self, user_id: str) -> dict[str, Any]:
        """Everything that is kept of a user, as JSON-able values."""
        infos = self.sessions(user_id, limit=1_000_000)
        return {
            "user_id": user_id,
            "sessions": [Session(self, user_id, info.session_id).export() for info in reversed(infos)],
        }

    def delete_user(self, user_id: str) -> int:
        """Erases everything that is kept of a user; returns how many sessions that were."""
        with self._engine.begin() as connection:
            held = connection.execute(sa.select(sessions.c.session_id).where(sessions.c.user_id == user_id)).all()
            ids = sa.select(sessions.c.id).where(sessions.c.user_id == user_id)
            for table in (runs, follow_ups, messages_table):
                connection.execute(table.delete().where(table.c.session.in_(ids)))
            count = connection.execute(sessions.delete().where(sessions.c.user_id == user_id)).rowcount
        for session_id in (*(row.session_id for row in held), None):
            tell_deleted(user_id, session_id)
        return count

    # ---- what a Session calls

    def _reading(self) -> Any:
        return self._engine.connect().execution_options(reads_only=True)

    def _row(self, connection: Any, key: Key) -> Any:
        wanted = sa.select(sessions.c.id, sessions.c.title).where(
            sessions.c.user_id == key[0], sessions.c.session_id == key[1]
        )
        return connection.execute(wanted).first()

    def _must_row(self, connection: Any, key: Key) -> Any:
        row = self._row(connection, key)
        if row is None:
            raise KeyError(f"There is no session {key[1]!r} of the user {key[0]!r}; it may have been deleted")
        return row

    def _info(self, key: Key) -> SessionInfo:
        count = sa.select(sa.func.count()).where(messages_table.c.session == sessions.c.id).scalar_subquery()
        wanted = sa.select(sessions, count.label("count")).where(
            sessions.c.user_id == key[0], sessions.c.session_id == key[1]
        )
        with self._reading() as connection:
            row = connection.execute(wanted).first()
        if row is None:
            raise KeyError(f"There is no session {key[1]!r} of the user {key[0]!r}; it may have been deleted")
        return _info(row)

    def _messages(self, key: Key) -> list[Message]:
        wanted = (
            sa.select(messages_table.c.body)
            .join(sessions, sessions.c.id == messages_table.c.session)
            .where(sessions.c.user_id == key[0], sessions.c.session_id == key[1])
            .order_by(messages_table.c.position)
        )
        with self._reading() as connection:
            return [Message(**json.loads(body)) for (body,) in connection.execute(wanted)]

    def _append(self, key: Key, messages: Sequence[Message]) -> None:
        with self._engine.begin() as connection:
            self._add(connection, self._must_row(connection, key), messages)

    def _add(self, connection: Any, row: Any, messages: Sequence[Message]) -> None:
        from qwen_agentkit.utils.text.segment import segment

        moment = time.time()
        last = connection.execute(
            sa.select(sa.func.max(messages_table.c.position)).where(messages_table.c.session == row.id)
        ).scalar()
        first = 0 if last is None else last + 1
        values = [
            {
                "session": row.id,
                "position": position,
                "role": message.role,
                "body": message.model_dump_json(),
                "terms": f" {' '.join(dict.fromkeys(segment(text_of(message))))} ",
                "created_at": moment,
            }
            for position, message in enumerate(messages, first)
        ]
        if values:
            connection.execute(messages_table.insert(), values)
        changes: dict[str, Any] = {"updated_at": moment}
        title = row.title or next((_title(message) for message in messages if message.role == USER), "")
        if title != row.title:
            changes["title"] = title
        connection.execute(sessions.update().where(sessions.c.id == row.id).values(**changes))

    def _rename(self, key: Key, title: str) -> None:
        with self._engine.begin() as connection:
            row = self._must_row(connection, key)
            connection.execute(sessions.update().where(sessions.c.id == row.id).values(title=title))

    def _delete(self, key: Key) -> None:
        with self._engine.begin() as connection:
            row = self._row(connection, key)
            if row is None:
                return
            for table in (runs, follow_ups, messages_table):
                connection.execute(table.delete().where(table.c.session == row.id))
            connection.execute(sessions.delete().where(sessions.c.id == row.id))
        tell_deleted(*key)

    def _fork(self, key: Key, at: int, session_id: str | None) -> Session:
        if session_id is not None and self.find(session_id, key[0]) is not None:
            raise ValueError(f"The session id {session_id!r} is in use")
        copied = self._messages(key)
        if not 0 <= at < len(copied):
            raise ValueError(f"The session has messages 0 to {len(copied) - 1}; there is no {at}")
        forked = self.session(session_id, key[0])
        title = self._info(key).title
        forked.append(copied[: at + 1])
        if title:
            forked.rename(title)
        return forked

    # ---- runs

    @contextmanager
    def mailbox(self, key: Key, mail: FollowUps) -> Iterator[None]:
        """Makes a running run's mailbox known, for `Session.follow_up`."""
        self._mailboxes[key] = mail
        mail.also_from(lambda: take(self, key))
        try:
            yield
        finally:
            self._mailboxes.pop(key, None)
            mail.close()

    def _is_busy(self, key: Key) -> bool:
        with self._reading() as connection:
            return holder_of(connection, self._must_row(connection, key).id) is not None

    def _post(self, key: Key, text: str) -> Ticket | None:
        return post(self, key, checked_text(text))

    def begin_run(self, key: Key, run_id: str, messages: Sequence[Message]) -> None:
        """A run begins: its input is in the history from now on."""
        with self._engine.begin() as connection:
            row = self._must_row(connection, key)
            self._add(connection, row, messages)
            connection.execute(runs.delete().where(runs.c.session == row.id))
            connection.execute(follow_ups.delete().where(old(row.id)))
            connection.execute(
                runs.insert().values(session=row.id, run_id=run_id, response="[]", started_at=time.time())
            )

    def save_run(self, key: Key, run_id: str, response: Sequence[Message]) -> None:
        """What a run has said so far, for the case that it never ends."""
        body = json.dumps([message.model_dump() for message in response], ensure_ascii=False)
        with self._engine.begin() as connection:
            row = self._must_row(connection, key)
            connection.execute(
                runs.update().where(runs.c.session == row.id, runs.c.run_id == run_id).values(response=body)
            )

    def end_run(self, key: Key, run_id: str, response: Sequence[Message]) -> None:
        """A run ended: its response is in the history, all of it or none."""
        with self._engine.begin() as connection:
            row = self._must_row(connection, key)
            gone = connection.execute(runs.delete().where(runs.c.session == row.id, runs.c.run_id == run_id))
            if gone.rowcount == 1:
                self._add(connection, row, response)

    def broken_run(self, key: Key) -> tuple[str, list[Message]] | None:
        """A run that began and never ended: its id, and what it had said. To be asked while holding the session."""
        wanted = (
            sa.select(runs.c.run_id, runs.c.response)
            .join(sessions, sessions.c.id == runs.c.session)
            .where(sessions.c.user_id == key[0], sessions.c.session_id == key[1])
        )
        with self._reading() as connection:
            row = connection.execute(wanted).first()
        return None if row is None else (row.run_id, [Message(**one) for one in json.loads(row.response)])


def _checked(value: str, name: str) -> str:
    if not isinstance(value, str) or not value or len(value) > _LONGEST_ID or "\x00" in value:
        raise ValueError(f"{name} is text of 1 to {_LONGEST_ID} characters, not {value!r}")
    return value


def _title(message: Message) -> str:
    text = " ".join(text_of(message).split())
    return text if len(text) <= _TITLE_CHARACTERS else text[: _TITLE_CHARACTERS - 1].rstrip() + "…"


def _info(row: Any) -> SessionInfo:
    return SessionInfo(row.session_id, row.user_id, row.title, row.count, row.created_at, row.updated_at)
