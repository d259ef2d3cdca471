from __future__ import annotations

import asyncio
import copy
import enum
import functools
import pickle
from dataclasses import dataclass
from typing import Annotated, Literal, Optional

import pytest
from pydantic import BaseModel

from qwen_agentkit.errors import ToolArgumentsError
from qwen_agentkit.run_context import RunContext
from qwen_agentkit.tools import BaseTool, FunctionTool, Injected, tool


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: float = 0.0


class Person(BaseModel):
    name: str
    friends: list[Person] = []


class Handle: ...


@tool
def weather(city: str, unit: Literal["C", "F"] = "C") -> dict:
    """Today's weather in a city.

    Args:
        city: Name of the city, in any language.
        unit: Celsius or Fahrenheit.
    """
    return {"city": city, "temperature": 21, "unit": unit}


def test_annotations_and_docstring_describe_the_function():
    assert weather.function == {
        "name": "weather",
        "description": "Today's weather in a city.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Name of the city, in any language."},
                "unit": {
                    "type": "string",
                    "enum": ["C", "F"],
                    "default": "C",
                    "description": "Celsius or Fahrenheit.",
                },
            },
            "required": ["city"],
            "additionalProperties": False,
        },
    }


def test_it_stays_the_function_it_was():
    assert weather("Oslo")["city"] == "Oslo"
    assert weather.__name__ == "weather"
    assert weather.__doc__.startswith("Today's weather")


def test_a_call_converts_what_the_model_gave():
    seen = {}

    @tool
    def all_kinds(
        n: int,
        maybe: Optional[int] = None,  # noqa: UP045 (both ways of writing it must work)
        colour: Colour = Colour.RED,
        points: list[Point] | None = None,
        person: Person | None = None,
        tags: set[str] = frozenset(),
        flag: bool = False,
    ):
        seen.update(locals())

    all_kinds.call(
        '{"n": "3", "maybe": "null", "colour": "blue", "points": [{"x": "1"}], "flag": "true",'
        ' "person": {"name": "A", "friends": [{"name": "B"}]}, "tags": ["a", "a"]}'
    )
    assert seen["n"] == 3
    assert seen["maybe"] is None
    assert seen["colour"] is Colour.BLUE
    assert seen["points"] == [Point(1, 0.0)]
    assert seen["person"] == Person(name="A", friends=[Person(name="B")])
    assert seen["tags"] == {"a"}
    assert seen["flag"] is True


def test_a_default_is_the_functions_own():
    held = []

    @tool
    def same(values: list[int] = held):
        return values

    assert same.call("{}") is held


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("{}", "'city' is required and missing"),
        ('{"city": "Oslo", "unit": "K"}', "'unit' is 'K'; Input should be 'C' or 'F'"),
        ('{"city": "Oslo", "country": "NO"}', "'country' is not a parameter"),
        ("[]", "a JSON object is wanted"),
    ],
)
def test_arguments_that_do_not_fit_are_one_line_for_the_model(arguments, words):
    with pytest.raises(ToolArgumentsError) as caught:
        weather.call(arguments)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "doc",
    [
        """Does it.

        Args:
            a (int): The first
                of two.
            b: The second.

        Returns:
            Nothing.
        """,
        """Does it.

        Parameters
        ----------
        a : int
            The first
            of two.
        b : str, optional
            The second.

        Returns
        -------
        int
            Nothing.
        """,
        """Does it.

        :param int a: The first
            of two.
        :param b: The second.
        :type b: str
        :returns: Nothing.
        """,
    ],
    ids=["google", "numpy", "sphinx"],
)
def test_all_three_docstring_styles_are_read(doc):
    def f(a: int, b: str = ""): ...

    f.__doc__ = doc
    made = tool(f)
    assert made.description == "Does it."
    properties = made.parameters["properties"]
    assert [properties[name]["description"] for name in "ab"] == ["The first of two.", "The second."]


def test_the_run_is_injected_and_not_shown():
    @tool
    def where(run: RunContext, place: str = "here") -> str:
        return f"{run.agent} {place}"

    assert list(where.parameters["properties"]) == ["place"]
    run = RunContext("Ada")
    assert run.enter().run(where.call, "{}") == "Ada here"
    assert where.call({"place": "alone"}) == "None alone"


