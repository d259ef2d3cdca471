"""A PDF that was cut off, made readable: its complete objects under a new directory (ISO 32000-1, 7.5)."""

from __future__ import annotations

import re
import zlib

from qwen_agentkit.rag.limits import ReadLimits

_OBJECT = re.compile(rb"(?<!\d)(\d{1,8})\s+(\d{1,5})\s+obj\b")
_PAGE = re.compile(rb"/Type\s*/Page\b(?!s)")
_PAGES = re.compile(rb"/Type\s*/Pages\b")
_CATALOG = re.compile(rb"/Type\s*/Catalog\b")
_OBJECT_STREAM = re.compile(rb"/Type\s*/ObjStm\b")
_PARENT = re.compile(rb"/Parent\s+(\d+)\s+\d+\s+R")
_FIRST = re.compile(rb"/First\s+(\d+)")
MAX_OBJECTS = 200_000


def rebuild(data: bytes, limits: ReadLimits) -> bytes | None:
    """A readable PDF made of the objects in a damaged one.

    Args:
        data: The damaged file.
        limits: For what compressed objects may inflate to.

    Returns:
        The new file, or None when there is no page in it, or it is encrypted (its key is at the lost end).
    """
    if b"/Encrypt" in data:
        return None
    objects = _objects(data, limits)
    pages = [number for number, body in objects.items() if _PAGE.search(_dictionary(body))]
    if not pages:
        return None
    parents = {number: _PARENT.search(_dictionary(objects[number])) for number in pages}
    free = max(objects) + 1
    catalog, root = free, free + 1
    by_parent: dict[int, list[int]] = {}
    for number in pages:
        match = parents[number]
        by_parent.setdefault(int(match.group(1)) if match else root, []).append(number)
    for parent, kids in by_parent.items():
        # What a lost parent would have handed down is unknown; a page size is all that is needed to read.
        known = _dictionary(objects.get(parent, b""))
        if parent not in objects or not _PAGES.search(known):
            objects[parent] = _pages_node(kids, root if parent != root else None)
    tops = [parent for parent in by_parent if parent != root]
    if root not in by_parent:
        objects[root] = _pages_node(tops, None, len(pages))
    elif tops:
        objects[root] = _pages_node([*by_parent[root], *tops], None, len(pages))
    for parent in tops:
        body = objects[parent]
        if not _PARENT.search(_dictionary(body)):
            continue
        objects[parent] = _PARENT.sub(b"/Parent %d 0 R" % root, body, count=1)
    for parent in tops:
        references = b" ".join(b"%d 0 R" % kid for kid in by_parent[parent])
        objects[parent] = _with_kids(objects[parent], references, len(by_parent[parent]))
    objects[catalog] = b"<< /Type /Catalog /Pages %d 0 R >>" % root
    return _write(objects, catalog)


def _objects(data: bytes, limits: ReadLimits) -> dict[int, bytes]:
    """Object bodies by number; a later one of the same number replaces an earlier one, as updates do."""
    found: dict[int, bytes] = {}
    starts = list(_OBJECT.finditer(data))[:MAX_OBJECTS]
    inflated = 0
    for match, after in zip(starts, [*starts, None][1:], strict=True):
        limit = after.start() if after is not None else len(data)
        end = data.rfind(b"endobj", match.end(), limit)
        body = data[match.end() : end if end >= 0 else limit].strip()
        if end < 0:
            if b"stream" not in body:
                continue  # cut within: nothing to hold on to
            body += b"\nendstream"
        number = int(match.group(1))
        if number == 0 or number > 8_388_607:
            continue
        found[number] = body
        if _OBJECT_STREAM.search(_dictionary(body)) and inflated < limits.inflated_bytes:
            inside, size = _unpack(body, limits.inflated_bytes - inflated)
            inflated += size
            found.update(inside)
    return {n: body for n, body in found.items() if not _CATALOG.search(_dictionary(body))}


def _dictionary(body: bytes) -> bytes:
    """The part of an object before its stream."""
    return body.partition(b"stream")[0]


def _unpack(body: bytes, room: int) -> tuple[dict[int, bytes], int]:
    """Objects of a compressed object stream, as far as its data go."""
    head, _, rest = body.partition(b"stream")
    match = _FIRST.search(head)
    if match is None:
        return {}, 0
    try:
        text = zlib.decompressobj().decompress(rest.lstrip(b"\r\n"), room)
    except zlib.error:
        return {}, 0
    first = int(match.group(1))
    numbers = [int(word) for word in text[:first].split() if word.isdigit()]
    pairs = list(zip(numbers[::2], numbers[1::2], strict=False))
    result = {}
    for (number, offset), following in zip(pairs, [*pairs, None][1:], strict=True):
        end = first + following[1] if following is not None else len(text)
        if end <= len(text):
            result[number] = text[first + offset : end].strip()
    return result, len(text)


def _pages_node(kids: list[int], parent: int | None, count: int | None = None) -> bytes:
    references = b" ".join(b"%d 0 R" % kid for kid in kids)
    above = b"" if parent is None else b" /Parent %d 0 R" % parent
    return b"<< /Type /Pages /Kids [%s] /Count %d /MediaBox [0 0 612 792]%s >>" % (
        references,
        count if count is not None else len(kids),
        above,
    )


def _with_kids(body: bytes, kids: bytes, count: int) -> bytes:
    """A node with only those children that are still there."""
    body = re.sub(rb"/Kids\s*\[[^\]]*\]", b"/Kids [" + kids + b"]", body, count=1)
    return re.sub(rb"/Count\s+-?\d+", b"/Count %d" % count, body, count=1)


def _write(objects: dict[int, bytes], catalog: int) -> bytes:
    parts = [b"%PDF-1.7\n"]
    position = len(parts[0])
    offsets: dict[int, int] = {}
    for number in sorted(objects):
        entry = b"%d 0 obj\n%s\nendobj\n" % (number, objects[number])
        offsets[number] = position
        parts.append(entry)
        position += len(entry)
    lines = [b"xref\n0 1\n0000000000 65535 f \n"]
    lines.extend(b"%d 1\n%010d 00000 n \n" % (number, offsets[number]) for number in sorted(offsets))
    parts.extend(lines)
    parts.append(
        b"trailer\n<< /Size %d /Root %d 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (max(objects) + 1, catalog, position)
    )
    return b"".join(parts)
