"""How tools ask the services that a developer configured."""

from __future__ import annotations

from typing import Any

from qwen_agentkit.errors import ToolServiceError
from qwen_agentkit.run_context import current_run
from qwen_agentkit.utils.environment import environment
from qwen_agentkit.utils.web import Response, fetch


def ask_service(url: str, **options: Any) -> Response:
    """Sends a request to a service whose address is a setting of the program, so it may be a private one.

    Args:
        url: The address.
        **options: As for `qwen_agentkit.utils.web.fetch`.

    Returns:
        The answer, with a status below 400.

    Raises:
        ToolServiceError: The service cannot be reached or answers with an error.
        RunCancelled: The run was cancelled.
    """
    run = current_run()
    options.setdefault("cancel", run.cancel if run is not None else None)
    return fetch(url, allow_private=True, **options).raise_for_status()


def service_key(tool: str, given: str | None, variable: str, where: str) -> str:
    """The key of a service: the one given, else that of the environment.

    Args:
        tool: Name of the tool, for the message.
        given: From the tool's settings.
        variable: The environment variable.
        where: Where a key is to be had.

    Raises:
        ToolServiceError: There is none; the text says how to set it.
    """
    key = given or environment(variable, plain=True)
    if not key:
        raise ToolServiceError(
            None, "not_configured", f"{tool} needs a key: set {variable} in the environment. Keys are had at {where}."
        )
    return key
