"""The map step of `ParallelDocQA`: one model call for each part, in a bounded pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from qwen_agentkit.agents.keygen_strategies.words import read_object
from qwen_agentkit.agents.loop.tool_round import ToolCall, run_calls
from qwen_agentkit.errors import ModelServiceError, ToolServiceError
from qwen_agentkit.events import OK, ToolProgress
from qwen_agentkit.log import logger
from qwen_agentkit.run_context import current_run
from qwen_agentkit.schema import USER, Message
from qwen_agentkit.utils.knowledge import Passage
from qwen_agentkit.utils.message_text import text_of
from qwen_agentkit.utils.untrusted import as_data

_PROMPTS = {
    "en": """Below is one part of a longer document. Does it hold anything that helps to answer the question?
If it does, give the facts in a few sentences, in the question's language. Reply with one JSON object and nothing else:
{{"res": "ans", "content": "the facts"}} or {{"res": "none", "content": ""}}

{part}

Question: {question}""",
    "zh": """下面是一份较长文档的一部分。其中是否有助于回答问题的内容？
如果有，请用提问的语言以几句话写出相关事实。只回复一个 JSON 对象：
{{"res": "ans", "content": "相关事实"}} 或 {{"res": "none", "content": ""}}

{part}

问题：{question}""",
}


@dataclass(frozen=True)
class Finding:
    """What a reader found in a part."""

    part: Passage
    text: str


def read_parts(agent: Any, question: str, parts: list[Passage], lang: str, at_once: int) -> list[Finding]:
    """Has the model read each part.

    Args:
        agent: The agent whose model reads.
        question: The question.
        parts: The parts.
        lang: `zh` or `en`.
        at_once: Parts read at the same time.

    Returns:
        What was found, in the order of the parts. A part whose call fails, or for which the run's limits leave
        nothing, is left out with a warning.
    """
    run = current_run()
    findings: dict[int, Finding] = {}
    failed: list[str] = []

    def read(call: ToolCall) -> str:
        part = parts[int(call.call_id)]
        where = part.source if part.page is None else f"{part.source}, page {part.page}"
        prompt = _PROMPTS[lang].format(part=as_data(part.text, where, lang), question=question)
        try:
            reply = agent.llm.chat(messages=[Message(USER, prompt)], stream=False, extra_generate_cfg={"lang": lang})
        except ModelServiceError as error:
            # One part's failure is that part's alone.
            raise ToolServiceError(exception=error, code=error.code, message=error.message) from error
        return "".join(text_of(message) for message in reply)

    for start in range(0, len(parts), at_once):
        calls = [ToolCall(str(index), "read_part", "") for index in range(start, min(start + at_once, len(parts)))]
        for _ in run_calls(calls, {}, read):
            pass
        for call in calls:
            if call.outcome != OK:
                failed.append(str(call.content))
                continue
            held = read_object(call.content)
            text = held.get("content")
            if held.get("res") == "ans" and isinstance(text, str) and text.strip():
                findings[int(call.call_id)] = Finding(parts[int(call.call_id)], " ".join(text.split()))
        if run is not None:
            done = {"parts_done": min(start + at_once, len(parts)), "parts": len(parts), "found": len(findings)}
            run.emit(ToolProgress, call_id="map", name="read_part", data=done)
    if failed:
        text = f"{len(failed)} of {len(parts)} parts of the documents were not read. {failed[0]}"
        run.warn(text) if run is not None else logger.warning(text)
    return [findings[index] for index in sorted(findings)]
