"""`gr`, `ms` and `mgr`, for programs that build a page of their own: imported when first used.

`gr` is Gradio. `ms` and `mgr` are components of modelscope_studio, which this project's own page does without.
"""

from __future__ import annotations

from typing import Any

from qwen_agentkit.utils.optional import need

_STUDIO = {"ms": "modelscope_studio.components.base", "mgr": "modelscope_studio.components.legacy"}


def load_gradio() -> Any:
    """Gradio with its analytics off, which it reads from the environment when it is imported.

    Raises:
        MissingDependencyError: It is not installed.
    """
    import os

    # Set and not defaulted: Gradio asks a server for its newest version otherwise.
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    return need("gradio", extra="gui")


def __getattr__(name: str) -> Any:
    if name == "gr":
        return load_gradio()
    if name in _STUDIO:
        return need(_STUDIO[name], package="modelscope_studio")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
