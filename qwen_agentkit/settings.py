"""Numbers and names that a user may change: by assigning here, or by an environment variable.

Each name below is looked up when it is read, in this order: a value assigned to this module
(``settings.MAX_LLM_CALL_PER_RUN = 50``), ``QWEN_AGENTKIT_<NAME>``, ``QWEN_AGENT_<NAME>`` (so that a
Qwen-Agent deployment keeps its settings), the default.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from typing import Any

PREFIXES = ("QWEN_AGENTKIT_", "QWEN_AGENT_")

TRUE_WORDS = frozenset({"1", "true", "yes", "on"})
FALSE_WORDS = frozenset({"", "0", "false", "no", "off"})


def _flag(text: str) -> bool:
    word = text.strip().lower()
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise ValueError("wants true or false")


def _busy_choice(text: str) -> str:
    word = text.strip()
    if word in ("wait", "follow_up"):
        return word
    raise ValueError("wants wait or follow_up")


def _ocr_name(text: str) -> str:
    name = text.strip()
    if name == "rapidocr" or all(name.partition(":")):
        return name
    raise ValueError("wants rapidocr or package.module:function")


def _list(text: str) -> list[str]:
    value = ast.literal_eval(text)
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise ValueError("wants a list of names such as ['keyword_search']")
    return list(value)


# name -> (default, how an environment variable's text is read)
_DEFAULTS: dict[str, tuple[Any, Callable[[str], Any]]] = {
    # Model calls in one agent's turn, tool rounds and the reply together.
    "MAX_LLM_CALL_PER_RUN": (20, int),
    # Tokens of history a request may carry; 0 or less switches cutting off.
    "DEFAULT_MAX_INPUT_TOKENS": (58000, int),
    # Folder for everything the framework writes, relative to the current folder.
    "DEFAULT_WORKSPACE": ("workspace", str),
    # Where sessions and facts are kept, an SQLAlchemy address; empty: `sessions.sqlite` in the workspace.
    "SESSIONS": ("", str),
    # What a message does while a run is under way in its session: `wait`, or `follow_up` to go to that run. Empty:
    # `follow_up` at the web page, `wait` elsewhere.
    "ON_BUSY": ("", _busy_choice),
    # Tokens of retrieved text that go into one prompt.
    "DEFAULT_MAX_REF_TOKEN": (20000, int),
    # Tokens of one chunk of a document.
    "DEFAULT_PARSER_PAGE_SIZE": (500, int),
    "DEFAULT_RAG_KEYGEN_STRATEGY": ("GenKeyword", str),
    "DEFAULT_RAG_SEARCHERS": (["keyword_search", "front_page_search"], _list),
    # Seconds that one tool call may take before it is reported as timed out.
    "DEFAULT_TOOL_TIMEOUT": (120.0, float),
    # Tool calls that run at once in one process.
    "MAX_TOOL_THREADS": (64, int),
    # Seconds and bytes that reading one document may take (rag.worker); with `OCR` the seconds are for each page.
    "DEFAULT_PARSE_SECONDS": (60.0, float),
    "DEFAULT_PARSE_MEMORY": (1_000_000_000, int),
    # What reads pages without a text layer: `rapidocr` (extra `ocr`), or the name of a function of your own,
    # `package.module:function`, that takes the bytes of a picture and gives its text. Empty: nothing does.
    "OCR": ("", _ocr_name),
    # Folders besides the workspace and an agent's own files that tools may read when a model names a path there.
    "ALLOWED_FOLDERS": ([], _list),
    # Container image, with python3, for the code tools; empty: no container unless a tool's cfg names one.
    "CODE_IMAGE": ("", str),
    # Private hosts that tools may reach when a model names an address there: names, addresses or networks.
    "WEB_ALLOWED_HOSTS": ([], _list),
    # Bytes (after decompression) and seconds that fetching one address may take.
    "WEB_MAX_BYTES": (50_000_000, int),
    "WEB_TIMEOUT": (30.0, float),
    "USE_RAW_API": (False, _flag),
    # Keeps the speech of omni models as files in the workspace.
    "OMNI_RESPONSE_SAVE_AUDIO": (False, _flag),
    "DEBUG": (False, _flag),
}


def names() -> list[str]:
    """The names that there are, in the order of the alphabet."""
    return sorted(_DEFAULTS)


def read_text(name: str, text: str) -> Any:
    """What a text means as the value of a setting.

    Raises:
        KeyError: There is no such setting.
        ValueError: The text is no value of it.
    """
    _, read = _DEFAULTS[name]
    try:
        return read(text)
    except (ValueError, SyntaxError) as error:
        raise ValueError(str(error)) from None


def __getattr__(name: str) -> Any:
    try:
        default, _ = _DEFAULTS[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no setting {name!r}") from None
    for prefix in PREFIXES:
        text = os.environ.get(prefix + name)
        if text is not None and text != "":
            try:
                return read_text(name, text)
            except ValueError as error:
                raise ValueError(
                    f"Environment variable {prefix + name}={text!r} cannot be used: {error}. Default: {default!r}."
                ) from None
    return list(default) if isinstance(default, list) else default


def __dir__() -> list[str]:
    return sorted({*globals(), *_DEFAULTS})
