"""`ReActChat`: tools by the Thought / Action / Observation text protocol (Yao et al., arXiv:2210.03629)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from qwen_agentkit.agents.fncall_agent import FnCallAgent, _assigned
from qwen_agentkit.agents.loop.limit import limit_answer, model_call_limit
from qwen_agentkit.agents.loop.tool_round import ToolCall
from qwen_agentkit.errors import RunLimitExceeded
from qwen_agentkit.schema import ASSISTANT, USER, ContentItem, Message
from qwen_agentkit.utils.generate_cfg import merge_generate_cfgs
from qwen_agentkit.utils.ids import new_call_id

STOP_WORDS = ["Observation:", "Observation:\n"]

_TOOL = "{name}: {description} Parameters: {parameters} {args_format}"

PROMPTS = {
    "en": """Answer the question below as well as you can. These tools are at hand:

{tools}

Write in this form:

Question: the question to be answered
Thought: what to do next, and why
Action: the name of one tool, one of [{names}]
Action Input: the arguments of that tool
Observation: what the tool gave back
... (Thought, Action, Action Input and Observation may come again, as often as it takes)
Thought: now the answer is known
Final Answer: the answer to the question

Begin!

Question: {question}
Thought: """,
    "zh": """请尽力回答下面的问题。你可以使用这些工具：

{tools}

请按以下格式书写（行首的英文标记保持不变）：

Question: 需要回答的问题
Thought: 下一步做什么，为什么
Action: 一个工具的名称，只能是 [{names}] 之一
Action Input: 该工具的参数
Observation: 工具返回的结果
... （Thought、Action、Action Input、Observation 可以重复多次）
Thought: 现在已经知道答案
Final Answer: 对问题的回答

开始！

