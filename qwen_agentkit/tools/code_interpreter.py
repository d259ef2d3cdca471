"""`code_interpreter`: runs a model's Python in a sandbox and keeps its names for the conversation."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from qwen_agentkit import settings
from qwen_agentkit.errors import ToolArgumentsError
from qwen_agentkit.schema import ContentItem
from qwen_agentkit.tools.base import BaseToolWithFileAccess, register_tool
from qwen_agentkit.tools.code.kernel import CellOutcome
from qwen_agentkit.tools.code.limits import Limits
from qwen_agentkit.tools.code.pool import conversation_kernel, kernels
from qwen_agentkit.tools.code.sandbox import SANDBOXES
from qwen_agentkit.utils.environment import environment
from qwen_agentkit.utils.model_text import extract_code
from qwen_agentkit.utils.session_ends import tool_folders
from qwen_agentkit.utils.untrusted import fence_around

DEFAULT_SECONDS = 30.0
MAX_SECONDS = 600.0
# Characters of one section of the result.
MAX_SECTION = 60_000


@register_tool("code_interpreter")
class CodeInterpreter(BaseToolWithFileAccess):
    """Runs Python in a sandbox without network; the conversation's files are in its folder.

    Args:
        cfg: `sandbox`: `auto` (the strongest at hand: Docker or Podman where an image is set, else bubblewrap; that
            there is none is said when the tool is called), `docker`, `podman`, `bubblewrap`, or `none`, a plain
            process with the program's own rights. `image`: of a container, with python3 and what code may import;
            else `settings.CODE_IMAGE`. `work_dir`: the folder; each conversation has its own below. `timeout`: seconds
            for a cell, 30. `memory`, `processes`, `folder`, `idle`, `cpus`: see `code.limits.Limits`.

    Names last from call to call of one conversation, and each has a folder of its own: that of the stored session that
    the run is in, or of the `user_id` and `session_id` given to `run`; without them, see `code.conversation`. Both end
    with a stored session that is deleted; the pictures that its messages show, with all that is kept of the user.

    Raises:
        ValueError: A setting is none.
    """

    description = "Runs Python code in a sandbox, without network. Names are kept from call to call. Plots are shown."
    parameters = {
        "type": "object",
        "properties": {"code": {"type": "string", "description": "The Python code."}},
        "required": ["code"],
    }
    side_effects = True
    sequential = True
    timeout = MAX_SECONDS + 60

    def __init__(self, cfg: Mapping[str, Any] | None = None) -> None:
        super().__init__(cfg)
        self.work_dir = self.cfg.get("work_dir") or os.environ.get("M6_CODE_INTERPRETER_WORK_DIR") or self.work_dir
        self.sandbox: str = self.cfg.get("sandbox", "auto")
        if self.sandbox not in SANDBOXES:
            raise ValueError(f"code_interpreter: sandbox is one of {', '.join(SANDBOXES)}, not {self.sandbox!r}")
        self.seconds = _seconds(self.cfg.get("timeout", DEFAULT_SECONDS))
        bounds = {key: self.cfg[key] for key in ("memory", "processes", "folder", "idle", "cpus") if key in self.cfg}
        self.limits = Limits(**bounds)
        self.image: str = self.cfg.get("image") or settings.CODE_IMAGE
        tool_folders.add(self.work_dir)
        self.instance_id = str(uuid.uuid4())

    @property
    def args_format(self) -> str:
        given = self.cfg.get("args_format")
        return given if given is not None else "Put the code in a fence of three backticks."

    def call(
        self,
        params: str | dict[str, Any],
        files: Sequence[str] | None = None,
        timeout: float | None = None,
        **kwargs: Any,
    ) -> str | list[ContentItem]:
        """Runs a cell.

        Args:
            params: `code`, as JSON, a dict, or as plain or fenced text.
            files: Brought into the folder first.
            timeout: Seconds for this cell.
            **kwargs: `session`, or `user_id` and `session_id`: whose names are used. `messages`: else, those of
                whose conversation.

        Returns:
            Text with the sections `stdout`, `stderr`, `error` and `execute_result`, each with a fence; with pictures
            a list of that text and the pictures.

        Raises:
            ToolServiceError: No sandbox is at hand.
            RunCancelled: The run was cancelled.
        """
        code = code_of(params)
        if not code.strip():
            return ""
        kernel = conversation_kernel(
            self.name, self.sandbox, self.work_dir, self.limits, self.image, kwargs, self.instance_id
        )
        self.bring_files(files or [], kernel.work_dir)
        outcome = kernel.run(code, self.seconds if timeout is None else _seconds(timeout))
        return _shown(outcome)

    def close(self) -> None:
        """Ends every kernel of this process."""
        kernels.end()

    def __deepcopy__(self, memo: dict[int, Any]) -> CodeInterpreter:
        # A copy is another agent's: its conversations are its own.
        return type(self)(self.cfg)


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= MAX_SECONDS:
        raise ValueError(f"code_interpreter: timeout is a number of seconds up to {MAX_SECONDS:g}, not {value!r}")
    return float(value)


def code_of(params: str | Mapping[str, Any]) -> str:
    """The code in a call: models give JSON, a fence, or the code itself."""
    if isinstance(params, Mapping):
        code = params.get("code")
        if not isinstance(code, str):
            raise ToolArgumentsError("code_interpreter wants 'code', the Python code as text")
        return code
    text = params.strip()
    if text.startswith("{"):
        from qwen_agentkit.llm.arguments import read_json

        try:
            read = read_json(text, objects_only=True)
        except ValueError:
            return extract_code(params)
        if isinstance(read.value, dict) and isinstance(read.value.get("code"), str):
            if read.cut:
                raise ToolArgumentsError("The code ends in the middle. Nothing was run; write it again, whole.")
            return extract_code(read.value["code"]) if "```" in read.value["code"] else read.value["code"]
    return extract_code(params)


def _shown(outcome: CellOutcome) -> str | list[ContentItem]:
    errors = [outcome.error] if outcome.error else []
    if outcome.ended:
        errors.append(f"{outcome.ended} All names are gone; files in the folder are still there.")
    sections = [
        _section("stdout", outcome.stdout),
        _section("stderr", outcome.stderr),
        _section("error", "\n".join(errors)),
        _section("execute_result", outcome.result or ""),
    ]
    for number, path in enumerate(outcome.figures, 1):
        sections.append(f"![fig-{number:03}]({_address(path)})")
    text = "\n\n".join(section for section in sections if section) or "Finished execution."
    if not outcome.figures:
        return text
    return [ContentItem(text=text), *(ContentItem(image=path) for path in outcome.figures)]


def _section(name: str, text: str) -> str:
    text = text.strip("\n")
    if not text.strip():
        return ""
    if len(text) > MAX_SECTION:
        half = MAX_SECTION // 2
        text = f"{text[:half]}\n[{len(text) - MAX_SECTION} characters are left out]\n{text[-half:]}"
    fence = fence_around(text)
    return f"{name}:\n\n{fence}\n{text}\n{fence}"


def _address(path: str) -> str:
    """Where a picture is shown from: the path, or an address of the server that the developer has set up for it."""
    server = environment("M6_CODE_INTERPRETER_STATIC_URL", plain=True)
    return f"{server.rstrip('/')}/{quote(os.path.basename(path))}" if server else path
