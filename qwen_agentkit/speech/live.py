"""`speak_live`: an agent's answer as sound, sentence by sentence, while it is still being written.

Three stages in threads of their own, joined by bounded queues: the agent writes, its text is cut into sentences, the
voice speaks them one after the other. So the first sound leaves before the second sentence is written, and a slow
voice or a slow listener slows the agent down in place of filling memory.
"""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from qwen_agentkit.agent import Agent
from qwen_agentkit.cancel import CancelToken
from qwen_agentkit.log import logger
from qwen_agentkit.run_context import RunContext
from qwen_agentkit.schema import Message, messages_from
from qwen_agentkit.speech.link import Ended, Link
from qwen_agentkit.speech.sentences import SHORTEST, SpokenSentences
from qwen_agentkit.speech.voice import Voice
from qwen_agentkit.utils.answer_text import TEXT, AnswerText

# Items that may wait between two stages: pieces of text, sentences, pieces of sound.
TEXTS, SENTENCES, SOUNDS = 256, 16, 64

# Seconds of silence of the model after which a sentence that looks complete is taken for it.
PATIENCE = 0.25


@dataclass(frozen=True)
class Audio:
    """A piece of sound.

    Args:
        number: Which sentence it belongs to, from 1.
        text: The sentence, with its first piece; "" with the others.
        data: The sound, in the voice's `media_type`.
    """

    number: int
    text: str
    data: bytes


@dataclass(frozen=True)
class SentenceSkipped:
    """A sentence that could not be spoken; the next follow.

    Args:
        number: Which one.
        text: What it says.
        error: Why, in one line.
    """

    number: int
    text: str
    error: str


@dataclass(frozen=True)
class SpeechEnded:
    """The last event.

    Args:
        reason: `answered`, another `extra["end"]` of the answer, or why it was cancelled.
        response: The agent's response.
        sentences: Sentences that were spoken.
        skipped: Sentences that could not be.
        first_audio_seconds: From the call to the first sound; None when there was none.
        seconds: From the call to the end.
    """

    reason: str
    response: list[Message] = field(default_factory=list)
    sentences: int = 0
    skipped: int = 0
    first_audio_seconds: float | None = None
    seconds: float = 0.0


SpeechEvent = Audio | SentenceSkipped | SpeechEnded


def speak_live(
    agent: Agent,
    messages: Sequence[Message | dict],
    voice: Voice,
    *,
    shortest: int = SHORTEST,
    patience: float = PATIENCE,
    cancel: CancelToken | None = None,
    **kwargs: Any,
) -> Iterator[SpeechEvent]:
    """Runs an agent and speaks its answer. Thinking, tool calls and their results are not spoken.

    Args:
        agent: The agent.
        messages: As for `Agent.run`.
        voice: Speaks; see `OpenAIVoice` and `DashScopeVoice`.
        shortest: Characters of a piece at least; shorter sentences are spoken together with the next.
        patience: Seconds without new text after which a sentence that looks complete is spoken.
        cancel: Stops all three stages.
        **kwargs: As for `Agent.run`.

    Yields:
        `Audio` in the order of the text, `SentenceSkipped` in the place of what failed, and `SpeechEnded` last.

    Raises:
        Exception: What the agent's run raised, after what was written before has been spoken.
        ValueError: Something in `messages` is no message (raised by this call).
    """
    conversation = messages_from(messages)
    return _LiveSpeech(agent, conversation, voice, SpokenSentences(shortest), patience, cancel, kwargs).events()


class _LiveSpeech:
    """The three stages of one answer."""

    def __init__(
        self,
        agent: Agent,
        messages: list[Message],
        voice: Voice,
        sentences: SpokenSentences,
        patience: float,
        cancel: CancelToken | None,
        kwargs: dict[str, Any],
    ) -> None:
        self._agent = agent
        self._messages = messages
        self._voice = voice
        self._sentences = sentences
        self._patience = patience
        self._kwargs = kwargs
        self._cancel = CancelToken(cancel)
        self._texts: Link[str] = Link(TEXTS, self._cancel)
        self._pieces: Link[str] = Link(SENTENCES, self._cancel)
        self._sounds: Link[Audio | SentenceSkipped] = Link(SOUNDS, self._cancel)
        self._response: list[Message] = []
        self._error: Exception | None = None

    def events(self) -> Iterator[SpeechEvent]:
        """See `speak_live`."""
        began = time.monotonic()
        first: float | None = None
        spoken: set[int] = set()
        skipped = 0
        for stage, work, link in (
            ("agent", self._write, self._texts),
            ("sentences", self._cut, self._pieces),
            ("voice", self._speak, self._sounds),
        ):
            context = contextvars.copy_context()
            thread = threading.Thread(
                target=context.run, args=(self._stage, work, link), name=f"qwen-agentkit-{stage}", daemon=True
            )
            thread.start()
        try:
            while True:
                try:
                    event = self._sounds.get()
                except Ended:
                    break
                if isinstance(event, Audio):
                    first = time.monotonic() - began if first is None else first
                    spoken.add(event.number)
                else:
                    skipped += 1
                yield event
            if self._error is not None and not self._cancel.cancelled:
                raise self._error
            yield SpeechEnded(self._reason(), self._response, len(spoken), skipped, first, time.monotonic() - began)
        finally:
            self._cancel.cancel("closed")
            self._cancel.detach()

    def _reason(self) -> str:
        if self._cancel.cancelled:
            return self._cancel.reason or "cancelled"
        extra = (self._response[-1].extra or {}) if self._response else {}
        return extra.get("end") or "answered"

    def _stage(self, work: Callable[[], None], link: Link[Any]) -> None:
        try:
            work()
        except Exception as error:
            self._error = self._error or error
        finally:
            link.end()

    def _write(self) -> None:
        """First stage: the agent."""
        answer = AnswerText()
        for response in self._agent.run(self._messages, **{**self._kwargs, "cancel": self._cancel}):
            self._response = response
            for kind, piece in answer.grow(response):
                if kind == TEXT and not self._texts.put(piece):
                    return

    def _cut(self) -> None:
        """Second stage: sentences."""
        while True:
            try:
                pieces = self._sentences.feed(self._texts.get(self._patience))
            except TimeoutError:
                pieces = self._sentences.pause()
            except Ended:
                break
            for piece in pieces:
                self._pieces.put(piece)
        for piece in self._sentences.flush():
            self._pieces.put(piece)

    def _speak(self) -> None:
        """Third stage: the voice, in a run of its own, so that a cancel ends its requests."""
        run = RunContext("voice", cancel=self._cancel)
        try:
            run.enter().run(self._speak_all)
        finally:
            run.close()

    def _speak_all(self) -> None:
        number = 0
        while not self._cancel.cancelled:
            try:
                text = self._pieces.get()
            except Ended:
                return
            number += 1
            unsaid = text
            try:
                for data in self._voice.speak(text):
                    if data and not self._sounds.put(Audio(number, unsaid, data)):
                        return
                    unsaid = "" if data else unsaid
            except Exception as error:
                if self._cancel.cancelled:
                    return
                logger.warning("A sentence could not be spoken: %s", error)
                self._sounds.put(SentenceSkipped(number, text, str(error) or type(error).__name__))
