"""A chat model that replays a script, so that an agent's own behaviour can be tested.

model = ScriptedChatModel([call("weather", city="Oslo"), "It is 21 degrees in Oslo."])
bot = Assistant(llm=model, function_list=[weather])
assert bot.run_nonstream([{"role": "user", "content": "Oslo?"}])[-1]["content"].endswith("Oslo.")
assert model.requests[1].messages[-1].role == "function"
model.assert_complete()
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.limits import Usage
from qwen_agentkit.llm.base import BaseChatModel
from qwen_agentkit.llm.delta import Delta, ToolCallDelta, deltas_of
from qwen_agentkit.llm.dialects import get_dialect
from qwen_agentkit.llm.request import ModelRequest
from qwen_agentkit.llm.retry import sleep
from qwen_agentkit.schema import Message, messages_from


@dataclass(frozen=True)
class ScriptedCall:
    """A tool call in a script. `arguments` is the text that the model is to give, right or wrong JSON."""

    name: str
    arguments: str = "{}"
    id: str | None = None


def call(
    name: str, /, arguments: str | Mapping[str, Any] | None = None, id: str | None = None, **named: Any
) -> ScriptedCall:
    """A tool call for a script.

    Args:
        name: Name of the tool.
        arguments: The arguments as a dict, or as text that is given to the agent as it is (also wrong JSON).
        id: Id of the call; None makes a fresh one.
        **named: The arguments by name, in place of `arguments`.
    """
    if arguments is not None and named:
        raise ValueError("call() takes the arguments either as one dict or text, or by name")
    if isinstance(arguments, str):
        return ScriptedCall(name, arguments, id)
    return ScriptedCall(name, json.dumps(dict(arguments or named), ensure_ascii=False), id)


@dataclass(frozen=True)
class ScriptedReply:
    """One reply of a script, with everything that can be set about it.

    Args:
        text: The answer's text; calls in a text dialect may be written into it.
        reasoning: The thinking.
        calls: Native tool calls.
        chunks: The text in these pieces, in place of the model's `chunk_size`.
        delay: Seconds before each piece.
        finish_reason: Why the reply ended; `tool_calls` or `stop` by default.
        usage: What the service would count; None leaves it to be estimated.
        error: Raised in place of the reply, or after `fail_after` pieces of it.
        fail_after: Pieces of text to give before `error` (a broken connection by default).
        hang_after: Pieces to give before waiting for ever (until the run is cancelled).
    """

    text: str = ""
    reasoning: str = ""
    calls: Sequence[ScriptedCall] = ()
    chunks: Sequence[str] | None = None
    delay: float = 0.0
    finish_reason: str | None = None
    usage: Usage | None = None
    error: BaseException | type[BaseException] | None = None
    fail_after: int | None = None
    hang_after: int | None = None


def reply(text: str = "", *calls: ScriptedCall, **settings: Any) -> ScriptedReply:
    """A reply of text and calls, with the settings of `ScriptedReply`."""
    return ScriptedReply(text=text, calls=calls, **settings)


@dataclass(frozen=True)
class SeenRequest:
    """One request that the scripted model got.

    Args:
        messages: The conversation as a service would see it.
        functions: Schemas of the tools offered natively.
        generate_cfg: Settings that would go to the service.
        request: The whole request.
    """

    messages: list[Message]
    functions: list[dict[str, Any]]
    generate_cfg: dict[str, Any]
    request: ModelRequest

    @property
    def function_names(self) -> list[str]:
        return [function["name"] for function in self.functions]


# What an entry of a script may be.
Scripted = (
    str
    | ScriptedCall
    | ScriptedReply
    | Message
    | Mapping[str, Any]
    | BaseException
    | type[BaseException]
    | Sequence["str | ScriptedCall | Message | Mapping[str, Any]"]
)


@dataclass
class _Script:
    """The script's state, shared by copies of a model (an agent may copy what it is given)."""

    entries: list[Any]
    requests: list[SeenRequest] = field(default_factory=list)
    position: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __deepcopy__(self, memo: dict[int, Any]) -> _Script:
        return self


