"""Charts and SmartArt in Office documents: their words and numbers (ECMA-376 part 1, section 21)."""

from __future__ import annotations

from typing import Any

from qwen_agentkit.rag.parsers.cells import number_text
from qwen_agentkit.rag.parsers.ooxml import local

_MAX_DIAGRAM_DEPTH = 20


def _all(root: Any, name: str) -> list[Any]:
    return list(root.iter(f"{{*}}{name}"))


def _child(element: Any, *names: str) -> Any | None:
    for child in element:
        if local(child.tag) in names:
            return child
    return None


def paragraph_text(paragraph: Any) -> str:
    """Text of one DrawingML paragraph (`a:p`), its line breaks kept."""
    pieces = []
    for element in paragraph.iter():
        name = local(element.tag)
        if name == "t":
            pieces.append(element.text or "")
        elif name == "br":
            pieces.append("\n")
        elif name == "tab":
            pieces.append("\t")
    return "".join(pieces).strip()


def drawing_text(root: Any) -> str:
    """Paragraphs of DrawingML text under an element, one a line."""
    lines = [paragraph_text(paragraph) for paragraph in _all(root, "p")]
    return "\n".join(line for line in lines if line)


def chart_title(root: Any) -> str | None:
    """Title of a chart part (`c:chartSpace`), if it has one of its own."""
    for chart in _all(root, "chart"):
        title = _child(chart, "title")
        if title is not None:
            return " ".join(drawing_text(title).split()) or None
    return None


def chart_rows(root: Any) -> list[list[str]]:
    """Data of a chart part as the file remembers them: a header of series names, then a row a category.

    Args:
        root: The root of a chart part (`c:chartSpace`).

    Returns:
        Rows of text; [] for a chart without remembered data.
    """
    names: list[str] = []
    columns: list[dict[int, str]] = []
    labels: dict[int, str] = {}
    for series in _all(root, "ser"):
        title = _child(series, "tx")
        names.append(" ".join(_points(title).values()) if title is not None else f"Series {len(names) + 1}")
        categories = _child(series, "cat", "xVal")
        if categories is not None:
            for index, text in _points(categories).items():
                labels.setdefault(index, text)
        values = _child(series, "val", "yVal")
        columns.append(_points(values) if values is not None else {})
    indexes = sorted({index for column in columns for index in column} | set(labels))
    if not indexes:
        return []
    rows = [["", *names]]
    rows += [[labels.get(index, ""), *(column.get(index, "") for column in columns)] for index in indexes]
    return rows


def _points(element: Any) -> dict[int, str]:
    """Remembered values by their index; the levels of a multi-level category are joined."""
    found: dict[int, str] = {}
    for point in _all(element, "pt"):
        value = _child(point, "v")
        if value is None or not (value.text or "").strip():
            continue
        try:
            index = int(point.get("idx") or 0)
        except ValueError:
            continue
        text = value.text.strip()
        if local(point.getparent().tag) == "numCache":
            text = _number(text)
        found[index] = f"{text} {found[index]}" if index in found else text
    if not found:
        for value in _all(element, "v"):
            if (value.text or "").strip():
                found[len(found)] = value.text.strip()
    return found


def _number(text: str) -> str:
    try:
        return number_text(float(text))
    except ValueError:
        return text


def diagram_lines(root: Any) -> list[tuple[int, str]]:
    """Texts of a SmartArt data part (`dgm:dataModel`) with their depth from 0, in the order of the tree."""
    texts: dict[str, str] = {}
    order: list[str] = []
    for point in _all(root, "pt"):
        if point.get("type", "node") in ("node", "asst", "doc"):
            key = point.get("modelId") or ""
            order.append(key)
            texts[key] = " ".join(drawing_text(point).split())
    children: dict[str, list[tuple[int, str]]] = {}
    is_child: set[str] = set()
    for link in _all(root, "cxn"):
        if link.get("type", "parOf") != "parOf":
            continue
        source, target = link.get("srcId") or "", link.get("destId") or ""
        place = link.get("srcOrd") or "0"
        children.setdefault(source, []).append((int(place) if place.isdigit() else 0, target))
        is_child.add(target)
    lines: list[tuple[int, str]] = []
    seen: set[str] = set()
    stack = [(key, 0) for key in reversed(order) if key not in is_child]
    while stack:
        key, depth = stack.pop()
        if key in seen or key not in texts:
            continue
        seen.add(key)
        if texts[key]:
            lines.append((depth, texts[key]))
        deeper = min(depth + 1, _MAX_DIAGRAM_DEPTH) if texts[key] else depth
        stack.extend((child, deeper) for _, child in sorted(children.get(key, ()), reverse=True))
    lines += [(0, texts[key]) for key in order if key not in seen and texts[key]]
    return lines
