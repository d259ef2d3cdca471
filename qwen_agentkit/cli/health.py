"""What `doctor` looks at: each a `Check` that says how a thing stands and what to do about it."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from qwen_agentkit import settings
from qwen_agentkit.cli import configuration, packages
from qwen_agentkit.utils.environment import environment
from qwen_agentkit.utils.store_address import without_password
from qwen_agentkit.version import __version__

FINE, ABSENT, WRONG = "fine", "absent", "wrong"

# Seconds that a server may take to answer.
_PATIENCE = 5.0

# Variable -> what it opens. `plain` names of services as they themselves call them.
_KEYS = {
    "DASHSCOPE_API_KEY": "DashScope's models",
    "OPENAI_API_KEY": "OpenAI's models",
    "SERPER_API_KEY": "the tool web_search, by Serper",
    "SERPAPI_IMAGE_SEARCH_KEY": "the tool image_search, by SerpApi",
    "AMAP_TOKEN": "the tool amap_weather",
    "TAVILY_API_KEY": "the tool web_search, by Tavily",
}


@dataclass(frozen=True)
class Check:
    """How one thing stands.

    Args:
        group: `python packages extras keys servers files`.
        name: Which thing.
        state: `fine`, `absent` (not there, and not needed unless it is wanted) or `wrong`.
        text: What was found.
        todo: What to do; "" for nothing.
    """

    group: str
    name: str
    state: str
    text: str
    todo: str = ""


def look(ask_servers: bool = True) -> Iterator[Check]:
    """Looks at everything.

    Args:
        ask_servers: Whether servers are asked if they answer: those that are configured, and those whose key is set.
    """
    yield _python()
    yield _base()
    yield from _extras()
    yield from _configuration()
    yield from _keys()
    if ask_servers:
        yield from _servers()
    yield from _files()


def _python() -> Check:
    version = platform.python_version()
    text = f"qwen-agentkit {__version__} on Python {version}, {platform.system()} {platform.machine()}"
    return Check("python", "python", FINE, text)


def _base() -> Check:
    found = packages.look_at(packages.BASE)
    if found.missing:
        todo = f"pip install {' '.join(found.missing)}"
        return Check("packages", "base", WRONG, f"not installed: {', '.join(found.missing)}", todo)
    return Check("packages", "base", FINE, packages.in_words(found.versions))


def _extras() -> Iterator[Check]:
    for extra, (purpose, needed) in packages.EXTRAS.items():
        found = packages.look_at(needed)
        if found.missing:
            text = f"{purpose}; not installed: {', '.join(found.missing)}"
            yield Check("extras", extra, ABSENT, text, f"pip install 'qwen-agentkit[{extra}]'")
        else:
            yield Check("extras", extra, FINE, f"{purpose}; {packages.in_words(found.versions)}")


def _configuration() -> Iterator[Check]:
    try:
        configuration.begin_remembered()
    except ValueError as error:
        yield Check("files", "configuration", WRONG, str(error), "mend the file, or name another with --config")
        return
    config = configuration.current()
    if config.path is None:
        yield Check("files", "configuration", ABSENT, "no qwen-agentkit.toml here or in ~/.config/qwen-agentkit/")
        return
    yield Check("files", "configuration", FINE, str(config.path))
    for name in config.models:
        try:
            config.model_config(name)
        except ValueError as error:
            yield Check("keys", f"model {name}", WRONG, str(error), f"set it, or remove [models.{name}]")


def _keys() -> Iterator[Check]:
    for name, purpose in _KEYS.items():
        if environment(name, plain=True):
            # The value of a key is shown to nobody.
            yield Check("keys", name, FINE, f"set; for {purpose}")
        else:
            yield Check("keys", name, ABSENT, f"not set; for {purpose}", f"export {name}=...")


def _servers() -> Iterator[Check]:
    wanted = list(_addresses())
    with ThreadPoolExecutor(max_workers=max(1, len(wanted))) as pool:
        yield from pool.map(lambda one: _ask(*one), wanted)


def _addresses() -> Iterator[tuple[str, str, str | None]]:
    """Name, address and key of each server that is worth asking."""
    from qwen_agentkit.llm.registry import DASHSCOPE_COMPATIBLE
    from qwen_agentkit.llm.server_override import VARIABLE

    stand_in = os.environ.get(VARIABLE)
    if stand_in:
        yield VARIABLE, stand_in, os.environ.get(f"{VARIABLE}_API_KEY")
    for_embedding = environment("EMBEDDING_SERVER")
    if for_embedding:
        yield "QWEN_AGENTKIT_EMBEDDING_SERVER", for_embedding, environment("EMBEDDING_API_KEY")
    config = configuration.current()
    for name, held in config.models.items():
        address = _address_of(held)
        if address:
            yield f"model {name}", address, os.environ.get(str(held.get("api_key_env"))) or None
    dashscope, openai = (environment(name, plain=True) for name in ("DASHSCOPE_API_KEY", "OPENAI_API_KEY"))
    if dashscope:
        yield "DashScope", DASHSCOPE_COMPATIBLE, dashscope
    if openai:
        yield "OpenAI", os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1", openai


def _address_of(held: Mapping[str, Any]) -> str | None:
    named = (str(held.get(key) or "") for key in ("model_server", "base_url", "api_base"))
    return next((address for address in named if address.startswith("http")), None)


def _ask(name: str, address: str, key: str | None) -> Check:
    """Asks an OpenAI-compatible server for its models."""
    from qwen_agentkit.errors import ToolServiceError
    from qwen_agentkit.utils.web import fetch

    headers = {"Authorization": f"Bearer {key}"} if key else {}
    where = f"{address.rstrip('/')}/models"
    try:
        response = fetch(where, headers=headers, seconds=_PATIENCE, allow_private=True)
    except (ToolServiceError, ValueError) as error:
        reason = getattr(error, "message", None) or str(error)
        return Check("servers", name, WRONG, f"{address} does not answer: {reason}", "start it, or mend its address")
    if response.status in (401, 403):
        return Check("servers", name, WRONG, f"{address} refuses the key (status {response.status})", "mend the key")
    # 501: a server that has no list of models answers all the same.
    if response.status >= 500 and response.status != 501:
        return Check("servers", name, WRONG, f"{address} answers with status {response.status}", "see to the server")
    return Check("servers", name, FINE, f"{address} answers{_models_in(response)}")


def _models_in(response: Any) -> str:
    from qwen_agentkit.errors import ToolServiceError

    try:
        models = [str(model["id"]) for model in response.json()["data"]]
    except (ToolServiceError, ValueError, KeyError, TypeError):
        return ""  # a server without a list of models is a server all the same
    return f": {', '.join(models[:5])}{', ...' if len(models) > 5 else ''}"


def _files() -> Iterator[Check]:
    yield _workspace()
    yield _index()
    yield _sessions()


def _workspace() -> Check:
    folder = os.path.abspath(settings.DEFAULT_WORKSPACE)
    place = folder
    while not os.path.exists(place):
        place = os.path.dirname(place)
    if not os.access(place, os.W_OK):
        text = f"{folder} cannot be written: nothing can be kept there"
        return Check("files", "workspace", WRONG, text, "set QWEN_AGENTKIT_DEFAULT_WORKSPACE to a folder of yours")
    return Check("files", "workspace", FINE, folder if place == folder else f"{folder}, made when it is wanted")


def _index() -> Check:
    from qwen_agentkit.cli.index_place import named_index, open_index
    from qwen_agentkit.cli.status import WrongUse
    from qwen_agentkit.errors import QwenAgentKitError

    try:
        with open_index(None) as opened:
            totals = opened.totals()
            where = str(opened.path)
    except WrongUse as error:
        state = WRONG if named_index(None) else ABSENT
        return Check("files", "index", state, str(error), "qwen-agentkit index add FILES")
    except (QwenAgentKitError, ValueError, OSError) as error:
        return Check("files", "index", WRONG, str(error), "make it anew: qwen-agentkit index add FILES --index NEW")
    return Check("files", "index", FINE, f"{where}: {totals['documents']} documents, {totals['chunks']} passages")


def _sessions() -> Check:
    address = settings.SESSIONS
    path = os.path.join(os.path.abspath(settings.DEFAULT_WORKSPACE), "sessions.sqlite")
    if not address and not os.path.exists(path):
        return Check("files", "sessions", ABSENT, f"none yet; they will be in {path}")
    from qwen_agentkit.cli.stored_sessions import open_sessions
    from qwen_agentkit.errors import QwenAgentKitError

    try:
        with open_sessions(None) as opened:
            opened.sessions(limit=1)
    except (QwenAgentKitError, ValueError, OSError) as error:
        return Check("files", "sessions", WRONG, str(error), "mend the address, or start the database")
    return Check("files", "sessions", FINE, without_password(address) if address else path)
