"""Old results of tools are reduced to their conclusion."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from qwen_agentkit.errors import RunCancelled, RunLimitExceeded
from qwen_agentkit.llm.compaction.policy import Budget
from qwen_agentkit.llm.compaction.remembered import Remembered
from qwen_agentkit.llm.history import groups_of
from qwen_agentkit.llm.length import count_content_tokens, shorten_content
from qwen_agentkit.log import logger
from qwen_agentkit.schema import FUNCTION, USER, Message

_PROMPT = {
    "en": "Below is what the tool `{name}` gave back. State what follows from it, in at most {chars} characters: "
    "the facts, numbers, names and addresses that may be needed later. Write nothing else.\n\n{text}",
    "zh": "下面是工具 `{name}` 返回的内容。请用不超过 {chars} 个字符写出其中的结论："
    "之后可能用到的事实、数字、名称和地址。不要写其他内容。\n\n{text}",
}
_MARK = {"en": "[Shortened result] ", "zh": "[已缩短的结果] "}


@dataclass(frozen=True)
class PruneToolResults:
    """Shortens old tool results, oldest first, until the history fits.

    A result becomes what its tool makes of it (`Budget.summarize`), else what a model makes of it (`by_model`), else
    its two ends. Calls, ids and names stay, so every call keeps its result.

    Args:
        keep_steps: Newest steps (replies with their results) whose results stay whole.
        keep_tokens: Tokens that are left of a result of which both ends are kept.
        least_tokens: Results of at most that many tokens are left alone.
        by_model: Ask a model for the conclusion where the tool has none.
        summary_chars: Longest conclusion by a model, in characters.
    """

    keep_steps: int = 1
    keep_tokens: int = 96
    least_tokens: int = 160
    by_model: bool = False
    summary_chars: int = 400
    name: str = "prune_tool_results"

    def due(self, messages: Sequence[Message]) -> bool:
        return False

    def compact(self, messages: list[Message], budget: Budget) -> list[Message]:
        to_drop = budget.to_drop(messages)
        if to_drop <= 0:
            return messages
        steps = [
            (start, end)
            for start, end in groups_of(messages)
            if any(message.role == FUNCTION for message in messages[start:end])
        ]
        pruned = list(messages)
        for start, end in steps[: len(steps) - self.keep_steps] if self.keep_steps else steps:
            for position in range(start, end):
                if to_drop <= 0:
                    return pruned
                message = messages[position]
                tokens = count_content_tokens(message.content)
                if message.role != FUNCTION or tokens <= self.least_tokens:
                    continue
                shorter = self._shortened(message, budget)
                saved = tokens - count_content_tokens(shorter.content)
                if saved > 0:
                    pruned[position] = shorter
                    to_drop -= saved
        return pruned

    def _shortened(self, message: Message, budget: Budget) -> Message:
        mark = _MARK["zh" if budget.lang == "zh" else "en"]
        text = self._conclusion(message, budget)
        if text is not None:
            return message.model_copy(update={"content": mark + text})
        content = message.content
        if not isinstance(content, str):
            content = "\n".join(
                item.text if item.text is not None else f"[{item.type}]" for item in content if item.text != ""
            )
        return message.model_copy(update={"content": mark + str(shorten_content(content, self.keep_tokens))})

    def _conclusion(self, message: Message, budget: Budget) -> str | None:
        content = message.content
        text = content if isinstance(content, str) else "\n".join(item.text or "" for item in content)
        name = message.name or ""
        if budget.summarize is not None:
            try:
                told = budget.summarize(name, text)
            except (RunCancelled, RunLimitExceeded):
                raise
            except Exception:
                # A tool's own code: the history must not depend on it.
                logger.warning("The tool %s could not sum up its result; both ends are kept", name, exc_info=True)
                told = None
            if told:
                return told
        if not self.by_model or budget.ask is None or not text.strip():
            return None
        key = hashlib.sha256(
            f"{name}\0{self.summary_chars}\0{budget.lang}\0{text}".encode("utf-8", "replace")
        ).hexdigest()
        return _conclusions.get(key) or self._asked(key, name, text, budget)

    def _asked(self, key: str, name: str, text: str, budget: Budget) -> str | None:
        if budget.ask is None:
            return None
        prompt = _PROMPT["zh" if budget.lang == "zh" else "en"].format(name=name, chars=self.summary_chars, text=text)
        content = shorten_content(prompt, max(512, budget.high - budget.high // 8))
        told = budget.ask([Message(USER, content)]).strip()[: self.summary_chars]
        if told:
            _conclusions.put(key, told)
        return told or None


# Conclusions by the hash of the result: a history is sent many times and asked about once.
_conclusions = Remembered(1024)
