"""`OpenAIVoice`: speech by a service that speaks OpenAI's protocol."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.llm._transport import Connection, Pool, openai_http_client, run_interruptibly, shut_on_cancel

DEFAULT_MODEL = "gpt-4o-mini-tts"
DEFAULT_VOICE = "alloy"
DEFAULT_ADDRESS = "https://api.openai.com/v1"
_PIECE_BYTES = 4096


class OpenAIVoice:
    """Speaks by `POST /audio/speech`; the sound is 16-bit mono PCM at 24 kHz, as it comes.

    Source of the format: https://platform.openai.com/docs/api-reference/audio/createSpeech.

    Args:
        cfg: `model`; `voice`; `instructions` (how to speak); `model_server` (else `OPENAI_BASE_URL`, else OpenAI);
            `api_key` (else `OPENAI_API_KEY`); `proxy`, `ca_file`, `timeout`, `connect_timeout`, `headers`.
    """

    media_type = "audio/pcm;rate=24000"

    def __init__(self, cfg: Mapping[str, Any] | None = None) -> None:
        cfg = dict(cfg or {})
        self.model = str(cfg.get("model") or DEFAULT_MODEL)
        self.voice = str(cfg.get("voice") or DEFAULT_VOICE)
        self.instructions = cfg.get("instructions")
        address = cfg.get("model_server") or os.environ.get("OPENAI_BASE_URL") or DEFAULT_ADDRESS
        key = str(cfg.get("api_key") or os.environ.get("OPENAI_API_KEY") or "EMPTY").strip()
        self.connection = Connection.from_cfg(cfg, str(address).rstrip("/"), key)
        self._pool: Pool[Any] = Pool()

    def speak(self, text: str) -> Iterator[bytes]:
        """The sound of a text.

        Raises:
            ModelServiceError: The service did not speak it.
        """
        import openai

        client = self._pool.get(self._make_client)
        more = {"instructions": self.instructions} if self.instructions else {}
        request = client.audio.speech.with_streaming_response.create(
            model=self.model, voice=self.voice, input=text, response_format="pcm", **more
        )
        try:
            response = run_interruptibly(request.__enter__, discard=lambda late: late.close())
            try:
                with shut_on_cancel(response.http_response):
                    yield from response.iter_bytes(_PIECE_BYTES)
            finally:
                response.close()
        except openai.APIStatusError as error:
            raise ModelServiceError(error, str(error.status_code), f"{self.model}: {error.message}") from error
        except openai.OpenAIError as error:
            raise ModelServiceError(error, None, f"{self.model} at {self.connection.address}: {error}") from error

    def _make_client(self) -> Any:
        import openai

        return openai.OpenAI(
            api_key=self.connection.api_key,
            base_url=self.connection.address,
            http_client=openai_http_client(self.connection),
            default_headers=dict(self.connection.headers) or None,
            max_retries=1,
        )
