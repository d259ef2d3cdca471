"""The words of messages under their Qwen-Agent import path."""

from qwen_agentkit.schema import (
    ASSISTANT,
    AUDIO,
    CONTENT,
    DEFAULT_SYSTEM_MESSAGE,
    FILE,
    FUNCTION,
    IMAGE,
    NAME,
    REASONING_CONTENT,
    ROLE,
    SYSTEM,
    USER,
    VIDEO,
    ContentItem,
    FunctionCall,
    Message,
)

__all__ = [
    "ASSISTANT",
    "AUDIO",
    "CONTENT",
    "DEFAULT_SYSTEM_MESSAGE",
    "FILE",
    "FUNCTION",
    "IMAGE",
    "NAME",
    "REASONING_CONTENT",
    "ROLE",
    "SYSTEM",
    "USER",
    "VIDEO",
    "ContentItem",
    "FunctionCall",
    "Message",
]
