import datetime
import decimal
import enum
import json
from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwen_agentkit.schema import ContentItem
from qwen_agentkit.tools import ToolResult, tool
from qwen_agentkit.tools.results import HONESTY_RULE, NO_DATA, to_content, to_json


def test_text_and_content_items_pass_as_they_are():
    items = [ContentItem(text="a"), ContentItem(image="b.png")]
    assert to_content("text") == "text"
    assert to_content(items) is items
    assert to_content(items[1]) == [items[1]]


def test_json_is_written_as_qwen_agent_writes_it():
    value = {"city": "海淀区", "n": [1, 2]}
    assert to_content(value) == json.dumps(value, ensure_ascii=False, indent=4)
    assert to_content([]) == "[]"


def test_nothing_is_said_in_the_language_of_the_run():
    assert "returned nothing" in to_content(None)
    assert "没有返回" in to_content(None, lang="zh")


class Size(enum.Enum):
    BIG = "big"


@dataclass
class Box:
    size: Size
    path: Path


class Odd:
    pass


class Loud:
    def __repr__(self):
        raise RuntimeError("no")


Pair = namedtuple("Pair", "a b")


@pytest.mark.parametrize(
    ("value", "carried"),
    [
        ({3, 1, 2}, [1, 2, 3]),
        ({"b", 1}, ["b", 1]),
        (datetime.datetime(2024, 5, 6, 7, 8), "2024-05-06T07:08:00"),
        (decimal.Decimal("1.10"), "1.10"),
        (b"abc", "<3 bytes, base64 YWJj>"),
        (Box(Size.BIG, Path("a/b")), {"size": "big", "path": "a/b"}),
        ({(1, 2): "x", None: 1}, {"(1, 2)": "x", "null": 1}),
        (ValueError("bad"), "ValueError: bad"),
        (range(3), [0, 1, 2]),
        (Pair({1}, 2), [[1], 2]),
        (Loud(), "<Loud, its repr failed with RuntimeError>"),
    ],
)
def test_what_json_cannot_carry_is_described(value, carried):
    assert json.loads(to_json([value])) == [carried]


def test_an_unknown_object_is_described_without_its_address():
    assert json.loads(to_json([Odd()])) == [f"<{__name__}.Odd object>"]


def test_numpy_and_pydantic_values_become_plain():
    import numpy as np
    from pydantic import BaseModel

    class Model(BaseModel):
        n: int

    assert json.loads(to_json({"a": np.arange(3), "b": np.float32(1.5), "c": Model(n=1)})) == {
        "a": [0, 1, 2],
        "b": 1.5,
        "c": {"n": 1},
    }


def test_a_circle_ends():
    value: list = [1]
    value.append({"self": value})
    assert json.loads(to_json(value)) == [1, {"self": "<circular>"}]


ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.dates()
    | st.decimals()
    | st.uuids()
    | st.builds(object)
    | st.complex_numbers(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers() | st.tuples(st.text()), inner),
    max_leaves=10,
)


@given(ANY)
def test_any_value_becomes_json(value):
    json.loads(to_json(value))


def test_valid_data_reaches_the_model_without_the_wrapper():
    assert to_content({"valid": True, "data": {"t": 21}, "error": None}) == to_json({"t": 21})
    assert to_content(ToolResult(True, "21 degrees")) == "21 degrees"


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_invalid_data_reaches_the_model_as_a_fixed_notice(lang):
    for result in (ToolResult(False, error="no\nroute"), {"valid": False, "data": {"t": 0}, "error": "no\nroute"}):
        text = to_content(result, lang=lang)
        assert text.startswith(NO_DATA[lang])
        assert text.endswith("no route")
        assert '"t"' not in text
    assert to_content(ToolResult(False), lang=lang) == NO_DATA[lang]
    assert HONESTY_RULE[lang]


def test_a_result_cannot_be_both():
    with pytest.raises(ValueError, match="no error"):
        ToolResult(True, 1, "e")
    with pytest.raises(ValueError, match="no data"):
        ToolResult(False, 1)


def test_a_tool_may_give_the_model_a_short_text():
    @tool(summarize=lambda result: f"{len(result)} rows")
    def rows() -> list:
        return []

    assert to_content([1, 2], rows) == "2 rows"
    assert to_content(ToolResult(False, error="gone"), rows).startswith(NO_DATA["en"])
