"""`DashScopeVoice`: speech by the Qwen-TTS models of DashScope."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator, Mapping
from typing import Any

from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.llm._transport import Connection, Pool, requests_session, run_interruptibly, shut_on_cancel
from qwen_agentkit.llm.dashscope_chat import RecordingSession
from qwen_agentkit.utils.optional import need

DEFAULT_MODEL = "qwen-tts"
DEFAULT_VOICE = "Cherry"
DEFAULT_ADDRESS = "https://dashscope.aliyuncs.com/api/v1"

_NOTHING: Any = object()
_WAV_HEADER_BYTES = 44


class DashScopeVoice:
    """Speaks by Qwen-TTS, streaming; the sound is 16-bit mono PCM at 24 kHz.

    Source of the format: https://help.aliyun.com/zh/model-studio/qwen-tts.

    Args:
        cfg: `model`; `voice`; `api_key` (else `DASHSCOPE_API_KEY`); `base_http_api_url` (else `DASHSCOPE_HTTP_URL`,
            else the public address); `proxy`, `ca_file`, `timeout`, `connect_timeout`, `headers`.
    """

    media_type = "audio/pcm;rate=24000"

    def __init__(self, cfg: Mapping[str, Any] | None = None) -> None:
        cfg = dict(cfg or {})
        self.model = str(cfg.get("model") or DEFAULT_MODEL)
        self.voice = str(cfg.get("voice") or DEFAULT_VOICE)
        address = cfg.get("base_http_api_url") or os.environ.get("DASHSCOPE_HTTP_URL") or DEFAULT_ADDRESS
        key = cfg.get("api_key") or os.environ.get("DASHSCOPE_API_KEY")
        self.connection = Connection.from_cfg(cfg, str(address).rstrip("/"), key)
        self._pool: Pool[Any] = Pool()

    def speak(self, text: str) -> Iterator[bytes]:
        """The sound of a text.

        Raises:
            ModelServiceError: The service did not speak it, or there is no key.
        """
        import requests

        if not self.connection.api_key:
            raise ModelServiceError(
                code="401", message=f"{self.model}: there is no key: give 'api_key' or set DASHSCOPE_API_KEY"
            )
        synthesizer = need("dashscope.audio.qwen_tts", package="dashscope").SpeechSynthesizer
        session = self._pool.get(lambda: RecordingSession(requests_session(self.connection)))

        def begin() -> tuple[Any, Any, Any]:
            replies = synthesizer.call(
                model=self.model,
                text=text,
                voice=self.voice,
                api_key=self.connection.api_key,
                base_address=self.connection.address,
                session=session,
                stream=True,
                request_timeout=(self.connection.connect_timeout, self.connection.timeout),
                headers=dict(self.connection.headers),
            )
            # The SDK makes the request when the first reply is asked for.
            return replies, next(replies, _NOTHING), session.last_response()

        try:
            replies, reply, response = run_interruptibly(begin, discard=lambda late: _close(late[2]))
            try:
                with shut_on_cancel(response):
                    while reply is not _NOTHING:
                        if sound := self._sound_of(reply):
                            yield sound
                        reply = next(replies, _NOTHING)
            finally:
                _close(response)
        except (requests.exceptions.RequestException, OSError) as error:
            raise ModelServiceError(error, None, f"{self.model} at {self.connection.address}: {error}") from error

    def _sound_of(self, reply: Any) -> bytes:
        if int(reply.status_code) != 200:
            raise ModelServiceError(code=str(reply.status_code), message=f"{self.model}: {reply.message}")
        audio = (reply.output or {}).get("audio") or {}
        sound = base64.b64decode(audio.get("data") or "")
        # Some versions of the service begin with the header of a WAV file.
        return sound[_WAV_HEADER_BYTES:] if sound.startswith(b"RIFF") else sound


def _close(response: Any) -> None:
    if response is not None:
        response.close()
