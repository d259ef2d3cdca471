"""`Agent`: the base of every agent, and `BasicAgent`, the smallest one.

A subclass writes `_run`, an ordinary generator; streaming, async, events, cancel, limits, usage and serving
come from here.

Keys that the framework uses in a message's `extra` (all JSON, none is sent to a model): `function_id`, `end`,
`usage`, `citations`, `unsupported`, `answered`, `parsed`, `repaired`, `truncated`, `handoff`,
`model_service_info`. A program's own keys pass through untouched.
"""

from __future__ import annotations

import asyncio
import copy
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from qwen_agentkit import run_context
from qwen_agentkit.cancel import CancelToken
from qwen_agentkit.events import Event
from qwen_agentkit.limits import RunLimits
from qwen_agentkit.log import logger
from qwen_agentkit.run_context import Reader, RunContext, current_run
from qwen_agentkit.run_driver import drive
from qwen_agentkit.run_stream import produce_in_thread
from qwen_agentkit.schema import USER, ContentItem, Message, messages_from
from qwen_agentkit.snapshots import Snapshots
from qwen_agentkit.system_message import with_system_message
from qwen_agentkit.typed_answer import is_output_type, with_type
from qwen_agentkit.utils.generate_cfg import merge_generate_cfgs
from qwen_agentkit.utils.language import detect_language
from qwen_agentkit.utils.signatures import declared

if TYPE_CHECKING:
    from qwen_agentkit.conversation import Conversation
    from qwen_agentkit.llm.base import BaseChatModel
    from qwen_agentkit.session.session import Session
    from qwen_agentkit.tools.base import BaseTool

# The argument by which `run` tells itself which session a run is in; not a name that a program would use.
SESSION_KEY = "_session_key"
ON_LIMIT = ("answer", "return", "raise")


