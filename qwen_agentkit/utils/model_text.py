"""What stands in a model's text: addresses, code, JSON; and JSON written for it."""

from __future__ import annotations

import json
import re
from typing import Any


def extract_urls(text: str) -> list[str]:
    """Every http(s) address in a text, up to the next space."""
    return re.findall(r"https?://\S+", text)


def extract_markdown_urls(md_text: str) -> list[str]:
    """The targets of Markdown links and images."""
    return re.findall(r"!?\[[^\]]*\]\(([^)]+)\)", md_text)


def extract_code(text: str) -> str:
    """The code in a model's text: of the first fence, else of a JSON object's `code`, else the text itself."""
    fenced = re.search(r"```[^\n]*\n(.+?)```", text, re.DOTALL)
    if fenced:
        return fenced[1]
    try:
        held = json_loads(text)
    except ValueError:
        return text
    code = held.get("code") if isinstance(held, dict) else None
    return code if isinstance(code, str) else text


def json_loads(text: str) -> Any:
    """Reads JSON, without a code fence around it, or JSON5.

    Raises:
        json.JSONDecodeError: It is neither; the error is that of plain JSON.
    """
    text = text.strip("\n")
    if text.startswith("```") and text.endswith("\n```"):
        text = "\n".join(text.split("\n")[1:-1])
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        import json5

        try:
            return json5.loads(text)
        except ValueError:
            raise error from None


class PydanticJSONEncoder(json.JSONEncoder):
    """Writes messages and pydantic models as the dicts they dump to."""

    def default(self, o: Any) -> Any:
        dump = getattr(o, "model_dump", None)
        return dump() if callable(dump) else super().default(o)


def json_dumps_pretty(obj: Any, ensure_ascii: bool = False, indent: int = 2, **kwargs: Any) -> str:
    """JSON text with an indent of two."""
    return json.dumps(obj, ensure_ascii=ensure_ascii, indent=indent, cls=PydanticJSONEncoder, **kwargs)


def json_dumps_compact(obj: Any, ensure_ascii: bool = False, indent: int | None = None, **kwargs: Any) -> str:
    """JSON text in one line."""
    return json.dumps(obj, ensure_ascii=ensure_ascii, indent=indent, cls=PydanticJSONEncoder, **kwargs)
