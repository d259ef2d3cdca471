"""Runs one function over many arguments, in threads or one after another."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, as_completed
from typing import Any

from qwen_agentkit.utils.daemon_pool import DaemonPool

# As many as concurrent.futures starts on a machine of ordinary size.
_DEFAULT_WORKERS = 16


def parallel_exec(
    fn: Callable[..., Any],
    list_of_kwargs: Iterable[Mapping[str, Any]],
    max_workers: int | None = None,
    jitter: float = 0.0,
) -> list[Any]:
    """Calls `fn` with each set of arguments, several at once.

    Each call sees the caller's context variables, so a cancel and the limits of a run reach it.

    Args:
        fn: The function.
        list_of_kwargs: One dict of keyword arguments a call.
        max_workers: Calls that run at once; None is 16.
        jitter: Seconds; before each start there is a pause of up to that long.

    Returns:
        The results in the order in which the calls ended.

    Raises:
        Exception: That of the first call that failed; calls that did not begin are dropped.
    """
    if max_workers is not None and max_workers < 1:
        raise ValueError(f"max_workers is at least 1, not {max_workers}")
    pool = DaemonPool(max_workers or _DEFAULT_WORKERS, name="parallel")
    futures: list[Future[Any]] = []
    for kwargs in list_of_kwargs:
        if jitter > 0 and futures:
            time.sleep(jitter * random.random())
        futures.append(pool.submit(fn, **kwargs))
    try:
        return [future.result() for future in as_completed(futures)]
    except BaseException:
        for future in futures:
            future.cancel()
        raise


def serial_exec(fn: Callable[..., Any], list_of_kwargs: Iterable[Mapping[str, Any]]) -> list[Any]:
    """The same, one after another, for looking for a fault."""
    return [fn(**kwargs) for kwargs in list_of_kwargs]
