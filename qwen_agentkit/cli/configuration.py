"""The configuration file of this process: `--config`, or the one that is found."""

from __future__ import annotations

from qwen_agentkit.config_file import Config, load_config

_current = Config()
_named: str | None = None


def begin(path: str | None) -> None:
    """Reads the file and puts its settings below those of the environment.

    Args:
        path: What `--config` says; None finds it, see `config_file.find_config`.

    Raises:
        ValueError: It cannot be used.
    """
    global _current
    remember(path)
    _current = load_config(path)
    _current.apply()


def remember(path: str | None) -> None:
    """Keeps what `--config` says, for a command that reads the file itself."""
    global _named
    _named = path


def begin_remembered() -> None:
    """`begin` with what was remembered."""
    begin(_named)


def current() -> Config:
    """What was read; an empty configuration where there is no file."""
    return _current
