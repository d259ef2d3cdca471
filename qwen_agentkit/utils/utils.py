"""Small helpers under the names that Qwen-Agent programs import."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import re
import signal
import socket
import sys
import traceback
import wave
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from qwen_agentkit.log import logger
from qwen_agentkit.schema import ASSISTANT, DEFAULT_SYSTEM_MESSAGE, FUNCTION, SYSTEM, USER, ContentItem, Message
from qwen_agentkit.utils.files import write_atomically
from qwen_agentkit.utils.generate_cfg import merge_generate_cfgs
from qwen_agentkit.utils.language import detect_language, has_chinese
from qwen_agentkit.utils.message_files import files_of, images_of
from qwen_agentkit.utils.optional import need
from qwen_agentkit.utils.work_dir import bring_into, local_path, name_of

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

_UPLOAD_WORDS = {
    "en": {"file": "[file]", "image": "![image]", "video": "![video]", "audio": "![audio]"},
    "zh": {"file": "[文件]", "image": "![图片]", "video": "![视频]", "audio": "![音频]"},
}
_IMAGE_ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp")
_DOCUMENT_TYPES = frozenset({"pdf", "docx", "pptx", "csv", "tsv", "xlsx", "xls"})
_PLAIN_ENDINGS = frozenset({"txt", "md", "markdown", "rst", "json", "jsonl", "log", "yaml", "yml", "toml", "py"})
_HTML = re.compile(r"<(?:!doctype html|html|head|body|p|span|div|li|script)\b[^>]*>", re.IGNORECASE)
# Sample rate of the speech that the Qwen-Omni models send, 16-bit mono.
_OMNI_SAMPLE_RATE = 24_000


# ---- processes and the machine ---------------------------------------------------------------------------------


def append_signal_handler(sig: int, handler: Callable[..., Any]) -> None:
    """Installs a signal handler that runs before the one that is there; that one (or the default) still runs."""
    before = signal.getsignal(sig)

    def both(number: int, frame: Any) -> None:
        handler(number, frame)
        if callable(before):
            before(number, frame)
        elif before is not signal.SIG_IGN:
            if number == signal.SIGINT:
                raise KeyboardInterrupt
            raise SystemExit(128 + number)

    signal.signal(sig, both)


def get_local_ip() -> str:
    """The address under which this machine is seen in its network; 127.0.0.1 without one. Sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("10.255.255.255", 1))
            return probe.getsockname()[0]
        except OSError:
            return "127.0.0.1"


