"""The `nous` dialect under Qwen-Agent's import path."""

from __future__ import annotations

from qwen_agentkit.llm.fncall_prompts.base_fncall_prompt import BaseFnCallPrompt


class NousFnCallPrompt(BaseFnCallPrompt):
    """JSON between ``<tool_call>`` tags (Qwen 2.5, Qwen 3, Hermes)."""

    dialect_name = "nous"
