"""`ImageZoomInToolQwen3VL` under the path that Qwen-Agent programs import it from."""

from qwen_agentkit.tools.image_zoom_in_tool import ImageZoomInToolQwen3VL

__all__ = ["ImageZoomInToolQwen3VL"]
