"""`run_command`: a shell command, in the sandbox of `code_interpreter` and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from qwen_agentkit import settings
from qwen_agentkit.schema import ContentItem
from qwen_agentkit.tools.base import register_tool
from qwen_agentkit.tools.code.sandbox import NONE
from qwen_agentkit.tools.code_interpreter import CodeInterpreter

# Runs in the sandbox. What the command has left behind is ended with it.
_CELL = """
import os, signal, subprocess
_process = subprocess.Popen(["/bin/sh", "-c", {command!r}], stdin=subprocess.DEVNULL, start_new_session=True)
try:
    _status = _process.wait()
finally:
    try:
        os.killpg(_process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
if _status:
    print(f"[exit status {{_status}}]")
"""


@register_tool("run_command")
class RunCommand(CodeInterpreter):
    """Runs a shell command in a sandbox, in the folder that the conversation's `code_interpreter` works in.

    Args:
        cfg: As for `code_interpreter`, but that `sandbox="none"` is refused: no command of a model reaches the
            program's own shell.

    Raises:
        ValueError: A setting is none, or `sandbox="none"`.
    """

    description = "Runs a shell command in a sandbox without network, in the folder of the conversation's files."
    parameters = {
        "type": "object",
        "properties": {"command": {"type": "string", "description": "The command, for /bin/sh."}},
        "required": ["command"],
    }

    def __init__(self, cfg: Mapping[str, Any] | None = None) -> None:
        super().__init__(cfg)
        if self.sandbox == NONE:
            raise ValueError("run_command runs in a sandbox only; sandbox='none' is for code_interpreter")
        if not self.cfg.get("work_dir"):
            self.work_dir = os.path.join(settings.DEFAULT_WORKSPACE, "tools", "code_interpreter")

    @property
    def args_format(self) -> str:
        return self.cfg.get("args_format", "Write the arguments as one JSON object.")

    def call(
        self,
        params: str | dict[str, Any],
        files: Sequence[str] | None = None,
        timeout: float | None = None,
        **kwargs: Any,
    ) -> str | list[ContentItem]:
        """What the command writes, and its exit status when it is not 0.

        Raises:
            ToolArgumentsError: There is no command.
            ToolServiceError: No sandbox is at hand.
            RunCancelled: The run was cancelled.
        """
        command = self._verify_json_format_args(params)["command"]
        return super().call({"code": _CELL.format(command=command)}, files=files, timeout=timeout, **kwargs)
