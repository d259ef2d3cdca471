"""Answers in a given form: a dataclass, a pydantic model, any other type that pydantic knows, or a JSON schema.

The form becomes a JSON schema for the model (natively, as a tool, or in the prompt), the answer is read with
tolerance and checked, and what does not fit goes back to the model a bounded number of times. The plain value, as
JSON carries it, stands in ``extra["parsed"]``; `parsed` makes the object of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.llm.arguments import dump_json, read_json
from qwen_agentkit.schema import ASSISTANT, USER, Message
from qwen_agentkit.utils.message_text import text_of

# Times an answer that does not fit is given back to the model.
MAX_REPAIRS = 2
# Name of the tool that carries the answer where the form is given as a tool.
ANSWER_TOOL = "give_answer"
# Key of the object that carries a value which is no object itself.
_VALUE = "value"
_MAX_PROBLEMS = 8

_INSTRUCTION = {
    "en": "Give your answer as JSON that fits this JSON schema. Write nothing else, no code fence either:\n{schema}",
    "zh": "请以 JSON 形式给出回答，且必须符合下面的 JSON schema；不要输出其他内容，也不要使用代码块：\n{schema}",
}
_REPAIR = {
    "en": "Your answer does not fit: {problem}\n"
    "Give the whole answer again, as JSON that fits the schema and nothing else:\n{schema}",
    "zh": "你的回答不符合要求：{problem}\n请重新给出完整的回答，只输出符合该 schema 的 JSON：\n{schema}",
}


@dataclass(frozen=True)
class OutputForm:
    """The form of an answer.

    Args:
        name: A name for it, of letters, digits, `_` and `-`.
        schema: JSON schema of the answer; of an object, in which another value stands under `value`.
        wrapped: The value is no object and is wrapped in one.
        adapter: pydantic's TypeAdapter; None for a form given as a JSON schema.
    """

    name: str
    schema: dict[str, Any]
    wrapped: bool = False
    adapter: Any = None

    def check(self, value: Any) -> tuple[Any, str | None]:
        """Checks a value that was read.

        Returns:
            The plain value as JSON carries it and None, or the value and what does not fit, in one line.
        """
        value = self._unwrapped(value)
        if self.adapter is None:
            from qwen_agentkit.utils.json_schema import check

            mended, problems = check(self.schema["properties"][_VALUE] if self.wrapped else self.schema, value)
            return mended, "; ".join(problems[:_MAX_PROBLEMS]) or None
        from pydantic import ValidationError

        try:
            built = self.adapter.validate_python(value)
        except ValidationError as error:
            return value, _problems(error)
        for without_defaults in (False, True):
            plain = self.adapter.dump_python(built, mode="json", warnings=False, exclude_defaults=without_defaults)
            try:
                self.adapter.validate_python(plain)
            except ValidationError:
                continue  # a default that is not of its own field's type
            return plain, None
        return value, None

    def build(self, value: Any) -> Any:
        """The object of a plain value; the plain value itself for a form given as a JSON schema."""
        return value if self.adapter is None else self.adapter.validate_python(value)

    def _unwrapped(self, value: Any) -> Any:
        if self.wrapped and isinstance(value, Mapping) and set(value) == {_VALUE}:
            return value[_VALUE]
        return value


@dataclass(frozen=True)
class FormedAnswer:
    """An answer read in a form: its plain value, or what does not fit."""

    value: Any = None
    problem: str | None = None
    repaired: str | None = None


def output_form(wanted: Any) -> OutputForm:
    """The form that a type or a schema stands for.

    Args:
        wanted: A dataclass, a pydantic model, another type (``list[Item]``, a TypedDict, ...), a JSON schema as a
            dict, OpenAI's ``{"type": "json_schema", "json_schema": {...}}`` or ``{"type": "json_object"}``, or an
            `OutputForm`.

    Raises:
        ValueError: It is none of these.
    """
    if isinstance(wanted, OutputForm):
        return wanted
    if isinstance(wanted, Mapping):
        return _form_of_schema(wanted)
    if wanted is None or isinstance(wanted, (str, int, float, list, tuple, set)):
        raise ValueError(f"An output form is a type or a JSON schema (a dict), not {wanted!r}")
    from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter

    try:
        adapter: Any = TypeAdapter(wanted)
        schema = adapter.json_schema()
    except (PydanticSchemaGenerationError, PydanticUserError, TypeError, NameError) as error:
        raise ValueError(
            f"{wanted!r} cannot be the form of an answer: {error}. Give a dataclass, a pydantic model or a JSON schema"
        ) from None
    return _wrapped(_name(getattr(wanted, "__name__", None) or schema.get("title")), schema, adapter)


def _form_of_schema(wanted: Mapping[str, Any]) -> OutputForm:
    kind = wanted.get("type")
    if kind == "json_object" and len(wanted) == 1:
        return OutputForm("answer", {"type": "object"})
    if kind == "json_schema" and isinstance(wanted.get("json_schema"), Mapping):
        held = wanted["json_schema"]
        if not isinstance(held.get("schema"), Mapping):
            raise ValueError("response_format of type json_schema holds the schema under json_schema.schema")
        return _wrapped(_name(held.get("name")), dict(held["schema"]), None)
    import jsonschema

    try:
        jsonschema.validators.validator_for(wanted, default=jsonschema.Draft202012Validator).check_schema(dict(wanted))
    except jsonschema.SchemaError as error:
        raise ValueError(f"The output form is no valid JSON schema: {error.message}") from None
    return _wrapped(_name(wanted.get("title")), dict(wanted), None)


def _wrapped(name: str, schema: dict[str, Any], adapter: Any) -> OutputForm:
    # A "$ref" at the top (a recursive type) names an object too.
    target = schema
    if "$ref" in schema and isinstance(schema["$ref"], str):
        target = schema.get("$defs", {}).get(schema["$ref"].rpartition("/")[2], {})
    if target.get("type") == "object" or "properties" in target:
        return OutputForm(name, schema, False, adapter)
    definitions = schema.get("$defs")
    inner = {key: value for key, value in schema.items() if key != "$defs"}
    outer: dict[str, Any] = {"type": "object", "properties": {_VALUE: inner}, "required": [_VALUE]}
    if definitions:
        outer["$defs"] = definitions
        if adapter is None:
            outer["properties"][_VALUE] = schema
    return OutputForm(name, outer, True, adapter)


def _name(given: Any) -> str:
    name = re.sub(r"[^\w-]+", "_", str(given or ""), flags=re.ASCII).strip("_")
    return name[:64] or "answer"


def _problems(error: Any) -> str:
    lines: list[str] = []
    for one in error.errors(include_url=False, include_context=False)[:_MAX_PROBLEMS]:
        place = ".".join(str(step) for step in one["loc"])
        lines.append(f"{place}: {one['msg']}" if place else one["msg"])
    return "; ".join(lines)


def instruction(form: OutputForm, lang: str = "en") -> str:
    """What the prompt says to a model that takes no schema of its own."""
    return _INSTRUCTION["zh" if lang == "zh" else "en"].format(schema=dump_json(form.schema))


def native_format(form: OutputForm) -> dict[str, Any]:
    """The form as `response_format` of the OpenAI protocol; strict where the schema is of the strict kind."""
    return {
        "type": "json_schema",
        "json_schema": {"name": form.name, "schema": form.schema, "strict": _is_strict(form.schema)},
    }


def as_function(form: OutputForm) -> dict[str, Any]:
    """The form as a tool: its arguments are the answer."""
    return {
        "name": ANSWER_TOOL,
        "description": "Gives the final answer. Call it exactly once, when the answer is complete.",
        "parameters": form.schema,
    }


def _is_strict(schema: Any) -> bool:
    """Whether every object of a schema closes itself and requires all it names, as OpenAI's strict mode wants."""
    if isinstance(schema, list):
        return all(map(_is_strict, schema))
    if not isinstance(schema, Mapping):
        return True
    if schema.get("type") == "object" or "properties" in schema:
        names = set(schema.get("properties") or {})
        if schema.get("additionalProperties") is not False or set(schema.get("required") or ()) != names:
            return False
    if "default" in schema:
        return False
    return all(
        _is_strict(list(value.values()) if key in ("properties", "$defs") and isinstance(value, Mapping) else value)
        for key, value in schema.items()
        if key not in ("enum", "const", "examples", "required")
    )


