"""Reading a stream of server-sent events by the blocks in which it arrives.

Format: https://html.spec.whatwg.org/multipage/server-sent-events.html, as the OpenAI protocol uses it: each
event's data is one JSON object, the last is `[DONE]`. All events of a block are decoded by one call of `json`,
which is what makes a long answer cheap.
"""

from __future__ import annotations

import json
from typing import Any


class StreamNotJSON(ValueError):
    """An event's data is no JSON object; the text shows how it begins."""


class EventDecoder:
    """Turns blocks of bytes into the objects they hold.

    Attributes:
        done: The closing `[DONE]` was read.
    """

    def __init__(self) -> None:
        self._rest = b""
        self.done = False

    def feed(self, block: bytes) -> list[dict[str, Any]]:
        """The objects whose events end in this block, in order.

        Raises:
            StreamNotJSON: Something else than JSON objects came.
        """
        data = self._rest + block
        if b"\r" in data:
            # A carriage return at the very end may be the first half of a line end.
            held = b"\r" if data.endswith(b"\r") else b""
            data = data[: len(data) - len(held)].replace(b"\r\n", b"\n").replace(b"\r", b"\n") + held
        events, end, self._rest = data.rpartition(b"\n\n")
        return self._decode(events.split(b"\n\n")) if end else []

    def finish(self) -> list[dict[str, Any]]:
        """The last object, when the server ended without the closing empty line."""
        rest, self._rest = self._rest.strip(), b""
        return self._decode([rest]) if rest else []

    def _decode(self, events: list[bytes]) -> list[dict[str, Any]]:
        payloads: list[bytes] = []
        for event in events:
            payload = event[5:] if event.startswith(b"data:") and b"\n" not in event else _data_of(event)
            payload = payload.strip()
            if payload == b"[DONE]":
                self.done = True
                break
            if payload:
                payloads.append(payload)
        if not payloads:
            return []
        try:
            decoded = json.loads(b"[" + b",".join(payloads) + b"]")
            if len(decoded) == len(payloads) and all(type(one) is dict for one in decoded):
                return decoded
        except ValueError:
            pass  # found one by one below, to name the one that is wrong
        return [_object(payload) for payload in payloads]


def _data_of(event: bytes) -> bytes:
    lines = [line[5:].removeprefix(b" ") for line in event.split(b"\n") if line.startswith(b"data:")]
    return b"\n".join(lines)


def _object(payload: bytes) -> dict[str, Any]:
    try:
        decoded = json.loads(payload)
    except ValueError:
        decoded = None
    if not isinstance(decoded, dict):
        shown = payload[:200].decode("utf-8", "replace")
        raise StreamNotJSON(f"the stream holds an event that is no JSON object: {shown!r}")
    return decoded
