"""Messages for models of text: files and media are left out and announced in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from qwen_agentkit.schema import FUNCTION, SYSTEM, USER, ContentItem, Message
from qwen_agentkit.utils.language import has_chinese
from qwen_agentkit.utils.work_dir import name_of

UPLOAD_WORDS = {
    "en": {"file": "file", "image": "image", "audio": "audio", "video": "video"},
    "zh": {"file": "文件", "image": "图片", "audio": "音频", "video": "视频"},
}


def announcement(uploads: Iterable[str], lang: str) -> str:
    """What stands in front of a message's text for what it had with it, each upload as a Markdown link."""
    listed = " ".join(uploads)
    return f"（上传了 {listed}）" if lang == "zh" else f"(Uploaded {listed}) "


def format_as_multimodal_message(
    msg: Message,
    add_upload_info: bool,
    add_multimodel_upload_info: bool,
    add_audio_upload_info: bool,
    lang: str = "auto",
) -> Message:
    """A copy of a message whose content is a list without `file` items.

    Args:
        msg: The message.
        add_upload_info: Announces the files in front: `(Uploaded [file](report.pdf)) `.
        add_multimodel_upload_info: Announces images and video too.
        add_audio_upload_info: Announces audio too.
        lang: `en`, `zh`, or `auto`, the message's own language.
    """
    content: list[ContentItem] = []
    announced: list[tuple[str, str]] = []
    items = [ContentItem(text=msg.content)] if isinstance(msg.content, str) else msg.content
    for item in items:
        kind, value = item.get_type_and_value()
        if kind != "file":
            content.append(item)
        wanted = (
            kind == "file"
            or (add_multimodel_upload_info and kind in ("image", "video"))
            or (add_audio_upload_info and kind == "audio")
        )
        if wanted:
            announced += [(kind, name) for name in _names_of(value)]
    if add_upload_info and announced and msg.role in (SYSTEM, USER):
        if lang == "auto":
            lang = "zh" if has_chinese(f"{msg.content}") else "en"
        words = UPLOAD_WORDS[lang]
        info = announcement(
            (f"{'' if kind == 'file' else '!'}[{words[kind]}]({name})" for kind, name in announced), lang
        )
        if not any(item.text and info in item.text for item in content):
            content.insert(0, ContentItem(text=info))
    name = msg.name if msg.role == FUNCTION else None
    return msg.model_copy(update={"content": content, "name": name})


def _names_of(value: Any) -> list[str]:
    if isinstance(value, (list, tuple)):
        return [name for one in value for name in _names_of(one)]
    if isinstance(value, Mapping):
        value = str(value.get("data") or value.get("url") or "data")
    return ["data" if value.startswith("data:") else name_of(value)]


def format_as_text_message(msg: Message, add_upload_info: bool, lang: str = "auto") -> Message:
    """A copy of a message with text alone; what else it held is announced when `add_upload_info`."""
    copied = format_as_multimodal_message(msg, add_upload_info, add_upload_info, add_upload_info, lang)
    text = "".join(item.text or "" for item in copied.content if isinstance(item, ContentItem))
    return copied.model_copy(update={"content": text})


def extract_text_from_message(msg: Message, add_upload_info: bool, lang: str = "auto") -> str:
    """The text of a message, without space around it."""
    if isinstance(msg.content, str):
        return msg.content.strip()
    return str(format_as_text_message(msg, add_upload_info, lang).content).strip()
