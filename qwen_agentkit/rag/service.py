"""Asks an embedding or reranking service: JSON there and back, tried again when it is busy or away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qwen_agentkit.errors import ModelServiceError, ToolServiceError
from qwen_agentkit.run_context import current_run
from qwen_agentkit.utils.web import fetch

TRIES = 4
_FIRST_WAIT = 0.5
_LONGEST_WAIT = 10.0
# Failures that may pass by themselves: no connection, no time, too many requests, a server's own fault.
_PASSING = frozenset({"connect", "timeout", "dns", "408", "425", "429", "500", "502", "503", "504", "529"})


def ask_service(address: str, body: Mapping[str, Any], api_key: str | None, seconds: float, tries: int = TRIES) -> Any:
    """Posts JSON and reads the JSON that comes back.

    Args:
        address: http(s) address, the program's own setting, so it may be a private host.
        body: What is sent.
        api_key: Sent as a bearer token.
        seconds: Bound of one try.
        tries: How often to try; waits double from half a second.

    Raises:
        ModelServiceError: The service refuses or stays away; the text has the address and what it said.
        RunCancelled: The run's cancel token was set.
    """
    from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

    run = current_run()
    cancel = run.cancel if run is not None else None
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}

    def pause(wait: float) -> None:
        if cancel is None:
            time_sleep(wait)
        else:
            cancel.wait(wait)
            cancel.raise_if_cancelled()

    retrying = Retrying(
        stop=stop_after_attempt(max(1, tries)),
        wait=wait_random_exponential(_FIRST_WAIT, _LONGEST_WAIT),
        retry=retry_if_exception(lambda error: isinstance(error, ToolServiceError) and error.code in _PASSING),
        sleep=pause,
        reraise=True,
    )
    try:
        response = retrying(
            lambda: fetch(
                address,
                method="POST",
                json_body=dict(body),
                headers=headers,
                seconds=seconds,
                allow_private=True,
                cancel=cancel,
            ).raise_for_status()
        )
        return response.json()
    except ToolServiceError as error:
        raise ModelServiceError(error, error.code, f"{address}: {error.message}") from error


def time_sleep(seconds: float) -> None:
    """Waits."""
    import time

    time.sleep(seconds)
