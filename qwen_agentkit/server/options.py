"""What can be set about a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from qwen_agentkit.limits import RunLimits

if TYPE_CHECKING:
    from qwen_agentkit.session.store import SessionStore

# Name under which an agent without one is served.
UNNAMED = "agent"

# Endings of files that a session takes: what `rag` reads, and what models see and hear.
_DOCUMENTS = (
    "pdf docx pptx xlsx xls xlsm ods odt odp rtf epub csv tsv txt md rst log html htm xml json jsonl yaml yml toml"
)
_SOURCES = "ini eml ipynb tex py js ts java c h cpp go rs rb sh sql"
_MEDIA = "png jpg jpeg gif webp bmp wav mp3 ogg flac m4a mp4 webm mov"
UPLOAD_TYPES = frozenset(f"{_DOCUMENTS} {_SOURCES} {_MEDIA}".split())

_AT_LEAST_ONE = (
    "max_running",
    "max_running_per_user",
    "max_body_bytes",
    "max_messages",
    "max_upload_bytes",
    "max_session_upload_bytes",
    "max_kept_runs",
)


@dataclass(frozen=True)
class ServerOptions:
    """Settings of a server.

    Args:
        tokens: Bearer token -> user. Empty: no token is asked for and everyone is the user `local`, on a loopback
            address only.
        without_token: Serves without tokens on any address; to be said outright.
        store: Where sessions are kept: a `SessionStore`, an SQLAlchemy address, or None for the workspace.
        upload_folder: Where uploaded files are kept; None is `uploads` in the workspace.
        cors_origins: Origins of web pages that may call the server from a browser; none by default.
        allowed_hosts: Host names that requests may carry besides the server's own; looked at only without tokens.
        max_running: Runs at once, each in a thread of its own.
        max_running_per_user: Runs at once of one user; None is no bound of its own.
        max_waiting: Runs that may wait for a place. A further one is answered with 429.
        max_body_bytes: Size of a request other than an upload.
        max_messages: Messages of one request.
        max_upload_bytes: Size of one uploaded file.
        max_session_upload_bytes: Size of all files of a session.
        upload_types: Endings of files that may be uploaded, lower case and without dot.
        limits: Bounds of each run; a request may only ask for less.
        keep_alive_seconds: Silence after which a stream gets a comment line.
        resume_seconds: How long a run of `/v1/runs` waits, without being in the background, for its client to come
            back before it is cancelled.
        approval_seconds: How long a paused run waits for a decision before it is cancelled.
        stalled_seconds: How long a run waits for a reader that takes nothing before it is cancelled.
        run_kept_seconds: How long an ended run can still be asked for.
        max_kept_runs: Ended runs that are kept at most.
        session_idle_seconds: After this time without use a session leaves memory; its history stays in the store.
        shutdown_seconds: How long runs may go on after the server was told to stop; then they are cancelled.
        on_busy: What a message does that arrives while a run is under way in its session, `wait` or `follow_up`;
            None is the setting `ON_BUSY`. Of no use with a `SessionStore`, which says so itself.
    """

    tokens: Mapping[str, str] = field(default_factory=dict)
    without_token: bool = False
    store: SessionStore | str | None = None
    upload_folder: str | None = None
    cors_origins: Sequence[str] = ()
    allowed_hosts: Sequence[str] = ()
    max_running: int = 100
    max_running_per_user: int | None = None
    max_waiting: int = 200
    max_body_bytes: int = 20_000_000
    max_messages: int = 2_000
    max_upload_bytes: int = 50_000_000
    max_session_upload_bytes: int = 500_000_000
    upload_types: frozenset[str] = UPLOAD_TYPES
    limits: RunLimits | None = None
    keep_alive_seconds: float = 15.0
    resume_seconds: float = 30.0
    approval_seconds: float = 3600.0
    stalled_seconds: float = 300.0
    run_kept_seconds: float = 600.0
    max_kept_runs: int = 1_000
    session_idle_seconds: float = 3600.0
    shutdown_seconds: float = 30.0
    on_busy: str | None = None

    def __post_init__(self) -> None:
        for token, user in self.tokens.items():
            if not isinstance(token, str) or not token or not isinstance(user, str) or not user:
                raise ValueError(f"ServerOptions.tokens maps tokens to users, neither of them empty; user {user!r}")
        for one in fields(self):
            value = getattr(self, one.name)
            if not isinstance(value, (int, float)) or isinstance(value, bool):
                continue
            least = 1 if one.name in _AT_LEAST_ONE else 0
            if value < least or (one.name == "keep_alive_seconds" and value == 0):
                raise ValueError(f"ServerOptions.{one.name} is a number of at least {least}, not {value!r}")
