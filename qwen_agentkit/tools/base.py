"""`BaseTool` and `register_tool`: what a tool is, and how it gets its name.

    @register_tool("roll")
    class Roll(BaseTool):
        description = "Rolls a die."
        parameters = [{"name": "sides", "type": "integer", "description": "Number of sides.", "required": True}]

        def call(self, params, **kwargs):
            arguments = self._verify_json_format_args(params)
            return random.randint(1, arguments["sides"])

A plain function becomes a tool with `@tool` (`qwen_agentkit.tools.function_tool`).
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from qwen_agentkit import settings
from qwen_agentkit.errors import DocParserError, ToolArgumentsError, ToolServiceError
from qwen_agentkit.log import logger
from qwen_agentkit.run_context import current_run
from qwen_agentkit.tools.arguments import read_arguments
from qwen_agentkit.tools.registry import TOOL_REGISTRY, YIELDING
from qwen_agentkit.utils.json_schema import check, parameters_problem, parameters_schema

__all__ = [
    "TOOL_REGISTRY",
    "BaseTool",
    "BaseToolWithFileAccess",
    "ToolArgumentsError",
    "ToolServiceError",
    "is_tool_schema",
    "register_tool",
]

_ToolClass = TypeVar("_ToolClass", bound="type[BaseTool]")


def register_tool(name: str, allow_overwrite: bool = False) -> Callable[[_ToolClass], _ToolClass]:
    """Class decorator that makes a tool known under a name, so that `function_list=["name"]` finds it.

    Running the same class definition again, as notebooks do, replaces the old class quietly.

    Args:
        name: The name that the model sees.
        allow_overwrite: Lets another class take a name that is in use.

    Raises:
        ValueError: The name is taken by another class, or the class itself says a different `name`.
    """
    if not isinstance(name, str) or not name:
        raise ValueError(f"register_tool wants the tool's name as text, not {name!r}")

    def register(tool_class: _ToolClass) -> _ToolClass:
        holder = TOOL_REGISTRY.origin(name)
        if holder is not None and not allow_overwrite and not _is_same_class(holder, tool_class):
            if name in YIELDING and _is_built_in(tool_class.__module__):
                # The program's own tool was there first; the built-in class is still to be had by import.
                tool_class.name = name
                return tool_class
            if name not in YIELDING or not _is_built_in(holder[0]):
                raise ValueError(
                    f"A tool named {name!r} is registered already ({'.'.join(holder)}). "
                    "Use another name, or allow_overwrite=True to replace it."
                )
        own_name = tool_class.__dict__.get("name")
        if own_name and own_name != name:
            raise ValueError(f"{tool_class.__name__}.name is {own_name!r}, but it is registered as {name!r}")
        tool_class.name = name
        TOOL_REGISTRY[name] = tool_class
        return tool_class

    return register


def _is_built_in(module: str) -> bool:
    return module.startswith("qwen_agentkit.tools.")


def _is_same_class(holder: tuple[str, str], tool_class: type) -> bool:
    """A class defined again: in a notebook the cell that holds it may have been edited in between."""
    return holder == (tool_class.__module__, tool_class.__qualname__)


def is_tool_schema(obj: Any) -> bool:
    """Whether `obj` is the description of a tool: name, description, and parameters as JSON Schema of an object.

    Any valid JSON Schema will do, with `$defs`, `additionalProperties`, or without `required`.
    """
    return (
        isinstance(obj, Mapping)
        and isinstance(obj.get("name"), str)
        and bool(obj["name"])
        and isinstance(obj.get("description"), str)
        and isinstance(obj.get("parameters"), Mapping)
        and parameters_problem(obj["parameters"]) is None
    )


class BaseTool(ABC):
    """A tool: a name, a description and parameters that the model sees, and `call`, which does the work.

    Args:
        cfg: Settings of this instance. `name_for_human` and `args_format` are read here; the rest is the
            tool's own.

    Attributes:
        name: The name that the model calls. Set by `register_tool`, or by the class.
        description: What the tool does and when to use it, for the model.
        parameters: JSON Schema of an object, or the list form
            (``[{"name": ..., "type": ..., "description": ..., "required": True}]``).
        sequential: Never runs beside another call of the same reply.
        timeout: Seconds that one call may take; None is `settings.DEFAULT_TOOL_TIMEOUT`.
        retries: How often a call that failed is tried again.
        side_effects: Changes something outside (writes, buys, sends). Such a call is not made from arguments
            that were cut off and guessed, and can be made to need approval.
        return_direct: The result is the run's answer; the model is not asked again.
        untrusted: Its results may hold what other people wrote (documents, pages, services). Once one is in the
            context, `approve="untrusted"` asks before a call with side effects. False for a tool that gives only
            what it worked out itself.
        fenced: Its results are marked as data and put in a fence for the model.

    Raises:
        ValueError: The class has no name, or its parameters are not valid.
    """

    name: str = ""
    description: str = ""
    parameters: Sequence[Mapping[str, Any]] | Mapping[str, Any] = []
    sequential: bool = False
    timeout: float | None = None
    retries: int = 0
    side_effects: bool = False
    return_direct: bool = False
    untrusted: bool = True
    fenced: bool = False

    def __init__(self, cfg: Mapping[str, Any] | None = None) -> None:
        if cfg is not None and not isinstance(cfg, Mapping):
            raise ValueError(f"{type(self).__name__}: cfg is a dict, not {cfg!r}")
        self.cfg: dict[str, Any] = dict(cfg or {})
        if not self.name:
            raise ValueError(f"{type(self).__name__} has no name; use @register_tool('name') or set name in the class")
        problem = parameters_problem(self.parameters)
        if problem:
            raise ValueError(f"Tool {self.name!r}: {problem}")

    @abstractmethod
    def call(self, params: str | dict[str, Any], **kwargs: Any) -> Any:
        """Does the work.

        Args:
            params: The arguments: JSON text from a model, or a dict from a program.
            **kwargs: What the agent passes on: `messages`, `files` for a tool with `file_access`, and whatever
                the program gave to `run`.

        Returns:
            Text, a list of `ContentItem`, or anything that JSON can carry. An `async def` and a generator
            (each yield is progress, the returned value the result) will do too.
        """

    def summarize(self, result: Any) -> str | None:
        """A short text for the model in place of the whole result, None to give it the result."""
        return None

    def _verify_json_format_args(self, params: str | Mapping[str, Any], strict_json: bool = False) -> dict[str, Any]:
        """The arguments as a dict that fits the tool's parameters.

        Text is read as JSON, and unless `strict_json`, with the tolerance that models need (fences, single
        quotes, trailing commas, a missing bracket). Values of the wrong type are converted where that is plain.

        Raises:
            ToolArgumentsError: A ValueError whose text is one line for the model.
        """
        arguments = read_arguments(params, strict_json=strict_json, allow_cut_off=not self.side_effects)
        if isinstance(self.parameters, Mapping):
            arguments, problems = check(self.parameters, arguments)
        else:
            # The list form has always been a promise of names only; its types are hints for the model.
            missing = [p["name"] for p in self.parameters if p.get("required") is True and p["name"] not in arguments]
            problems = [f"{', '.join(map(repr, missing))} is required and missing"] if missing else []
        if problems:
            raise ToolArgumentsError(f"Arguments of {self.name} do not fit: {'; '.join(problems)}")
        return arguments

    @property
    def function(self) -> dict[str, Any]:
        """The tool as models are told of it: `name`, `description` and `parameters` (JSON Schema)."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": parameters_schema(self.parameters),
        }

    @property
    def name_for_human(self) -> str:
        return self.cfg.get("name_for_human", self.name)

    @property
    def args_format(self) -> str:
        """How the arguments are to be written, for prompt-based tool calls; in the description's language."""
        given = self.cfg.get("args_format")
        if given is not None:
            return given
        words = f"{self.name_for_human}{self.description}{json.dumps(self.parameters, ensure_ascii=False)}"
        if any("\u4e00" <= character <= "\u9fff" for character in words):
            return "参数写成一个 JSON 对象。"
        return "Write the arguments as one JSON object."

    @property
    def file_access(self) -> bool:
        """Whether the agent hands its files and those of the conversation to `call` as `files=`."""
        return False


