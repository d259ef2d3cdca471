"""`TIRMathAgent`: reasons in text and runs the code that it writes on the way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from qwen_agentkit.agents.fncall_agent import FnCallAgent
from qwen_agentkit.agents.loop.limit import closing_request, limit_answer
from qwen_agentkit.errors import RunLimitExceeded
from qwen_agentkit.schema import ASSISTANT, ContentItem, Message
from qwen_agentkit.tools.base import BaseTool
from qwen_agentkit.utils.generate_cfg import merge_generate_cfgs
from qwen_agentkit.utils.message_text import text_of

OBS_START = "```output"
OBS_END = "\n```\n"

MAX_LLM_CALL_PER_RUN = 10


class TIRMathAgent(FnCallAgent):
    """Tool-integrated reasoning: the response is one message that grows, of text, code and the code's output.

    Args:
        llm, system_message, name, description: As for `FnCallAgent`.
        executor: The tool that runs the code; None is `PythonExecutor`. Its result is text, or (output, "Done") and
            (output, error).
        **kwargs: As for `FnCallAgent`; `max_llm_call_per_run` is 10 by default.
    """

    def __init__(
        self,
        llm: Any = None,
        system_message: str | None = "",
        name: str | None = None,
        description: str | None = None,
        executor: BaseTool | None = None,
        **kwargs: Any,
    ) -> None:
        if executor is None:
            from qwen_agentkit.tools.python_executor import PythonExecutor

            executor = PythonExecutor()
        self._executor = executor.name
        kwargs.setdefault("max_llm_call_per_run", MAX_LLM_CALL_PER_RUN)
        super().__init__([executor], llm, system_message, name=name, description=description, **kwargs)
        self.extra_generate_cfg = merge_generate_cfgs(self.extra_generate_cfg, {"stop": [OBS_START]})

    def _run(self, messages: list[Message], lang: str = "en", **kwargs: Any) -> Iterator[list[Message]]:
        said = ""
        for _ in range(self.max_llm_call_per_run or MAX_LLM_CALL_PER_RUN):
            so_far = [*messages, Message(ASSISTANT, said)] if said else messages
            reply = said
            for output in self._call_llm(so_far, extra_generate_cfg={"lang": lang}):
                reply = said + "".join(text_of(message) for message in output)
                yield [Message(ASSISTANT, reply)]
            wanted, tool, arguments, _ = self._detect_tool(Message(ASSISTANT, reply[len(said) :]))
            said = reply
            if not wanted:
                return
            result = self._call_tool(tool or self._executor, arguments or "{}", messages=messages, lang=lang, **kwargs)
            said = f"{said}{'' if said.endswith(chr(10)) else chr(10)}{OBS_START}\n{observation(result)}{OBS_END}"
            yield [Message(ASSISTANT, said)]
        yield from self._at_the_end(messages, said, lang)

    def _at_the_end(self, messages: list[Message], said: str, lang: str) -> Iterator[list[Message]]:
        """The model calls are used up with code still wanted."""
        end = {"end": "limit:model_calls"}
        if self.on_limit == "raise":
            text = f"{self._label()} reached its limit of model calls"
            raise RunLimitExceeded("model_calls", text, [Message(ASSISTANT, said)])
        if self.on_limit == "answer":
            before = said
            asked = closing_request([*messages, Message(ASSISTANT, said)], lang)
            for output in self._call_llm(asked, extra_generate_cfg={"lang": lang}):
                said = f"{before}\n{''.join(text_of(message) for message in output)}"
                yield [Message(ASSISTANT, said)]
            if not said[len(before) :].strip():
                said = f"{before}\n{limit_answer('model_calls', lang).content}"
        yield [Message(ASSISTANT, said, extra=end)]

    def _detect_tool(self, message: Message | str) -> tuple[bool, str | None, str | None, str]:
        """Looks for code in a message or text: (is there any, the tool, its arguments, the text)."""
        text = message if isinstance(message, str) else text_of(message)
        program = extract_program(text)
        arguments = json.dumps({"code": program}, ensure_ascii=False) if program else ""
        return bool(program), self._executor, arguments, text


def extract_program(result: str, last_only: bool = True) -> str:
    """The code in a text's ```python blocks.

    Args:
        result: The text.
        last_only: Only the last block; False joins all.

    Returns:
        The code; empty when there is none, or the last block is not closed.
    """
    blocks: list[str] = []
    block: list[str] | None = None
    for line in result.split("\n"):
        if block is None and (line.startswith("```python") or line.endswith("```python")):
            block = []
        elif block is not None and line.startswith("```"):
            blocks.append("".join(block))
            block = None
        elif block is not None:
            block.append(line + "\n")
    if block is not None or not blocks:
        return ""
    return blocks[-1] if last_only else "\n# ========\n".join(blocks)


def observation(result: str | list[ContentItem]) -> str:
    """What the text shows of a tool's result: the output, or the error when there was one."""
    if not isinstance(result, str):
        return "".join(item.text or "" for item in result).strip()
    try:
        value = json.loads(result)
    except ValueError:
        return result.strip()
    if isinstance(value, list) and len(value) == 2:
        return str(value[0] if value[1] == "Done" else value[1]).strip()
    return result.strip()
