"""Grammars for tool calls of local models: their text, read by a small reader of GBNF."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qwen_agentkit.llm.tool_grammar import answer_grammar, tool_grammar
from tests.llm.gbnf import Grammar

WEATHER = {
    "name": "weather",
    "description": "Weather.",
    "parameters": {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer"},
            "unit": {"enum": ["C", "F"]},
            "exact": {"type": "boolean"},
        },
        "required": ["city"],
    },
}
NOTHING = {"name": "now", "description": "Time.", "parameters": {"type": "object", "properties": {}}}


def called(name, arguments):
    return f'<tool_call>\n{{"name": "{name}", "arguments": {json.dumps(arguments, ensure_ascii=False)}}}\n</tool_call>'


@pytest.fixture(scope="module")
def either():
    return Grammar(tool_grammar([WEATHER, NOTHING]))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Hello, world.",
        "if a < b and b << c: <b>bold</b> <table>",
        called("weather", {"city": "Oslo"}),
        called("weather", {"city": "海淀区", "days": 3, "unit": "C", "exact": True}),
        called("weather", {"city": 'a "b" \\ c', "unit": "F"}),
        "I look.\n" + called("now", {}) + "\n" + called("weather", {"city": "x"}),
    ],
)
def test_text_and_valid_calls_are_allowed(either, text):
    assert either.allows(text)


@pytest.mark.parametrize(
    "text",
    [
        called("weather", {}),
        called("weather", {"city": 7}),
        called("weather", {"city": "x", "unit": "K"}),
        called("weather", {"city": "x", "days": 1.5}),
        called("storm", {"city": "x"}),
        called("weather", {"city": "x"})[:-1],
        '<tool_call>\n{"name": "weather"}\n</tool_call>',
        "<tool_call>",
        called("now", {}) + " and text",
    ],
)
def test_anything_else_that_begins_as_a_call_is_not(either, text):
    assert not either.allows(text)


def test_a_forced_tool_allows_one_call_of_it_and_nothing_else():
    forced = Grammar(tool_grammar([WEATHER, NOTHING], "weather"))
    assert forced.allows(called("weather", {"city": "x"}))
    assert not forced.allows("text")
    assert not forced.allows(called("now", {}))
    with pytest.raises(ValueError, match="nope"):
        tool_grammar([WEATHER], "nope")


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "array", "items": {"type": "integer"}}, ["[]", "[1]", "[1, 2, -3]"], ["[1.5]", "[1,]", '["a"]']),
        ({"type": "array", "items": {"type": "null"}, "minItems": 2, "maxItems": 3}, ["[null, null]"], ["[null]"]),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, ['"a"', "null"], ["1"]),
        ({"type": ["number", "boolean"]}, ["1.5e3", "true"], ['"1"']),
        ({"const": {"a": 1}}, ['{"a": 1}'], ["{}"]),
        (
            {"type": "object", "additionalProperties": {"type": "integer"}},
            ["{}", '{"a": 1, "b": 2}'],
            ['{"a": "x"}'],
        ),
        ({"type": "object", "properties": {}, "additionalProperties": False}, ["{}"], ['{"a": 1}']),
        ({}, ["1", '{"a": [true, {"b": null}]}', '"x"'], ["{a: 1}"]),
        (
            {
                "$ref": "#/$defs/node",
                "$defs": {
                    "node": {
                        "type": "object",
                        "properties": {"v": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}},
                        "required": ["v"],
                    }
                },
            },
            ['{"v": 1}', '{"v": 1, "next": {"v": 2, "next": {"v": 3}}}'],
            ['{"next": {"v": 1}}', '{"v": 1, "next": {}}'],
        ),
        (
            {"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}, "c": {"type": "null"}}},
            ["{}", '{"a": null}', '{"b": null}', '{"a": null, "c": null}', '{"a": null, "b": null, "c": null}'],
            ['{"a": null,}', '{, "b": null}', '{"b": null "c": null}'],
        ),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "null"}, "b": {"type": "null"}, "c": {"type": "null"}},
                "required": ["b"],
            },
            ['{"b": null}', '{"a": null, "b": null}', '{"b": null, "c": null}'],
            ["{}", '{"a": null}', '{"a": null, "c": null}'],
        ),
    ],
)
def test_schemas(schema, good, bad):
    grammar = Grammar(answer_grammar(schema))
    assert [text for text in good if not grammar.allows(text)] == []
    assert [text for text in bad if grammar.allows(text)] == []


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(json_values, st.sampled_from([None, (",", ":"), (", ", ": ")]))
def test_any_json_is_any_value(value, separators):
    assert Grammar(answer_grammar({})).allows(json.dumps(value, separators=separators))