class Agent(ABC):
    """An agent: something that answers a conversation.

    It is not changed by running: one instance may serve many runs at once.

    Args:
        function_list: Tools: a registered name, a dict with `name` and settings, a dict with `mcpServers`,
            a `BaseTool`, or a plain function.
        llm: A model configuration (see `qwen_agentkit.llm.get_chat_model`), a model, or None.
        system_message: Put before the conversation, or in front of its own system message.
        name: Who the agent is; its messages carry it.
        description: What it is for; teams and routers read it.
        on_limit: What happens when a limit ends the run: `answer` (a last call without tools gives the best
            answer so far), `return` (the run ends with what there is), `raise` (RunLimitExceeded).
        **kwargs: Ignored, so that subclasses may share configurations.

    Raises:
        ValueError: An unknown tool, an unusable model configuration.
    """

    def __init__(
        self,
        function_list: Sequence[str | dict | BaseTool | Callable] | None = None,
        llm: dict | str | BaseChatModel | None = None,
        system_message: str | None = "",
        name: str | None = None,
        description: str | None = None,
        on_limit: str = "answer",
        **kwargs: Any,
    ) -> None:
        if on_limit not in ON_LIMIT:
            raise ValueError(f"on_limit is one of {', '.join(ON_LIMIT)}, not {on_limit!r}")
        self.llm: BaseChatModel | None = _model_of(llm)
        self.extra_generate_cfg: dict[str, Any] = {}
        self.function_map: dict[str, BaseTool] = {}
        for tool in function_list or ():
            self._init_tool(tool)
        self.system_message = system_message
        self.name = name
        self.description = description
        self.on_limit = on_limit

    # ---- running -------------------------------------------------------------------------------------------

    def run(self, messages: Sequence[Message | dict], **kwargs: Any) -> Iterator[list[Any]]:
        """Answers a conversation, streaming.

        Args:
            messages: The conversation, `Message` objects or dicts. It is copied now and never changed.
            **kwargs: `lang` (`zh` or `en`, else found from the text); `cancel` (a `CancelToken`); `limits`
                (`RunLimits`); `output_type` (a type or JSON schema that the answer must have, see `parsed`);
                `session` (a stored `Session`: its history comes first, and what is said is kept in it); anything else
                goes to `_run` and on to the tools.

        Yields:
            The whole response so far, never the prompt; the last one is the answer. Dicts when every input
            message is a dict (and there is one), else `Message` objects. A yielded list never changes again.

        Raises:
            ValueError: Something in `messages` is no message (raised by this call, not by the first step).
        """
        as_dicts = bool(messages) and all(isinstance(message, dict) for message in messages)
        conversation = messages_from(messages)
        if kwargs.get("session") is not None and is_session(kwargs["session"]):
            from qwen_agentkit.session_run import run_in_session

            session = kwargs.pop("session")
            return run_in_session(self.run, conversation, session, as_dicts, {**kwargs, SESSION_KEY: session.key})
        cancel = kwargs.pop("cancel") if isinstance(kwargs.get("cancel"), CancelToken) else None
        limits = kwargs.pop("limits") if isinstance(kwargs.get("limits"), RunLimits) else None
        session_key = kwargs.pop(SESSION_KEY, None)
        wanted = kwargs.pop("output_type") if is_output_type(kwargs.get("output_type")) else None
        if kwargs.get("lang") is None:
            kwargs["lang"] = detect_language(conversation)
        conversation = with_system_message(conversation, self.system_message)
        asked = run_context.reader.get() or Reader()
        run = RunContext(self.name, current_run(), cancel, limits, asked.sink, asked.loop, kwargs["lang"])
        run.as_dicts, run.output_type = as_dicts, wanted
        run.session_key = session_key or run.session_key
        lang, arguments = kwargs["lang"], declared(type(self)._run, kwargs)

        def start() -> Iterator[list[Message]]:
            steps = self._run(conversation, **arguments)
            return steps if wanted is None else with_type(self, steps, conversation, wanted, lang)

        return drive(
            run,
            start,
            Snapshots(run, self.name, as_dicts),
            _close_history,
            raise_on_limit=self.on_limit == "raise",
        )

    def run_nonstream(self, messages: Sequence[Message | dict], **kwargs: Any) -> list[Any]:
        """The last yield of `run`; [] when nothing was yielded."""
        last: deque[list[Any]] = deque(self.run(messages, **kwargs), maxlen=1)
        return last[0] if last else []

    async def arun(self, messages: Sequence[Message | dict], **kwargs: Any) -> AsyncIterator[list[Any]]:
        """`run` for asyncio: the same yields, made in a worker thread; async tools run on the caller's loop.

        Leaving the loop, or cancelling the task, cancels the run.
        """
        cancel = self._own_cancel(kwargs)
        reader = Reader(loop=asyncio.get_running_loop())

        def produce(put: Callable[[Any], None]) -> None:
            run_context.reader.set(reader)  # in this thread's copy of the context
            for response in self.run(messages, **kwargs):
                put(response)

        channel = produce_in_thread(produce, name=f"arun-{self.name or type(self).__name__}")
        items = channel.aiter()
        try:
            async for response in items:
                yield response
        finally:
            cancel.cancel("closed")
            channel.close()
            await items.aclose()

    def run_events(self, messages: Sequence[Message | dict], **kwargs: Any) -> Iterator[Event]:
        """`run` as events, those of sub-agents and tools included, as they happen.

        Args:
            messages: As for `run`.
            **kwargs: As for `run`.

        Yields:
            Events of `qwen_agentkit.events`, from `RunStarted` to `RunEnded`.

        Raises:
            Exception: What `run` would raise, after the `RunEnded` event.
        """
        cancel = self._own_cancel(kwargs)

        def produce(put: Callable[[Any], None]) -> None:
            run_context.reader.set(Reader(sink=put))
            for _ in self.run(messages, **kwargs):
                pass

        channel = produce_in_thread(produce, name=f"events-{self.name or type(self).__name__}")
        try:
            yield from channel
        finally:
            cancel.cancel("closed")
            channel.close()

    @staticmethod
    def _own_cancel(kwargs: dict[str, Any]) -> CancelToken:
        """A token that this reader may cancel when it leaves, following the caller's if there is one."""
        given = kwargs.get("cancel")
        if given is not None and not isinstance(given, CancelToken):
            # `cancel` means something else to this program: leave its argument alone.
            return CancelToken()
        kwargs["cancel"] = CancelToken(given)
        return kwargs["cancel"]

    @abstractmethod
    def _run(self, messages: list[Message], lang: str = "en", **kwargs: Any) -> Iterator[list[Message]]:
        """Answers a conversation: what a subclass writes.

        Args:
            messages: The conversation with the system message in place; the run's own copy.
            lang: `zh` or `en`.
            **kwargs: What was given to `run`.

        Yields:
            The whole response so far.
        """

    def chat(self, text: str, session: Session | None = None, **kwargs: Any) -> str:
        """Says one thing and returns the answer's text.

        Args:
            text: What the user says.
            session: A stored session that this continues; None is a conversation of this one turn.
            **kwargs: As for `run`.
        """
        from qwen_agentkit.conversation import answer_text

        if session is not None:
            kwargs["session"] = session
        return answer_text(self.run_nonstream([Message(USER, text)], **kwargs))

    def conversation(self) -> Conversation:
        """A conversation that holds its own history: `send`, `stream`, `reset`."""
        from qwen_agentkit.conversation import Conversation

        return Conversation(self)

    def as_tool(self, name: str | None = None, description: str | None = None) -> BaseTool:
        """The agent as a tool for another: budgets and cancel are inherited.

        Args:
            name: The tool's name; the agent's by default.
            description: What it is good for; the agent's by default.
        """
        from qwen_agentkit.agent_tool import AgentTool

        return AgentTool(self, name, description)

    # ---- what a _run calls ---------------------------------------------------------------------------------

    def _call_llm(
        self,
        messages: list[Message],
        functions: list[dict] | None = None,
        stream: bool = True,
        extra_generate_cfg: dict | None = None,
        response_format: Any = None,
    ) -> Iterator[list[Message]]:
        """Calls the agent's model.

        Args:
            messages: What to send.
            functions: Tools offered, OpenAI function objects.
            stream: False asks the service for one whole reply; the iterator then yields once.
            extra_generate_cfg: Settings for this call. They win over the agent's; stop words are united.
            response_format: A type or JSON schema that the reply must have.

        Yields:
            The whole reply so far: thinking, text, tool calls, each a message.
        """
        if self.llm is None:
            raise ValueError(f"{self._label()} has no model: give llm={{'model': ...}} to use it")
        reply = self.llm.chat(
            messages=messages,
            functions=functions,
            stream=stream,
            extra_generate_cfg=merge_generate_cfgs(self.extra_generate_cfg, extra_generate_cfg),
            **({} if response_format is None else {"response_format": response_format}),
        )
        return iter([reply]) if isinstance(reply, list) else reply

    def _call_tool(self, tool_name: str, tool_args: str | dict = "{}", **kwargs: Any) -> str | list[ContentItem]:
        """Runs a tool.

        Args:
            tool_name: Its name.
            tool_args: JSON text or a dict.
            **kwargs: Handed to the tool's `call`.

        Returns:
            What the model gets: text, or content items. A failure is one short line; its traceback goes to
            the log and the event.

        Raises:
            ToolServiceError, DocParserError: As the tool raised them, for the caller to decide.
        """
        from qwen_agentkit.tools.execution import call_tool

        return call_tool(self.function_map, tool_name, tool_args, kwargs)

    def _init_tool(self, tool: str | dict | BaseTool | Callable) -> None:
        """Adds one item of a `function_list` to `function_map`; of two with one name the newest stays."""
        from qwen_agentkit.tools.creation import make_tools

        for made in make_tools(tool):
            if made.name in self.function_map:
                logger.warning("Repeatedly adding tool %s, the newest one is used", made.name)
            self.function_map[made.name] = made

    def _detect_tool(self, message: Message) -> tuple[bool, str | None, str | None, str]:
        """Reads one message of a reply: (is it a tool call, the tool's name, its arguments, the text)."""
        call = message.function_call
        text = message.content if isinstance(message.content, str) else ""
        return call is not None, call.name if call else None, call.arguments if call else None, text or ""

    def _label(self) -> str:
        return f"{type(self).__name__} {self.name!r}" if self.name else type(self).__name__

    def __deepcopy__(self, memo: dict[int, Any]) -> Agent:
        copied = object.__new__(type(self))
        memo[id(self)] = copied
        for key, value in self.__dict__.items():
            setattr(copied, key, copy.deepcopy(value, memo))
        return copied


