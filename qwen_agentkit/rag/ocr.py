"""Reading pictures of text: rapidocr (extra `ocr`), or a function of the caller's."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

from qwen_agentkit import settings
from qwen_agentkit.utils.optional import need

RAPIDOCR = "rapidocr"
# Address space that rapidocr 3.10 with onnxruntime wants beside what reading does: measured 2.5 GB for a page of
# 1654 x 2339 pixels full of lines, and as much again for a busier one.
_RAPIDOCR_BYTES = 5_000_000_000
OCR_NEEDED = "OCR needed: pip install 'qwen-agentkit[ocr]' and set QWEN_AGENTKIT_OCR=rapidocr"


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


def chosen_ocr(how: bool | str | Callable[[bytes], str] | None) -> bool | str | Callable[[bytes], str]:
    """What is meant: `how` itself, or for None what `settings.OCR` says, False when that is empty."""
    return (settings.OCR or False) if how is None else how


def recogniser_bytes(how: bool | str | Callable[[bytes], str]) -> int:
    """Memory that is to be granted for what reads pictures; of a function of the caller's nothing is known."""
    return _RAPIDOCR_BYTES if how is True or how == RAPIDOCR else 0


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
    # It tells of every model that it loads otherwise, on the program's standard error.
    return need("rapidocr", extra="ocr").RapidOCR(params={"Global.log_level": "warning"})


def _by_rapidocr(picture: bytes) -> str:
    result = _engine()(picture)
    lines = getattr(result, "txts", None)
    return "\n".join(lines) if lines else ""
