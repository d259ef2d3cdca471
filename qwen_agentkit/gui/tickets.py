"""`Tickets`: addresses under which the page may fetch a source, a picture or a file, and nothing else.

Only what the server itself has shown has a ticket, and a ticket cannot be guessed (HMAC-SHA256 with a key of this
process), so no path in a request leads to a file.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import threading
from collections import OrderedDict
from typing import Any

# What has not been shown for longest is forgotten beyond this; a newly opened conversation issues its own again.
_MOST = 50_000


class Tickets:
    """The tickets of one page."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._issued: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._lock = threading.Lock()

    def issue(self, kind: str, **what: Any) -> str:
        """A ticket for something; the same thing has the same ticket.

        Args:
            kind: `source` or `file`.
            **what: JSON-able values that `find` gives back.
        """
        held = {"kind": kind, **what}
        body = json.dumps(held, sort_keys=True, ensure_ascii=False).encode()
        ticket = hmac.new(self._key, body, hashlib.sha256).hexdigest()
        with self._lock:
            self._issued[ticket] = held
            self._issued.move_to_end(ticket)
            while len(self._issued) > _MOST:
                self._issued.popitem(last=False)
        return ticket

    def find(self, ticket: str, kind: str) -> dict[str, Any] | None:
        """What the ticket is for, None when it is none or of another kind."""
        with self._lock:
            held = self._issued.get(ticket)
        return held if held is not None and held["kind"] == kind else None
