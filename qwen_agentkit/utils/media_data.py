"""Pictures, sound and video as base64 text, and back."""

from __future__ import annotations

import base64
import io
import wave
from pathlib import Path
from typing import Any

from qwen_agentkit.utils.optional import need

# Sample rate of the speech that the Qwen-Omni models send, 16-bit mono.
_OMNI_SAMPLE_RATE = 24_000


def encode_image_as_base64(path: str, max_short_side_length: int = -1) -> str:
    """A picture file as a JPEG `data:` address.

    Args:
        path: The file.
        max_short_side_length: Pixels of the shorter side that it is scaled down to; -1 keeps the size.
    """
    image = need("PIL.Image", package="pillow").open(path)
    if 0 < max_short_side_length < min(image.size):
        image = resize_image(image, max_short_side_length)
    buffered = io.BytesIO()
    image.convert(mode="RGB").save(buffered, format="JPEG")
    return "data:image/jpeg;base64," + base64.b64encode(buffered.getvalue()).decode("ascii")


def encode_audio_as_base64(path: str) -> str:
    """A sound file as a `data:` address."""
    return "data:;base64," + base64.b64encode(Path(path).read_bytes()).decode("ascii")


def encode_video_as_base64(path: str) -> str:
    """A video file as a `data:` address."""
    return "data:;base64," + base64.b64encode(Path(path).read_bytes()).decode("ascii")


def load_image_from_base64(image_base64: bytes | str) -> Any:
    """The PIL image in base64 text (with or without `data:...;base64,` in front)."""
    if isinstance(image_base64, str) and image_base64.startswith("data:"):
        image_base64 = image_base64.partition(",")[2]
    image = need("PIL.Image", package="pillow").open(io.BytesIO(base64.b64decode(image_base64)))
    image.load()
    return image


def resize_image(img: Any, short_side_length: int = 1080) -> Any:
    """A PIL image scaled so that its shorter side has that many pixels."""
    width, height = img.size
    scale = short_side_length / min(width, height)
    size = (max(1, int(width * scale)), max(1, int(height * scale)))
    return img.resize(size, resample=need("PIL.Image", package="pillow").Resampling.BILINEAR)


def save_audio_to_file(base_64: str, file_name: str) -> None:
    """Writes speech of a Qwen-Omni model (base64 of 16-bit samples, 24 kHz, mono) as a WAV file."""
    with wave.open(file_name, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(_OMNI_SAMPLE_RATE)
        out.writeframes(base64.b64decode(base_64))
