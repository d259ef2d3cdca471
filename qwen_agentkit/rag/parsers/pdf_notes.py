"""What lies on a PDF page and is no part of its text: comments and filled form fields."""

from __future__ import annotations

import ctypes
from typing import Any

MAX_NOTES = 2_000


def read_notes(page: Any) -> list[str]:
    """Comments and the values of form fields, which are no part of the page's own text."""
    import pypdfium2.raw as raw

    notes: list[str] = []
    for index in range(min(raw.FPDFPage_GetAnnotCount(page.raw), MAX_NOTES)):
        annotation = raw.FPDFPage_GetAnnot(page.raw, index)
        if not annotation:
            continue
        try:
            kind = raw.FPDFAnnot_GetSubtype(annotation)
            if kind == raw.FPDF_ANNOT_WIDGET:
                value = _annotation_text(raw, annotation, b"V")
                name = _annotation_text(raw, annotation, b"TU") or _annotation_text(raw, annotation, b"T")
                if value and value != "Off":
                    notes.append(f"{name}: {value}" if name else value)
            elif kind in (raw.FPDF_ANNOT_TEXT, raw.FPDF_ANNOT_FREETEXT, raw.FPDF_ANNOT_HIGHLIGHT):
                value = _annotation_text(raw, annotation, b"Contents")
                if value:
                    notes.append(f"Comment: {value}")
        finally:
            raw.FPDFPage_CloseAnnot(annotation)
    return notes


def _annotation_text(raw: Any, annotation: Any, key: bytes) -> str:
    if not raw.FPDFAnnot_HasKey(annotation, key):
        return ""
    length = raw.FPDFAnnot_GetStringValue(annotation, key, None, 0)
    if length <= 2:
        return ""
    buffer = (ctypes.c_ushort * (length // 2 + 1))()
    raw.FPDFAnnot_GetStringValue(annotation, key, buffer, length)
    return bytes(buffer)[: length - 2].decode("utf-16-le", "replace").replace("\r\n", "\n").replace("\r", "\n").strip()
