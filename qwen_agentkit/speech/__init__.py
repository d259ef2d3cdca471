"""Answers spoken as they are written: `speak_live(agent, messages, voice)`."""

from __future__ import annotations

from qwen_agentkit.utils.lazy import lazy_exports

_WHERE = {
    "Audio": ".live",
    "DashScopeVoice": ".dashscope_voice",
    "OpenAIVoice": ".openai_voice",
    "SentenceSkipped": ".live",
    "SpeechEnded": ".live",
    "SpokenSentences": ".sentences",
    "Voice": ".voice",
    "speak_live": ".live",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
__all__ = sorted(_WHERE)
