"""`PythonExecutor`: runs Python for maths, each call from the start, and gives what it printed."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from typing import Any

from qwen_agentkit import settings
from qwen_agentkit.tools.base import BaseTool, register_tool
from qwen_agentkit.tools.code.limits import Limits
from qwen_agentkit.tools.code.pool import conversation_kernel
from qwen_agentkit.tools.code_interpreter import MAX_SECONDS, code_of
from qwen_agentkit.utils.session_ends import tool_folders

# Characters of the output that are given.
MAX_OUTPUT = 256


@register_tool("python_executor")
class PythonExecutor(BaseTool):
    """Runs code in the sandbox of `code_interpreter`; no name lasts from call to call.

    Args:
        cfg: `timeout_length`: seconds, 20. What the answer is: what is printed (`get_answer_from_stdout`, the
            default), the value of an expression (`get_answer_expr`), or of a name (`get_answer_symbol`). `sandbox`,
            `image`, `work_dir`: as for `code_interpreter`.
    """

    description = "Runs Python code for calculations (sympy and scipy where installed) and gives what it prints."
    parameters = {
        "type": "object",
        "properties": {"code": {"type": "string", "description": "The Python code; it prints its answer."}},
        "required": ["code"],
    }
    side_effects = True
    sequential = True

    def __init__(self, cfg: Mapping[str, Any] | None = None) -> None:
        super().__init__(cfg)
        self.timeout_length: float = float(self.cfg.get("timeout_length", 20))
        if not 0 < self.timeout_length <= MAX_SECONDS:
            raise ValueError(f"python_executor: timeout_length is up to {MAX_SECONDS:g} seconds")
        self.timeout = self.timeout_length + 60
        self.work_dir: str = self.cfg.get("work_dir") or os.path.join(settings.DEFAULT_WORKSPACE, "tools", self.name)
        tool_folders.add(self.work_dir)
        self._id = uuid.uuid4().hex

    def call(self, params: str | dict[str, Any], **kwargs: Any) -> list[str]:
        """The answer (at most 256 characters) and `Done`, or an empty answer and the error.

        Raises:
            ToolServiceError: No sandbox is at hand.
            RunCancelled: The run was cancelled.
        """
        code = code_of(params)
        wanted = self.cfg.get("get_answer_expr") or self.cfg.get("get_answer_symbol")
        if wanted and not self.cfg.get("get_answer_from_stdout"):
            code = f"{code}\n{wanted}"
        kernel = conversation_kernel(
            self.name,
            self.cfg.get("sandbox", "auto"),
            self.work_dir,
            Limits(),
            self.cfg.get("image") or settings.CODE_IMAGE,
            kwargs,
            self._id,
            apart=self.name,
        )
        outcome = kernel.run(code, self.timeout_length, fresh=True)
        error = outcome.error or outcome.ended
        if error:
            return ["", error.strip().split("\n")[-1]]
        answer = outcome.result if wanted and outcome.result is not None else outcome.stdout
        return [_short(answer.strip()), "Done"]

    def __deepcopy__(self, memo: dict[int, Any]) -> PythonExecutor:
        return type(self)(self.cfg)


def _short(text: str) -> str:
    half = MAX_OUTPUT // 2
    return text if len(text) <= MAX_OUTPUT else f"{text[:half]}...{text[-half:]}"
