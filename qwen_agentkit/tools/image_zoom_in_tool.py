"""`image_zoom_in_tool`: a part of a picture, enlarged, for a model that sees."""

from __future__ import annotations

import io
import math
import os
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from qwen_agentkit.errors import ToolArgumentsError, ToolServiceError
from qwen_agentkit.run_context import current_run
from qwen_agentkit.schema import ContentItem
from qwen_agentkit.tools.base import BaseToolWithFileAccess, register_tool
from qwen_agentkit.utils.message_files import images_of
from qwen_agentkit.utils.optional import need
from qwen_agentkit.utils.web import fetch
from qwen_agentkit.utils.work_dir import local_path

# Boxes are given on this scale, whatever the picture's size: that of Qwen-VL.
SCALE = 1000
# The picture is cut into squares of this many pixels by the model; sides are multiples of it.
PATCH = 32
MIN_PIXELS = 256 * PATCH * PATCH
MAX_PIXELS = 12_845_056
# Pixels of a picture that is opened at all.
MAX_SOURCE_PIXELS = 100_000_000


@register_tool("image_zoom_in_tool")
class ImageZoomInToolQwen3VL(BaseToolWithFileAccess):
    """Cuts a box out of a picture of the conversation and enlarges it."""

    description = "Shows a part of a picture enlarged: the box around something that has to be seen more closely."
    parameters = {
        "type": "object",
        "properties": {
            "bbox_2d": {
                "type": "array",
                "items": {"type": "number"},
                "minItems": 4,
                "maxItems": 4,
                "description": "The box [x1, y1, x2, y2] from its top left to its bottom right corner, on a scale from "
                "0 to 1000 across the width and the height of the picture.",
            },
            "label": {"type": "string", "description": "What is in the box."},
            "img_idx": {"type": "number", "description": "Number of the picture in the conversation, from 0."},
        },
        "required": ["bbox_2d", "label", "img_idx"],
    }

    def call(
        self, params: str | dict[str, Any], files: Sequence[str] | None = None, **kwargs: Any
    ) -> list[ContentItem]:
        """The enlarged part, as a picture file in `work_dir`.

        Raises:
            ToolArgumentsError: There is no such picture, or the box is empty; one line.
            ToolServiceError: The picture cannot be had or opened.
        """
        arguments = self._verify_json_format_args(params)
        images = images_of(kwargs.get("messages") or [])
        index = int(arguments["img_idx"])
        if not 0 <= index < len(images):
            raise ToolArgumentsError(f"There is no picture {index}; the conversation holds {len(images)}, from 0.")
        picture = self._open(images[index])
        part = picture.crop(_box(arguments["bbox_2d"], *picture.size))
        resampling = need("PIL.Image", package="pillow").Resampling.BICUBIC
        part = part.resize(_size(*part.size), resample=resampling)
        os.makedirs(self.work_dir, exist_ok=True)
        path = os.path.abspath(os.path.join(self.work_dir, f"{uuid.uuid4()}.png"))
        (part if part.mode in ("RGB", "RGBA", "L") else part.convert("RGB")).save(path)
        return [ContentItem(image=path)]

    def _open(self, image: str) -> Any:
        pillow = need("PIL.Image", package="pillow")
        try:
            opened = pillow.open(self._source(image))
            if opened.width * opened.height > MAX_SOURCE_PIXELS:
                raise ToolServiceError(None, "too_large", f"The picture has over {MAX_SOURCE_PIXELS} pixels")
            opened.load()
            return opened
        except (OSError, ValueError, pillow.DecompressionBombError) as error:
            name = image if len(image) <= 200 else f"{image[:60]}…"
            raise ToolServiceError(error, "bad_image", f"The picture {name} cannot be opened: {error}") from error

    def _source(self, image: str) -> Any:
        if image.startswith("data:"):
            import base64

            return io.BytesIO(base64.b64decode(image.partition(",")[2]))
        if image.startswith(("http://", "https://")):
            run = current_run()
            return io.BytesIO(fetch(image, cancel=run.cancel if run else None).raise_for_status().body)
        path = local_path(image)
        return path if os.path.exists(path) else Path(self.work_dir, os.path.basename(path))


def _box(relative: Sequence[float], width: int, height: int) -> tuple[int, int, int, int]:
    """The box in pixels: inside the picture, and at least one patch wide and high where the picture is."""
    if not all(math.isfinite(value) for value in relative):
        raise ToolArgumentsError(f"bbox_2d is four numbers from 0 to {SCALE}, not {list(relative)}")
    left, right = sorted(min(max(value, 0), SCALE) / SCALE * width for value in (relative[0], relative[2]))
    top, bottom = sorted(min(max(value, 0), SCALE) / SCALE * height for value in (relative[1], relative[3]))
    if right <= left or bottom <= top:
        raise ToolArgumentsError(f"The box {list(relative)} is empty; it is [x1, y1, x2, y2] from 0 to {SCALE}")
    left, right = _widened(left, right, width)
    top, bottom = _widened(top, bottom, height)
    return left, top, right, bottom


def _widened(start: float, end: float, whole: int) -> tuple[int, int]:
    """A stretch of at least one patch around the same middle, inside the picture, in whole pixels."""
    least = min(PATCH, whole)
    if end - start < least:
        middle = (start + end) / 2
        start = min(max(0.0, middle - least / 2), whole - least)
        end = start + least
    return max(0, math.floor(start)), min(whole, math.ceil(end))


def _size(width: int, height: int) -> tuple[int, int]:
    """The size that the part is shown in: sides multiples of the patch, neither too small nor too large."""
    pixels = width * height
    scale = 1.0
    if pixels < MIN_PIXELS:
        scale = math.sqrt(MIN_PIXELS / pixels)
    elif pixels > MAX_PIXELS:
        scale = math.sqrt(MAX_PIXELS / pixels)
    rounding = math.floor if scale < 1 else math.ceil if scale > 1 else round
    sides = [max(PATCH, int(rounding(side * scale / PATCH)) * PATCH) for side in (width, height)]
    # A very long strip: its short side cannot shrink below a patch, so its long side must.
    if sides[0] * sides[1] > MAX_PIXELS * 2:
        longest = 0 if sides[0] > sides[1] else 1
        sides[longest] = MAX_PIXELS // sides[1 - longest] // PATCH * PATCH
    return sides[0], sides[1]
