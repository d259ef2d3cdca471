"""Models behind OpenAI's protocol that see and hear, and may answer with speech."""

from __future__ import annotations

import base64
import io
import os
import uuid
import wave
from collections.abc import Iterator

from qwen_agentkit import settings
from qwen_agentkit.llm.base import Delta, ModelRequest, register_llm
from qwen_agentkit.llm.qwenvl_oai import QwenVLChatAtOAI
from qwen_agentkit.schema import ContentItem

# What the service sends: 16 bit mono at this rate.
SAMPLE_RATE = 24_000


@register_llm("qwenomni_oai")
class QwenOmniChatAtOAI(QwenVLChatAtOAI):
    """A model behind OpenAI's protocol that takes text, images, video and audio.

    With `"generate_cfg": {"modalities": ["text", "audio"], "audio": {"voice": ..., "format": "wav"}}` it also speaks.
    The speech is kept only when the setting `OMNI_RESPONSE_SAVE_AUDIO` is true: as a WAV file in the workspace, named
    by a `ContentItem(audio=...)` of the answer.
    """

    model = "qwen-omni-turbo-latest"

    @property
    def support_audio_input(self) -> bool:
        return True

    @property
    def support_multimodal_output(self) -> bool:
        return True

    def _deltas(self, request: ModelRequest) -> Iterator[Delta]:
        spoken: list[str] = []
        for delta in super()._deltas(request):
            if delta.audio:
                spoken.append(delta.audio)
            yield delta
        if spoken and settings.OMNI_RESPONSE_SAVE_AUDIO:
            yield Delta(items=[ContentItem(audio=save_speech(spoken))])


def save_speech(pieces: list[str]) -> str:
    """Writes speech that came in base64 pieces as a WAV file into the workspace.

    Returns:
        Path of the file.
    """
    aligned = all(len(piece) % 4 == 0 for piece in pieces)
    data = b"".join(map(base64.b64decode, pieces)) if aligned else base64.b64decode("".join(pieces))
    folder = os.path.join(settings.DEFAULT_WORKSPACE, "llms")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{uuid.uuid4().hex}.wav")
    if data[:4] != b"RIFF":
        whole = io.BytesIO()
        with wave.open(whole, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(SAMPLE_RATE)
            file.writeframes(data)
        data = whole.getvalue()
    with open(path, "xb") as target:
        target.write(data)
    return os.path.abspath(path)
