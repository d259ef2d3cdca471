"""The web page of an agent: `WebUI(agent).run()` (extra `gui`). Importing it needs no Gradio."""

from __future__ import annotations

from qwen_agentkit.utils.lazy import lazy_exports

_WHERE = {
    "WebUI": ".web_ui",
    "ask_in_page": ".approvals",
    "gr": ".gradio_dep",
    "mgr": ".gradio_dep",
    "ms": ".gradio_dep",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
# A program's `from qwen_agentkit.gui import *` must not need Gradio.
__all__ = ["WebUI", "ask_in_page"]
