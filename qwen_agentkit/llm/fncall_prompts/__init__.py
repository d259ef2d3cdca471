"""Qwen-Agent's import path for function-call prompts; the work is done by `llm.dialects`."""
