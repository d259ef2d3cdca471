"""The base class of models with tools under its Qwen-Agent import path; every chat model has tools here."""

from qwen_agentkit.llm.base import BaseChatModel

__all__ = ["BaseFnCallModel"]


class BaseFnCallModel(BaseChatModel):
    """A chat model; the class is there for programs that derive from it."""
