"""Answers in a form: schemas of types, reading, repair, and the object at the end."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from pydantic import BaseModel, field_validator
from typing_extensions import TypedDict

from qwen_agentkit import parsed
from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.llm.structured import (
    ANSWER_TOOL,
    answer_in_form,
    as_function,
    instruction,
    native_format,
    output_form,
    read_answer,
    repair_messages,
)
from qwen_agentkit.schema import FunctionCall, Message


@dataclass
class Invoice:
    number: str
    total: float
    tags: list[str] = field(default_factory=list)


class Order(BaseModel):
    invoices: list[Invoice]
    paid: bool = False

    @field_validator("invoices")
    @classmethod
    def some(cls, value):
        if not value:
            raise ValueError("an order has an invoice")
        return value


class Point(TypedDict):
    x: int
    y: int


SCHEMA = {"title": "My answer!", "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def said(text: str) -> list[Message]:
    return [Message("assistant", text)]


@pytest.mark.parametrize(
    ("wanted", "text", "value"),
    [
        (Invoice, '{"number": "1", "total": 3}', {"number": "1", "total": 3.0, "tags": []}),
        (Invoice, '```json\n{"number": "1", "total": "3.5"}\n```', {"number": "1", "total": 3.5, "tags": []}),
        (Invoice, "Here: {number: '1', total: 3,}", {"number": "1", "total": 3.0, "tags": []}),
        (
            Order,
            '{"invoices": [{"number": "1", "total": 2}]}',
            {"invoices": [{"number": "1", "total": 2.0, "tags": []}], "paid": False},
        ),
        (Point, '{"x": 1, "y": 2}', {"x": 1, "y": 2}),
        (list[Point], '{"value": [{"x": 1, "y": 2}]}', [{"x": 1, "y": 2}]),
        (list[Point], '[{"x": 1, "y": 2}]', [{"x": 1, "y": 2}]),
        (int, "5", 5),
        (int, '{"value": 5}', 5),
        (str, "plain words", "plain words"),
        (bool, "true", True),
        (SCHEMA, '{"n": 5}', {"n": 5}),
        (SCHEMA, '{"n": "5"}', {"n": 5}),
        ({"type": "array", "items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"type": "integer"}}}, "[1, 2]", [1, 2]),
        ({"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}, '{"n": 5}', {"n": 5}),
        ({"type": "json_object"}, '{"anything": [1]}', {"anything": [1]}),
    ],
)
def test_an_answer_is_read_as_a_plain_value(wanted, text, value):
    answer = read_answer(said(text), output_form(wanted))
    assert answer.problem is None
    assert answer.value == value


@pytest.mark.parametrize(
    ("wanted", "text", "problem"),
    [
        (Invoice, '{"number": "1"}', "total"),
        (Invoice, '{"number": "1", "total": "much"}', "total"),
        (Order, '{"invoices": []}', "an order has an invoice"),
        (Order, '{"invoices": [{"number": "1"}]}', "invoices.0.total"),
        (SCHEMA, '{"n": "five"}', "'n'"),
        (SCHEMA, "[1]", "object"),
        (Invoice, "I do not know.", "not valid JSON"),
        (Invoice, "", "empty"),
    ],
)
def test_what_does_not_fit_is_told_in_one_line(wanted, text, problem):
    answer = read_answer(said(text), output_form(wanted))
    assert problem in answer.problem and "\n" not in answer.problem


def test_an_answer_given_as_a_tool_call_is_read():
    call = Message("assistant", "", function_call=FunctionCall(ANSWER_TOOL, '{"n": 5}'))
    assert read_answer([call], output_form(SCHEMA)).value == {"n": 5}


def test_schemas_for_the_three_ways_of_asking():
    form = output_form(Invoice)
    assert form.name == "Invoice"
    assert as_function(form)["parameters"]["properties"]["total"] == {"title": "Total", "type": "number"}
    assert native_format(form)["json_schema"]["strict"] is False
    assert '"total"' in instruction(form) and "JSON" in instruction(form, "zh")
    assert output_form(SCHEMA).name == "My_answer"
    strict = {**SCHEMA, "additionalProperties": False}
    assert native_format(output_form(strict))["json_schema"] == {"name": "My_answer", "schema": strict, "strict": True}


def test_a_value_that_is_no_object_is_wrapped_in_one():
    form = output_form(list[Invoice])
    assert form.schema["type"] == "object" and "$defs" in form.schema
    assert form.schema["properties"]["value"]["type"] == "array"


@pytest.mark.parametrize(
    "wrong", [None, "Invoice", 5, [Invoice], {"type": "nonsense"}, {"type": "json_schema", "json_schema": {}}]
)
def test_what_is_no_form_is_refused(wrong):
    with pytest.raises(ValueError):
        output_form(wrong)


def test_an_answer_that_does_not_fit_is_given_back_until_it_does():
    replies = iter(["no JSON", '{"number": "1"}', '{"number": "1", "total": 3,}'])
    asked: list[list[Message]] = []

    def ask(messages):
        asked.append(messages)
        return said(next(replies))

    reply = answer_in_form(ask, [Message("user", "q")], output_form(Invoice))
    assert reply[-1].extra == {"parsed": {"number": "1", "total": 3.0, "tags": []}, "repaired": "JSON5"}
    assert parsed(reply[-1], Invoice) == Invoice("1", 3.0)
    assert [m.role for m in asked[1]] == ["user", "assistant", "user"]
    assert "not valid JSON" in asked[1][-1].content
    # Only the last attempt is shown again, not all of them.
    assert len(asked[2]) == 3 and "total" in asked[2][-1].content


def test_after_the_last_attempt_there_is_one_clear_error():
    with pytest.raises(ModelServiceError, match="Invoice") as raised:
        answer_in_form(lambda messages: said("no"), [Message("user", "q")], output_form(Invoice), max_repairs=1)
    assert raised.value.code == "output_form"
    assert raised.value.extra["text"] == "no"


def test_a_reply_that_calls_tools_is_handed_on():
    call = Message("assistant", "", function_call=FunctionCall("search", "{}"))
    assert answer_in_form(lambda messages: [call], [Message("user", "q")], output_form(Invoice)) == [call]


def test_an_answer_given_as_a_tool_call_becomes_text():
    call = Message(
        "assistant", "", function_call=FunctionCall(ANSWER_TOOL, '{"n": 5}'), extra={"function_id": "call_1"}
    )
    (reply,) = answer_in_form(lambda messages: [call], [Message("user", "q")], output_form(SCHEMA))
    assert reply.function_call is None and reply.content == '{"n": 5}'
    assert reply.extra == {"parsed": {"n": 5}}


def test_what_is_given_back_names_the_problem_in_the_users_language():
    messages = repair_messages(said("no"), "total: missing", output_form(Invoice), "zh")
    assert messages[0].content == "no" and "total: missing" in messages[1].content and "回答" in messages[1].content


def test_the_object_of_an_answer():
    message = {"role": "assistant", "content": "", "extra": {"parsed": {"invoices": [{"number": "1", "total": 2}]}}}
    assert parsed(message, Order) == Order(invoices=[Invoice("1", 2.0)])
    assert parsed(Message(**message), Order).invoices[0].total == 2.0
    assert parsed({"extra": {"parsed": {"n": 1}}}, SCHEMA) == {"n": 1}


def test_a_message_without_a_value_and_one_of_another_form_are_told_apart():
    with pytest.raises(ValueError, match="output_type"):
        parsed(Message("assistant", "x"), Invoice)
    with pytest.raises(ValueError, match=r"Invoice.*total"):
        parsed({"extra": {"parsed": {"number": "1"}}}, Invoice)


def test_a_default_that_is_not_of_its_fields_type_still_gives_the_object():
    @dataclass
    class Loose:
        number: str
        tags: list[str] = None

    answer = read_answer(said('{"number": "1"}'), output_form(Loose))
    assert parsed({"extra": {"parsed": answer.value}}, Loose) == Loose("1")
