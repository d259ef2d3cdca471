"""Small helpers under the names that Qwen-Agent programs import; most stand in a file of their own concept."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from qwen_agentkit.schema import DEFAULT_SYSTEM_MESSAGE, SYSTEM, USER, Message
from qwen_agentkit.utils.chatml import build_text_completion_prompt
from qwen_agentkit.utils.file_kinds import (
    get_file_type,
    is_http_url,
    is_image,
    read_text_from_file,
    sanitize_chrome_file_path,
)
from qwen_agentkit.utils.files import write_atomically
from qwen_agentkit.utils.generate_cfg import merge_generate_cfgs
from qwen_agentkit.utils.language import detect_language, has_chinese
from qwen_agentkit.utils.media_data import (
    encode_audio_as_base64,
    encode_image_as_base64,
    encode_video_as_base64,
    load_image_from_base64,
    resize_image,
    save_audio_to_file,
)
from qwen_agentkit.utils.message_files import files_of, images_of
from qwen_agentkit.utils.model_text import (
    PydanticJSONEncoder,
    extract_code,
    extract_markdown_urls,
    extract_urls,
    json_dumps_compact,
    json_dumps_pretty,
    json_loads,
)
from qwen_agentkit.utils.process import append_signal_handler, get_local_ip, print_traceback
from qwen_agentkit.utils.upload_text import (
    extract_text_from_message,
    format_as_multimodal_message,
    format_as_text_message,
)
from qwen_agentkit.utils.work_dir import bring_into, name_of

__all__ = [
    "PydanticJSONEncoder",
    "append_signal_handler",
    "build_text_completion_prompt",
    "encode_audio_as_base64",
    "encode_image_as_base64",
    "encode_video_as_base64",
    "extract_code",
    "extract_files_from_messages",
    "extract_images_from_messages",
    "extract_markdown_urls",
    "extract_text_from_message",
    "extract_urls",
    "format_as_multimodal_message",
    "format_as_text_message",
    "get_basename_from_url",
    "get_file_type",
    "get_last_usr_msg_idx",
    "get_local_ip",
    "has_chinese_chars",
    "has_chinese_messages",
    "hash_sha256",
    "is_http_url",
    "is_image",
    "json_dumps_compact",
    "json_dumps_pretty",
    "json_loads",
    "load_image_from_base64",
    "merge_generate_cfgs",
    "print_traceback",
    "read_text_from_file",
    "resize_image",
    "rm_default_system",
    "sanitize_chrome_file_path",
    "save_audio_to_file",
    "save_text_to_file",
    "save_url_to_local_work_dir",
]


def hash_sha256(text: str) -> str:
    """SHA-256 of a text, as hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def has_chinese_chars(data: Any) -> bool:
    """Whether a text, or the text form of anything, has a Chinese character."""
    return has_chinese(f"{data}")


def has_chinese_messages(
    messages: Iterable[Message | Mapping[str, Any]], check_roles: tuple[str, ...] = (SYSTEM, USER)
) -> bool:
    """Whether a message of those roles has a Chinese character."""
    return detect_language(messages, check_roles) == "zh"


def get_basename_from_url(path_or_url: str) -> str:
    """The file name in a path or address, decoded, without query; the host when there is no path."""
    return name_of(path_or_url)


def save_url_to_local_work_dir(url: str, save_dir: str, save_filename: str = "") -> str:
    """Copies a file, or fetches an address, into a folder and returns where it is.

    A source is never removed: a file that lies in the folder already is returned as it is. A file of the user's
    there keeps its name, and the copy gets another.

    Args:
        url: Path, `file:` address, or http(s) address (fetched by the guarded client).
        save_dir: The folder; it is made.
        save_filename: Name of the copy; the default is the source's own.

    Raises:
        OSError, ValueError, ToolServiceError: It cannot be read, fetched or written; the text says why.
    """
    os.makedirs(save_dir, exist_ok=True)
    source = url if is_http_url(url) else sanitize_chrome_file_path(url)
    return str(bring_into(Path(save_dir), source, save_filename))


def save_text_to_file(path: str, text: str) -> None:
    """Writes a text as UTF-8, whole or not at all."""
    write_atomically(path, text)


def extract_files_from_messages(messages: Iterable[Message], include_images: bool) -> list[str]:
    """Every file (and image) that messages carry, in order, each once."""
    if not include_images:
        return files_of(messages)
    found: dict[str, None] = {}
    for message in messages:
        for item in message.content if isinstance(message.content, list) else ():
            for value in (item.file, item.image):
                if value:
                    found[value] = None
    return list(found)


def extract_images_from_messages(messages: Iterable[Message]) -> list[str]:
    """Every image that messages carry, in order, each once."""
    return images_of(messages)


def get_last_usr_msg_idx(messages: Sequence[Message | Mapping[str, Any]]) -> int:
    """Where the last user message is.

    Raises:
        ValueError: There is none.
    """
    for position in range(len(messages) - 1, -1, -1):
        if messages[position]["role"] == USER:
            return position
    raise ValueError(f"None of the {len(messages)} messages is the user's")


def rm_default_system(messages: list[Message]) -> list[Message]:
    """The messages without a first system message that holds only the default one."""
    if len(messages) > 1 and messages[0].role == SYSTEM:
        content = messages[0].content
        text = content if isinstance(content, str) else "".join(item.text or "\0" for item in content)
        if text.strip() == DEFAULT_SYSTEM_MESSAGE:
            return messages[1:]
    return messages
