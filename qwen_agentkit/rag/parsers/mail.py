"""Mail messages (EML, RFC 5322): headers, the body in its best form, attached messages and texts."""

from __future__ import annotations

import email
import email.header
import email.policy
from email.message import EmailMessage, Message
from pathlib import Path

from qwen_agentkit.errors import DamagedFile
from qwen_agentkit.rag.builder import DocumentBuilder
from qwen_agentkit.rag.document import HEADING, NOTE, TEXT
from qwen_agentkit.rag.encoding import decode
from qwen_agentkit.rag.limits import ReadOptions
from qwen_agentkit.rag.parsers.delimited import add_delimited
from qwen_agentkit.rag.parsers.html import add_html
from qwen_agentkit.rag.parsers.media import keep_image
from qwen_agentkit.rag.parsers.text import add_plain

_SHOWN = ("From", "To", "Cc", "Date")
_MAX_NESTED = 10


def parse(path: Path, builder: DocumentBuilder, options: ReadOptions) -> None:
    """Reads a mail message into the builder.

    Args:
        path: The file.
        builder: Takes the blocks; the subject is the title. Attachments are named; attached messages and texts
            are read.
        options: `keep_images` keeps attached pictures.

    Raises:
        DamagedFile: There is neither a header nor a body in it.
        LimitExceededInFile: Too much text; what was read before is in the builder.
    """
    message = email.message_from_bytes(path.read_bytes(), policy=email.policy.compat32)
    if not message.keys() and not message.get_payload():
        raise DamagedFile(message="the file is no mail message")
    _add_message(message, builder, options, 1)


def _add_message(message: Message, builder: DocumentBuilder, options: ReadOptions, depth: int) -> None:
    subject = _header(message, "Subject")
    if depth == 1 and subject:
        builder.title = subject
    builder.add(HEADING, subject or "Message", level=depth)
    lines = [f"{name}: {value}" for name in _SHOWN if (value := _header(message, name))]
    builder.add(TEXT, "\n".join(lines))
    bodies, attachments = _parts(message)
    for body in bodies:
        _add_body(body, builder)
    for part in attachments:
        _add_attachment(part, builder, options, depth)


def _parts(message: Message) -> tuple[list[Message], list[Message]]:
    """The parts of the body, one of each set of alternatives, and the attachments."""
    bodies: list[Message] = []
    attachments: list[Message] = []
    stack = [message]
    while stack:
        part = stack.pop()
        kind = part.get_content_type()
        payload = part.get_payload()
        if isinstance(payload, list) and kind != "message/rfc822":
            children = [child for child in payload if isinstance(child, Message)]
            if kind == "multipart/alternative":
                chosen = _alternative(children)
                children = [chosen] if chosen is not None else []
            stack.extend(reversed(children))
        elif kind in ("text/plain", "text/html") and not _is_attached(part):
            bodies.append(part)
        else:
            attachments.append(part)
    return bodies, attachments


def _alternative(parts: list[Message]) -> Message | None:
    """The plain text when it says something; else the last form, which is the richest."""
    for part in parts:
        if part.get_content_type() == "text/plain" and _text(part)[0].strip():
            return part
    return parts[-1] if parts else None


def _is_attached(part: Message) -> bool:
    return part.get_content_disposition() == "attachment" or bool(_file_name(part))


def _add_body(part: Message, builder: DocumentBuilder) -> None:
    if part.get_content_type() == "text/html":
        add_html(_bytes(part), builder, declared=_charset(part), set_title=False)
        return
    text, warning = _text(part)
    if warning:
        builder.warn(warning)
    add_plain(text.replace("\f", "\n"), builder)


def _add_attachment(part: Message, builder: DocumentBuilder, options: ReadOptions, depth: int) -> None:
    kind = part.get_content_type()
    if kind == "message/rfc822":
        payload = part.get_payload()
        inner = payload[0] if isinstance(payload, list) and payload else None
        if isinstance(inner, Message) and depth < _MAX_NESTED:
            builder.add(NOTE, f"Attached message: {_header(inner, 'Subject') or 'without a subject'}")
            _add_message(inner, builder, options, depth + 1)
        return
    data = _bytes(part)
    name = _file_name(part) or "without a name"
    builder.add(NOTE, f"Attachment: {name} ({kind}, {len(data):,} bytes)")
    if kind in ("text/csv", "text/tab-separated-values"):
        add_delimited(decode(data, declared=_charset(part)).text, builder)
    elif kind == "text/html":
        add_html(data, builder, declared=_charset(part), set_title=False)
    elif kind.startswith("text/"):
        add_plain(decode(data, declared=_charset(part)).text.replace("\r\n", "\n"), builder)
    elif kind.startswith("image/") and options.keep_images:
        keep_image(builder, data, name=name)


def _header(message: Message, name: str) -> str:
    """A header's value decoded, encoded words and bytes outside ASCII alike."""
    value = message.get(name)
    if value is None:
        return ""
    parts = []
    for piece, charset in email.header.decode_header(value):
        if isinstance(piece, str):
            parts.append(piece)
        else:
            parts.append(decode(piece, declared=None if charset == "unknown-8bit" else charset).text)
    return " ".join("".join(parts).split())


def _file_name(part: Message) -> str:
    """The name of an attachment, in either of the two ways in which it may be encoded."""
    name = part.get_filename()
    if not name:
        return ""
    holder = EmailMessage(policy=email.policy.compat32)
    holder["Subject"] = name
    return _header(holder, "Subject").replace("\\", "/").rpartition("/")[2]


def _charset(part: Message) -> str | None:
    charset = part.get_param("charset")
    if isinstance(charset, tuple):
        charset = charset[2]
    return str(charset) if charset else None


def _bytes(part: Message) -> bytes:
    data = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else b""


def _text(part: Message) -> tuple[str, str | None]:
    decoded = decode(_bytes(part), declared=_charset(part))
    return decoded.text.replace("\r\n", "\n"), decoded.warning
