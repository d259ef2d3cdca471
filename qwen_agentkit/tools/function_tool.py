"""`@tool`: a plain function as a tool.

    @tool
    def weather(city: str, unit: Literal["C", "F"] = "C") -> dict:
        \"\"\"Today's weather in a city.

        Args:
            city: Name of the city, in any language.
            unit: Celsius or Fahrenheit.
        \"\"\"

The function may be `async`, or a generator: what it yields is progress that the consumer sees at once, what it
returns is the result (the last yield, when it returns nothing). It stays callable as the function it was.
"""

from __future__ import annotations

import contextlib
import functools
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypedDict, Unpack, overload

from qwen_agentkit.tools.arguments import read_arguments
from qwen_agentkit.tools.base import BaseTool
from qwen_agentkit.tools.schemas import FunctionSchema, Injected, function_schema

__all__ = ["FunctionTool", "Injected", "tool"]


class ToolOptions(TypedDict, total=False):
    """Settings of a function's tool; what each is for stands at `FunctionTool`."""

    name: str | None
    description: str | None
    sequential: bool
    timeout: float | None
    retries: int
    side_effects: bool
    return_direct: bool
    untrusted: bool
    fenced: bool
    summarize: Callable[[Any], str | None] | None


# Options that are an attribute of every tool, with the default that `BaseTool` has.
_ATTRIBUTES = ToolOptions.__annotations__.keys() - {"name", "description", "summarize"}


class FunctionTool(BaseTool):
    """A function as a tool; `tool` makes it.

    Args:
        function: The function. Its annotations and docstring describe it to the model. A parameter annotated as
            `RunContext` gets the run, one marked `Annotated[..., Injected]` what the program gave to `run`;
            neither is shown to the model.
        name: The name that the model sees; the default is the function's.
        description: For the model; the default is the docstring up to its first section.
        sequential, timeout, retries, side_effects, return_direct, untrusted, fenced: As for `BaseTool`.
        summarize: Makes the short text for the model out of a result.

    Raises:
        ValueError: `function` is no function, or its signature cannot be described to a model.
        TypeError: There is no such option.
    """

    def __init__(self, function: Callable[..., Any], **options: Unpack[ToolOptions]) -> None:
        if not callable(function):
            raise ValueError(f"@tool wants a function, not {function!r}")
        unknown = sorted(options.keys() - ToolOptions.__annotations__.keys())
        if unknown:
            raise TypeError(f"@tool takes {', '.join(ToolOptions.__annotations__)}; not {', '.join(unknown)}")
        self._function = function
        self._options = options
        self.cfg = {}
        self.name = options.get("name") or _name_of(function)
        for option, value in options.items():
            if option in _ATTRIBUTES:
                setattr(self, option, value)
        self._described: FunctionSchema | None = None
        functools.update_wrapper(self, function, updated=())
        # An annotation may name a class that is defined further down: then it is read when it is needed. Any other
        # mistake in the signature is told of here.
        with contextlib.suppress(NameError):
            self.schema  # noqa: B018

    @property
    def schema(self) -> FunctionSchema:
        """The function's parameters, read once."""
        if self._described is None:
            self._described = function_schema(self._function, self.name)
        return self._described

    @property
    def description(self) -> str:  # type: ignore[override]
        given = self._options.get("description")
        return given if given is not None else self.schema.docstring.description

    @property
    def parameters(self) -> Mapping[str, Any]:  # type: ignore[override]
        return self.schema.parameters

    def call(self, params: str | dict[str, Any], **kwargs: Any) -> Any:
        """Calls the function with a model's arguments.

        Returns:
            What the function returns: of an `async` one a coroutine, of a generator the generator.

        Raises:
            ToolArgumentsError: The arguments do not fit; one line for the model.
        """
        arguments = read_arguments(params, allow_cut_off=not self.side_effects)
        bound = self.schema.bind(arguments, kwargs)
        return self._function(*bound.args, **bound.kwargs)

    def summarize(self, result: Any) -> str | None:
        summarize = self._options.get("summarize")
        return summarize(result) if summarize is not None else None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> FunctionTool:
        """A decorated method, read from an instance, is a tool bound to it."""
        if instance is None:
            return self
        return FunctionTool(self._function.__get__(instance, owner), **self._options)

    def __reduce__(self):
        # The module's name of a decorated function is the tool itself, so it is pickled by that name.
        function = self._function
        module = sys.modules.get(getattr(function, "__module__", "") or "")
        qualified_name = getattr(function, "__qualname__", "")
        if qualified_name and getattr(module, qualified_name, None) is self:
            return qualified_name
        return functools.partial(FunctionTool, **self._options), (function,)

    def __repr__(self) -> str:
        return f"<tool {self.name}>"


@overload
def tool(function: Callable[..., Any], /) -> FunctionTool: ...


@overload
def tool(**options: Unpack[ToolOptions]) -> Callable[[Callable[..., Any]], FunctionTool]: ...


def tool(function: Callable[..., Any] | None = None, /, **options: Unpack[ToolOptions]) -> Any:
    """Makes a tool of a function; use it bare (`@tool`) or with settings (`@tool(timeout=10)`).

    Args:
        function: The function.
        **options: As for `FunctionTool`.

    Raises:
        ValueError, TypeError: As for `FunctionTool`.
    """
    if function is None:
        return functools.partial(FunctionTool, **options)
    return FunctionTool(function, **options)


def _name_of(function: Callable[..., Any]) -> str:
    target = function
    while isinstance(target, functools.partial):
        target = target.func
    name = getattr(target, "__name__", None) or type(target).__name__
    if not re.fullmatch(r"[\w.-]+", name):
        raise ValueError(f"{function!r} has no name that a model could call; use @tool(name=...)")
    return name
