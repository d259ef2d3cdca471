"""Which failed requests are made again, when, and how long to wait."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from qwen_agentkit.errors import ModelServiceError, RunCancelled
from qwen_agentkit.events import ModelRetried
from qwen_agentkit.llm.generate_cfg import GenerateOptions
from qwen_agentkit.llm.service_errors import kind_of
from qwen_agentkit.log import logger
from qwen_agentkit.run_context import current_run

# Failures that say nothing against the request itself, and pass by soon: tried again even with max_retries 0. An answer
# that broke off counts as one, because it is only asked for again where nothing is shown twice; so does a call that the
# service could not read.
TRANSPORT = frozenset({"connection", "rate_limited", "conflict", "server_error", "broken_stream", "bad_call"})
# Those, and what may have other causes: tried again when the user asked for retries.
RETRIABLE = TRANSPORT | {"dns", "connect_timeout", "read_timeout", "not_json", "unknown"}


@dataclass
class RetryPolicy:
    """Decides after each failure of one question whether it is asked again.

    Args:
        options: The call's options.
        model: Name of the model, for the event.
        shown: Tells whether the failed attempt had shown anything of an answer.
        may_go_on: Tells whether an answer that has begun to show can be gone on with.
    """

    options: GenerateOptions
    model: str
    shown: Callable[[], bool]
    may_go_on: Callable[[], bool]

    def loop(self) -> Any:
        """A `tenacity.Retrying`: `for attempt in policy.loop(): with attempt: ...`."""
        import tenacity

        return tenacity.Retrying(
            retry=tenacity.retry_if_exception(self._is_retriable),
            stop=self._is_over,
            wait=self._wait,
            sleep=sleep,
            before_sleep=self._report,
            reraise=True,
        )

    def _is_retriable(self, error: BaseException) -> bool:
        if not isinstance(error, ModelServiceError) or kind_of(error) not in RETRIABLE:
            return False
        if ((error.extra or {}).get("retry_after") or 0.0) > self.options.max_retry_wait:
            return False
        return self.may_go_on() if self.shown() else True

    def _is_over(self, state: Any) -> bool:
        error = state.outcome.exception()
        allowed = self.options.max_retries
        if kind_of(error) in TRANSPORT:
            allowed = max(allowed, self.options.transport_retries)
        return state.attempt_number > allowed

    def _wait(self, state: Any) -> float:
        error = state.outcome.exception()
        asked = (error.extra or {}).get("retry_after")
        if asked is not None:
            return float(asked)
        # Twice as long each time, with up to as much again at random, so that many clients do not come back at once.
        base = self.options.retry_wait * 2.0 ** (state.attempt_number - 1)
        return min(self.options.max_retry_wait, base * (1.0 + random.random()))

    def _report(self, state: Any) -> None:
        error = state.outcome.exception()
        wait = state.next_action.sleep
        logger.warning("Attempt %d failed, the next in %.1f s: %s", state.attempt_number, wait, error)
        run = current_run()
        if run is not None:
            run.emit(ModelRetried, model=self.model, attempt=state.attempt_number, reason=str(error.message), wait=wait)


def sleep(seconds: float) -> None:
    """Waits; in a run that is cancelled meanwhile it raises RunCancelled at once."""
    run = current_run()
    if run is None:
        time.sleep(seconds)
    elif run.cancel.wait(seconds):
        raise RunCancelled(run.cancel.reason or "cancelled")
