"""The tables of sessions, in SQLite or PostgreSQL, and their versions."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from qwen_agentkit.errors import QwenAgentKitError
from qwen_agentkit.log import logger
from qwen_agentkit.utils.optional import need
from qwen_agentkit.utils.store_address import without_password

sa = need("sqlalchemy", extra="sessions")

# Raised with every change of the tables; `MIGRATIONS` says how to come there from the version before.
SCHEMA_VERSION = 2

_BUSY_MILLISECONDS = 60_000

metadata = sa.MetaData()

meta = sa.Table(
    "qwen_agentkit_meta",
    metadata,
    sa.Column("key", sa.String(64), primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)
sessions = sa.Table(
    "qwen_agentkit_sessions",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("user_id", sa.String(255), nullable=False),
    sa.Column("session_id", sa.String(255), nullable=False),
    sa.Column("title", sa.Text, nullable=False, default=""),
    sa.Column("created_at", sa.Float, nullable=False),
    sa.Column("updated_at", sa.Float, nullable=False),
    sa.Column("holder", sa.String(255)),
    sa.Column("lease_until", sa.Float),
    sa.UniqueConstraint("user_id", "session_id"),
)
messages = sa.Table(
    "qwen_agentkit_messages",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("session", sa.ForeignKey(sessions.c.id, ondelete="CASCADE"), nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("role", sa.String(16), nullable=False),
    # The whole message as JSON, and the terms of its text, each between spaces, for searching.
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("terms", sa.Text, nullable=False),
    sa.Column("created_at", sa.Float, nullable=False),
    sa.UniqueConstraint("session", "position"),
)
# What a run that is under way has said so far; a row that outlives its run tells of a crash.
runs = sa.Table(
    "qwen_agentkit_runs",
    metadata,
    sa.Column("session", sa.ForeignKey(sessions.c.id, ondelete="CASCADE"), primary_key=True),
    sa.Column("run_id", sa.String(64), nullable=False),
    sa.Column("response", sa.Text, nullable=False),
    sa.Column("started_at", sa.Float, nullable=False),
)
# Texts for a run that is under way in another process.
follow_ups = sa.Table(
    "qwen_agentkit_follow_ups",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("session", sa.ForeignKey(sessions.c.id, ondelete="CASCADE"), nullable=False, index=True),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("created_at", sa.Float, nullable=False),
)

MIGRATIONS: dict[int, Callable[[Any], None]] = {2: follow_ups.create}


def open_engine(address: str) -> Any:
    """An engine for an SQLAlchemy address, its tables made or brought up to date.

    Raises:
        ValueError: The database is of a newer version of the package, or the address is none.
        QwenAgentKitError: It cannot be reached, or is no database.
    """
    try:
        url = sa.engine.make_url(address)
    except sa.exc.ArgumentError as error:
        raise ValueError(f"The address of the session store is not understood: {error}") from None
    if url.get_backend_name() not in ("sqlite", "postgresql"):
        raise ValueError(f"Sessions are kept in SQLite or PostgreSQL, not in {url.get_backend_name()}")
    if url.drivername == "postgresql":
        need("psycopg", extra="postgres")
        url = url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() == "sqlite" and url.database and url.database != ":memory:":
        Path(url.database).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    options: dict[str, Any] = {"pool_pre_ping": True} if url.get_backend_name() == "postgresql" else {}
    if url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:"):
        options["poolclass"] = sa.pool.StaticPool
        options["connect_args"] = {"check_same_thread": False}
    engine = sa.create_engine(url, **options)
    if engine.dialect.name == "sqlite":
        _prepare_sqlite(engine)
    try:
        _bring_up_to_date(engine)
    except sa.exc.DBAPIError as error:
        engine.dispose()
        # The driver's own words; SQLAlchemy's around them are of no help here.
        reason = str(error.orig).partition("\n")[0]
        raise QwenAgentKitError(f"The session store {without_password(address)} cannot be opened: {reason}") from error
    return engine


def _prepare_sqlite(engine: Any) -> None:
    @sa.event.listens_for(engine, "connect")
    def connected(connection: Any, record: Any) -> None:
        # Transactions begin by the event below, not by the driver's own guess.
        connection.isolation_level = None
        connection.execute(f"PRAGMA busy_timeout={_BUSY_MILLISECONDS}")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA secure_delete=ON")

    @sa.event.listens_for(engine, "begin")
    def begun(connection: Any) -> None:
        if connection.get_execution_options().get("reads_only"):
            connection.exec_driver_sql("BEGIN")
        else:
            # Asking for the write lock at once is what keeps two writers from failing half-way.
            connection.exec_driver_sql("BEGIN IMMEDIATE")


def _bring_up_to_date(engine: Any) -> None:
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            # Two processes that start at once must not both make the tables.
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(7134062518)"))
        known = sa.inspect(connection).has_table(meta.name)
        version = None
        if known:
            version = connection.execute(sa.select(meta.c.value).where(meta.c.key == "schema_version")).scalar()
        if version is None:
            metadata.create_all(connection)
            connection.execute(meta.insert().values(key="schema_version", value=str(SCHEMA_VERSION)))
            return
        held = int(version)
        if held > SCHEMA_VERSION:
            raise ValueError(
                f"The session store {engine.url!r} is of version {held}; this package knows up to {SCHEMA_VERSION}. "
                "Upgrade qwen-agentkit to use it."
            )
        if held == SCHEMA_VERSION:
            return
    backup = _back_up(engine, held)
    with engine.begin() as connection:
        for target in range(held + 1, SCHEMA_VERSION + 1):
            MIGRATIONS[target](connection)
        connection.execute(meta.update().where(meta.c.key == "schema_version").values(value=str(SCHEMA_VERSION)))
    logger.info("The session store was brought from version %s to %s (%s)", held, SCHEMA_VERSION, backup)


def _back_up(engine: Any, version: int) -> str:
    """Copies an SQLite store beside itself; of PostgreSQL its own tools make backups."""
    if engine.dialect.name != "sqlite" or engine.url.database in (None, "", ":memory:"):
        return "no copy was made"
    target = f"{engine.url.database}.version-{version}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    # Not through the engine's own connections, which begin a transaction: this statement must stand outside of one.
    connection = engine.raw_connection()
    try:
        connection.driver_connection.execute("VACUUM INTO ?", (target,))
    finally:
        connection.close()
    return f"the state before is in {target}"