def hash_sha256(text: str) -> str:
    """SHA-256 of a text, as hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def print_traceback(is_error: bool = True) -> None:
    """Writes the exception that is being handled to the log."""
    text = "".join(traceback.format_exception(*sys.exc_info(), limit=3))
    if is_error:
        logger.error(text)
    else:
        logger.warning(text)


# ---- text --------------------------------------------------------------------------------------------------------


def has_chinese_chars(data: Any) -> bool:
    """Whether a text, or the text form of anything, has a Chinese character."""
    return has_chinese(f"{data}")


def has_chinese_messages(
    messages: Iterable[Message | Mapping[str, Any]], check_roles: tuple[str, ...] = (SYSTEM, USER)
) -> bool:
    """Whether a message of those roles has a Chinese character."""
    return detect_language(messages, check_roles) == "zh"


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


# ---- files and addresses -----------------------------------------------------------------------------------------


def get_basename_from_url(path_or_url: str) -> str:
    """The file name in a path or address, decoded, without query; the host when there is no path."""
    return name_of(path_or_url)


def is_http_url(path_or_url: str) -> bool:
    """Whether it is an http or https address."""
    return path_or_url.startswith(("https://", "http://"))


def is_image(path_or_url: str) -> bool:
    """Whether the name ends like that of a picture."""
    return get_basename_from_url(path_or_url).lower().endswith(_IMAGE_ENDINGS)


def sanitize_chrome_file_path(file_path: str) -> str:
    """The path that a `file:` address, or a Windows path under WSL, means; anything else as it is."""
    path = local_path(file_path)
    if os.path.exists(path):
        return path
    drive = re.match(r"/?([A-Za-z]):[/\\](.*)", path)
    if drive:
        mounted = f"/mnt/{drive[1].lower()}/{drive[2]}".replace("\\", "/")
        if os.path.exists(mounted):
            return mounted
    return path


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


def read_text_from_file(path: str) -> str:
    """The text of a file: UTF-8, or the encoding that its bytes suggest."""
    raw = Path(path).read_bytes()
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        best = need("charset_normalizer").from_bytes(raw).best()
        if best is None:
            raise ValueError(f"{path} is not text in any known encoding") from None
        return str(best).replace("\r\n", "\n")


def get_file_type(path: str) -> str:
    """The kind of document: pdf, docx, pptx, csv, tsv, xlsx, xls, html, txt, or unk.

    Decided by the name; where it says nothing, by what the server says or the file holds.
    """
    ending = get_basename_from_url(path).rpartition(".")[2].lower()
    if ending in _DOCUMENT_TYPES:
        return ending
    if is_http_url(path):
        return _type_of_address(path)
    if ending in ("html", "htm", "xhtml"):
        return "html"
    try:
        with open(sanitize_chrome_file_path(path), "rb") as stream:
            start = stream.read(65536)
    except OSError as error:
        logger.warning("The kind of %s cannot be told: %s", path, error)
        return "unk"
    if ending in _PLAIN_ENDINGS:
        return "txt"
    if b"\x00" in start and not start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "pdf" if start.startswith(b"%PDF-") else "unk"
    return "html" if _HTML.search(start.decode("utf-8", "replace")) else "txt"


def _type_of_address(url: str) -> str:
    from qwen_agentkit.errors import ToolServiceError
    from qwen_agentkit.utils.web import fetch

    by_content_type = {
        "application/pdf": "pdf",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
        "application/vnd.ms-excel": "xls",
        "text/csv": "csv",
        "text/tab-separated-values": "tsv",
        "text/plain": "txt",
        "text/markdown": "txt",
    }
    try:
        content_type = fetch(url, method="HEAD", seconds=5).content_type
    except ToolServiceError as error:
        logger.warning("The kind of %s cannot be told: %s", url, error)
        return "unk"
    # A page is what most addresses without an ending hold.
    return by_content_type.get(content_type, "html")


# ---- messages ----------------------------------------------------------------------------------------------------


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
            lang = "zh" if has_chinese_chars(msg.content) else "en"
        words = _UPLOAD_WORDS[lang]
        listed = " ".join(f"{words[kind]}({name})" for kind, name in announced)
        info = f"（上传了 {listed}）" if lang == "zh" else f"(Uploaded {listed}) "
        if not any(item.text and info in item.text for item in content):
            content.insert(0, ContentItem(text=info))
    name = msg.name if msg.role == FUNCTION else None
    return msg.model_copy(update={"content": content, "name": name})


def _names_of(value: Any) -> list[str]:
    if isinstance(value, (list, tuple)):
        return [name for one in value for name in _names_of(one)]
    if isinstance(value, Mapping):
        value = str(value.get("data") or value.get("url") or "data")
    return ["data" if value.startswith("data:") else get_basename_from_url(value)]


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


def build_text_completion_prompt(
    messages: Sequence[Message], allow_special: bool = False, default_system: str = DEFAULT_SYSTEM_MESSAGE
) -> str:
    """A conversation in the ChatML text form, open for the assistant's next words.

    Deprecated in Qwen-Agent: a tokenizer's chat template does it right for each model.

    Args:
        messages: The conversation; contents are text.
        allow_special: Accepts system and function messages and tool calls behind the first message.
        default_system: Used when there is no system message.

    Raises:
        ValueError: A message is of a kind that this form has no place for.
    """
    logger.warning("build_text_completion_prompt is deprecated; use a tokenizer's apply_chat_template")
    conversation = list(messages)
    parts: list[str] = []
    if conversation and conversation[0].role == SYSTEM:
        parts.append(_chatml(SYSTEM, _text_only(conversation.pop(0))))
    elif default_system:
        parts.append(_chatml(SYSTEM, default_system))
    if not conversation or conversation[-1].role != ASSISTANT:
        conversation.append(Message(ASSISTANT, ""))
    for message in conversation:
        text = _text_only(message)
        if not allow_special and (message.role not in (USER, ASSISTANT) or message.function_call):
            raise ValueError(f"A {message.role} message or tool call needs allow_special=True")
        if message.function_call:
            call = f"<tool_call>\n{_call_json(message)}\n</tool_call>"
            text = f"{text}\n{call}" if text else call
        parts.append(_chatml(message.role, text))
    return "\n".join(parts).removesuffix("<|im_end|>")


def _chatml(role: str, text: str) -> str:
    return f"<|im_start|>{role}\n{text}<|im_end|>"


def _text_only(message: Message) -> str:
    if not isinstance(message.content, str):
        raise ValueError(f"This form has no place for the content list of a {message.role} message")
    return message.content


def _call_json(message: Message) -> str:
    call = message.function_call
    if call is None:
        raise ValueError("The message holds no call")
    try:
        return json.dumps({"name": call.name, "arguments": json.loads(call.arguments)}, ensure_ascii=False, indent=2)
    except ValueError:
        return f'{{"name": {json.dumps(call.name)}, "arguments": {call.arguments}}}'


# ---- pictures, sound, video --------------------------------------------------------------------------------------


def encode_image_as_base64(path: str, max_short_side_length: int = -1) -> str:
    """A picture file as a JPEG `data:` address.

    Args:
        path: The file.
        max_short_side_length: Pixels of the shorter side that it is scaled down to; -1 keeps the size.
    """
    image = need("PIL.Image", package="pillow").open(path)
    if 0 < max_short_side_length < min(image.size):
        image = resize_image(image, max_short_side_length)
    buffered = io.BytesIO()
    image.convert(mode="RGB").save(buffered, format="JPEG")
    return "data:image/jpeg;base64," + base64.b64encode(buffered.getvalue()).decode("ascii")


def encode_audio_as_base64(path: str) -> str:
    """A sound file as a `data:` address."""
    return "data:;base64," + base64.b64encode(Path(path).read_bytes()).decode("ascii")


def encode_video_as_base64(path: str) -> str:
    """A video file as a `data:` address."""
    return "data:;base64," + base64.b64encode(Path(path).read_bytes()).decode("ascii")


def load_image_from_base64(image_base64: bytes | str) -> Any:
    """The PIL image in base64 text (with or without `data:...;base64,` in front)."""
    if isinstance(image_base64, str) and image_base64.startswith("data:"):
        image_base64 = image_base64.partition(",")[2]
    image = need("PIL.Image", package="pillow").open(io.BytesIO(base64.b64decode(image_base64)))
    image.load()
    return image


def resize_image(img: Any, short_side_length: int = 1080) -> Any:
    """A PIL image scaled so that its shorter side has that many pixels."""
    width, height = img.size
    scale = short_side_length / min(width, height)
    size = (max(1, int(width * scale)), max(1, int(height * scale)))
    return img.resize(size, resample=need("PIL.Image", package="pillow").Resampling.BILINEAR)


def save_audio_to_file(base_64: str, file_name: str) -> None:
    """Writes speech of a Qwen-Omni model (base64 of 16-bit samples, 24 kHz, mono) as a WAV file."""
    with wave.open(file_name, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(_OMNI_SAMPLE_RATE)
        out.writeframes(base64.b64decode(base_64))
