"""The kernels of this process: one a conversation, ended when it is idle, when there are too many, and at exit."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from qwen_agentkit.tools.code.conversation import conversation_key, session_of
from qwen_agentkit.tools.code.kernel import Kernel
from qwen_agentkit.tools.code.limits import Limits
from qwen_agentkit.tools.code.sandbox import choose, tell_sandbox
from qwen_agentkit.utils import session_ends

MAX_KERNELS = 16
# Seconds between two looks for idle kernels.
_LOOK_EVERY = 5.0


class _Pool:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kernels: OrderedDict[str, Kernel] = OrderedDict()
        self._pid = os.getpid()
        self._is_watched = False

    def kernel(
        self,
        key: str,
        sandbox: str,
        work_dir: str,
        limits: Limits,
        image: str = "",
        session: tuple[str, str] | None = None,
    ) -> tuple[Kernel, bool]:
        """The kernel of a key, and whether it was started now.

        It ends with the session (user id, session id) that it belongs to.

        Raises:
            ToolServiceError: It does not start.
        """
        with self._lock:
            if self._pid != os.getpid():
                # A child process has no part in the kernels of its parent.
                self._kernels, self._pid, self._is_watched = OrderedDict(), os.getpid(), False
            held = self._kernels.get(key)
            if held is not None and held.is_alive:
                held.last_used = time.monotonic()
                self._kernels.move_to_end(key)
                return held, False
        # Not under the lock: starting takes a while, and other conversations must not wait for it.
        if held is not None:
            held.stop()
        made = Kernel(sandbox, work_dir, limits, image)
        made.session = session
        with self._lock:
            other = self._kernels.get(key)
            if other is not None and other is not held and other.is_alive:
                surplus, chosen = [made], other
            else:
                self._kernels[key] = chosen = made
                # The longest unused go first; one that is working is not taken from who waits for it.
                resting = [one for one, kernel in self._kernels.items() if kernel is not made and not kernel.is_busy]
                surplus = [self._kernels.pop(one) for one in resting[: max(0, len(self._kernels) - MAX_KERNELS)]]
            self._start_watching()
        for kernel in surplus:
            kernel.stop()
        return chosen, chosen is made

    def end(self, key: str | None = None) -> None:
        """Ends one kernel, or all."""
        with self._lock:
            keys = list(self._kernels) if key is None else [key]
            ended = [self._kernels.pop(one) for one in keys if one in self._kernels]
        for kernel in ended:
            kernel.stop()

    def _start_watching(self) -> None:
        if not self._is_watched:
            self._is_watched = True
            threading.Thread(target=self._watch, name="qwen-agentkit-kernels", daemon=True).start()
            atexit.register(self.end)
            session_ends.listeners.append(self._end_session)

    def _end_session(self, user_id: str, session_id: str | None) -> None:
        with self._lock:
            keys = [
                key
                for key, kernel in self._kernels.items()
                if kernel.session is not None
                and kernel.session[0] == user_id
                and session_id in (None, kernel.session[1])
            ]
        for key in keys:
            self.end(key)

    def _watch(self) -> None:
        while True:
            time.sleep(_LOOK_EVERY)
            now = time.monotonic()
            with self._lock:
                idle = [
                    key
                    for key, kernel in self._kernels.items()
                    if not kernel.is_busy and now - kernel.last_used > kernel.limits.idle
                ]
            for key in idle:
                self.end(key)


kernels = _Pool()


def conversation_kernel(
    tool: str,
    wanted: str,
    work_dir: str,
    limits: Limits,
    image: str,
    kwargs: Mapping[str, Any],
    tool_id: str,
    apart: str = "",
) -> Kernel:
    """The kernel of the conversation that a call belongs to, in the conversation's folder below `work_dir`.

    Args:
        tool: Name of the tool, for the run's events.
        wanted: The sandbox, as for `sandbox.choose`.
        work_dir: The tool's folder.
        limits: What the sandbox may use.
        image: Image of a container.
        kwargs: Of the call; see `conversation.conversation_key`.
        tool_id: Of the tool object.
        apart: Kernels of different words are different ones, in one conversation too.

    Raises:
        ToolServiceError: No sandbox is at hand, or it does not start.
    """
    sandbox = choose(wanted, image)
    tell_sandbox(tool, sandbox)
    key = conversation_key(kwargs, tool_id)
    folder = os.path.join(work_dir, key)
    handle = f"{apart}:{key}:{os.path.realpath(folder)}:{sandbox}"
    return kernels.kernel(handle, sandbox, folder, limits, image, session_of(kwargs))[0]
