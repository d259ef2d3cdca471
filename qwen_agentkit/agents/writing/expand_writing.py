"""`ExpandWriting`: writes one chapter of an article from its outline."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from qwen_agentkit.agent import Agent
from qwen_agentkit.agents.writing.one_prompt import in_language, knowledge_block, with_request_in
from qwen_agentkit.schema import Message

PROMPT_TEMPLATE = {
    "en": "You write an article chapter by chapter from reference material.\n\n{knowledge}\n\nIts title or "
    "subject: {request}\n\nIts outline:\n{outline}\n\nWrite chapter {index} now: {capture}\nOther "
    "chapters have their own turn, so keep to what belongs in this one. Write no outline, and use only "
    "what the reference material supports.",
    "zh": "你根据参考资料逐章写一篇文章。\n\n{knowledge}\n\n标题或主题：{request}\n\n大纲：\n"
    "{outline}\n\n现在请写第{index}章：{capture}\n其他章节会另外写，请只写属于本章的内容。不要写大纲，"
    "只使用参考资料能够支持的内容。",
}
_STOP_BEFORE = {
    "en": "\nStop before what belongs to the next chapter: {capture_later}",
    "zh": "\n写到下一章的内容之前为止：{capture_later}",
}


class ExpandWriting(Agent):
    """Writes one chapter.

    `run` takes `knowledge` (reference material), `outline` (the whole outline), `index` (number of the chapter,
    from 1), `capture` (its heading) and `capture_later` (the heading of the next one).
    """

    def _run(
        self,
        messages: list[Message],
        lang: str = "en",
        knowledge: str | list[dict] = "",
        outline: str = "",
        index: str | int = "1",
        capture: str = "",
        capture_later: str = "",
        **kwargs: Any,
    ) -> Iterator[list[Message]]:
        template = in_language(PROMPT_TEMPLATE, lang)
        fields = {
            "knowledge": knowledge_block(knowledge, lang),
            "outline": outline,
            "index": index,
            "capture": capture,
            "capture_later": capture_later,
        }
        if capture_later:
            template += in_language(_STOP_BEFORE, lang)
        yield from self._call_llm(with_request_in(template, messages, **fields), extra_generate_cfg={"lang": lang})
