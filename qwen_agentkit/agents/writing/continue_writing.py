"""`ContinueWriting`: goes on with a text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from qwen_agentkit.agent import Agent
from qwen_agentkit.agents.writing.one_prompt import in_language, knowledge_block, with_request_in
from qwen_agentkit.schema import Message

PROMPT_TEMPLATE = {
    "en": "You go on with a text that somebody has begun, using the reference material where it fits.\n\n"
    "{knowledge}\n\nThe text so far:\n\n{request}\n\nWrite what comes next. Keep to its style and "
    "subject, do not repeat what stands there, and write nothing but the continuation.",
    "zh": "请接着别人写好的文字往下写，并在合适之处使用参考资料。\n\n{knowledge}\n\n已有的文字：\n\n{request}\n\n"
    "请写出接下来的内容。保持文风和主题一致，不要重复已有内容，除续写内容外不要输出其他任何文字。",
}


class ContinueWriting(Agent):
    """Goes on with the text of the last user message. `run` takes `knowledge`, reference material."""

    def _run(
        self, messages: list[Message], lang: str = "en", knowledge: str | list[dict] = "", **kwargs: Any
    ) -> Iterator[list[Message]]:
        template = in_language(PROMPT_TEMPLATE, lang)
        asked = with_request_in(template, messages, knowledge=knowledge_block(knowledge, lang))
        yield from self._call_llm(asked, extra_generate_cfg={"lang": lang})
