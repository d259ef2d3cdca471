"""Which conversation each open tab shows, so that a stream of another one ends, and who is at the page."""

from __future__ import annotations

import threading
from collections import OrderedDict

# A tab that never said it was closed is forgotten beyond this.
_MOST = 10_000


class Tabs:
    """The open tabs, by the id that Gradio gives each."""

    def __init__(self) -> None:
        self._shown: OrderedDict[str, tuple[str, str]] = OrderedDict()
        self._lock = threading.Lock()

    def show(self, tab: str, user: str, session_id: str) -> None:
        """The tab shows a conversation from now on; "" is a new one."""
        with self._lock:
            self._shown[tab] = (user, session_id)
            self._shown.move_to_end(tab)
            while len(self._shown) > _MOST:
                self._shown.popitem(last=False)

    def shows(self, tab: str, session_id: str) -> bool:
        """Whether the tab is open and still shows that conversation."""
        with self._lock:
            return self._shown.get(tab, ("", ""))[1] == session_id and tab in self._shown

    def close(self, tab: str) -> None:
        """The tab is gone."""
        with self._lock:
            self._shown.pop(tab, None)

    def has(self, user: str) -> bool:
        """Whether the user has a tab open."""
        with self._lock:
            return any(one == user for one, _ in self._shown.values())
