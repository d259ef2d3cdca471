"""Putting generation settings together."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any


def stop_list(stop: Any) -> list[str]:
    """Stop words as a list; None is none, one text is a list of one.

    Raises:
        ValueError: Anything else than text or a list of texts.
    """
    if stop is None:
        return []
    if isinstance(stop, str):
        return [stop] if stop else []
    if isinstance(stop, (list, tuple)) and all(isinstance(word, str) for word in stop):
        return [word for word in stop if word]
    raise ValueError(f"generate_cfg['stop'] is text or a list of texts, not {stop!r}")


def merge_generate_cfgs(
    base_generate_cfg: Mapping[str, Any] | None, new_generate_cfg: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Settings of the first overlaid by those of the second; stop words of both are united, in that order.

    Returns:
        A new dict; neither argument is changed.
    """
    merged: dict[str, Any] = copy.deepcopy(dict(base_generate_cfg or {}))
    for key, value in (new_generate_cfg or {}).items():
        if key == "stop":
            merged["stop"] = list(dict.fromkeys(stop_list(merged.get("stop")) + stop_list(value)))
        else:
            merged[key] = copy.deepcopy(value)
    return merged
