"""What a PDF page draws beside text: ruling lines, shapes, pictures."""

from __future__ import annotations

import ctypes
import io
from collections.abc import Iterator
from typing import Any

from qwen_agentkit.rag.parsers.pdf_page import PageContent, Rule, Shown

# A page with more drawing than this is a picture made of lines, not a table.
MAX_PATHS = 6_000
MAX_RULES = 3_000
# A filled box as thin as this is a line.
THIN = 2.5
MAX_RENDERED_SIDE = 6_000
MIN_PICTURE_SIDE = 32
MAX_PICTURE_PIXELS = 50_000_000


def read_objects(page: Any, content: PageContent, to_shown: Shown) -> None:
    """Counts pictures and collects rulings, those inside forms included."""
    import pypdfium2.raw as raw

    paths = 0
    stack = [(page.raw, False, raw.FS_MATRIX(1, 0, 0, 1, 0, 0), 0)]
    while stack:
        holder, is_form, matrix, depth = stack.pop()
        count = raw.FPDFFormObj_CountObjects(holder) if is_form else raw.FPDFPage_CountObjects(holder)
        for index in range(count):
            item = raw.FPDFFormObj_GetObject(holder, index) if is_form else raw.FPDFPage_GetObject(holder, index)
            kind = raw.FPDFPageObj_GetType(item)
            if kind == raw.FPDF_PAGEOBJ_PATH:
                content.drawings += 1
                paths += 1
                if paths > MAX_PATHS:
                    content.level_rules.clear()
                    content.upright_rules.clear()
                elif not _add_rules(raw, item, matrix, content, to_shown):
                    paths = MAX_PATHS
            elif kind == raw.FPDF_PAGEOBJ_TEXT:
                content.text_objects += 1
            elif kind == raw.FPDF_PAGEOBJ_IMAGE:
                content.pictures += 1
            elif kind == raw.FPDF_PAGEOBJ_FORM and depth < 4:
                own = raw.FS_MATRIX()
                raw.FPDFPageObj_GetMatrix(item, ctypes.byref(own))
                stack.append((item, True, _times(raw, own, matrix), depth + 1))


def _times(raw: Any, first: Any, then: Any) -> Any:
    return raw.FS_MATRIX(
        first.a * then.a + first.b * then.c,
        first.a * then.b + first.b * then.d,
        first.c * then.a + first.d * then.c,
        first.c * then.b + first.d * then.d,
        first.e * then.a + first.f * then.c + then.e,
        first.e * then.b + first.f * then.d + then.f,
    )


def _add_rules(raw: Any, item: Any, matrix: Any, content: PageContent, to_shown: Shown) -> bool:
    """Adds the level and upright lines of one path; False when the page has too many to be a table."""
    segments = raw.FPDFPath_CountSegments(item)
    if segments < 2 or segments > 400:
        return True
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    raw.FPDFPath_GetDrawMode(item, ctypes.byref(fill), ctypes.byref(stroke))
    if not fill.value and not stroke.value:
        return True
    own = raw.FS_MATRIX()
    raw.FPDFPageObj_GetMatrix(item, ctypes.byref(own))
    full = _times(raw, own, matrix)
    x, y = ctypes.c_float(), ctypes.c_float()
    points: list[tuple[float, float]] = []
    start = (0.0, 0.0)
    lines: list[tuple[float, float, float, float]] = []
    for index in range(segments):
        segment = raw.FPDFPath_GetPathSegment(item, index)
        kind = raw.FPDFPathSegment_GetType(segment)
        if kind == raw.FPDF_SEGMENT_BEZIERTO:
            return True
        raw.FPDFPathSegment_GetPoint(segment, ctypes.byref(x), ctypes.byref(y))
        point = (full.a * x.value + full.c * y.value + full.e, full.b * x.value + full.d * y.value + full.f)
        if kind == raw.FPDF_SEGMENT_MOVETO:
            start = point
        elif points:
            lines.append((*points[-1], *point))
        points.append(point)
        if raw.FPDFPathSegment_GetClose(segment) and point != start:
            lines.append((*point, *start))
    xs, ys = [p[0] for p in points], [p[1] for p in points]
    box = to_shown.box(min(xs), min(ys), max(xs), max(ys))
    if fill.value and not stroke.value and min(box[2] - box[0], box[3] - box[1]) <= THIN:
        add_thin_box(content, *box)
    else:
        for x0, y0, x1, y1 in lines:
            add_line(content, *to_shown.box(min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)))
    return len(content.level_rules) + len(content.upright_rules) <= MAX_RULES


def add_thin_box(content: PageContent, x0: float, y0: float, x1: float, y1: float) -> None:
    """A filled box as thin as a line is the line in its middle."""
    if x1 - x0 >= y1 - y0:
        add_line(content, x0, (y0 + y1) / 2, x1, (y0 + y1) / 2)
    else:
        add_line(content, (x0 + x1) / 2, y0, (x0 + x1) / 2, y1)


def add_line(content: PageContent, x0: float, y0: float, x1: float, y1: float) -> None:
    """Files a line under the level or the upright rules; slanting and very short ones are no rules."""
    across, down = x1 - x0, y1 - y0
    if down <= 1.0 and across >= 3.0:
        content.level_rules.append(Rule((y0 + y1) / 2, x0, x1))
    elif across <= 1.0 and down >= 3.0:
        content.upright_rules.append(Rule((x0 + x1) / 2, y0, y1))


def render_png(document: Any, index: int, dpi: int = 200) -> bytes:
    """A page as a PNG picture, for reading by OCR.

    Args:
        document: From `open_document`.
        index: 0-based page index.
        dpi: Resolution; lowered for very large pages.
    """
    page = document[index]
    try:
        width, height = page.get_size()
        scale = min(dpi / 72, MAX_RENDERED_SIDE / max(width, height, 1.0))
        picture = page.render(scale=scale).to_pil()
        stream = io.BytesIO()
        picture.save(stream, "PNG")
        return stream.getvalue()
    finally:
        page.close()


def page_images(document: Any, index: int) -> Iterator[tuple[str, bytes]]:
    """The raster pictures of a page, as (media type, bytes); tiny ones are ornaments and left out.

    Args:
        document: From `open_document`.
        index: 0-based page index.
    """
    import pypdfium2.raw as raw

    page = document[index]
    try:
        for item in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=4):
            width, height = item.get_px_size()
            if min(width, height) < MIN_PICTURE_SIDE or width * height > MAX_PICTURE_PIXELS:
                continue
            if item.get_filters(skip_simple=True) == ["DCTDecode"]:
                yield "image/jpeg", bytes(item.get_data())
                continue
            stream = io.BytesIO()
            item.get_bitmap().to_pil().save(stream, "PNG")
            yield "image/png", stream.getvalue()
    finally:
        page.close()
