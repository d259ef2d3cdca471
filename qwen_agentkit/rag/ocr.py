"""Reading pictures of text: rapidocr (extra `ocr`), or a function of the caller's."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

from qwen_agentkit.utils.optional import need

RAPIDOCR = "rapidocr"


def recognise(picture: bytes, how: str | bool | Callable[[bytes], str]) -> str:
    """The text in a picture.

    Args:
        picture: Bytes of a PNG or JPEG file.
        how: `True` or `"rapidocr"`; `"package.module:function"`, the name of a function that takes the bytes and
            gives the text (this form also works in worker processes); or such a function itself.

    Raises:
        MissingDependencyError: rapidocr is not installed.
        ValueError: `how` names no function.
    """
    if how is True or how == RAPIDOCR:
        return _by_rapidocr(picture)
    function: Any = _named_function(how) if isinstance(how, str) else how
    return str(function(picture) or "")


def check_ocr(how: Any, load: bool = True) -> None:
    """Refuses what `recognise` could not use.

    Args:
        how: As for `recognise`, or False.
        load: A function given by its name is looked for; else only the form of the name is checked.

    Raises:
        ValueError: `how` is neither a bool nor a known name nor a function.
    """
    if isinstance(how, bool) or how == RAPIDOCR or callable(how):
        return
    if not isinstance(how, str):
        raise ValueError(f"ocr is True, 'rapidocr', 'package.module:function' or a function; given {how!r}.")
    module, _, attribute = how.partition(":")
    if not module or not attribute:
        raise ValueError(f"ocr={how!r} names no function; wanted 'package.module:function'.")
    if load:
        _named_function(how)


def _named_function(name: str) -> Any:
    module, _, attribute = name.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"ocr={name!r} cannot be loaded: {error}") from error


@cache
def _engine() -> Any:
    return need("rapidocr", extra="ocr").RapidOCR()


def _by_rapidocr(picture: bytes) -> str:
    result = _engine()(picture)
    lines = getattr(result, "txts", None)
    return "\n".join(lines) if lines else ""
