"""Function-call prompts under Qwen-Agent's names: a thin face over a dialect and the reply parser."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from qwen_agentkit.llm.dialects import get_dialect
from qwen_agentkit.llm.dialects.base import text_of
from qwen_agentkit.llm.dialects.parser import ReplyParser
from qwen_agentkit.schema import ASSISTANT, FUNCTION, Message, messages_from
from qwen_agentkit.utils.language import detect_language


class BaseFnCallPrompt:
    """Writes tools and calls into messages and reads calls out of replies.

    Attributes:
        dialect_name: The dialect (see `llm.dialects`) that does the work; a subclass names another.
    """

    dialect_name = "nous"

    @classmethod
    def preprocess_fncall_messages(
        cls,
        messages: Sequence[Message | Mapping[str, Any]],
        functions: Sequence[Mapping[str, Any]],
        lang: str,
        parallel_function_calls: bool = True,
        function_choice: str = "auto",
        **kwargs: Any,
    ) -> list[Message]:
        """Messages in which tools, past calls and results are text.

        Args:
            messages: The history; it is not changed.
            functions: Schemas of the tools.
            lang: `en` or `zh`.
            parallel_function_calls: Several calls in one reply are allowed.
            function_choice: `auto`, `none`, or the name of the tool that has to be called.
            **kwargs: Ignored.
        """
        return get_dialect(cls.dialect_name).prepare(
            messages_from(messages),
            functions,
            lang=lang,
            function_choice=function_choice,
            parallel=parallel_function_calls,
        )

    @classmethod
    def postprocess_fncall_messages(
        cls,
        messages: Sequence[Message | Mapping[str, Any]],
        parallel_function_calls: bool = True,
        function_choice: str = "auto",
        thought_in_content: bool = False,
        functions: Iterable[Mapping[str, Any]] | None = None,
        **kwargs: Any,
    ) -> list[Message]:
        """A reply whose text holds calls, as messages: thinking, text, one message a call.

        Args:
            messages: The reply as the model gave it; messages of other roles and messages with calls stay as they are.
            parallel_function_calls: False keeps the first call only.
            function_choice: With `none` no calls are looked for.
            thought_in_content: The text begins inside thinking.
            functions: Schemas of the offered tools, where known.
            **kwargs: Ignored.
        """
        read: list[Message] = []
        for message in messages_from(messages):
            if message.role != ASSISTANT or message.function_call is not None:
                read.append(message)
                continue
            parser = ReplyParser(functions, cls.dialect_name, thought_in_content, parse_calls=function_choice != "none")
            parser.feed(text_of(message.content), message.reasoning_content or "")
            for one in parser.finish("stop"):
                one.name = message.name
                if message.extra:
                    one.extra = {**message.extra, **(one.extra or {})}
                read.append(one)
        if parallel_function_calls:
            return read
        calls = [one for one in read if one.function_call is not None]
        return [one for one in read if one.function_call is None or one is calls[0]]

    @classmethod
    def format_plaintext_train_samples(
        cls,
        messages: Sequence[Message | Mapping[str, Any]],
        functions: Sequence[Mapping[str, Any]],
        lang: str = "auto",
        parallel_function_calls: bool = True,
    ) -> list[Message]:
        """A conversation as plain text messages, to train a model on.

        Args:
            messages: A whole conversation with calls and results.
            functions: Schemas of the tools.
            lang: `en`, `zh`, or `auto` for the language of the conversation.
            parallel_function_calls: The conversation may hold several calls in one reply.

        Returns:
            Messages whose content is text.

        Raises:
            ValueError: Several calls stand together though `parallel_function_calls` is False.
        """
        held = messages_from(messages)
        if lang == "auto":
            lang = detect_language(held)
        if not parallel_function_calls and any(
            _together(one, following) for one, following in itertools.pairwise(held)
        ):
            raise ValueError("This conversation has several calls in one reply: it needs parallel_function_calls=True")
        written = cls.preprocess_fncall_messages(held, functions, lang, parallel_function_calls)
        return [one.model_copy(update={"content": text_of(one.content)}) for one in written]


def _together(one: Message, following: Message) -> bool:
    calls = one.function_call is not None and following.function_call is not None
    return calls or (one.role == FUNCTION and following.role == FUNCTION)
