"""Text of a DOCX paragraph, and what hangs on it: notes, text boxes, pictures, charts, diagrams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from qwen_agentkit.rag.document import CAPTION, LIST_ITEM, TABLE
from qwen_agentkit.rag.markdown_table import markdown_table
from qwen_agentkit.rag.parsers.docx_styles import symbol
from qwen_agentkit.rag.parsers.docx_xml import MAX_DEPTH, SKIPPED, WRAPPERS, choice, flat_text
from qwen_agentkit.rag.parsers.drawingml import chart_rows, chart_title, diagram_lines
from qwen_agentkit.rag.parsers.media import spoken_description
from qwen_agentkit.rag.parsers.ooxml import attribute, local

_CHARACTERS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_FORMULA_JOINTS = {"f": "/", "sSup": "^", "sSub": "_"}


@dataclass
class ParagraphText:
    """Text of a paragraph and what hangs on it.

    Args:
        text: The pieces of the text.
        notes: Kind (`footnote`, `endnote`, `comment`) and id of the notes that it refers to.
        boxes: Elements that follow it (`w:txbxContent`, `w:tbl`), or kind and text of a chart or diagram.
        pictures: Relationship id and alternative text of its pictures, None where there is none.
    """

    text: list[str] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    boxes: list[Any] = field(default_factory=list)
    pictures: list[tuple[str | None, str | None]] = field(default_factory=list)


def read_inline(element: Any, found: ParagraphText, open_part: Callable[[str | None], Any | None], depth: int) -> None:
    """Collects the text of a paragraph in its order.

    Args:
        element: The paragraph, or what wraps a part of it.
        found: Takes the text.
        open_part: Gives the root of the part with a relationship id (charts, diagrams), None when there is none.
        depth: Depth of the walk so far.
    """
    for child in element:
        name = local(child.tag)
        if name == "t":
            found.text.append(child.text or "")
        elif name in SKIPPED:
            continue
        elif name in _CHARACTERS:
            found.text.append(_CHARACTERS[name])
        elif name == "sym":
            found.text.append(symbol(child))
        elif name == "rt":  # the reading of East Asian characters, printed above them
            reading = flat_text(child)
            found.text.append(f"({reading})" if reading else "")
        elif name in ("footnoteReference", "endnoteReference", "commentReference"):
            found.notes.append((name.removesuffix("Reference"), attribute(child, "id") or ""))
        elif name in ("drawing", "pict", "object"):
            _read_drawing(child, found, open_part)
        elif name == "tbl":
            found.boxes.append(child)
        elif depth > MAX_DEPTH:
            found.text.append(flat_text(child))
        elif name == "AlternateContent":
            chosen = choice(child)
            if chosen is not None:
                read_inline(chosen, found, open_part, depth + 1)
        elif name in _FORMULA_JOINTS or name == "rad":
            found.text.append(_formula(name, child))
        elif name in WRAPPERS:
            read_inline(child, found, open_part, depth + 1)


def _formula(name: str, element: Any) -> str:
    """A fraction, power, index or root on one line."""
    parts = [flat_text(part) for part in element if not local(part.tag).endswith("Pr")]
    if name == "rad":
        return f"√({parts[-1] if parts else ''})"
    return _FORMULA_JOINTS[name].join(part if len(part) < 2 else f"({part})" for part in parts)


def _read_drawing(element: Any, found: ParagraphText, open_part: Callable[[str | None], Any | None]) -> None:
    """Text boxes, pictures and their alternative texts in a drawing, VML pictures included."""
    described: list[str] = []
    stack = [element]
    while stack:
        node = stack.pop()
        name = local(node.tag)
        if name == "txbxContent":
            found.boxes.append(node)
            continue
        if name == "AlternateContent":
            chosen = choice(node)
            stack.extend([chosen] if chosen is not None else [])
            continue
        if name == "docPr":
            described.append(spoken_description(node.get("descr") or node.get("title")))
        elif name in ("blip", "imagedata"):
            link = attribute(node, "embed") or attribute(node, "id")
            alternative = next((text for text in described if text), None) or (
                spoken_description(node.get("alt")) or None
            )
            found.pictures.append((link, alternative))
            described = []
        elif name == "relIds":
            root = open_part(attribute(node, "dm"))
            lines = diagram_lines(root) if root is not None else []
            found.boxes.extend((LIST_ITEM, "  " * level + f"- {text}") for level, text in lines)
        elif name == "chart":
            root = open_part(attribute(node, "id"))
            if root is not None:
                found.boxes.append((CAPTION, chart_title(root) or ""))
                found.boxes.append((TABLE, markdown_table(chart_rows(root))))
        elif name == "shape" and node.get("alt"):
            described.append(spoken_description(node.get("alt")))
        stack.extend(reversed(node))
    found.pictures.extend((None, text) for text in described if text)
