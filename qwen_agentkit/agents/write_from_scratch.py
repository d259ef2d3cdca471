"""`WriteFromScratch`: a whole article, from a summary of the material over an outline to the chapters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from qwen_agentkit.agent import Agent
from qwen_agentkit.agents.assistant import Assistant
from qwen_agentkit.agents.writing.expand_writing import ExpandWriting
from qwen_agentkit.agents.writing.outline_writing import OutlineWriting, headings_of
from qwen_agentkit.schema import ASSISTANT, SYSTEM, USER, Message
from qwen_agentkit.utils.message_text import text_of

_SUMMARISE = {
    "en": "Summarise the main content of the reference material.",
    "zh": "请总结参考资料的主要内容。",
}
# Each step begins with a message of this form, which a page can show as a quotation.
_STEPS = {
    "plan": {"en": ">\n> Plan: {steps}", "zh": ">\n> 计划：{steps}"},
    "summary": {"en": ">\n> Summary of the material:\n", "zh": ">\n> 资料摘要：\n"},
    "outline": {"en": ">\n> Outline:\n", "zh": ">\n> 大纲：\n"},
    "text": {"en": ">\n> Text:\n", "zh": ">\n> 正文：\n"},
}
CHAPTER = ">\n# "


class WriteFromScratch(Agent):
    """Writes an article about the subject of the last user message.

    The response is one message a step and a marker before each: the plan, the summary (when there is material),
    the outline, then the chapters in the order of the outline. `run` takes `knowledge`, reference material.
    """

    def _run(
        self, messages: list[Message], lang: str = "en", knowledge: str | list[dict] = "", **kwargs: Any
    ) -> Iterator[list[Message]]:
        steps = ["summarize", "outline", "expand"] if knowledge else ["outline", "expand"]
        response = [self._marker("plan", lang, steps=" → ".join(steps))]
        yield response
        summary: str | list[dict] = ""
        if knowledge:
            response = yield from self._step(
                [*response, self._marker("summary", lang)],
                Assistant(llm=self.llm),
                [Message(USER, _SUMMARISE["zh" if lang == "zh" else "en"])],
                {"lang": lang, "knowledge": knowledge},
            )
            summary = text_of(response[-1])
        request = [message for message in messages if message.role != SYSTEM] or [Message(USER, "")]
        response = yield from self._step(
            [*response, self._marker("outline", lang)],
            OutlineWriting(llm=self.llm, system_message=self.system_message),
            request,
            {"lang": lang, "knowledge": summary},
        )
        outline = text_of(response[-1])
        response = [*response, self._marker("text", lang)]
        # An outline without headings is one chapter.
        headings = headings_of(outline) or [outline.strip() or text_of(request[-1])]
        for number, (heading, following) in enumerate(zip(headings, [*headings[1:], ""], strict=True), start=1):
            response = yield from self._step(
                [*response, Message(ASSISTANT, CHAPTER)],
                ExpandWriting(llm=self.llm, system_message=self.system_message),
                request,
                {
                    "lang": lang,
                    "knowledge": knowledge,
                    "outline": outline,
                    "index": str(number),
                    "capture": heading,
                    "capture_later": following,
                },
            )

    @staticmethod
    def _step(response: list[Message], agent: Agent, messages: list[Message], kwargs: dict[str, Any]) -> Any:
        """One step's own agent. Yields the response so far; returns it with what the agent said."""
        yield response
        said: list[Message] = []
        for said in cast("Iterator[list[Message]]", agent.run(messages, **kwargs)):
            yield response + said
        return response + said

    @staticmethod
    def _marker(step: str, lang: str, **fields: str) -> Message:
        return Message(ASSISTANT, _STEPS[step]["zh" if lang == "zh" else "en"].format(**fields))
