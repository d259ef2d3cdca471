"""What kind of file this is, from its content; the name is only a hint where the content leaves it open."""

from __future__ import annotations

from pathlib import Path

HEAD = 8192

# Name endings of text files that are read as what they are.
_TEXT_KINDS = {
    ".md": "md",
    ".markdown": "md",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".ipynb": "ipynb",
    ".eml": "eml",
    ".xml": "xml",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".rst": "txt",
    ".txt": "txt",
    ".text": "txt",
    ".log": "txt",
}
_CODE = (
    ".py .pyi .js .mjs .cjs .ts .tsx .jsx .java .kt .kts .scala .c .h .cc .cpp .cxx .hpp .hh .cs .go .rs .rb .php .pl "
    ".pm .swift .m .mm .r .jl .lua .sh .bash .zsh .fish .ps1 .bat .cmd .sql .css .scss .sass .less .vue .svelte .toml "
    ".yaml .yml .ini .cfg .conf .env .properties .gradle .cmake .mk .dockerfile .tf .proto .graphql .tex .bib .vim "
    ".el .lisp .clj .ex .exs .erl .hs .ml .fs .vb .asm .s .v .sv .vhd .dart .nim .zig .groovy .awk .sed .diff .patch"
)
CODE_ENDINGS = frozenset(_CODE.split())
"""Endings of program text and settings, kept line by line."""

# Bytes that text has only by mistake, such as a run of zeros in a log; and their share that is let pass: in a file
# whose name says nothing, and in one that is named as text.
_CONTROLS = bytes(byte for byte in range(32) if byte not in (7, 8, 9, 10, 11, 12, 13, 26, 27))
_FEW = 0.002
_SOME = 0.05

_CODE_NAMES = frozenset({"makefile", "dockerfile", "jenkinsfile", "cmakelists.txt", "gemfile", "rakefile"})

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ZIP_HEADS = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
# OLE files name their streams in UTF-16; the names tell what wrote them.
_OLE_STREAMS = (
    ("EncryptedPackage", "ooxml-encrypted"),
    ("Workbook", "xls"),
    ("Book", "xls"),
    ("WordDocument", "doc"),
    ("PowerPoint Document", "ppt"),
    ("__properties_version1.0", "msg"),
    ("VisioDocument", "vsd"),
)
_BINARY_HEADS = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF8", "gif"),
    (b"BM", "bmp"),
    (b"II*\x00", "tiff"),
    (b"MM\x00*", "tiff"),
    (b"\x1f\x8b", "gzip"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"Rar!\x1a\x07", "rar"),
    (b"\x7fELF", "elf"),
    (b"MZ", "exe"),
    (b"%!PS", "postscript"),
    (b"ID3", "mp3"),
    (b"OggS", "ogg"),
    (b"SQLite format 3\x00", "sqlite"),
    (b"\x00asm", "wasm"),
)


def sniff(path: Path) -> str:
    """The kind of a file.

    Returns:
        A kind that a parser exists for (`pdf docx pptx xlsx xls ods csv tsv html md txt code json jsonl xml epub odt
        rtf eml ipynb`), or another word for what it is (`doc ppt ooxml-encrypted zip png binary empty ...`), which
        `reading` turns into an error that says so.
    """
    with open(path, "rb") as stream:
        head = stream.read(HEAD)
    return kind_of(head, path)


