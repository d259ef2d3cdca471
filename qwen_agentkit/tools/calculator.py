"""`calculator`: arithmetic that is exact where it can be, by a checked syntax tree and never by `eval`."""

from __future__ import annotations

import ast
import math
import re
import unicodedata
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from qwen_agentkit.errors import ToolArgumentsError
from qwen_agentkit.tools.base import BaseTool, register_tool

Number = Fraction | float

MAX_CHARS = 2000
MAX_DEPTH = 400
# Bits of a number on the way: some 6,000 decimal digits.
MAX_BITS = 20_000
MAX_FACTORIAL = 1500
# Significant digits that are shown of a number that has no exact decimal form.
DIGITS = 15

# A number with a name right behind it, such as `2pi` or `0x1f`.
_RUN_ON = re.compile(r"(?<![\w.])\d[\d_.]*(?:[eE][+-]?\d+)?(?![eE]\d)[A-Za-z]+")
_SIGNS = {"×": "*", "÷": "/", "−": "-", "–": "-", "·": "*", "^": "**", "√": "sqrt", "π": "pi", "∞": "inf"}
_NAMES: dict[str, Number] = {"pi": math.pi, "e": math.e, "tau": math.tau}


class _Refused(ValueError):
    """What stands in the expression is no arithmetic, or too much of it."""


@register_tool("calculator")
class Calculator(BaseTool):
    """Works out an arithmetic expression.

    Whole numbers, decimals and fractions are exact (0.1 + 0.2 is 0.3); roots, logarithms and trigonometry are
    floating point.
    """

    untrusted = False
    description = (
        "Works out an arithmetic expression exactly. Knows + - * / // % ** (or ^), brackets, factorial, sqrt, cbrt, "
        "exp, log(x) (natural), log(x, base), log2, log10, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, "
        "degrees, radians, abs, round, floor, ceil, min, max, sum, mean, gcd, lcm, comb, perm, hypot, pi, e. "
        "Angles are in radians."
    )
    parameters = {
        "type": "object",
        "properties": {"expression": {"type": "string", "description": "For example: (12.5 * 3 - 4) / 7"}},
        "required": ["expression"],
    }

    def call(self, params: str | dict[str, Any], **kwargs: Any) -> str:
        """The value as text.

        Raises:
            ToolArgumentsError: It is no arithmetic expression, has no value, or is too large; one line.
        """
        expression = self._verify_json_format_args(params)["expression"]
        return calculate(expression)


def calculate(expression: str) -> str:
    """The value of an arithmetic expression, as text.

    Raises:
        ToolArgumentsError: As for the tool.
    """
    text = unicodedata.normalize("NFKC", expression)
    for sign, meant in _SIGNS.items():
        text = text.replace(sign, meant)
    text = text.strip().removesuffix("=").strip()
    shown = expression if len(expression) <= 80 else expression[:80] + "…"
    try:
        if len(text) > MAX_CHARS:
            raise _Refused(f"an expression has at most {MAX_CHARS} characters")
        run_on = _RUN_ON.search(text)
        if run_on:
            raise _Refused(f"{run_on[0]!r} is no number; write a sign of multiplication between number and name")
        tree = ast.parse(text, mode="eval")
        return _shown(_value(tree.body, text, 0))
    except _Refused as error:
        problem = str(error)
    except ZeroDivisionError:
        problem = "division by zero"
    except OverflowError:
        problem = "the number is too large"
    except (SyntaxError, RecursionError, MemoryError):
        problem = "it is not one arithmetic expression"
    except (ValueError, TypeError) as error:
        problem = " ".join(str(error).split())
    raise ToolArgumentsError(f"calculator: {shown!r} cannot be worked out: {problem}")


def _value(node: ast.AST, text: str, depth: int) -> Number:
    if depth > MAX_DEPTH:
        raise _Refused("it is nested too deeply")
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        return _literal(node, text)
    if isinstance(node, ast.Name):
        if node.id not in _NAMES:
            raise _Refused(f"{node.id!r} is unknown; names are {', '.join(_NAMES)}")
        return _NAMES[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.UAdd, ast.USub)):
        value = _value(node.operand, text, depth + 1)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left = _value(node.left, text, depth + 1)
        right = _value(node.right, text, depth + 1)
        return _checked(_OPERATORS[type(node.op)](left, right))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id not in _FUNCTIONS:
            raise _Refused(f"{node.func.id!r} is no function here")
        if node.keywords:
            raise _Refused("functions take plain numbers")
        return _checked(_FUNCTIONS[node.func.id](*_arguments(node.args, text, depth)))
    raise _Refused("only numbers, + - * / // % **, brackets and the named functions are known")


def _arguments(nodes: list[ast.expr], text: str, depth: int) -> list[Number]:
    """The numbers given to a function; a list or tuple of them (`sum([1, 2])`) stands for its items."""
    values: list[Number] = []
    for node in nodes:
        if isinstance(node, (ast.List, ast.Tuple)):
            values += _arguments(node.elts, text, depth + 1)
        else:
            values.append(_value(node, text, depth + 1))
    return values


def _literal(node: ast.Constant, text: str) -> Number:
    """A number as it is written, so that 0.1 is a tenth and not the nearest float."""
    if isinstance(node.value, int):
        return _checked(Fraction(node.value))
    written = (ast.get_source_segment(text, node) or repr(node.value)).replace("_", "")
    exponent = written.lower().partition("e")[2]
    if exponent and abs(int(exponent)) > MAX_BITS // 4:
        raise OverflowError
    return _checked(Fraction(written))


