"""`qwen-agentkit.toml`: one optional file with what the command line would else be told each time.

    model = "house"                        # what is used when no --model is given
    workspace = "workspace"                # folder for what the framework writes
    roots = ["papers", "/srv/handbooks"]   # folders that a model may name files in

    [models.house]                         # any number of them; the name is what --model takes
    model = "qwen3:8b"
    model_server = "http://localhost:11434/v1"
    api_key_env = "HOUSE_KEY"              # name of the environment variable that holds the key
    generate_cfg = { temperature = 0.2 }

    [agents]                               # names for `serve`, `web`, `check`
    desk = "support.py:team"

    [stores]
    sessions = "postgresql+psycopg://app@db/agents"
    index = "indexes/handbook"
    embedder = { model = "text-embedding-v4" }

    [settings]                             # any name of qwen_agentkit.settings
    DEFAULT_TOOL_TIMEOUT = 60

Relative paths are relative to the file. The environment wins over the file, and a flag over both. The library itself
never reads it unasked: a program that wants it calls `load_config()`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qwen_agentkit import settings

FILE_NAME = "qwen-agentkit.toml"
VARIABLE = "QWEN_AGENTKIT_CONFIG"

_TOP = ("model", "workspace", "roots", "models", "agents", "stores", "settings")
_STORES = ("sessions", "index", "embedder", "reranker")
# Words that would put a secret itself into the file.
_SECRETS = ("api_key", "token", "password", "secret")


@dataclass(frozen=True)
class Config:
    """What a configuration file says, checked.

    Args:
        path: The file; None when there is none.
        model: Name of a model, of `models` or of a service; None is none.
        models: Name -> configuration for `get_chat_model`, with `api_key_env` as it stands in the file.
        agents: Name -> place, `file.py:name` or `module:name`.
        index: Folder of the index of documents; None is the workspace's.
        embedder: What `rag.embedders.get_embedder` takes; None is none.
        reranker: What `rag.rerankers.get_reranker` takes; None is none.
        variables: Settings as environment variables, for `apply`.
    """

    path: Path | None = None
    model: str | None = None
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    agents: Mapping[str, str] = field(default_factory=dict)
    index: str | None = None
    embedder: Mapping[str, Any] | str | None = None
    reranker: Mapping[str, Any] | str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)

    def model_config(self, name: str) -> dict[str, Any] | None:
        """The configuration of a model of the file, with its key from the environment; None for another name.

        Raises:
            ValueError: The variable that is to hold its key is not set.
        """
        held = self.models.get(name)
        return None if held is None else with_key(held, f"[models.{name}] of {self.path}")

    def place_of(self, name: str) -> str:
        """The place of an agent: what the file says of a name, else the name itself."""
        return self.agents.get(name, name)

    def apply(self, environment: MutableMapping[str, str] | None = None) -> None:
        """Sets the settings of the file in the environment of this process, where it does not set them itself.

        Args:
            environment: None is `os.environ`; processes that are started from here see them too.
        """
        chosen = os.environ if environment is None else environment
        for name, value in self.variables.items():
            if not any(chosen.get(prefix + name) for prefix in settings.PREFIXES):
                chosen[settings.PREFIXES[0] + name] = value


def find_config(folder: str | os.PathLike[str] = ".") -> Path | None:
    """The file that counts: the one `QWEN_AGENTKIT_CONFIG` names, else `qwen-agentkit.toml` in the folder, else the
    one in the user's own configuration folder (`$XDG_CONFIG_HOME` or `~/.config`, below it `qwen-agentkit/`)."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    for place in (Path(folder, FILE_NAME), Path(home, "qwen-agentkit", FILE_NAME)):
        if place.is_file():
            return place
    return None


def load_config(path: str | os.PathLike[str] | None = None) -> Config:
    """Reads the configuration.

    Args:
        path: The file; None is the one of `find_config`, and without one an empty configuration.

    Raises:
        ValueError: The file is missing, no TOML, or says something that is not understood; the text names the place.
    """
    import tomllib

    place = Path(path) if path is not None else find_config()
    if place is None:
        return Config()
    try:
        text = place.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"The configuration file {place} cannot be read: {error}") from None
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"The configuration file {place} is no TOML: {error}") from None
    try:
        return _read(values, place.absolute())
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


