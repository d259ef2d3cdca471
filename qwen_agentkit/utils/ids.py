"""Fresh ids."""

from __future__ import annotations

import uuid


def new_call_id() -> str:
    """An id for a tool call, unique in every history: `call_` and 12 hex digits."""
    return f"call_{uuid.uuid4().hex[:12]}"