def test_what_the_program_fills_is_not_shown_and_comes_from_the_run():
    @tool
    def orders(last: int, user: Annotated[str, Injected]) -> str:
        return f"{last} of {user}"

    assert list(orders.parameters["properties"]) == ["last"]
    assert orders.call({"last": 2}, user="ada", messages=[]) == "2 of ada"
    with pytest.raises(ToolArgumentsError, match="'user' is not a parameter"):
        orders.call({"last": 2, "user": "eve"}, user="ada")
    with pytest.raises(ValueError, match="user="):
        orders.call({"last": 2})


def test_any_parameter_name_will_do():
    @tool
    def odd(_x: int, copy: str, model_name: str, schema: str = "s", /, *, json: int = 1):
        return (_x, copy, model_name, schema, json)

    assert odd.call({"_x": 1, "copy": "c", "model_name": "m"}) == (1, "c", "m", "s", 1)


def test_open_keywords_take_what_the_model_gives():
    @tool
    def fill(template: str, **values: str):
        return template.format(**values)

    assert fill.call({"template": "{a}", "a": "x"}) == "x"


def test_async_functions_and_generators_are_handed_to_the_loop():
    @tool
    async def later(n: int):
        return n + 1

    @tool
    def steps(n: int):
        yield "half"
        return n

    assert asyncio.run(later.call({"n": 1})) == 2
    generator = steps.call({"n": 3})
    assert next(generator) == "half"


def test_methods_partials_and_objects_are_tools_too():
    class Shop:
        def __init__(self, city):
            self.city = city

        @tool
        def price(self, item: str) -> str:
            """Price of an item."""
            return f"{item} in {self.city}"

        def __call__(self, n: int) -> int:
            return n

    shop = Shop("Oslo")
    assert shop.price.call({"item": "tea"}) == "tea in Oslo"
    assert list(shop.price.parameters["properties"]) == ["item"]
    assert tool(shop).call({"n": "4"}) == 4

    def power(base: int, exponent: int) -> int:
        return base**exponent

    square = FunctionTool(functools.partial(power, exponent=2), name="square")
    assert square.call({"base": 3}) == 9


def test_settings_are_taken():
    @tool(
        name="w",
        description="other",
        sequential=True,
        timeout=3,
        retries=2,
        side_effects=True,
        return_direct=True,
        summarize=lambda result: result[:2],
    )
    def f(a: str) -> str:
        return a

    assert (f.name, f.description, f.sequential, f.timeout, f.retries) == ("w", "other", True, 3, 2)
    assert (f.side_effects, f.return_direct, f.summarize("abc")) == (True, True, "ab")
    with pytest.raises(ToolArgumentsError, match="end in the middle"):
        f.call('{"a": "half of i')


def test_a_signature_that_no_model_can_fill_is_told_at_once():
    with pytest.raises(ValueError, match=r"\*cities cannot be described"):

        @tool
        def f(*cities: str): ...

    with pytest.raises(ValueError, match="Injected"):

        @tool
        def g(handle: Handle): ...


def test_an_annotation_may_name_what_is_defined_later():
    @tool
    def late(value: Later) -> int:  # noqa: F821
        return value.n

    globals()["Later"] = type("Later", (BaseModel,), {"__annotations__": {"n": int}, "__module__": __name__})
    try:
        assert late.call({"value": {"n": "5"}}) == 5
    finally:
        del globals()["Later"]


def test_a_tool_can_be_copied_and_pickled():
    assert copy.deepcopy(weather) is weather
    assert pickle.loads(pickle.dumps(weather)).call({"city": "Oslo"})["temperature"] == 21
    renamed = FunctionTool(len, name="length", description="d")
    assert copy.deepcopy(renamed).name == "length"


def test_two_threads_may_call_one_tool_at_once():
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as pool:
        cities = [str(n) for n in range(50)]
        assert [r["city"] for r in pool.map(lambda c: weather.call({"city": c}), cities)] == cities


def test_an_option_that_there_is_not_is_named():
    with pytest.raises(TypeError, match=r"timeout.*not tiemout"):

        @tool(tiemout=3)
        def slow(city: str) -> str:
            return city


def test_what_is_not_given_is_as_for_every_tool():
    @tool
    def plain(city: str) -> str:
        """Says it."""
        return city

    kept = pickle.loads(pickle.dumps(FunctionTool(len, name="length", untrusted=False, retries=2)))
    names = ("sequential", "timeout", "retries", "side_effects", "return_direct", "untrusted", "fenced")
    assert [getattr(plain, name) for name in names] == [getattr(BaseTool, name) for name in names]
    assert (kept.name, kept.untrusted, kept.retries, kept.fenced) == ("length", False, 2, False)