def read_answer(messages: Sequence[Message], form: OutputForm) -> FormedAnswer:
    """Reads a reply in a form: the text of its messages, or the arguments of a call of `ANSWER_TOOL`."""
    text = "".join(text_of(message) for message in messages if message.function_call is None)
    for message in messages:
        if message.function_call is not None and message.function_call.name == ANSWER_TOOL:
            text = message.function_call.arguments
    if not text.strip():
        return FormedAnswer(problem="the answer is empty")
    try:
        read = read_json(text)
    except ValueError as error:
        value, problem = form.check(text.strip())
        return FormedAnswer(value) if problem is None else FormedAnswer(problem=f"it is not valid JSON ({error})")
    value, problem = form.check(read.value)
    if problem is None:
        return FormedAnswer(value, None, read.repaired)
    return FormedAnswer(problem=problem)


def repair_messages(reply: Sequence[Message], problem: str, form: OutputForm, lang: str = "en") -> list[Message]:
    """What is added to the conversation when an answer does not fit: the answer, and what is wrong with it."""
    said = "".join(text_of(message) for message in reply if message.function_call is None)
    if not said:
        said = "".join(message.function_call.arguments for message in reply if message.function_call is not None)
    complaint = _REPAIR["zh" if lang == "zh" else "en"].format(problem=problem, schema=dump_json(form.schema))
    return [Message(ASSISTANT, said or "..."), Message(USER, complaint)]


