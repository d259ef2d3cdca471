"""`image_gen`: a picture made from a description."""

from __future__ import annotations

import base64
import binascii
import os
import secrets
import time
from collections.abc import Mapping
from typing import Any

from qwen_agentkit import settings
from qwen_agentkit.errors import ToolServiceError
from qwen_agentkit.run_context import current_run
from qwen_agentkit.schema import USER, ContentItem, Message
from qwen_agentkit.tools.base import BaseTool, register_tool
from qwen_agentkit.tools.service import ask_service
from qwen_agentkit.utils.environment import environment
from qwen_agentkit.utils.files import write_atomically

_DASHSCOPE = "https://dashscope.aliyuncs.com/api/v1"
_DASHSCOPE_MODEL = "wan2.2-t2i-flash"
# Seconds between two looks at a picture that is being made, and for all of it.
_LOOK_EVERY = 1.0
_MAX_SECONDS = 110.0


@register_tool("image_gen")
class ImageGen(BaseTool):
    """Makes a picture.

    Args:
        cfg: One of three ways. `llm_cfg`: a chat model that answers with pictures (see `get_chat_model`).
            `image_server`, `image_api_key`, `image_model`: an endpoint of OpenAI's images protocol, an address up
            to `/v1`; else `QWEN_AGENTKIT_IMAGE_SERVER`, `_IMAGE_API_KEY`, `_IMAGE_MODEL`. Neither: DashScope, with
            `DASHSCOPE_API_KEY` (and `DASHSCOPE_HTTP_URL`). `size`: such as `1024*1024`.
            What is missing is said when the tool is called.
    """

    description = "Makes a picture from a description and gives its address."
    parameters = {
        "type": "object",
        "properties": {
            "prompt": {
                "type": "string",
                "description": "What the picture shows, in detail. Keep every wish of the user, such as text in the "
                "picture, word for word.",
            }
        },
        "required": ["prompt"],
    }
    timeout = _MAX_SECONDS + 10

    def __init__(self, cfg: Mapping[str, Any] | None = None) -> None:
        super().__init__(cfg)
        self.size: str = self.cfg.get("size", "1024*1024")
        self.llm: Any = None
        if self.cfg.get("llm_cfg"):
            from qwen_agentkit.llm import get_chat_model

            self.llm = get_chat_model(self.cfg["llm_cfg"])

    def call(self, params: str | dict[str, Any], **kwargs: Any) -> list[ContentItem]:
        """The picture, as a content item.

        Raises:
            ToolServiceError: Nothing is configured, or the service failed.
        """
        prompt = self._verify_json_format_args(params)["prompt"]
        if self.llm is not None:
            return self._by_chat_model(prompt)
        server = self.cfg.get("image_server") or environment("IMAGE_SERVER")
        return self._by_images_endpoint(server, prompt) if server else self._by_dashscope(prompt)

    def _by_chat_model(self, prompt: str) -> list[ContentItem]:
        replies = list(self.llm.chat(messages=[Message(USER, [ContentItem(text=prompt)])]))
        content = replies[-1][-1].content if replies and replies[-1] else ""
        if isinstance(content, str):
            return [ContentItem(text=content)]
        return content

    def _by_images_endpoint(self, server: str, prompt: str) -> list[ContentItem]:
        key = self.cfg.get("image_api_key") or environment("IMAGE_API_KEY")
        model = self.cfg.get("image_model") or environment("IMAGE_MODEL")
        reply = ask_service(
            f"{server.rstrip('/')}/images/generations",
            method="POST",
            json_body={
                "prompt": prompt,
                "n": 1,
                "size": self.size.replace("*", "x"),
                **({"model": model} if model else {}),
            },
            headers={"Authorization": f"Bearer {key}"} if key else {},
            seconds=_MAX_SECONDS,
        ).json()
        data = reply.get("data") if isinstance(reply, Mapping) else None
        first = data[0] if isinstance(data, list) and data and isinstance(data[0], Mapping) else {}
        if isinstance(first.get("url"), str):
            return [ContentItem(image=first["url"])]
        if isinstance(first.get("b64_json"), str):
            return [ContentItem(image=_kept(first["b64_json"]))]
        raise ToolServiceError(None, "bad_reply", f"{server} did not answer with a picture")

    def _by_dashscope(self, prompt: str) -> list[ContentItem]:
        key = self.cfg.get("image_api_key") or environment("DASHSCOPE_API_KEY", plain=True)
        if not key:
            raise ToolServiceError(
                None,
                "not_configured",
                "image_gen has no service: give it llm_cfg, set QWEN_AGENTKIT_IMAGE_SERVER to an OpenAI-compatible "
                "address, or DASHSCOPE_API_KEY for DashScope.",
            )
        server = (environment("DASHSCOPE_HTTP_URL", plain=True) or _DASHSCOPE).rstrip("/")
        headers = {"Authorization": f"Bearer {key}"}
        task = ask_service(
            f"{server}/services/aigc/text2image/image-synthesis",
            method="POST",
            json_body={
                "model": self.cfg.get("image_model") or environment("IMAGE_MODEL") or _DASHSCOPE_MODEL,
                "input": {"prompt": prompt},
                "parameters": {"size": self.size, "n": 1},
            },
            headers={**headers, "X-DashScope-Async": "enable"},
        ).json()
        task_id = _output(task).get("task_id")
        if not isinstance(task_id, str):
            raise ToolServiceError(None, "bad_reply", "DashScope did not take the picture's description")
        until = time.monotonic() + _MAX_SECONDS
        while True:
            output = _output(ask_service(f"{server}/tasks/{task_id}", headers=headers).json())
            status = output.get("task_status")
            if status == "SUCCEEDED":
                results = output.get("results") or []
                if results and isinstance(results[0], Mapping) and results[0].get("url"):
                    return [ContentItem(image=results[0]["url"])]
                raise ToolServiceError(None, "bad_reply", "DashScope made no picture of this description")
            if status in ("FAILED", "CANCELED", "UNKNOWN"):
                raise ToolServiceError(None, str(output.get("code", "failed")), str(output.get("message", status)))
            if time.monotonic() >= until:
                raise ToolServiceError(None, "timeout", f"The picture was not made within {_MAX_SECONDS:.0f} seconds")
            _pause()


def _pause() -> None:
    run = current_run()
    if run is None:
        time.sleep(_LOOK_EVERY)
    elif run.cancel.wait(_LOOK_EVERY):
        run.cancel.raise_if_cancelled()


def _output(reply: Any) -> Mapping[str, Any]:
    output = reply.get("output") if isinstance(reply, Mapping) else None
    return output if isinstance(output, Mapping) else {}


def _kept(encoded: str) -> str:
    """A picture that came as base64, as a file in the workspace."""
    try:
        content = base64.b64decode(encoded, validate=True)
    except binascii.Error as error:
        raise ToolServiceError(error, "bad_reply", "The picture's base64 is broken") from None
    ending = "jpg" if content.startswith(b"\xff\xd8") else "webp" if content[8:12] == b"WEBP" else "png"
    path = os.path.abspath(
        os.path.join(settings.DEFAULT_WORKSPACE, "tools", "image_gen", f"{secrets.token_hex(8)}.{ending}")
    )
    write_atomically(path, content)
    return path
