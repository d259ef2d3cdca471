"""The models behind a model: who is asked when it fails, and which of them to leave out."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.events import ModelSwitched
from qwen_agentkit.llm._transport import after_fork
from qwen_agentkit.llm.length import count_input_tokens
from qwen_agentkit.llm.profiles import profile_of
from qwen_agentkit.llm.service_errors import kind_of
from qwen_agentkit.log import logger
from qwen_agentkit.run_context import current_run

if TYPE_CHECKING:
    from qwen_agentkit.llm.base import BaseChatModel
    from qwen_agentkit.llm.reply import Reply
    from qwen_agentkit.llm.request import Ask

# A service that failed so often in a row is left out for so many seconds, while there is another to ask.
FAILURES_TO_OPEN = 3
SECONDS_OPEN = 30.0

# Failures that tell of the service's health, not of one request.
HEALTH = frozenset({"connection", "dns", "connect_timeout", "read_timeout", "server_error", "broken_stream"})
# Failures that another model would meet as well.
_EVERYWHERE = frozenset({"bad_request"})


class AskAnother(Exception):
    """The next model of the chain is to be asked; never leaves this package.

    Args:
        reply: What was shown of the answer so far, to go on from.
        reason: Why, for the event.
        error: The failure, None when there was none (an empty reply).
    """

    def __init__(self, reply: Reply | None, reason: str, error: ModelServiceError | None = None) -> None:
        super().__init__(reason)
        self.reply = reply
        self.reason = reason
        self.error = error


class CircuitBreaker:
    """Remembers, for the whole process, which services fail again and again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failures: dict[str, int] = {}
        self._open_until: dict[str, float] = {}

    def is_open(self, service: str) -> bool:
        """Whether a service is to be left out now. After `SECONDS_OPEN` one request may try it again."""
        with self._lock:
            return time.monotonic() < self._open_until.get(service, 0.0)

    def failed(self, service: str) -> None:
        with self._lock:
            self._failures[service] = self._failures.get(service, 0) + 1
            if self._failures[service] >= FAILURES_TO_OPEN:
                self._open_until[service] = time.monotonic() + SECONDS_OPEN

    def worked(self, service: str) -> None:
        with self._lock:
            self._failures.pop(service, None)
            self._open_until.pop(service, None)


breaker = CircuitBreaker()


def _begin_anew() -> None:
    global breaker
    breaker = CircuitBreaker()


after_fork(_begin_anew)


def candidates(model: BaseChatModel, ask: Ask) -> list[BaseChatModel]:
    """The models to ask in turn: the model and its fallbacks, without those that cannot take the input.

    When none can, the model itself is asked all the same: its service knows best.
    """
    chain = [model, *model.fallbacks()]
    if len(chain) == 1:
        return chain
    reasons = [unfit_for(one, ask) for one in chain]
    fit = [one for one, reason in zip(chain, reasons, strict=True) if reason is None]
    for one, reason in zip(chain, reasons, strict=True):
        if reason is not None:
            logger.info("The model %s is not asked: %s", one.model, reason)
    if fit and reasons[0] is not None:
        report_switch(model, fit[0], reasons[0])
    return fit or [model]


def report_switch(source: BaseChatModel, target: BaseChatModel, reason: str) -> None:
    """Logs that another model takes over, and tells the run's listeners."""
    logger.warning("The model %s takes over from %s: %s", target.model, source.model, reason)
    run = current_run()
    if run is not None:
        run.emit(ModelSwitched, source=source.model, target=target.model, reason=reason)


def is_for_another(error: ModelServiceError) -> bool:
    """Whether another model may do better after this error."""
    return kind_of(error) not in _EVERYWHERE


def unfit_for(model: BaseChatModel, ask: Ask) -> str | None:
    """Why a model of a chain need not be asked at all, None when it should be."""
    if breaker.is_open(model.service):
        return "it failed several times just now"
    kinds = {item.type for message in ask.messages if isinstance(message.content, list) for item in message.content}
    if kinds & {"image", "video"} and not model.support_multimodal_input:
        return "it takes no images"
    if "audio" in kinds and not model.support_audio_input:
        return "it takes no audio"
    profile = profile_of(model)
    if ask.functions and profile.tools is False:
        return "it takes no tools"
    if profile.context_window:
        tokens = count_input_tokens(ask.messages, ask.functions)
        if tokens > profile.context_window:
            return f"its context holds {profile.context_window} tokens, and the messages are about {tokens}"
    return None
