"""Chinese words, by jieba with a private cache and a quiet log. The dictionary is read at first use, in a second."""

from __future__ import annotations

import logging
import os
import tempfile
import threading
from pathlib import Path
from typing import Any

_LOCK = threading.Lock()
_CUTTER: Any = None


def cut_words(text: str) -> list[str]:
    """`text` cut into words, in order; joined they give the text back."""
    return _cutter().lcut(text, HMM=False)


def _cutter() -> Any:
    global _CUTTER
    if _CUTTER is None:
        with _LOCK:
            if _CUTTER is None:
                import jieba

                jieba.setLogLevel(logging.ERROR)
                cutter = jieba.Tokenizer()
                # jieba caches its dictionary under a fixed name in the shared temporary folder, where another user
                # may have put a file of that name; ours lies in a folder that only this user can write.
                folder = _private_folder()
                if folder is not None:
                    cutter.tmp_dir = str(folder)
                cutter.initialize()
                _CUTTER = cutter
    return _CUTTER


def _private_folder() -> Path | None:
    """A folder of this user's own for the dictionary's cache; None where none can be made."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    for parent in (Path(base), Path(tempfile.gettempdir()) / f"user-{getattr(os, 'getuid', lambda: 'me')()}"):
        folder = parent / "qwen_agentkit" / "jieba"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    return None