def _checked(value: Any) -> Number:
    if isinstance(value, Fraction):
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
            raise OverflowError
        return value
    if isinstance(value, int):
        return _checked(Fraction(value))
    if isinstance(value, float):
        if math.isnan(value) or math.isinf(value):
            raise _Refused("it has no finite value")
        return value
    raise _Refused("it has no real value")


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 1:
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if abs(base) not in (0, 1) and bits * abs(exponent) > MAX_BITS:
            raise OverflowError
        if abs(base) in (0, 1) and exponent > 1:
            exponent = exponent % 2 or Fraction(2)
        return base ** int(exponent)
    if base < 0:
        raise _Refused("a negative number has no real power of that kind")
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent == Fraction(1, 2):
        return _sqrt(base)
    return float(base) ** float(exponent)


def _sqrt(value: Number) -> Number:
    if value < 0:
        raise _Refused("a negative number has no real root")
    if isinstance(value, Fraction):
        above, below = math.isqrt(value.numerator), math.isqrt(value.denominator)
        if above * above == value.numerator and below * below == value.denominator:
            return Fraction(above, below)
    return math.sqrt(value)


def _floor_division(left: Number, right: Number) -> Number:
    return Fraction(math.floor(left / right)) if isinstance(left / right, Fraction) else left // right


def _whole(value: Number) -> int:
    if value != int(value):
        raise _Refused(f"{_shown(value)} is not a whole number")
    return int(value)


def _factorial(value: Number) -> Number:
    number = _whole(value)
    if not 0 <= number <= MAX_FACTORIAL:
        raise _Refused(f"factorial takes 0 to {MAX_FACTORIAL}")
    return Fraction(math.factorial(number))


def _choose(function: Callable[[int, int], int]) -> Callable[..., Number]:
    def choose(total: Number, chosen: Number) -> Number:
        if not 0 <= chosen <= total <= MAX_FACTORIAL:
            raise _Refused(f"comb and perm take numbers up to {MAX_FACTORIAL}, the smaller one second")
        return Fraction(function(_whole(total), _whole(chosen)))

    return choose


def _round(value: Number, digits: Number = Fraction(0)) -> Number:
    """Rounds half away from zero, as people do, not half to even."""
    places = _whole(digits)
    if abs(places) > 400:
        raise _Refused("round takes at most 400 digits")
    scaled = Fraction(value) * Fraction(10) ** places
    whole = math.floor(abs(scaled) + Fraction(1, 2))
    return Fraction(whole if scaled >= 0 else -whole) / Fraction(10) ** places


def _log(value: Number, base: Number | None = None) -> Number:
    if value <= 0 or (base is not None and (base <= 0 or base == 1)):
        raise _Refused("a logarithm wants a positive number, and a positive base other than 1")
    natural = _natural_log(value)
    return natural if base is None else natural / _natural_log(base)


def _natural_log(value: Number) -> float:
    if isinstance(value, Fraction):
        return math.log(value.numerator) - math.log(value.denominator)
    return math.log(value)


def _floating(function: Callable[..., float]) -> Callable[..., Number]:
    return lambda *values: function(*(float(value) for value in values))


_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.Div: lambda left, right: left / right,
    ast.FloorDiv: _floor_division,
    ast.Mod: lambda left, right: left % right,
    ast.Pow: _power,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sqrt": _sqrt,
    "cbrt": _floating(math.cbrt),
    "exp": _floating(math.exp),
    "log": _log,
    "ln": _log,
    "log2": lambda value: _log_exact(value, 2),
    "log10": lambda value: _log_exact(value, 10),
    **{
        name: _floating(getattr(math, name))
        for name in ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "hypot")
    },
    "degrees": _floating(math.degrees),
    "radians": _floating(math.radians),
    "abs": abs,
    "round": _round,
    "floor": lambda value: math.floor(value),
    "ceil": lambda value: math.ceil(value),
    "trunc": lambda value: math.trunc(value),
    "min": lambda *values: min(values),
    "max": lambda *values: max(values),
    "sum": lambda *values: sum(values, Fraction(0)),
    "mean": lambda *values: sum(values, Fraction(0)) / len(values),
    "gcd": lambda *values: math.gcd(*map(_whole, values)),
    "lcm": lambda *values: math.lcm(*map(_whole, values)),
    "factorial": _factorial,
    "comb": _choose(math.comb),
    "perm": _choose(math.perm),
    "pow": _power,
}


def _log_exact(value: Number, base: int) -> Number:
    """A logarithm that is whole for whole powers of its base."""
    approximate = _log(value, Fraction(base))
    nearest = round(approximate)
    return Fraction(nearest) if value == Fraction(base) ** nearest else approximate


def _shown(value: Number) -> str:
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        return f"{value:.{DIGITS}g}"
    if value.denominator == 1:
        return _digits(value.numerator)
    decimal = _as_decimal(value)
    if decimal is not None:
        return decimal
    return f"{float(value):.{DIGITS}g} (exactly {value})" if len(str(value)) <= 40 else _rounded(value)


def _as_decimal(value: Fraction) -> str | None:
    """The decimal form when it ends within 40 places."""
    rest = value.denominator
    twos = fives = 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    places = max(twos, fives)
    if rest != 1 or places > 40:
        return None
    digits = _digits(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    return f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def _rounded(value: Fraction) -> str:
    try:
        return f"{float(value):.{DIGITS}g}"
    except OverflowError:
        return _digits(round(value))


def _digits(number: int) -> str:
    """All digits of a whole number; Python refuses to print more than some 4,300 at once."""
    if abs(number) < 10**4000:
        return str(number)
    high, low = divmod(abs(number), 10**4000)
    return f"{'-' if number < 0 else ''}{_digits(high)}{str(low).rjust(4000, '0')}"
