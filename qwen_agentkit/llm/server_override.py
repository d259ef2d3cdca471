"""One server for every cloud model: `QWEN_AGENTKIT_MODEL_SERVER`.

Set, it replaces the service of every OpenAI, Azure and DashScope chat model, fallbacks included, by one
OpenAI-compatible server, whatever a program names. `QWEN_AGENTKIT_MODEL_SERVER_API_KEY` is the key for it (the
program's own keys are not sent there), `QWEN_AGENTKIT_MODEL_SERVER_MODEL` the model to ask for (else the program's).
Models of this machine, scripted ones and a user's own types stay as they are.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

VARIABLE = "QWEN_AGENTKIT_MODEL_SERVER"

# What stands in for each backend that talks to a service.
_STAND_INS = {
    "oai": "oai",
    "azure": "oai",
    "qwen_dashscope": "oai",
    "qwenvl_oai": "qwenvl_oai",
    "qwenvl_dashscope": "qwenvl_oai",
    "qwenvlo_dashscope": "qwenvl_oai",
    "qwenomni_oai": "qwenomni_oai",
    "qwenaudio_dashscope": "qwenomni_oai",
}
_ADDRESSES = (
    "model_server",
    "base_url",
    "api_base",
    "azure_endpoint",
    "api_version",
    "base_http_api_url",
    "base_websocket_api_url",
)


def override_address() -> str | None:
    """The server that stands in for all cloud models, None when none is set.

    Raises:
        ValueError: The variable is set to something that is no address.
    """
    address = os.environ.get(VARIABLE, "").strip()
    if not address:
        return None
    if not address.startswith(("http://", "https://")):
        raise ValueError(f"{VARIABLE} is an address that begins with http:// or https://, not {address!r}")
    return address


def redirected(cfg: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration as it is to be used: as given, or pointing at the server that stands in.

    Args:
        cfg: A configuration with `model_type`.
    """
    address = override_address()
    stand_in = _STAND_INS.get(cfg.get("model_type") or "")
    if address is None or stand_in is None:
        return dict(cfg)
    changed = {key: value for key, value in cfg.items() if key not in _ADDRESSES}
    changed["model_type"] = stand_in
    changed["model_server"] = address
    changed["api_key"] = os.environ.get(f"{VARIABLE}_API_KEY") or "EMPTY"
    model = os.environ.get(f"{VARIABLE}_MODEL")
    if model:
        changed["model"] = model
    return changed
