"""A stretch of text that may be a call, from its opening mark to its end.

A region takes the text that arrives until it knows where the call ends: a mark inside a JSON string ends nothing,
a mark behind a forgotten bracket does. Then `calls` reads what was gathered.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from qwen_agentkit.llm.dialects.calls import (
    CALL_KEYS,
    NAME_KEYS,
    ParsedCall,
    ToolNames,
    call_from_parts,
    calls_from_json_run,
    calls_from_tag,
    settle_name,
)
from qwen_agentkit.llm.dialects.marks import CODE_END, FENCE_HEAD, FENCE_PART, FUNCTION_OPEN, MAX_NAME, XML, Tokens
from qwen_agentkit.llm.json_scan import JsonScanner

# How many possible ends of one call are tried when none proved to be the end.
_MAX_ENDS = 8
# Pieces of the body that are looked at for what stands before a mark.
_RECENT = 64

_ENDS_VALUE = re.compile(r"[}\]][}\]\s]*\Z")
_ENDS_VALUE_AND_LINE = re.compile(r"[}\]][}\]\s]*\n\s*\Z")
_FIRST_KEY = re.compile(r"\s*(?:\[\s*)?(\{)?\s*(?:([\"']?)([A-Za-z_]*)(\2\s*:)?)?")
_STRING_VALUE = re.compile(r"\s*([\"'])([^\"']*)(\1)?")
_IN_FUNCTION = ("<parameter=", "<parameter name", "</function>", "</tool_call>", "{")
_CLOSED_PARAMETER = re.compile(r"</parameter>(?=[ \t]*\n\s*[^<\s])")
_TAG_NAME = re.compile(r"([\w.:/-]{1,128})\s*(?=<arg_key>|</tool_call>)")
_TAG_NAME_PART = re.compile(r"[\w.:/-]{0,128}\s*(?:<[\w/]{0,12})?\Z")


class Region:
    """Gathers what may be a call.

    Args:
        kind: "tag" (``<tool_call>`` and its like, ``<function=``), "fence", "bare" (JSON alone), "qwen" or "react".
        opener: The text that opened it and is no part of the body.
        ends: Marks that may end the body.
        names: The offered tools.
        dialect: The dialect that the model was asked for.
        closing: The closing tag.
        name: The tool's name, where it stands before the body.
        fence: The opening line of a fence around the tag.

    Attributes:
        tail: Text that has arrived and is not taken yet; the scanner sets it before each step.
        over: The end is found.
        refused: It is no call.
        closed: At the end: nothing is missing, the reply did not stop inside the call.
    """

    def __init__(
        self,
        kind: str,
        opener: str,
        ends: Tokens,
        names: ToolNames,
        dialect: str,
        *,
        closing: str = "",
        name: str = "",
        fence: str = "",
    ) -> None:
        self.kind = kind
        self.opener = opener
        self.closing = closing
        self.name = name
        self.fence = fence
        self.tail = ""
        self.over = False
        self.refused = False
        self.closed = True
        self.ended_well = False
        self._ends = ends
        self._names = names
        self._dialect = dialect
        self._body: list[str] = []
        self._length = 0
        self._json = JsonScanner()
        self._value_closed = True
        # JSON that no tag announces may be anything: it is looked at before it is held back for long.
        self._vetted = kind not in ("fence", "bare")
        self._possible_ends: list[int] = []
        self._has_parameter = False
        self._is_xml = False
        self._state: Callable[[bool], bool] = self._head

    def begin(self, form: str) -> Region:
        """Begins with a body of that form ("json", "raw" or "xml") instead of finding out."""
        self._state = {"json": self._in_json, "raw": self._in_raw, "xml": self._xml_head}[form]
        return self

    def step(self, final: bool) -> bool:
        """Takes from `tail`. False when more text is needed (never with `final`: then the region is over)."""
        more = self._state(final)
        if final and not more and not self.over:
            return self._over(False)
        return more

    def text(self) -> str:
        """What was gathered, without the opener."""
        return "".join(self._body)

    @property
    def pieces(self) -> list[str]:
        """What was gathered, in the pieces in which it came."""
        return self._body

    def calls(self, *, cut: bool) -> list[ParsedCall]:
        """The calls in what was gathered; none when it is no call.

        Args:
            cut: The reply ended inside the region.
        """
        return self._read(self.text(), cut=cut)

    # Taking

    def _take(self, length: int) -> None:
        if length:
            self._body.append(self.tail[:length])
            self._length += length
            self.tail = self.tail[length:]

    def _before(self, length: int) -> str:
        """The end of what was gathered, with the next `length` characters."""
        return "".join(self._body[-_RECENT:]) + self.tail[:length]

    def _over(self, closed: bool) -> bool:
        self.over = True
        self.closed = closed
        return True

    def _refuse(self) -> bool:
        self.over = self.refused = True
        return True

    def _head(self, final: bool) -> bool:
        """Behind an opening tag: JSON, XML, a fence with JSON, or a tool's name with pairs of keys and values."""
        rest = self.tail.lstrip()
        if not rest:
            return self._refuse() if final else False
        self._take(len(self.tail) - len(rest))
        if rest[0] in "{[":
            self._state = self._in_json
            return True
        if rest.startswith("<function"):
            self._state = self._xml_head
            return True
        fence = FENCE_HEAD.match(rest)
        if fence is not None and rest[fence.end() : fence.end() + 1] in ("{", "["):
            self._take(fence.end())
            self._state = self._in_json
            return True
        if not final and ("<function".startswith(rest) or "```".startswith(rest) or FENCE_PART.match(rest)):
            return False
        named = _TAG_NAME.match(rest)
        if named is not None and (
            self._names.resolve(named[1]) is not None or rest.startswith("<arg_key>", named.end())
        ):
            self._state = self._in_raw
            return True
        if not final and _TAG_NAME_PART.match(rest):
            return False
        return self._refuse()

    def _in_json(self, final: bool) -> bool:
        """Inside a JSON value: until it is closed, or until a mark shows that it never will be."""
        if not self._vetted:
            decided = self._vet(final)
            if decided is None:
                return False
            if not decided:
                return self._refuse()
            self._vetted = True
        tail = self.tail
        limit = len(tail) - (0 if final else self._ends.held(tail))
        position = 0
        while True:
            mark = self._ends.search(tail, position)
            position = self._json.scan(tail, position, limit if mark is None else mark.start())
            if self._json.done:
                self._take(position)
                self._state = self._after_value
                return True
            if mark is None:
                break
            if self._json.quote is None or self._ends_here(mark.start(), mark.end(), final):
                self._take(mark.start())
                self._value_closed = False
                self._state = self._after_value
                return True
            if len(self._possible_ends) < _MAX_ENDS:
                self._possible_ends.append(self._length + mark.start())
            position = self._json.scan(tail, mark.start(), mark.end())
        self._take(position)
        return self._cut_off() if final else False

    def _ends_here(self, start: int, end: int, final: bool) -> bool:
        """Whether a mark inside what looks like a string ends the call all the same.

        A line end before the mark cannot stand in a JSON string, and after a closing bracket it shows that a stray
        quotation mark has misled the scanner.
        """
        before = self._before(start)
        if self.kind == "react" or _ENDS_VALUE_AND_LINE.search(before):
            return True
        if not final or not _ENDS_VALUE.search(before):
            return False
        after = self.tail[end:].lstrip()
        return not after or after.startswith(("<tool_call>", "<function", "✿"))

    def _vet(self, final: bool) -> bool | None:
        """Whether JSON without a tag may be a call, by its first key, and the name if that comes first. None: wait."""
        head = ("".join(self._body[:_RECENT]) + self.tail)[:MAX_NAME]
        undecided = None if not final and len(head) < MAX_NAME else False
        found = _FIRST_KEY.match(head)
        if found is None or found[1] is None:
            return undecided if not head.strip(" \t\r\n[") and head.count("[") <= 1 else False
        rest = head[found.end() :].strip()
        if found[4] is None:
            closing_quote = bool(found[2]) and rest == found[2]
            return undecided if not rest or closing_quote else False
        key = found[3]
        if key not in CALL_KEYS:
            return False
        if key not in NAME_KEYS:
            return True
        value = _STRING_VALUE.match(head, found.end())
        if value is None:
            return undecided if not rest else key == "function" and rest.startswith("{")
        if value[3] is None:
            return undecided
        return not self._names or self._dialect == "fenced" or self._names.resolve(value[2]) is not None

    def _after_value(self, final: bool) -> bool:
        """Behind a value: the closing mark, or what else may belong to the call."""
        tail = self.tail
        rest = tail.lstrip()
        space = len(tail) - len(rest)
        if self.kind in ("bare", "qwen", "react"):
            return self._after_plain_value(rest, space, final)
        if not rest:
            return self._over(self._value_closed) if final else False
        closing = self.closing if self.kind == "tag" else "```"
        if rest.startswith(closing):
            self._take(space + len(closing))
            return self._over(True)
        if rest[0] in "}],;" or (self.kind == "tag" and rest.startswith("```")):
            self._take(space + (3 if rest[0] == "`" else 1))
            return True
        if rest[0] in "{[" and not self._is_xml:
            return self._next_value(space)
        waits: tuple[str, ...] = (closing,)
        if self.kind == "tag":
            if rest.startswith("<code>") and not self._is_xml:
                self._value_closed = False
                self._state = self._in_code
                return True
            if rest.startswith(("<function=", "<function name")):
                self._take(space)
                self._state = self._xml_head
                return True
            waits = (closing, "<code>", "<function=", "<function name", "```")
        if not final and any(token.startswith(rest) for token in waits):
            return False
        # Another mark behind a value that was not closed: the bracket was forgotten, nothing was cut off.
        return self._over(True)

    def _after_plain_value(self, rest: str, space: int, final: bool) -> bool:
        same_line = "\n" not in self.tail[:space]
        if rest[:1] == "}" and same_line:
            self._take(space + 1)
            return True
        if not rest and not final and same_line:
            return False
        if self.kind == "bare" and rest[:1] in (",", ";"):
            following = rest[1:].lstrip()
            if not following and not final:
                return False
            if following.startswith("{"):
                return self._next_value(len(self.tail) - len(following))
        return self._over(True)

    def _next_value(self, length: int) -> bool:
        self._take(length)
        self._json = JsonScanner()
        self._value_closed = True
        self._state = self._in_json
        return True

    def _in_code(self, final: bool) -> bool:
        end = self.tail.find("</code>")
        if end < 0:
            self._take(len(self.tail) - (0 if final else CODE_END.held(self.tail)))
            return self._over(False) if final else False
        self._take(end + len("</code>"))
        self._value_closed = True
        self._state = self._after_value
        return True

    def _xml_head(self, final: bool) -> bool:
        """At ``<function=name>``: what follows tells a call from a tag that is only named in a sentence."""
        tail = self.tail
        opened = FUNCTION_OPEN.match(tail)
        if opened is None:
            waiting = not final and len(tail) < MAX_NAME and "\n" not in tail and ">" not in tail
            return False if waiting else self._no_function()
        rest = tail[opened.end() :].lstrip()
        if not final and (not rest or any(token.startswith(rest) for token in _IN_FUNCTION)):
            return False
        if rest and not rest.startswith(_IN_FUNCTION):
            return self._no_function()
        self._is_xml = True
        self._has_parameter = False
        self._take(opened.end())
        self._state = self._in_xml
        return True

    def _no_function(self) -> bool:
        """No call begins here; one that ended before, inside the same tag, stands."""
        return self._over(True) if self._is_xml else self._refuse()

    def _in_xml(self, final: bool) -> bool:
        """Inside ``<function=...>``: until a closing tag that is no part of a value."""
        tail = self.tail
        found = XML.search(tail)
        if found is None:
            self._take(len(tail) - (0 if final else XML.held(tail)))
            return self._xml_cut_off() if final else False
        token = found[0]
        if token.startswith("<parameter"):
            self._has_parameter = True
            self._take(found.end())
            return True
        ends = not self._has_parameter or self._before(found.start()).rstrip().endswith("</parameter>")
        if token == "</tool_call>":
            self._take(found.start() if ends else found.end())
            if ends:
                self._state = self._after_value
            return True
        if not ends:
            following = tail[found.end() :].lstrip()
            if not final and "</tool_call>".startswith(following):
                self._take(found.start())
                return False
            ends = following.startswith("</tool_call>") or (final and not following)
        self._take(found.end())
        if ends:
            self._state = self._after_value
        return True

    def _xml_cut_off(self) -> bool:
        """The reply ended before ``</function>``."""
        body = self.text()
        last = max(body.rfind("<parameter="), body.rfind("<parameter name"), 0)
        closed = _CLOSED_PARAMETER.search(body, last)
        if closed is not None:
            # Text follows the last parameter: the model left out the tags and went on.
            self._body, self._length, self.tail = [body[: closed.end()]], closed.end(), body[closed.end() :]
            return self._over(True)
        # Between two parameters nothing is cut through; a model that stopped of itself left out the last tags.
        return self._over(self.ended_well and body.rstrip().endswith("</parameter>"))

    def _in_raw(self, final: bool) -> bool:
        """Arguments that are no JSON: until the dialect's next mark."""
        tail = self.tail
        found = self._ends.search(tail)
        if found is not None:
            self._take(found.start())
            if self.kind != "tag":
                return self._over(True)
            self._state = self._after_value
            return True
        self._take(len(tail) - (0 if final else self._ends.held(tail)))
        if not final:
            return False
        return self._over(self.kind == "react" or (self.kind == "qwen" and self.ended_well))

    def _cut_off(self) -> bool:
        """The reply ended inside a JSON value."""
        body = self.text()
        for end in self._possible_ends:
            if self._read(body[:end], cut=False):
                # A stray quotation mark had hidden this end.
                self._body, self._length, self.tail = [body[:end]], end, body[end:]
                self._possible_ends = []
                self._value_closed = False
                self._state = self._after_value
                return True
        # A model that stopped of itself forgot a bracket; a string that is open was cut whatever it says.
        return self._over(self._json.quote is None and self.ended_well and self.kind != "fence")

    # Reading

    def _read(self, body: str, *, cut: bool) -> list[ParsedCall]:
        found: list[ParsedCall] | None
        if self.kind in ("qwen", "react"):
            found = [call_from_parts(self.name, body, cut=cut)]
        elif self.kind == "tag":
            found = calls_from_tag(body.strip().removesuffix(self.closing), self._names, cut=cut)
        else:
            found = calls_from_json_run(body.strip().removesuffix("```").rstrip(), self._names, cut)
        settled: list[ParsedCall] = []
        for call in found or ():
            one = settle_name(call, self._names)
            if one is None or not self._accepts(one):
                return []
            settled.append(one)
        return settled

    def _accepts(self, call: ParsedCall) -> bool:
        """A tag of its own announces a call, whatever its name; looser forms need the name of an offered tool."""
        if self.kind == "qwen" or (self.kind == "tag" and not self.fence and self.closing != "</tools>"):
            return True
        if self.kind in ("fence", "bare") and call.repaired and ("beside" in call.repaired or call.arguments == "{}"):
            return False  # a repair has made a call of what hardly looks like one
        if self._names.resolve(call.name) is not None:
            return True
        if self.kind == "react":
            return self._dialect == "react"
        return self._dialect == "fenced" and self.kind in ("fence", "bare")
