"""Which keyword arguments a function takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=512)
def _names(function: Callable) -> frozenset[str] | None:
    parameters = inspect.signature(function).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    return frozenset(parameter.name for parameter in parameters)


def declared(function: Callable, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that the function declares by name; all of them when it takes `**kwargs`.

    Args:
        function: A plain function or a class's method (not a bound one: the answer is remembered).
        kwargs: What is there to give.
    """
    try:
        names = _names(function)
    except (TypeError, ValueError):  # a builtin without a signature
        return dict(kwargs)
    return dict(kwargs) if names is None else {key: value for key, value in kwargs.items() if key in names}
