"""Function-call dialects: how tools and calls are written for a model, and how its reply is read.

`get_dialect(name).prepare(...)` writes, `parser.ReplyParser` reads; reading is the same for every dialect.
"""

from __future__ import annotations

from qwen_agentkit.llm.dialects.base import Dialect, plain_history
from qwen_agentkit.llm.dialects.fenced import FENCED
from qwen_agentkit.llm.dialects.native import NATIVE
from qwen_agentkit.llm.dialects.nous import NOUS
from qwen_agentkit.llm.dialects.qwen import QWEN
from qwen_agentkit.llm.dialects.react import REACT
from qwen_agentkit.llm.dialects.xml import XML

DIALECTS: dict[str, Dialect] = {dialect.name: dialect for dialect in (NATIVE, NOUS, QWEN, REACT, XML, FENCED)}


def get_dialect(name: str) -> Dialect:
    """The dialect of that name: `native`, `nous`, `qwen`, `react`, `xml` (Qwen3-Coder) or `fenced`.

    Raises:
        ValueError: There is none of that name.
    """
    try:
        return DIALECTS[name]
    except KeyError:
        raise ValueError(f"fncall_prompt_type is one of {', '.join(DIALECTS)}, not {name!r}") from None


__all__ = ["DIALECTS", "Dialect", "get_dialect", "plain_history"]