def kind_of(head: bytes, path: Path) -> str:
    """As `sniff`, with the first bytes of the file already read.

    Args:
        head: The first `HEAD` bytes.
        path: The file, for its name, and for what stands further in: a zip's directory, an OLE file's streams.
    """
    if not head:
        return "empty"
    if head.startswith(_ZIP_HEADS):
        return _zip_kind(path)
    if head.startswith(_OLE):
        return _ole_kind(path)
    ending = path.suffix.lower()
    # Readers allow other bytes before the mark; a text that only speaks of it is none.
    if head.lstrip(b"\xef\xbb\xbf \r\n\t\x00").startswith(b"%PDF-") or (
        b"%PDF-" in head[:1024] and (ending == ".pdf" or _is_binary(head, _FEW))
    ):
        return "pdf"
    if head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{\\rtf"):
        return "rtf"
    # BIFF files of the oldest Excel versions have no OLE envelope.
    if head[:4] in (b"\x09\x08\x10\x00", b"\x09\x08\x08\x00", b"\x09\x04\x06\x00", b"\x09\x02\x06\x00"):
        return "xls"
    for magic, kind in _BINARY_HEADS:
        # Two letters may as well begin a text; a name that says text is believed then.
        if head.startswith(magic) and (len(magic) > 3 or _is_binary(head, _FEW)):
            return kind
    is_named_text = ending in _TEXT_KINDS or ending in CODE_ENDINGS
    if _is_binary(head, _SOME if is_named_text else _FEW):
        return "binary"
    return _text_kind(head, path, ending)


def _zip_kind(path: Path) -> str:
    """The kind of a zip package by the members its standard prescribes."""
    import zipfile

    from qwen_agentkit.rag.guards import ZIP_ERRORS

    try:
        with zipfile.ZipFile(path) as package:
            names = {info.filename.replace("\\", "/").lstrip("/").lower() for info in package.infolist()[:20_000]}
            mimetype = b""
            if "mimetype" in names:
                info = next(i for i in package.infolist() if i.filename.lower().lstrip("/") == "mimetype")
                if info.file_size < 200 and info.compress_size < 200:
                    mimetype = package.read(info)[:200].strip()
    except ZIP_ERRORS:
        # A damaged package: its name says what it was, the parser says what is wrong.
        ending = path.suffix.lower().lstrip(".")
        return ending if ending in ("docx", "pptx", "xlsx", "epub", "odt", "ods") else "zip"
    if mimetype == b"application/epub+zip" or "meta-inf/container.xml" in names:
        return "epub"
    if mimetype.startswith(b"application/vnd.oasis.opendocument."):
        part = mimetype.rsplit(b".", 1)[-1].split(b"-")[0]
        return {b"text": "odt", b"spreadsheet": "ods"}.get(part, "odf")
    if any(name.startswith("word/") for name in names):
        return "docx"
    if any(name.startswith("ppt/") for name in names):
        return "pptx"
    if "xl/workbook.bin" in names:
        return "xlsb"
    if any(name.startswith("xl/") for name in names):
        return "xlsx"
    if "content.xml" in names:
        ending = path.suffix.lower().lstrip(".")
        return ending if ending in ("odt", "ods") else "odt"
    if "[content_types].xml" in names:
        ending = path.suffix.lower().lstrip(".")
        return ending if ending in ("docx", "pptx", "xlsx") else "zip"
    return "zip"


def _ole_kind(path: Path) -> str:
    with open(path, "rb") as stream:
        data = stream.read(64_000_000)
    # The directory entry of a stream holds its name, zero-ended, and the length of the name right after 64 bytes.
    for name, kind in _OLE_STREAMS:
        encoded = name.encode("utf-16-le")
        if encoded + b"\x00\x00" in data:
            return kind
    return {".doc": "doc", ".dot": "doc", ".ppt": "ppt", ".xls": "xls"}.get(path.suffix.lower(), "ole")


def _is_binary(head: bytes, allowed: float) -> bool:
    """More bytes than allowed are such that no text has them; UTF-16 and UTF-32 text is no binary."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")):
        return False
    controls = len(head) - len(head.translate(None, _CONTROLS))
    if controls <= allowed * len(head):
        return False
    return not any(_reads_as_utf16(head, encoding) for encoding in ("utf-16-le", "utf-16-be"))


def _reads_as_utf16(head: bytes, encoding: str) -> bool:
    """UTF-16 without a mark: decoded, nearly all of it is letters, digits, usual signs and spaces of known scripts."""
    try:
        text = head[: len(head) // 2 * 2].decode(encoding)
    except UnicodeDecodeError as error:
        if error.start < len(head) - 4:  # a pair may be cut in two where the head ends
            return False
        text = head[: error.start].decode(encoding)
    if len(text) < 2 or (len(text) < 8 and any(ord(character) > 0xFF for character in text)):
        return False
    usual = sum(1 for character in text if _is_usual(character))
    return usual >= 0.95 * len(text)


def _is_usual(character: str) -> bool:
    code = ord(character)
    if code < 0x20:
        return character in "\t\n\r\f"
    if code < 0x2000 or 0xAC00 <= code < 0xD7A4 or 0xFF00 <= code < 0xFFF0:
        return code < 0x7F or character.isalnum() or character.isspace() or code >= 0xFF00
    return 0x2010 <= code < 0x2070 or (0x3000 <= code < 0xA000 and character.isprintable())


def _text_kind(head: bytes, path: Path, ending: str) -> str:
    start = _ascii_view(head).lstrip("\ufeff \r\n\t").lower()
    named = _TEXT_KINDS.get(ending)
    if ending in CODE_ENDINGS or path.name.lower() in _CODE_NAMES:
        return "code"
    if named in ("html", "md", "txt", "json", "jsonl", "ipynb", "xml", "eml"):
        if named == "txt" and start.startswith(("<!doctype html", "<html")):
            return "html"
        if named == "xml" and ("<html" in start[:2000]):
            return "html"
        return named
    if start.startswith(("<!doctype html", "<html", "<head", "<body")) or (
        start.startswith(("<?xml", "<!--")) and "<html" in start
    ):
        return "html"
    if named in ("csv", "tsv"):
        return "html" if start.startswith("<table") else named
    if ending in (".xls", ".xlsx"):
        # Reports named .xls that are a web page or lines with tabs.
        return "html" if "<table" in start else "tsv"
    if start.startswith("<?xml"):
        return "xml"
    if start.startswith(("received:", "from:", "return-path:", "delivered-to:", "mime-version:", "message-id:")):
        return "eml"
    if ending in ("", ".dat") and start.startswith(("{", "[")):
        return "json"
    return "txt"


def _ascii_view(head: bytes) -> str:
    """The head as text for comparing ASCII words, whatever its encoding."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or head[:64].count(0) > 8:
        head = head.replace(b"\x00", b"")[2 if head[:2] in (b"\xff\xfe", b"\xfe\xff") else 0 :]
    return head.decode("utf-8-sig" if head.startswith(b"\xef\xbb\xbf") else "latin-1", "replace")