class BaseToolWithFileAccess(BaseTool, ABC):
    """A tool that finds the conversation's files in its own folder, `work_dir`.

    Args:
        cfg: `work_dir` sets the folder; the default is `tools/<name>` in the workspace.

    Files are copied in, never moved: a source is left as it is, a file that is in the folder already stays, and
    a file of the user's there is not overwritten by another of the same name.
    """

    def __init__(self, cfg: Mapping[str, Any] | None = None) -> None:
        super().__init__(cfg)
        default = os.path.join(settings.DEFAULT_WORKSPACE, "tools", self.name)
        self.work_dir: str = os.fspath(self.cfg.get("work_dir", default))

    @property
    def file_access(self) -> bool:
        return True

    def call(self, params: str | dict[str, Any], files: Sequence[str] | None = None, **kwargs: Any) -> Any:
        """Brings `files` into `work_dir`. Subclasses call this first, then do their work."""
        self.bring_files(files or [])
        return None

    def bring_files(self, files: Sequence[str], folder: str | None = None) -> dict[str, str]:
        """Copies files (paths or addresses) into `work_dir`, or into another folder.

        Returns:
            Each file -> its path there. One that cannot be brought is left out, with a warning in the
            log and the run's events: an old picture that is gone must not stop a tool that needs none.
        """
        from qwen_agentkit.utils.work_dir import bring_into

        folder = self.work_dir if folder is None else folder
        os.makedirs(folder, exist_ok=True)
        brought: dict[str, str] = {}
        for file in files:
            try:
                brought[file] = str(bring_into(Path(folder), file))
            except (OSError, ValueError, ToolServiceError, DocParserError) as error:
                message = f"{self.name}: {file} could not be brought into {folder}: {error}"
                run = current_run()
                if run is not None:
                    run.warn(message)
                else:
                    logger.warning(message)
        return brought
