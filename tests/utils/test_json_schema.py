import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwen_agentkit.utils.json_schema import check, parameters_problem, parameters_schema


def schema(**properties):
    return {"type": "object", "properties": properties, "required": list(properties)}


def test_the_list_form_becomes_a_schema_and_keeps_what_it_says():
    parameters = [
        {"name": "city", "type": "str", "description": "a city", "required": True},
        {"name": "days", "type": "integer", "enum": [1, 2]},
        {"name": "odd", "type": "whatever", "description": "no JSON type"},
    ]
    assert parameters_problem(parameters) is None
    assert parameters_schema(parameters) == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "a city"},
            "days": {"type": "integer", "enum": [1, 2]},
            "odd": {"description": "no JSON type"},
        },
        "required": ["city"],
    }


def test_a_full_schema_is_kept_whole():
    full = {
        "type": "object",
        "properties": {"p": {"$ref": "#/$defs/Point"}},
        "$defs": {"Point": {"type": "object", "properties": {"x": {"type": "number"}}}},
        "additionalProperties": False,
    }
    assert parameters_problem(full) is None
    assert parameters_schema(full) == {**full, "required": []}
    assert check(full, {"p": {"x": "1.5"}}) == ({"p": {"x": 1.5}}, [])


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"type": "array"}, "has type 'object', not 'array'"),
        ({"type": "object", "properties": {"a": {"type": "strng"}}}, "properties.a.type"),
        ([{"type": "string"}], "parameters[0] is a dict with 'name'"),
        ([{"name": "a"}, {"name": "a"}], "'a' is there twice"),
        ("city", "not str"),
    ],
)
def test_what_is_wrong_is_said(parameters, words):
    assert words in parameters_problem(parameters)


@pytest.mark.parametrize(
    ("wanted", "given", "becomes"),
    [
        ({"type": "integer"}, "3", 3),
        ({"type": "integer"}, 3.0, 3.0),
        ({"type": "integer"}, "3.0", 3),
        ({"type": "number"}, " 2.5 ", 2.5),
        ({"type": "boolean"}, "True", True),
        ({"type": "string"}, 12, "12"),
        ({"type": "array", "items": {"type": "integer"}}, "[1, 2]", [1, 2]),
        ({"type": "array", "items": {"type": "integer"}}, '[1, "2"]', [1, 2]),
        ({"type": "array", "items": {"type": "string"}}, "a.pdf", ["a.pdf"]),
        ({"type": "array", "items": {"type": "object"}}, {"x": 1}, [{"x": 1}]),
        ({"type": "object"}, '{"a": 1}', {"a": 1}),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "7", 7),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "null", None),
        ({"type": ["integer", "null"]}, "7", 7),
    ],
)
def test_what_models_get_wrong_is_mended(wanted, given, becomes):
    assert check(schema(v=wanted), {"v": given}) == ({"v": becomes}, [])


@pytest.mark.parametrize(
    ("wanted", "given", "words"),
    [
        ({"type": "integer"}, "three", '\'v\' is "three"; wanted is "integer"'),
        ({"type": "boolean"}, "maybe", 'wanted is "boolean"'),
        ({"enum": ["C", "F"]}, "K", 'wanted is one of ["C", "F"]'),
        ({"type": "integer", "minimum": 5}, 2, "'v': 2 is less than the minimum of 5"),
    ],
)
def test_what_cannot_be_mended_is_told_in_one_line(wanted, given, words):
    value, problems = check(schema(v=wanted), {"v": given})
    assert value == {"v": given}
    assert len(problems) == 1
    assert words in problems[0]
    assert "\n" not in problems[0]


def test_missing_and_unknown_names_are_told():
    closed = {**schema(a={"type": "string"}, b={}), "additionalProperties": False}
    _, problems = check(closed, {"c": 1})
    assert "'a', 'b' is required and missing" in problems
    assert any("known are: a, b" in problem for problem in problems)


def test_the_given_value_is_not_changed():
    given = {"v": "3"}
    check(schema(v={"type": "integer"}), given)
    assert given == {"v": "3"}


def test_a_reference_to_an_address_is_never_fetched(caplog):
    remote = {"type": "object", "properties": {"v": {"$ref": "http://127.0.0.1:9/schema.json"}}}
    assert check(remote, {"v": 1}) == ({"v": 1}, [])
    assert "refers to what it does not hold" in caplog.text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(value=st.dictionaries(st.sampled_from("abc"), JSON))
def test_any_value_gives_a_fitting_one_or_a_problem(value):
    wanted = schema(a={"type": "integer"}, b={"type": "array", "items": {"type": "number"}}, c={"type": "string"})
    mended, problems = check(wanted, value)
    if not problems:
        assert check(wanted, mended) == (mended, [])
