"""Words of RTF 1.9.1 that `rag.parsers.rtf` needs to know: characters, code pages, and groups that hold no text."""

from __future__ import annotations

CHARACTERS = {
    "par": "\n",
    "line": "\n",
    "sect": "\n",
    "page": "\n",
    "tab": "\t",
    "emdash": "—",
    "endash": "–",
    "emspace": " ",
    "enspace": " ",
    "qmspace": " ",
    "bullet": "•",
    "lquote": "‘",
    "rquote": "’",
    "ldblquote": "“",
    "rdblquote": "”",
    "zwj": "\u200d",
    "zwnj": "\u200c",
    "ltrmark": "\u200e",
    "rtlmark": "\u200f",
}
SYMBOLS = {"~": "\u00a0", "_": "-", "-": "", "{": "{", "}": "}", "\\": "\\", "\n": "\n", "\r": "\n", ":": "", "|": ""}

# \fcharset of a font -> the code page of its text; 0 and 1 mean the document's own.
CHARSETS = {
    2: "symbol",
    77: "mac-roman",
    78: "shift_jis",
    79: "cp949",
    80: "gb18030",
    81: "big5",
    128: "cp932",
    129: "cp949",
    130: "johab",
    134: "gb18030",
    136: "big5hkscs",
    161: "cp1253",
    162: "cp1254",
    163: "cp1258",
    177: "cp1255",
    178: "cp1256",
    186: "cp1257",
    204: "cp1251",
    222: "cp874",
    238: "cp1250",
    254: "cp437",
    255: "cp850",
}
CODE_PAGES = {932: "cp932", 936: "gb18030", 949: "cp949", 950: "big5hkscs", 10000: "mac-roman", 65001: "utf-8"}

_IGNORED = (
    "fonttbl colortbl stylesheet listtable listoverridetable rsidtbl generator datastore themedata colorschememapping "
    "latentstyles xmlnstbl filetbl revtbl pgptbl mmathPr fldinst pict nonshppict xe tc txe rxe shprslt sp bkmkstart "
    "bkmkend pntxta pntxtb pn ftnsep ftnsepc ftncn aftnsep aftnsepc aftncn private objdata objclass objname template "
    "wgrffmtfilter userprops docvar falt panose datafield formfield ffname ffdeftext ffhelptext ffstattext listname "
    "atrfstart atrfend atndate atnid atntime atnicn atnref atnparent keywords subject author operator comment "
    "hlinkbase manager company category doccomm creatim revtim printim buptim vern nofpages nofwords nofchars "
    "passwordhash protusertbl defchp defpap oldcprops oldpprops oldsprops oldtprops blipuid picprop "
    "nonesttables"
)
IGNORED = frozenset(_IGNORED.split())
"""Groups whose words are settings or are shown elsewhere."""

STARRED_TEXT = frozenset(
    {"annotation", "atnauthor", "shpinst", "shptxt", "footnote", "nesttableprops", "shppict", "ud"}
)
"""Groups marked `\\*` (skip when unknown) that do hold text."""
