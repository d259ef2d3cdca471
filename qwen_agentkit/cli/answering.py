"""One answer: runs an agent, shows its text and tool calls as they come, and says what it rests on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from qwen_agentkit.agent import Agent
from qwen_agentkit.cancel import CancelToken
from qwen_agentkit.cli.citations import citation_line
from qwen_agentkit.cli.interrupts import stopping
from qwen_agentkit.cli.sources import Problem, Sources
from qwen_agentkit.cli.terminal import is_quiet, remark, write
from qwen_agentkit.schema import ASSISTANT, FUNCTION

if TYPE_CHECKING:
    from qwen_agentkit.rag.explain import Explanation
    from qwen_agentkit.session import Session

_LONGEST_SHOWN = 200

QUOTED = "Quoted from the documents: no model is configured (qwen-agentkit {command} --help shows how)."
NO_MODEL = "No model is configured (qwen-agentkit {command} --help shows how)."


@dataclass
class Answer:
    """What an agent said.

    Args:
        messages: The response, dicts; may be taken into the conversation.
        stopped: Whether Ctrl-C ended it early.
    """

    messages: list[dict[str, Any]] = field(default_factory=list)
    stopped: bool = False

    @property
    def message(self) -> dict[str, Any]:
        """The last message that says something, an empty one when nothing was said."""
        said = (message for message in reversed(self.messages) if _text(message))
        return next(said, {"role": ASSISTANT, "content": ""})

    @property
    def text(self) -> str:
        return _text(self.message)

    @property
    def citations(self) -> list[dict[str, Any]]:
        return list((self.message.get("extra") or {}).get("citations") or [])

    @property
    def answered(self) -> bool:
        """What the agent says of it; where it says nothing, whether there is any text."""
        told = (self.message.get("extra") or {}).get("answered")
        return bool(self.text) if told is None else bool(told)

    def to_json(self, problems: Sequence[Problem], model: str) -> dict[str, Any]:
        """The object that `--json` prints."""
        return {
            "answer": self.text,
            "answered": self.answered,
            "citations": [{**citation, "file": citation["source"]} for citation in self.citations],
            "problems": list(problems),
            "model": model,
        }


def answer(agent: Agent, conversation: list[dict[str, Any]], show: bool, session: Session | None = None) -> Answer:
    """Runs the agent over the conversation.

    Args:
        agent: The agent.
        conversation: Messages, the last one the user's.
        show: Whether to write text to standard output and tool calls to standard error as they come.
        session: A stored conversation that comes before, and that keeps what is said.

    Returns:
        What was said. Ctrl-C stops the run and keeps what there is.
    """
    token, result = CancelToken(), Answer()
    screen = _Screen(write if show else lambda text: None, remark if show else lambda line: None)
    with stopping(token):
        given = {} if session is None else {"session": session}
        try:
            for response in agent.run(conversation, cancel=token, **given):
                result.messages = cast("list[dict[str, Any]]", response)
                screen.update(result.messages)
        except TimeoutError:
            # Ctrl-C while another run has the session: nothing was said, and nothing went wrong.
            if not token.cancelled:
                raise
    screen.end()
    result.stopped = token.cancelled
    return result


def show_sources(result: Answer, sources: Sources, extractive: bool, command: str) -> None:
    """Writes the sources of an answer under it, and the remark of an answer that no model wrote."""
    lines = [citation_line(citation, sources) for citation in result.citations]
    if extractive and not is_quiet():
        lines.append((QUOTED if lines else NO_MODEL).format(command=command))
    if lines:
        write("\n")
        for line in lines:
            write(line + "\n", "dim")


def show_explanations(explanations: Sequence[Explanation]) -> None:
    """Writes how the passages that fit best came to their scores."""
    for explanation in explanations:
        write("\n")
        write(f"{explanation}\n", "dim")


class _Screen:
    """Writes what grew between one yield of a run and the next."""

    def __init__(self, out: Callable[[str], None], aside: Callable[[str], None]) -> None:
        self._out = out
        self._aside = aside
        self._written: list[str] = []
        self._line_open = False

    def update(self, messages: list[dict[str, Any]]) -> None:
        for index, message in enumerate(messages):
            if index == len(self._written):
                self._written.append("")
                self._begin(message)
            text = _text(message)
            before = self._written[index]
            if text == before:
                continue
            if text.startswith(before):
                self._write(text[len(before) :])
            else:
                # The agent took back what it had said.
                self.end()
                self._write(text)
            self._written[index] = text

    def _begin(self, message: dict[str, Any]) -> None:
        self.end()
        call = message.get("function_call")
        if call:
            self._aside(f"[{call['name']}] {_short(call['arguments'])}")
        elif message["role"] == FUNCTION:
            self._aside(f"[{message.get('name')}] -> {_short(_content(message))}")

    def _write(self, text: str) -> None:
        self._out(text)
        self._line_open = not text.endswith("\n")

    def end(self) -> None:
        """Ends the line that text was written on."""
        if self._line_open:
            self._out("\n")
            self._line_open = False


def _text(message: dict[str, Any]) -> str:
    """What a message says to the user; "" for tool calls and their results."""
    if message["role"] != ASSISTANT or message.get("function_call"):
        return ""
    return _content(message)


def _content(message: dict[str, Any]) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    return "".join(item.get("text") or "" for item in content)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_SHOWN else line[:_LONGEST_SHOWN] + "…"
