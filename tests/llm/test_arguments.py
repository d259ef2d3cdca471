"""Arguments that models write, and what becomes of them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qwen_agentkit.llm.arguments import read_json, repair_arguments
from qwen_agentkit.llm.json_scan import JsonScanner, value_end


@pytest.mark.parametrize("given_", ["", " \n", "null", "None", None, "{}", "NULL"])
def test_nothing_is_the_empty_object(given_):
    assert repair_arguments(given_).arguments_json == "{}"
    assert repair_arguments(given_).error is None
    assert repair_arguments(given_).repaired is None


def test_json_in_order_is_written_with_the_default_separators():
    repaired = repair_arguments('{"a":[1,2],"城":"海淀区"}')
    assert repaired.arguments_json == '{"a": [1, 2], "城": "海淀区"}'
    assert repaired.repaired is None and not repaired.cut


@pytest.mark.parametrize(
    ("text", "value", "how"),
    [
        ('```json\n{"a": 1}\n```', {"a": 1}, "code fence"),
        ('```\n{"a": 1}', {"a": 1}, "code fence"),
        ('{"a": 1}}', {"a": 1}, "text around the object"),
        ('{"a": 1} # the end', {"a": 1}, "text around the object"),
        ('Here: {"a": 1}', {"a": 1}, "text around the object"),
        ('{"a": {"b": 1}} {"c": 2}', {"a": {"b": 1}}, "text around the object"),
        ("{a: 1}", {"a": 1}, "JSON5"),
        ('{"a": 1,}', {"a": 1}, "JSON5"),
        ("{'a': 'x'}", {"a": "x"}, "JSON5"),
        ('{"a": 1, // one\n"b": 2}', {"a": 1, "b": 2}, "JSON5"),
        ("{'a': True, 'b': None, 'c': \"it's\"}", {"a": True, "b": None, "c": "it's"}, "Python literal"),
        ('{"a": (1, 2)}', {"a": [1, 2]}, "Python literal"),
        ('{"a": "x\ny"}', {"a": "x\ny"}, "control characters"),
        ('{"a": NaN}', {"a": None}, "NaN"),
        (r'{"a": "\d+"}', {"a": r"\d+"}, "backslashes"),
        (r'{"a": "it\'s"}', {"a": "it's"}, "backslashes"),
        ('{"a": "5" tall"}', {"a": '5" tall'}, "quotation marks"),
        ('{"a": "say "hi" now", "b": 1}', {"a": 'say "hi" now', "b": 1}, "quotation marks"),
        ('{"a": 1 "b": 2}', {"a": 1, "b": 2}, "repaired"),
        ('"{\\"a\\": 1}"', {"a": 1}, "quoted twice"),
        ("```json\n{a: 1}\n```", {"a": 1}, "code fence, JSON5"),
    ],
)
def test_each_kind_of_damage_is_mended_and_told(text, value, how):
    repaired = repair_arguments(text)
    assert repaired.error is None
    assert json.loads(repaired.arguments_json) == value
    assert repaired.repaired == how
    assert not repaired.cut


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": "x', {"a": "x"}),
        ('{"a": "x"', {"a": "x"}),
        ('{"a": {"b": [1, 2', {"a": {"b": [1, 2]}}),
        ('{"a": "x", "b', {"a": "x"}),
        ('```json\n{"a": "x', {"a": "x"}),
        ('{"a": "x\\', {"a": "x\\"}),
    ],
)
def test_what_was_cut_off_is_closed_and_marked(text, value):
    repaired = repair_arguments(text)
    assert json.loads(repaired.arguments_json) == value
    assert repaired.cut and "closed" in repaired.repaired


def test_a_repair_in_a_reply_known_to_be_cut_counts_as_cut():
    assert repair_arguments("{a: 1}", truncated=True).cut
    assert not repair_arguments('{"a": 1}', truncated=True).cut


@pytest.mark.parametrize(
    ("text", "kind"),
    [("[1]", "a list"), ('[{"a": 1}]', "a list"), ("3", "a number"), ("true", "true or false"), ('"x"', "a string")],
)
def test_what_is_no_object_is_an_error_in_one_line(text, kind):
    repaired = repair_arguments(text)
    assert kind in repaired.error and "\n" not in repaired.error
    assert repaired.arguments_json == text


@pytest.mark.parametrize("text", ["hello", "print(1)", "{hello world}", "{1, 2}", "<b>", "{" * 3000 + "x"])
def test_what_is_no_json_is_an_error_in_one_line(text):
    repaired = repair_arguments(text)
    assert repaired.error and "\n" not in repaired.error
    assert repaired.arguments_json == text


def test_a_repair_that_would_lose_text_is_an_error():
    text = '{"a": "x"} ' + "and a whole sentence that no object can hold " * 3 + "{"
    assert json.loads(repair_arguments(text).arguments_json) == {"a": "x"}  # a balanced object stands first
    assert repair_arguments("{" + "many words without any form " * 20).error


def test_a_lone_surrogate_can_be_encoded_afterwards():
    assert repair_arguments('{"a": "\\ud800"}').arguments_json.encode() == '{"a": "\ufffd"}'.encode()


def test_a_dict_is_taken_as_it_is():
    assert repair_arguments({"a": "é"}).arguments_json == '{"a": "é"}'


def test_reading_any_json_value():
    assert read_json("So: [1, 2]").value == [1, 2]
    assert read_json("5").value == 5
    with pytest.raises(ValueError, match="character 0"):
        read_json("so it is")


TEXT = st.text(st.characters(blacklist_categories=["Cs"]), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | TEXT,
    lambda children: st.lists(children, max_size=3) | st.dictionaries(TEXT, children, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(TEXT, JSON, max_size=4)


@settings(max_examples=200, deadline=None)
@given(OBJECTS)
def test_any_object_comes_back_as_it_was(value):
    text = json.dumps(value)
    repaired = repair_arguments(text)
    assert repaired.error is None and repaired.repaired is None
    assert json.loads(repaired.arguments_json) == value
    assert repair_arguments(repaired.arguments_json).arguments_json == repaired.arguments_json


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("{}[]\"'\\,:ab1 \n"), max_size=30))
def test_no_text_raises(text):
    repaired = repair_arguments(text)
    if repaired.error is None:
        assert isinstance(json.loads(repaired.arguments_json), dict)


@settings(max_examples=200, deadline=None)
@given(OBJECTS, st.data())
def test_an_object_cut_anywhere_is_closed_or_an_error(value, data):
    text = json.dumps(value, ensure_ascii=False)
    cut = text[: data.draw(st.integers(1, len(text)))]
    repaired = repair_arguments(cut)
    if cut != text:
        assert repaired.cut or repaired.error


@settings(max_examples=200, deadline=None)
@given(OBJECTS, st.text(max_size=10))
def test_the_end_of_an_object_is_found_in_pieces_too(value, behind):
    text = json.dumps(value, ensure_ascii=False) + behind
    end = len(text) - len(behind)
    assert value_end(text, 0) == end
    scanner = JsonScanner()
    for position in range(len(text)):
        scanner.scan(text, position, position + 1)
        if scanner.done:
            assert position + 1 == end
            break