def answer_in_form(
    ask: Callable[[list[Message]], list[Message]],
    messages: Sequence[Message],
    form: OutputForm,
    *,
    max_repairs: int = MAX_REPAIRS,
    lang: str = "en",
) -> list[Message]:
    """Asks for an answer until it fits its form.

    Args:
        ask: Asks the model, with the form given to it in whatever way it takes: messages in, its whole reply out.
        messages: The conversation.
        form: The form of the answer.
        max_repairs: Times an answer that does not fit is given back.
        lang: Language of what is given back.

    Returns:
        The reply that fits, its last message with `extra["parsed"]` (and `extra["repaired"]` where its JSON was
        mended). The reply itself where it calls tools of the caller: the answer is yet to come.

    Raises:
        ModelServiceError: The last attempt did not fit either (code "output_form"); `extra` has the text and the
            problem.
    """
    asked = list(messages)
    for _ in range(max(0, max_repairs) + 1):
        reply = ask(asked)
        if any(one.function_call is not None and one.function_call.name != ANSWER_TOOL for one in reply):
            return reply
        answer = read_answer(reply, form)
        if answer.problem is None:
            return marked(reply, answer)
        last, problem = reply, answer.problem
        asked = [*messages, *repair_messages(reply, problem, form, lang)]
    text = "".join(map(text_of, last))
    raise ModelServiceError(
        code="output_form",
        message=f"The model's answer does not fit the form {form.name}: {problem}",
        extra={"text": text, "problem": problem},
    )


def marked(reply: Sequence[Message], answer: FormedAnswer) -> list[Message]:
    """The reply with the value in its last message's `extra`; a call of `ANSWER_TOOL` becomes text."""
    messages = [
        one.model_copy(update={"content": one.function_call.arguments, "function_call": None})
        if one.function_call is not None and one.function_call.name == ANSWER_TOOL
        else one
        for one in reply
    ]
    last = messages[-1]
    extra = {key: value for key, value in (last.extra or {}).items() if key != "function_id"}
    extra["parsed"] = answer.value
    if answer.repaired:
        extra["repaired"] = answer.repaired
    messages[-1] = last.model_copy(update={"extra": extra})
    return messages


def parsed(message: Message | Mapping[str, Any], wanted: Any) -> Any:
    """The object in an answer.

    Args:
        message: An answer that was asked for with `response_format` or `output_type`.
        wanted: The type (or schema) that was asked for.

    Returns:
        An object of the type; the plain value for a JSON schema.

    Raises:
        ValueError: The message has no value in ``extra["parsed"]``, or one of another form.
    """
    extra = message.get("extra") or {}
    if "parsed" not in extra:
        raise ValueError(
            "This message has no extra['parsed']: it was not asked for with response_format or output_type"
        )
    form = output_form(wanted)
    _, problem = form.check(extra["parsed"])
    if problem is not None:
        raise ValueError(f"The answer is not of the form {form.name}: {problem}")
    return form.build(extra["parsed"])
