"""`GroupChatCreator`: talks with a user about a group chat to be made, and writes its configuration."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from qwen_agentkit.agent import Agent
from qwen_agentkit.agents.group.prompts import Prompts, check_prompts, prompt
from qwen_agentkit.agents.group.views import text_of
from qwen_agentkit.schema import ASSISTANT, Message
from qwen_agentkit.system_message import appended

BACKGROUND_TOKEN = "<Background>"
CONFIG_TOKEN = "<Config>"
ANSWER_TOKEN = "<Answer>"

# Names of the messages that a response is made of.
BACKGROUND = "background"
ROLE_CONFIG = "role_config"

_TOKEN = re.compile(r"<(Background|Config|Answer)>[ \t]*[:：][ \t]*")
_PARTIAL = re.compile(r"<(?:[A-Z][a-z]*>?)?[ \t]*\Z")

PROMPTS = {
    "create": {
        "en": "You help a user to set up a group chat of several characters. From the theme that the user gives, and "
        "from what they say about it, you write the background of the chat and a configuration for each character. "
        "Without a number from the user there are three. Names differ.\n\n"
        "Answer in exactly this form and add nothing:\n"
        "<Background>: the setting, and how the characters are related\n"
        '<Config>: {{"name": "short name", "description": "who it is, in a few words", "instructions": "what the '
        'character is to do and how it speaks, addressed as you, keeping all that the user asked for"}}\n'
        "<Config>: the next character, and so on\n"
        "<Answer>: what you say to the user, with an open question about what they would like to change\n\n"
        "Later leave out the background and those characters that stay as they are; the answer is always there.",
        "zh": "你帮助用户建立一个由若干角色组成的群聊。请根据用户给出的主题和要求，写出群聊的背景和每个角色的配置。"
        "用户没有说明人数时就写三个角色，名字互不相同。\n\n请严格使用下面的格式，不要添加其他内容：\n"
        "<Background>: 群聊的背景，以及角色之间的关系\n"
        '<Config>: {{"name": "简短的名字", "description": "一句话简介", "instructions": "角色要做什么、怎样说话，'
        '以“你”来称呼，并保留用户提出的所有要求"}}\n'
        "<Config>: 下一个角色，依此类推\n"
        "<Answer>: 你对用户说的话，用一个开放的问题询问想怎样修改\n\n"
        "之后的回合可以省略不需要修改的背景和角色，但每次都要有 <Answer>。",
    }
}


class GroupChatCreator(Agent):
    """Answers with up to three kinds of messages, told apart by their name.

    `background` (text), `role_config` (one message a character, JSON with `name`, `description`, `instructions`),
    and last the answer to the user under the agent's own name.

    Args:
        function_list, llm, name, description: As for `Agent`.
        prompts: `create`, in place of the default; the three tokens must stay in it.
        **kwargs: As for `Agent`.
    """

    def __init__(
        self,
        function_list: Any = None,
        llm: Any = None,
        name: str | None = None,
        description: str | None = None,
        prompts: Prompts | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(function_list, llm, name=name, description=description, **kwargs)
        check_prompts(prompts, PROMPTS)
        self._prompts = dict(prompts or {})

    def _run(self, messages: list[Message], lang: str = "en", **kwargs: Any) -> Iterator[list[Message]]:
        asked = appended(_joined(messages), prompt(self._prompts, "create", lang, PROMPTS).format())
        written = Written()
        reply: list[Message] = []
        for reply in self._call_llm(asked, extra_generate_cfg={"lang": lang}):
            written = read(_text(reply), whole=False)
            if written.parts:
                yield self._messages(written)
        yield self._messages(read(_text(reply), whole=True))

    def _messages(self, written: Written) -> list[Message]:
        said = [Message(ASSISTANT, written.background, name=BACKGROUND)] if written.background else []
        said += [Message(ASSISTANT, config, name=ROLE_CONFIG) for config in written.configs]
        if written.answer is not None:
            said.append(Message(ASSISTANT, written.answer, name=self.name))
        return said


@dataclass
class Written:
    """What a reply holds: background, configurations as JSON text, and the answer (None: not begun)."""

    background: str = ""
    configs: list[str] = field(default_factory=list)
    answer: str | None = None

    @property
    def parts(self) -> bool:
        return bool(self.background or self.configs or self.answer)


def read(text: str, whole: bool) -> Written:
    """Reads a reply.

    Args:
        text: The reply so far.
        whole: It has ended. Before that, what may still change is left out: a configuration that goes on, a token
            that has only begun. A whole reply without tokens is an answer.
    """
    written = Written()
    if not whole:
        text = _PARTIAL.sub("", text)
    tokens = list(_TOKEN.finditer(text))
    if not tokens:
        if whole:
            written.answer = text.strip()
        return written
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        body = text[token.end() : following.start() if following else len(text)].strip()
        ended = whole or following is not None
        if token[1] == "Background":
            written.background = body
        elif token[1] == "Answer":
            written.answer = body
        elif ended:
            config = _config(body)
            written.configs += [config] if config else []
    if whole and written.answer is None:
        written.answer = ""
    return written


def _config(body: str) -> str | None:
    """A configuration as JSON text; None when it is none."""
    from qwen_agentkit.llm.arguments import read_json

    try:
        value = read_json(body, objects_only=True).value
    except ValueError:
        return None
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) and value.get("name") else None


def _joined(messages: list[Message]) -> list[Message]:
    """The conversation as the model wrote it: the messages of one earlier response are one again."""
    joined: list[Message] = []
    parts: list[str] = []
    for message in messages:
        if message.role != ASSISTANT:
            joined += [Message(ASSISTANT, "\n".join(parts))] if parts else []
            parts = []
            joined.append(message)
            continue
        token = {BACKGROUND: BACKGROUND_TOKEN, ROLE_CONFIG: CONFIG_TOKEN}.get(message.name or "", ANSWER_TOKEN)
        parts.append(f"{token}: {text_of(message)}")
    return [*joined, Message(ASSISTANT, "\n".join(parts))] if parts else joined


def _text(reply: list[Message]) -> str:
    return "".join(message.content for message in reply if isinstance(message.content, str))