class ScriptedChatModel(BaseChatModel):
    """A chat model that gives the replies of a script, in order.

    An entry of the script is: text; `call(...)`; a list of texts and calls (one reply); `reply(...)`; a `Message` or
    its dict, or a list of them; an exception, which is raised; or a function that gets the `ModelRequest` and
    returns one of these.

    Args:
        script: The entries.
        chunk_size: Characters of a streamed piece of text; None gives each text as one piece.
        repeat: Begin again when the script is over; else a further request is an AssertionError.
        cfg: Configuration as of any chat model; `generate_cfg` may set `fncall_prompt_type` to test a text dialect. A
            failure ends the request unless `max_retries` or `transport_retries` is set there.

    Attributes:
        requests: The `SeenRequest`s so far.
    """

    model = "scripted"
    model_type = "scripted"
    native_tools = True

    def __init__(
        self,
        script: Iterable[Scripted | Callable[[ModelRequest], Scripted]] = (),
        *,
        chunk_size: int | None = None,
        repeat: bool = False,
        cfg: Mapping[str, Any] | None = None,
    ) -> None:
        if isinstance(script, (str, ScriptedCall, ScriptedReply, Mapping)):
            raise ValueError("The script is a list of replies; put the one reply into a list")
        if chunk_size is not None and chunk_size < 1:
            raise ValueError(f"chunk_size is at least 1 or None, not {chunk_size!r}")
        # A script means each of its replies, the empty ones and the failures too.
        generate_cfg = {
            "empty_reply": "accept",
            "transport_retries": 0,
            "retry_wait": 0.0,
            **((cfg or {}).get("generate_cfg") or {}),
        }
        super().__init__({**(cfg or {}), "generate_cfg": generate_cfg})
        self._script = _Script(list(script))
        self._chunk_size = chunk_size
        self._repeat = repeat

    @property
    def support_multimodal_input(self) -> bool:
        return bool(self.cfg.get("multimodal", False))

    @property
    def requests(self) -> list[SeenRequest]:
        with self._script.lock:
            return list(self._script.requests)

    @property
    def remaining(self) -> int:
        """Entries of the script that have not been given yet."""
        with self._script.lock:
            return max(0, len(self._script.entries) - self._script.position)

    def assert_complete(self) -> None:
        """Raises AssertionError unless every entry of the script was given."""
        if self.remaining:
            raise AssertionError(
                f"{self.remaining} of {len(self._script.entries)} scripted replies were not asked for; "
                f"the next is {self._script.entries[self._script.position]!r}"
            )

    def takes_beginnings(self, options: Any) -> bool:
        return bool(self.cfg.get("takes_beginnings", True))

    def _next(self, request: ModelRequest) -> Any:
        script = self._script
        with script.lock:
            script.requests.append(
                SeenRequest(messages_from(request.messages), request.functions, dict(request.generate_cfg), request)
            )
            if script.position >= len(script.entries):
                if not (self._repeat and script.entries):
                    raise AssertionError(
                        f"The script of {len(script.entries)} replies is over, but the model is asked again; "
                        f"the last message is {str(request.messages[-1])[:300]}"
                    )
                script.position = 0
            entry = script.entries[script.position]
            script.position += 1
        return entry(request) if callable(entry) and not isinstance(entry, type) else entry

    def _deltas(self, request: ModelRequest) -> Iterator[Delta]:
        entry = self._next(request)
        if isinstance(entry, BaseException) or (isinstance(entry, type) and issubclass(entry, BaseException)):
            raise entry
        if isinstance(entry, (Message, Mapping)) or (
            isinstance(entry, (list, tuple)) and entry and all(isinstance(one, (Message, Mapping)) for one in entry)
        ):
            messages = messages_from(entry if isinstance(entry, (list, tuple)) else [entry])
            yield from deltas_of([messages])
            return
        scripted = _reply_of(entry)
        if scripted.calls and not request.functions and request.options.fncall_prompt_type:
            dialect = get_dialect(request.options.fncall_prompt_type)
            written = dialect.reply_text([(one.name, one.arguments) for one in scripted.calls])
            text = f"{scripted.text}\n{written}" if scripted.text else written
            scripted = replace(scripted, text=text, calls=())
        yield from self._pieces(scripted, request.stream)

    def _pieces(self, scripted: ScriptedReply, stream: bool) -> Iterator[Delta]:
        if scripted.error is not None and scripted.fail_after is None:
            raise scripted.error
        deltas = [Delta(reasoning=piece) for piece in self._cut(scripted.reasoning)]
        chunks = self._cut(scripted.text) if scripted.chunks is None else list(scripted.chunks)
        deltas += [Delta(text=piece) for piece in chunks]
        for index, one in enumerate(scripted.calls):
            # As services do: id and name first, then the arguments.
            deltas.append(Delta(tool_calls=[ToolCallDelta(index, one.id, one.name, None)]))
            deltas += [Delta(tool_calls=[ToolCallDelta(index, arguments=piece)]) for piece in self._cut(one.arguments)]
        reason = scripted.finish_reason or ("tool_calls" if scripted.calls else "stop")
        deltas.append(Delta(finish_reason=reason, usage=scripted.usage))
        for position, delta in enumerate(deltas):
            if scripted.fail_after is not None and position == scripted.fail_after:
                raise scripted.error or ModelServiceError(
                    message="The scripted connection broke", extra={"kind": "broken_stream"}
                )
            if scripted.hang_after is not None and position == scripted.hang_after:
                while True:
                    sleep(0.5)
            if scripted.delay:
                sleep(scripted.delay)
            if stream:
                yield delta
        if not stream:
            yield from deltas

    def _cut(self, text: str) -> list[str]:
        size = self._chunk_size or max(1, len(text))
        return [text[start : start + size] for start in range(0, len(text), size)]


def _reply_of(entry: Any) -> ScriptedReply:
    if isinstance(entry, ScriptedReply):
        return entry
    parts = list(entry) if isinstance(entry, (list, tuple)) else [entry]
    texts: list[str] = []
    calls: list[ScriptedCall] = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, ScriptedCall):
            calls.append(part)
        else:
            raise ValueError(f"A script holds texts, call(...), reply(...), messages and exceptions, not {part!r}")
    return ScriptedReply(text="".join(texts), calls=calls)
