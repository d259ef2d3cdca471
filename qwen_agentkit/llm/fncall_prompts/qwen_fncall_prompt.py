"""The `qwen` dialect under Qwen-Agent's import path, with its wire tokens."""

from __future__ import annotations

from qwen_agentkit.llm.dialects.marks import QWEN_ARGS as FN_ARGS
from qwen_agentkit.llm.dialects.marks import QWEN_FUNCTION as FN_NAME
from qwen_agentkit.llm.dialects.marks import QWEN_RESULT as FN_RESULT
from qwen_agentkit.llm.dialects.marks import QWEN_RETURN as FN_EXIT
from qwen_agentkit.llm.fncall_prompts.base_fncall_prompt import BaseFnCallPrompt

FN_STOP_WORDS = [FN_RESULT, FN_EXIT]

__all__ = ["FN_ARGS", "FN_EXIT", "FN_NAME", "FN_RESULT", "FN_STOP_WORDS", "QwenFnCallPrompt"]


class QwenFnCallPrompt(BaseFnCallPrompt):
    """Calls behind special tokens (Qwen 1.5 and 2)."""

    dialect_name = "qwen"
