"""Documents from the web on disk, asked for again only when they changed."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qwen_agentkit.errors import ToolServiceError
from qwen_agentkit.log import logger
from qwen_agentkit.utils.files import safe_name, write_atomically
from qwen_agentkit.utils.web import Cancel, Response, fetch
from qwen_agentkit.utils.work_dir import name_of

_FACTS = "address.json"
# Failures after which the copy on disk still serves: the service is away, not the document gone.
_AWAY = frozenset({"dns", "connect", "timeout", "bad_reply", "429", "500", "502", "503", "504"})


@dataclass(frozen=True)
class FetchedFile:
    """A document from the web on disk.

    Args:
        path: Where it is. The name is the document's own, as far as it makes a safe file name.
        url: The address that was asked for.
        content_type: What the server called it.
        is_stale: The server could not be asked whether it changed; this is the copy of last time.
    """

    path: Path
    url: str
    content_type: str = ""
    is_stale: bool = False


def fetch_file(
    url: str, folder: Path, *, max_age: float = 0.0, cancel: Cancel | None = None, **options: Any
) -> FetchedFile:
    """Fetches an address into a folder, or says that the copy there is still right.

    The server is asked with the copy's ETag or date, so an unchanged document is not sent again.

    Args:
        url: http or https.
        folder: Each address has its own folder below; it is made.
        max_age: Seconds for which a copy is used without asking.
        cancel: A cancel token.
        **options: As for `fetch`.

    Raises:
        ValueError: No http(s) address.
        ToolServiceError: It cannot be fetched and there is no copy; or the server says that it is gone.
    """
    place = folder / hashlib.sha256(url.encode()).hexdigest()[:32]
    facts = _read_facts(place)
    copy = place / facts["name"] if facts else None
    if copy is not None and not copy.is_file():
        facts, copy = {}, None
    if copy is not None and time.time() - float(facts.get("checked", 0)) < max_age:
        return FetchedFile(copy, url, facts.get("content_type", ""))
    try:
        response = fetch(url, headers=_conditions(facts), cancel=cancel, **options)
        if response.status != 304:
            response.raise_for_status()
    except ToolServiceError as error:
        if copy is None or error.code not in _AWAY:
            raise
        logger.warning("%s; the copy of last time is used", error.message)
        return FetchedFile(copy, url, facts.get("content_type", ""), is_stale=True)
    if response.status == 304 and copy is not None:
        _write_facts(place, {**facts, "checked": time.time()})
        return FetchedFile(copy, url, facts.get("content_type", ""))
    return _keep(place, url, response)


def _keep(place: Path, url: str, response: Response) -> FetchedFile:
    # The digest in the name: a reader of the old copy keeps a whole file while the new one is written.
    name = safe_name(name_of(response.url) or name_of(url), "document")
    held = f"{hashlib.sha256(response.body).hexdigest()[:12]}-{name}"[-200:]
    write_atomically(place / held, response.body)
    _write_facts(
        place,
        {
            "url": url,
            "name": held,
            "content_type": response.content_type,
            "etag": response.headers.get("etag"),
            "last_modified": response.headers.get("last-modified"),
            "checked": time.time(),
        },
    )
    for other in place.iterdir():
        if other.name not in (held, _FACTS) and not other.name.startswith("."):
            other.unlink(missing_ok=True)
    return FetchedFile(place / held, url, response.content_type)


def _conditions(facts: dict[str, Any]) -> dict[str, str]:
    conditions = {}
    if facts.get("etag"):
        conditions["If-None-Match"] = facts["etag"]
    if facts.get("last_modified"):
        conditions["If-Modified-Since"] = facts["last_modified"]
    return conditions


def _read_facts(place: Path) -> dict[str, Any]:
    try:
        facts = json.loads((place / _FACTS).read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        logger.warning("What is known of the copy in %s cannot be read, it is fetched anew: %s", place, error)
        return {}
    usable = (
        isinstance(facts, dict) and isinstance(facts.get("name"), str) and Path(facts["name"]).name == facts["name"]
    )
    return facts if usable else {}


def _write_facts(place: Path, facts: dict[str, Any]) -> None:
    write_atomically(place / _FACTS, json.dumps(facts, ensure_ascii=False))
