"""The options that choose a model, shared by the commands."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer

from qwen_agentkit.cli import configuration
from qwen_agentkit.cli.common_options import Json as Json
from qwen_agentkit.cli.status import WrongUse
from qwen_agentkit.cli.terminal import remark

EXTRACTIVE = "extractive"
# Redirects every cloud model to one server, see `qwen_agentkit.llm.server_override`.
_SERVER = "QWEN_AGENTKIT_MODEL_SERVER"
_OF_ADDRESS = ("model_server", "base_url", "api_base", "azure_endpoint", "model_type", "api_key_env")

Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        envvar="QWEN_AGENTKIT_MODEL",
        help="Name of a model: one of the configuration file, one of DashScope such as qwen-max, or one on the server "
        "that --model-server names. "
        "Without one nothing leaves this machine: the answer is quoted from the files.",
    ),
]
ModelServer = Annotated[
    str | None,
    typer.Option(
        "--model-server",
        help="Address of an OpenAI-compatible server, such as http://localhost:11434/v1 (Ollama) or "
        "https://api.openai.com/v1.",
    ),
]
ApiKey = Annotated[
    str | None,
    typer.Option(
        "--api-key",
        envvar="QWEN_AGENTKIT_API_KEY",
        help="Key of the model's service. Better given in the environment: DASHSCOPE_API_KEY, OPENAI_API_KEY.",
    ),
]


def model_config(model: str | None, model_server: str | None, api_key: str | None) -> dict[str, Any]:
    """The configuration for `get_chat_model` that the options ask for, the configuration file behind them.

    Raises:
        WrongUse: A server without the name of a model, or a model of the file whose key is not set.
    """
    file = configuration.current()
    if not model and file.model:
        # A file that lies in a folder may come from elsewhere: whoever sends documents to a model is told so.
        remark(f"The model is {file.model}, as {file.path} says.")
        model = file.model
    if not model:
        if model_server:
            raise WrongUse("--model-server needs --model too: the name of a model on that server")
        return {"model_type": EXTRACTIVE}
    if model in file.models:
        return _of_file(model, model_server, api_key)
    if model == EXTRACTIVE:
        return {"model_type": EXTRACTIVE}
    # The command line wins over the environment, in this process: a server named here is the one that is asked.
    if model_server:
        os.environ.pop(_SERVER, None)
    elif os.environ.get(_SERVER):
        model_server = os.environ[_SERVER]
        if api_key:
            os.environ[f"{_SERVER}_API_KEY"] = api_key
    config = {"model": model, "model_server": model_server, "api_key": api_key}
    return {name: value for name, value in config.items() if value}


def _of_file(name: str, model_server: str | None, api_key: str | None) -> dict[str, Any]:
    """A model of the configuration file, with what the flags say in place of what it says."""
    file = configuration.current()
    if model_server:
        # The key of the file is for the file's server and goes to no other.
        config = {key: value for key, value in file.models[name].items() if key not in _OF_ADDRESS}
        config["model_server"] = model_server
        os.environ.pop(_SERVER, None)
    else:
        try:
            config = file.model_config(name) or {}
        except ValueError as error:
            if not api_key:
                raise WrongUse(str(error)) from None
            config = {key: value for key, value in file.models[name].items() if key != "api_key_env"}
    return {**config, "api_key": api_key} if api_key else config


def model_name(config: dict[str, Any]) -> str:
    """The name to show for a configuration."""
    return str(config.get("model") or config["model_type"])


def is_extractive(config: dict[str, Any]) -> bool:
    """Whether answers are quoted rather than written."""
    return config.get("model_type") == EXTRACTIVE
