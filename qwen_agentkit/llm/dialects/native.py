"""Tools in fields of their own, as the OpenAI protocol has them: nothing is written into the text."""

from __future__ import annotations

from qwen_agentkit.llm.dialects.base import Dialect

NATIVE = Dialect("native")
