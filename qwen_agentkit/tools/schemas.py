"""The signature of a plain function as a tool's parameters, and a model's arguments as the function's.

Annotations and docstring give the JSON Schema (through pydantic): defaults, Optional, Literal, enums,
dataclasses, pydantic models, lists. Arguments are checked and converted, so the function gets what it declares.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from qwen_agentkit.errors import ToolArgumentsError
from qwen_agentkit.run_context import RunContext, current_run
from qwen_agentkit.tools.docstrings import Docstring, read_docstring
from qwen_agentkit.utils.json_schema import check


class Injected:
    """Marks a parameter that the program fills, not the model: ``user: Annotated[str, Injected]``.

    The value is that of the same name in `agent.run(messages, user="ada")`, or the parameter's default. A
    parameter annotated as `RunContext` is injected without a mark.
    """


@dataclass(frozen=True)
class FunctionSchema:
    """What a function takes, for the model and for the call.

    Args:
        name: The function's name.
        docstring: Its docstring taken apart.
        parameters: JSON Schema of what the model fills.
    """

    name: str
    docstring: Docstring
    parameters: dict[str, Any]
    _model: Any
    _signature: inspect.Signature
    _aliases: dict[str, str]
    _injected: frozenset[str]
    _run_parameters: frozenset[str]
    _open: bool

    def bind(self, arguments: Mapping[str, Any], given: Mapping[str, Any]) -> inspect.BoundArguments:
        """Arguments of a model, checked and converted, with the injected ones, ready for the function.

        Args:
            arguments: What the model gave.
            given: What the program gave to the run, by name.

        Raises:
            ToolArgumentsError: They do not fit; one line for the model.
            ValueError: An injected parameter has neither a value nor a default.
        """
        from pydantic import ValidationError

        mended, _ = check(self.parameters, dict(arguments))
        try:
            validated = self._model.model_validate(mended)
        except ValidationError as error:
            problems = "; ".join(_line(one) for one in error.errors(include_url=False, include_context=False))
            raise ToolArgumentsError(f"Arguments of {self.name} do not fit: {problems}") from None
        values = {
            self._aliases[name]: getattr(validated, name)
            for name in validated.model_fields_set
            if name in self._aliases
        }
        if self._open:
            values.update(validated.model_extra or {})
        for name in self._run_parameters:
            values[name] = current_run() or RunContext()
        for name in self._injected:
            if name in given:
                values[name] = given[name]
            elif self._signature.parameters[name].default is inspect.Parameter.empty:
                raise ValueError(f"Tool {self.name!r} needs {name!r} from the program: agent.run(messages, {name}=...)")
        return self._bound(values)

    def _bound(self, values: dict[str, Any]) -> inspect.BoundArguments:
        positional: list[Any] = []
        for parameter in self._signature.parameters.values():
            if parameter.kind is parameter.POSITIONAL_ONLY and parameter.name in values:
                positional.append(values.pop(parameter.name))
        return self._signature.bind(*positional, **values)


def function_schema(function: Callable[..., Any], name: str) -> FunctionSchema:
    """Reads a function's signature.

    Args:
        function: Any callable with a signature.
        name: The tool's name, for messages.

    Raises:
        ValueError: A parameter cannot be filled by a model; the text says which and why.
        NameError: An annotation names what is not defined yet.
    """
    from pydantic import ConfigDict, Field, create_model
    from pydantic.errors import PydanticUserError

    signature = inspect.signature(function)
    hints = _hints(function)
    docstring = read_docstring(inspect.getdoc(function))
    fields: dict[str, Any] = {}
    aliases: dict[str, str] = {}
    injected: set[str] = set()
    run_parameters: set[str] = set()
    is_open = False
    for parameter in signature.parameters.values():
        annotation = hints.get(parameter.name, Any)
        if parameter.kind is parameter.VAR_POSITIONAL:
            raise ValueError(f"Tool {name!r}: *{parameter.name} cannot be described to a model; take a list instead")
        if parameter.kind is parameter.VAR_KEYWORD:
            is_open = True
        elif _is_run_context(annotation):
            run_parameters.add(parameter.name)
        elif _is_injected(annotation):
            injected.add(parameter.name)
        else:
            # Fields have names of their own: a parameter may be called `copy` or `_x`, a pydantic field not.
            field = f"p{len(fields)}"
            aliases[field] = parameter.name
            default = ... if parameter.default is parameter.empty else parameter.default
            description = docstring.parameters.get(parameter.name)
            fields[field] = (annotation, Field(default, alias=parameter.name, description=description))
    try:
        model = create_model(
            name,
            __config__=ConfigDict(extra="allow" if is_open else "forbid", arbitrary_types_allowed=False),
            **fields,
        )
        parameters = _json_schema(model)
    except PydanticUserError as error:
        raise ValueError(
            f"Tool {name!r}: its parameters cannot be described to a model ({str(error).splitlines()[0]}). "
            "Annotate what the program fills as Annotated[..., Injected]."
        ) from error
    return FunctionSchema(
        name,
        docstring,
        parameters,
        model,
        signature,
        aliases,
        frozenset(injected),
        frozenset(run_parameters),
        is_open,
    )


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    target = function
    while isinstance(target, functools.partial):
        target = target.func
    if not inspect.isroutine(target) and not inspect.isclass(target):
        target = type(target).__call__
    closure = inspect.getclosurevars(target).nonlocals if isinstance(target, types.FunctionType) else {}
    return typing.get_type_hints(target, localns=closure or None, include_extras=True)


def _is_run_context(annotation: Any) -> bool:
    if annotation is RunContext:
        return True
    return typing.get_origin(annotation) in (typing.Union, types.UnionType) and RunContext in typing.get_args(
        annotation
    )


def _is_injected(annotation: Any) -> bool:
    return typing.get_origin(annotation) is typing.Annotated and any(
        mark is Injected or isinstance(mark, Injected) for mark in annotation.__metadata__
    )


def _json_schema(model: Any) -> dict[str, Any]:
    from pydantic.json_schema import GenerateJsonSchema, PydanticJsonSchemaWarning

    class WithoutTitles(GenerateJsonSchema):
        # A title repeats the name and costs tokens in every request.
        def field_title_should_be_set(self, schema: Any) -> bool:
            return False

    with warnings.catch_warnings():
        # A default that JSON cannot hold is left out; the function has it anyway.
        warnings.simplefilter("ignore", PydanticJsonSchemaWarning)
        schema = model.model_json_schema(by_alias=True, schema_generator=WithoutTitles)
    schema.pop("title", None)
    schema.setdefault("properties", {})
    schema.setdefault("required", [])
    return schema


def _line(error: Mapping[str, Any]) -> str:
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error["loc"]).lstrip(".")
    if error["type"] == "missing":
        return f"'{place}' is required and missing"
    if error["type"] == "extra_forbidden":
        return f"'{place}' is not a parameter"
    shown = " ".join(repr(error["input"]).split())
    shown = shown if len(shown) <= 200 else shown[:200] + "…"
    return f"'{place}' is {shown}; {' '.join(error['msg'].split())}"