def with_key(held: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A configuration with the key itself in place of the name of its variable.

    Raises:
        ValueError: The variable is not set.
    """
    config = {name: value for name, value in held.items() if name != "api_key_env"}
    variable = held.get("api_key_env")
    if variable:
        key = os.environ.get(variable)
        if not key:
            raise ValueError(f"{where} wants its key in the environment variable {variable}, which is not set")
        config["api_key"] = key
    return config


def _read(values: Mapping[str, Any], path: Path) -> Config:
    _known(values, _TOP, "the file")
    stores = _table(values, "stores")
    _known(stores, _STORES, "[stores]")
    models = {name: _model(name, table) for name, table in _table(values, "models").items()}
    agents = {name: _agent(name, place, path.parent) for name, place in _table(values, "agents").items()}
    index = _text(stores.get("index"), "stores.index")
    for name in ("embedder", "reranker"):
        _no_secret(stores.get(name), f"stores.{name}")
    return Config(
        path=path,
        model=_text(values.get("model"), "model"),
        models=models,
        agents=agents,
        index=None if index is None else _path(index, path.parent),
        embedder=stores.get("embedder"),
        reranker=stores.get("reranker"),
        variables=_variables(values, stores, path.parent),
    )


def _variables(values: Mapping[str, Any], stores: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """Everything that is a setting, as the text that `settings` reads."""
    variables: dict[str, str] = {}
    for name, value in _table(values, "settings").items():
        _known({name: value}, tuple(settings.names()), "[settings]")
        variables[name] = _as_text(value)
        try:
            settings.read_text(name, variables[name])
        except ValueError as error:
            raise ValueError(f"settings.{name} = {value!r} cannot be used: {error}") from None
    workspace = _text(values.get("workspace"), "workspace")
    if workspace is not None:
        variables["DEFAULT_WORKSPACE"] = _path(workspace, folder)
    roots = values.get("roots")
    if roots is not None:
        if not isinstance(roots, list) or not all(isinstance(root, str) and root for root in roots):
            raise ValueError(f"roots is a list of folders, not {roots!r}")
        variables["ALLOWED_FOLDERS"] = repr([_path(root, folder) for root in roots])
    sessions = _text(stores.get("sessions"), "stores.sessions")
    if sessions is not None:
        variables["SESSIONS"] = _address(sessions, folder)
    return variables


def _model(name: str, table: Any) -> dict[str, Any]:
    where = f"models.{name}"
    if not isinstance(table, dict) or not (table.get("model") or table.get("model_type")):
        raise ValueError(f"[{where}] is a table with at least `model` or `model_type`, not {table!r}")
    _no_secret(table, where)
    _text(table.get("api_key_env"), f"{where}.api_key_env")
    return dict(table)


def _agent(name: str, place: Any, folder: Path) -> str:
    text = _text(place, f"agents.{name}") or ""
    where, colon, what = text.rpartition(":")
    file, rest = (where, colon + what) if where.endswith(".py") else (text, "")
    return _path(file, folder) + rest if file.endswith(".py") else text


def _no_secret(value: Any, where: str) -> None:
    """Keys stay out of the file, which is made to be shared and kept under version control."""
    if not isinstance(value, dict):
        return
    for name, inner in value.items():
        if name in _SECRETS:
            raise ValueError(
                f"{where}.{name} would keep a secret in this file; put it into an environment variable and name that: "
                f'api_key_env = "NAME"'
            )
        _no_secret(inner, f"{where}.{name}")


def _known(values: Mapping[str, Any], names: tuple[str, ...], where: str) -> None:
    for name in values:
        if name not in names:
            raise ValueError(f"{where} has no {name!r}; it has {', '.join(names)}")


def _table(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    held = values.get(name, {})
    if not isinstance(held, dict):
        raise ValueError(f"[{name}] is a table, not {held!r}")
    return held


def _text(value: Any, where: str) -> str | None:
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise ValueError(f"{where} is text, not {value!r}")
    return value


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, list) else str(value)


def _path(text: str, folder: Path) -> str:
    return os.path.normpath(folder / os.path.expanduser(text))


def _address(text: str, folder: Path) -> str:
    """An address of SQLAlchemy; the path of an SQLite file becomes absolute (three slashes begin a relative one)."""
    match = re.fullmatch(r"(sqlite(?:\+\w+)?):///([^/:?][^?]*)(\?.*)?", text)
    return text if match is None else f"{match[1]}:///{_path(match[2], folder)}{match[3] or ''}"