Question: {question}
Thought: """,
}
_CLOSING = {
    "en": "No further actions are possible. With what is known, here is the best answer.\nFinal Answer: ",
    "zh": "不能再使用工具了。根据目前已知的内容给出最好的回答。\nFinal Answer: ",
}

_ACTION = re.compile(r"^[^\S\n]*Action:[^\S\n]*(?P<name>[^\n]*?)[^\S\n]*\n[^\S\n]*Action Input:", re.MULTILINE)
_OBSERVATION = re.compile(r"^[^\S\n]*Observation:", re.MULTILINE)


class ReActChat(FnCallAgent):
    """A tool-using agent for models that only write text.

    The whole turn is one assistant message that begins with ``Thought: `` and grows: thoughts, actions and
    observations, up to the final answer. Arguments, tools and limits are those of `FnCallAgent`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.extra_generate_cfg = merge_generate_cfgs(self.extra_generate_cfg, {"stop": STOP_WORDS})

    def _run(self, messages: list[Message], lang: str = "en", **kwargs: Any) -> Iterator[list[Message]]:
        budget = model_call_limit(kwargs.pop("max_llm_call_per_run", None), self.max_llm_call_per_run, _assigned())
        settings = {"lang": lang, **({"seed": kwargs["seed"]} if kwargs.get("seed") is not None else {})}
        prompt = self._prepend_react_prompt(messages, lang)
        transcript, limit, calls_made = "Thought: ", None, 0
        while calls_made < budget:
            reply = ""
            try:
                for output in self._call_llm(_continued(prompt, transcript), extra_generate_cfg=settings):
                    reply = _before_observation(_text(output))
                    yield [Message(ASSISTANT, transcript + reply)]
            except RunLimitExceeded as error:
                limit = error.which
                break
            calls_made += 1
            wanted, name, arguments, thought = self._detect_tool(reply)
            if not wanted:
                transcript += reply
                break
            call = ToolCall(new_call_id(), name or "", arguments or "{}")
            transcript += f"{thought}\nAction: {call.name}\nAction Input: {call.arguments}"
            yield [Message(ASSISTANT, transcript)]
            for _ in self._run_tools([call], messages, kwargs):
                pass
            transcript += f"\nObservation: {_flat(call.content)}\nThought: "
            yield [Message(ASSISTANT, transcript)]
        else:
            limit = "model_calls"
        if limit is not None:
            yield from self._end_transcript(limit, budget, prompt, transcript, lang, settings)
        self._keep_files(messages)

    def _end_transcript(
        self, which: str, budget: int, prompt: list[Message], transcript: str, lang: str, settings: dict[str, Any]
    ) -> Iterator[list[Message]]:
        end = {"end": f"limit:{which}"}
        if self.on_limit == "raise":
            partial = [Message(ASSISTANT, transcript)]
            raise RunLimitExceeded(which, f"{self._label()} reached its limit of {budget} model calls", partial)
        if self.on_limit == "answer":
            closing = transcript + _CLOSING["zh" if lang == "zh" else "en"]
            reply = ""
            try:
                for output in self._call_llm(_continued(prompt, closing), extra_generate_cfg=settings):
                    reply = _before_observation(_text(output))
                    yield [Message(ASSISTANT, closing + reply)]
            except RunLimitExceeded as error:
                end = {"end": f"limit:{error.which}"}
            transcript = closing + (reply or str(limit_answer(which, lang).content))
        yield [Message(ASSISTANT, transcript, extra=end)]

    def _detect_tool(self, message: str | Message) -> tuple[bool, str | None, str | None, str]:  # type: ignore[override]
        """Reads one stretch of text: (is there an action, the tool, its input, the text before the action).

        Of several actions in it the last one counts; a missing `Observation:` is no matter.
        """
        if isinstance(message, Message):
            return super()._detect_tool(message)
        actions = list(_ACTION.finditer(message))
        if not actions or not actions[-1]["name"]:
            return False, None, None, message
        found = actions[-1]
        rest = message[found.end() :]
        observation = _OBSERVATION.search(rest)
        arguments = rest[: observation.start()] if observation else rest
        return True, found["name"].strip(), arguments.strip(), message[: found.start()].rstrip()

    def _prepend_react_prompt(self, messages: list[Message], lang: str) -> list[Message]:
        """The conversation as text, the last user message carrying the tools and the form to write in."""
        tools = [tool.function | {"args_format": tool.args_format} for tool in self.function_map.values()]
        listed = "\n\n".join(
            _TOOL.format(
                name=tool["name"],
                description=tool["description"],
                parameters=json.dumps(tool["parameters"], ensure_ascii=False),
                args_format=tool["args_format"],
            ).rstrip()
            for tool in tools
        )
        plain = [message.model_copy(update={"content": _flat(message.content)}) for message in messages]
        at = next((index for index in range(len(plain) - 1, -1, -1) if plain[index].role == USER), None)
        if at is None:
            plain.append(Message(USER, ""))
            at = len(plain) - 1
        question = PROMPTS["zh" if lang == "zh" else "en"].format(
            tools=listed, names=", ".join(tool["name"] for tool in tools), question=plain[at].content
        )
        plain[at] = plain[at].model_copy(update={"content": question})
        return plain


def _continued(prompt: list[Message], transcript: str) -> list[Message]:
    """The prompt with what was written so far behind it, so that the model goes on from there."""
    last = prompt[-1]
    grown = transcript.removeprefix("Thought: ")
    return [*prompt[:-1], last.model_copy(update={"content": f"{last.content}{grown}"})]


def _before_observation(text: str) -> str:
    """A server that ignores stop words lets the model invent the observation: cut there."""
    found = _OBSERVATION.search(text)
    return text[: found.start()].rstrip() if found else text


def _text(output: list[Message]) -> str:
    return "".join(_flat(message.content) for message in output if message.role == ASSISTANT)


def _flat(content: str | list[ContentItem] | None) -> str:
    """Content as text; parts that are not text are named in the form the prompt's reader knows."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(
        item.value if item.type == "text" else f"{'!' if item.type == 'image' else ''}[{item.type}]({item.value})"
        for item in content
    )
