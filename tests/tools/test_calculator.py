import math
import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwen_agentkit.tools.calculator import Calculator, calculate


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2 * 3", "7"),
        ("0.1 + 0.2", "0.3"),
        ("2^10", "1024"),
        ("-2 ** 2", "-4"),
        ("7 // 2", "3"),
        ("-7 % 3", "2"),
        ("(12.5 * 3 - 4) / 7", "4.78571428571429 (exactly 67/14)"),
        ("１２×３÷４−１", "8"),
        ("sqrt(16) + √(9)", "7"),
        ("sqrt(2)", "1.4142135623731"),
        ("2 ** 0.5 * 2 ** 0.5", "2"),
        ("factorial(20)", "2432902008176640000"),
        ("log(8, 2)", "3"),
        ("log10(1000)", "3"),
        ("log(e)", "1"),
        ("round(2.5) + round(-2.345, 2)", "0.65"),
        ("sum([1, 2, 3]) / mean(1, 2, 3)", "3"),
        ("max(1, 2.5, 2)", "2.5"),
        ("comb(5, 2) * gcd(12, 18)", "60"),
        ("sin(pi / 2)", "1"),
        ("1e3 - 1", "999"),
        ("1 ** (10 ** 300)", "1"),
        ("(-1) ** (10 ** 300 + 1)", "-1"),
        ("1/8 =", "0.125"),
        ("2 ** 200", str(2**200)),
        ("+".join(["1.5"] * 200), "300"),
    ],
)
def test_arithmetic_is_right(expression, value):
    if expression.startswith("sqrt(2)"):
        value = f"{math.sqrt(2):.15g}"
    assert Calculator().call({"expression": expression}) == value


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os').system('id')",
        "(1).__class__",
        "open('/etc/passwd')",
        "[x for x in (1, 2)]",
        "lambda: 1",
        "'a' * 10",
        "x = 1",
        "1 if 1 else 2",
        "True + 1",
        "eval('1')",
        "f'{1}'",
        "sqrt(x=4)",
        "2pi",
        "0x1f",
        "1j",
        "sqrt(*[4])",
        "1; 2",
        "",
    ],
)
def test_nothing_but_arithmetic_is_evaluated(expression):
    with pytest.raises(ValueError, match="cannot be worked out") as caught:
        calculate(expression)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "expression",
    [
        "9 ** 9 ** 9",
        "9 ** 9 ** 9 ** 9",
        "2 ** -99999999",
        "(1/3) ** 99999999",
        "10 ** 5000 * 10 ** 5000",
        "1e999999999",
        "1e-999999999",
        "factorial(10 ** 9)",
        "comb(10 ** 9, 5 * 10 ** 8)",
        "round(1, 10 ** 9)",
        "factorial(factorial(9))",
        "exp(10000)",
        "(" * 900 + "1" + ")" * 900,
        "-" * 1900 + "1",
        "1+" * 5000 + "1",
        "lcm(2**19999+1, 3**12000+2, 5**8000+2)",
    ],
)
def test_a_bomb_is_refused_at_once(expression):
    start = time.monotonic()
    with pytest.raises(ValueError, match="cannot be worked out"):
        calculate(expression)
    assert time.monotonic() - start < 0.5


@pytest.mark.parametrize("expression", ["1/0", "5 % 0", "sqrt(-1)", "(-8) ** (1/3)", "log(0)", "asin(2)", "0 ** -1"])
def test_what_has_no_value_is_said(expression):
    with pytest.raises(ValueError, match="cannot be worked out"):
        calculate(expression)


def test_numbers_of_many_digits_are_shown_whole():
    assert calculate("10 ** 5000 + 1") == "1" + "0" * 4999 + "1"


NUMBERS = st.integers(-(10**6), 10**6) | st.decimals(-1000, 1000, places=3)


@given(NUMBERS, NUMBERS, st.sampled_from("+-*"))
def test_decimals_are_exact(left, right, operator):
    expected = {"+": Fraction(left) + Fraction(right), "-": Fraction(left) - Fraction(right)}
    expected["*"] = Fraction(left) * Fraction(right)
    assert Fraction(calculate(f"({left}) {operator} ({right})")) == expected[operator]


@given(st.text(alphabet="0123456789.+-*/()%^ esqrtpi,", max_size=40))
def test_any_text_gives_a_value_or_one_line(text):
    try:
        assert calculate(text)
    except ValueError as error:
        assert "\n" not in str(error)