class BasicAgent(Agent):
    """One model call and nothing else."""

    def _run(
        self, messages: list[Message], lang: str = "en", seed: int | None = None, **kwargs: Any
    ) -> Iterator[list[Message]]:
        settings: dict[str, Any] = {"lang": lang}
        if seed is not None:
            settings["seed"] = seed
        yield from self._call_llm(messages, extra_generate_cfg=settings, **wanted_form())


def _model_of(llm: dict | str | BaseChatModel | None) -> BaseChatModel | None:
    if isinstance(llm, (dict, str)):
        from qwen_agentkit.llm import get_chat_model

        return get_chat_model(llm)
    if llm is not None and not callable(getattr(llm, "chat", None)):
        raise ValueError(f"llm is a model's configuration (a dict), its name, a chat model, or None, not {llm!r}")
    return llm


def is_session(value: Any) -> bool:
    """Whether a run argument of that name is a stored session."""
    from qwen_agentkit.session.session import Session

    return isinstance(value, Session)


def wanted_form() -> dict[str, Any]:
    """The argument by which the last model call of a `_run` gets the run's `output_type`; {} without one."""
    run = current_run()
    return {} if run is None or run.output_type is None else {"response_format": run.output_type}


def _close_history(response: list[Message]) -> list[Message]:
    from qwen_agentkit.llm.history import repair_history

    return repair_history(response)
