"""A workbench: tools that come and go, listed anew before every model call.

A `function_list` is wrapped in a `StaticWorkbench`; an MCP server is a workbench of its own. Views narrow or
rename what a workbench lists, and can be stacked:

    bench = StaticWorkbench([weather, refund]).only("weather").prefixed("acme-")
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

from qwen_agentkit.tools.base import BaseTool


@runtime_checkable
class Workbench(Protocol):
    """What an agent needs of a source of tools. Any object with these methods will do."""

    def list_tools(self) -> list[BaseTool]:
        """The tools at this moment, names unique. Called before every model call."""
        ...

    def call_tool(self, name: str, arguments: str | dict[str, Any], **kwargs: Any) -> Any:
        """Calls one; as `BaseTool.call`.

        Raises:
            KeyError: There is no such tool now.
        """
        ...

    def start(self) -> None:
        """Connects what needs connecting. Called when a run begins; calling again does nothing."""
        ...

    def stop(self) -> None:
        """Lets go of what `start` took hold of. Calling again does nothing."""
        ...

    def save_state(self) -> dict[str, Any]:
        """What is needed to go on in another process, JSON-able."""
        ...

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Takes up what `save_state` gave."""
        ...


class WorkbenchBase:
    """The parts that most workbenches share: calling by name, no state, and the views.

    A subclass writes `list_tools`.
    """

    def list_tools(self) -> list[BaseTool]:
        raise TypeError(f"{type(self).__name__} does not say which tools it lists")

    def call_tool(self, name: str, arguments: str | dict[str, Any], **kwargs: Any) -> Any:
        """Calls a tool that is listed now.

        Raises:
            KeyError: There is none of that name.
        """
        tools = self.list_tools()
        for tool in tools:
            if tool.name == name:
                return tool.call(arguments, **kwargs)
        raise KeyError(f"There is no tool {name!r}; there are {', '.join(tool.name for tool in tools) or 'none'}")

    def start(self) -> None:
        """Nothing to connect."""

    def stop(self) -> None:
        """Nothing to let go of."""

    def save_state(self) -> dict[str, Any]:
        return {}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Nothing was saved."""

    def only(self, *names: str) -> View:
        """A view of the named tools; a name that is not listed (yet) is no error."""
        return View(self, enabled=lambda tool: tool.name in names)

    def without(self, *names: str) -> View:
        """A view of all but the named tools."""
        return View(self, enabled=lambda tool: tool.name not in names)

    def prefixed(self, prefix: str) -> View:
        """A view in which every name begins with `prefix`."""
        return View(self, rename=lambda name: prefix + name)

    def renamed(self, names: Mapping[str, str]) -> View:
        """A view in which the named tools have other names: `{"old": "new"}`."""
        return View(self, rename=lambda name: names.get(name, name))

    def enabled_if(self, condition: Callable[[BaseTool], bool]) -> View:
        """A view of the tools for which `condition(tool)` holds, asked anew before every model call.

        Inside a run, `current_run()` tells the condition for whom it is asked.
        """
        return View(self, enabled=condition)


class StaticWorkbench(WorkbenchBase):
    """A fixed list of tools.

    Args:
        tools: The tools.

    Raises:
        ValueError: Two of them have one name, or something is no tool.
    """

    def __init__(self, tools: Iterable[BaseTool]) -> None:
        self._tools = list(tools)
        names: set[str] = set()
        for tool in self._tools:
            if not isinstance(tool, BaseTool):
                raise ValueError(f"A workbench holds tools (BaseTool), not {tool!r}")
            if tool.name in names:
                raise ValueError(f"Two tools are named {tool.name!r}")
            names.add(tool.name)

    def list_tools(self) -> list[BaseTool]:
        return list(self._tools)


class View(WorkbenchBase):
    """What another workbench lists, narrowed and under other names. Made by `only`, `prefixed` and the like.

    Args:
        bench: The workbench that is looked at; starting, stopping and state are passed on to it.
        enabled: Which tools are listed.
        rename: Old name -> new name.
    """

    def __init__(
        self,
        bench: Workbench,
        enabled: Callable[[BaseTool], bool] | None = None,
        rename: Callable[[str], str] | None = None,
    ) -> None:
        self._bench = bench
        self._enabled = enabled
        self._rename = rename

    def list_tools(self) -> list[BaseTool]:
        """The tools of the view.

        Raises:
            ValueError: Renaming gave two tools one name.
        """
        listed: dict[str, BaseTool] = {}
        for tool in self._bench.list_tools():
            if self._enabled is not None and not self._enabled(tool):
                continue
            name = self._rename(tool.name) if self._rename is not None else tool.name
            if name in listed:
                raise ValueError(f"Renaming gives two tools the name {name!r}")
            listed[name] = tool if name == tool.name else RenamedTool(tool, name)
        return list(listed.values())

    def start(self) -> None:
        self._bench.start()

    def stop(self) -> None:
        self._bench.stop()

    def save_state(self) -> dict[str, Any]:
        return self._bench.save_state()

    def load_state(self, state: Mapping[str, Any]) -> None:
        self._bench.load_state(state)


class RenamedTool(BaseTool):
    """A tool under another name; everything else is that of the tool.

    Args:
        tool: The tool.
        name: Its name here.
    """

    def __init__(self, tool: BaseTool, name: str) -> None:
        self._tool = tool
        self.name = name
        self.cfg = tool.cfg
        self.description = tool.description
        self.parameters = tool.parameters
        self.sequential = tool.sequential
        self.timeout = tool.timeout
        self.retries = tool.retries
        self.side_effects = tool.side_effects
        self.return_direct = tool.return_direct
        self.untrusted = tool.untrusted
        self.fenced = tool.fenced

    @property
    def file_access(self) -> bool:
        return self._tool.file_access

    def call(self, params: str | dict[str, Any], **kwargs: Any) -> Any:
        return self._tool.call(params, **kwargs)

    def summarize(self, result: Any) -> str | None:
        return self._tool.summarize(result)
