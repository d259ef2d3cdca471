"""What the file tools share: one folder that they never leave."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qwen_agentkit import settings
from qwen_agentkit.errors import ToolArgumentsError
from qwen_agentkit.tools.base import BaseTool
from qwen_agentkit.tools.code.conversation import conversation_mark, folder_of_user
from qwen_agentkit.utils.paths import is_store


class WorkFolderTool(BaseTool):
    """A tool that works in one folder.

    Args:
        cfg: `work_dir`, the folder; the default is `tools/files` in the workspace, one for all file tools. In stored
            sessions of users with names the default is a folder for each user.
    """

    def __init__(self, cfg: Mapping[str, Any] | None = None) -> None:
        super().__init__(cfg)
        default = os.path.join(settings.DEFAULT_WORKSPACE, "tools", "files")
        self.work_dir: str = os.fspath(self.cfg.get("work_dir", default))

    @property
    def folder(self) -> Path:
        """The folder of this call, links resolved."""
        return Path(os.path.realpath(self.work_dir if "work_dir" in self.cfg else folder_of_user(self.work_dir)))

    def place(self, path: str) -> Path:
        """The real path of what a model named, links resolved.

        Args:
            path: Relative to the work folder, or absolute inside it.

        Raises:
            ToolArgumentsError: It lies outside, or in what the framework keeps there; one line for the model.
        """
        if "\x00" in path:
            raise ToolArgumentsError(f"{self.name}: a path holds no zero byte")
        root = self.folder
        real = Path(os.path.realpath(root / (path.strip() or ".")))
        if real != root and root not in real.parents:
            raise ToolArgumentsError(f"{self.name}: {path!r} lies outside of the work folder; paths are relative to it")
        if self.is_hidden(real, real):
            raise ToolArgumentsError(f"{self.name}: {path!r} is kept by the program and not for tools")
        return real

    def is_hidden(self, path: Path, named: Path) -> bool:
        """Whether a path belongs to the framework's own stores (`utils.paths.is_store`) and the work folder does not.

        Args:
            path: With all links resolved.
            named: What the model named: the path itself, or a folder that it lies in.
        """
        return is_store(path, conversation_mark(), named) and not is_store(self.folder)

    def shown(self, real: Path) -> str:
        """A path as the model is to see it, relative to the work folder."""
        return real.relative_to(self.folder).as_posix()
