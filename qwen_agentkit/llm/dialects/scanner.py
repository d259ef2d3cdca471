"""Where calls and thinking stand in a model's text: one pass over text that is still arriving.

The scanner knows every text dialect at once. Text that may turn out to be a tag is held back until it is decided;
a call's text is gathered until its end is found (a tag inside a JSON string ends nothing) and then read by
`calls`. What turns out to be no call goes on as the text it was. Every character is moved a bounded number of
times, so the cost is linear in the text, however it is cut into pieces.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from qwen_agentkit.llm.dialects.calls import (
    CALL_KEYS,
    NAME_KEYS,
    ParsedCall,
    ToolNames,
    call_from_parts,
    calls_from_json,
    calls_from_tag,
    settle_name,
)
from qwen_agentkit.llm.json_scan import JsonScanner

# The wire tokens of Qwen-Agent's `qwen` dialect.
QWEN_FUNCTION, QWEN_ARGS, QWEN_RESULT, QWEN_RETURN = "✿FUNCTION✿", "✿ARGS✿", "✿RESULT✿", "✿RETURN✿"

_CLOSING = {"<tool_call>": "</tool_call>", "<function_call>": "</function_call>", "<tools>": "</tools>"}
_THINK_OPEN = ("<think>", "<thinking>")
_THINK_CLOSE = ("</think>", "</thinking>")
_ENDED_WELL = frozenset({"stop", "tool_calls", "function_call", "eos"})

# How often text that was no call after all is looked through again, and how many possible ends of one call are tried.
_MAX_RESCANS = 64
_MAX_ENDS = 8
# Longest text between a dialect's marks for a name, in characters.
_MAX_NAME = 300


class Tokens:
    """A set of marks to look for, and how much of a text's end may be the beginning of one."""

    def __init__(self, *tokens: str) -> None:
        ordered = sorted(tokens, key=len, reverse=True)
        self.search = re.compile("|".join(re.escape(token) for token in ordered) or r"(?!)").search
        self._prefixes = {token[:length] for token in tokens for length in range(1, len(token))}
        self._longest = max((len(token) for token in tokens), default=1) - 1
        self._first = re.compile("[" + re.escape("".join({token[0] for token in tokens}) or "\0") + "]")

    def held(self, text: str) -> int:
        """Length of the text's end that may grow into a token."""
        start = max(0, len(text) - self._longest)
        for found in self._first.finditer(text, start):
            if text[found.start() :] in self._prefixes:
                return len(text) - found.start()
        return 0


_THINK_TOKENS = (*_THINK_OPEN, *_THINK_CLOSE)
_TAG_TOKENS = ("<tool_call>", "<function_call>", "<function=", "<function name=")
_PLAIN = Tokens(*_THINK_TOKENS)
_IN_THOUGHT = Tokens(*_THINK_TOKENS, *_TAG_TOKENS, QWEN_FUNCTION)
_IN_TEXT = Tokens(
    *_THINK_TOKENS, *_TAG_TOKENS, "<tools>", QWEN_FUNCTION, QWEN_RESULT, QWEN_RETURN, "```", "Action:", "Observation:"
)

_TAG_ENDS = {closing: Tokens(closing, "<tool_call>", *_THINK_CLOSE) for closing in (*_CLOSING.values(), "</tool_call>")}
_FENCE_ENDS = Tokens("```")
_QWEN_ENDS = Tokens(QWEN_FUNCTION, QWEN_RESULT, QWEN_RETURN)
_REACT_ENDS = Tokens("\nObservation:", "\nThought:", "\nAction:", "\nFinal Answer:")
_NO_ENDS = Tokens("\0\0")
_XML_TOKENS = Tokens("<parameter=", "<parameter name", "</function>", "</tool_call>")

_FENCE_HEAD = re.compile(r"```+[ \t]*[\w+-]*[ \t]*\r?\n?\s*")
_FENCE_PART = re.compile(r"`{3,}[ \t]*[\w+-]{0,20}[ \t]*\r?\n?\s*\Z")
_QWEN_HEAD = re.compile(r"✿FUNCTION✿\s*[:：]?\s*([^\n✿{]*?)\s*(?:✿ARGS✿\s*+[:：]?+\s*+|(?=\{))(?=\S)")
_QWEN_BARE = re.compile(r"✿FUNCTION✿\s*[:：]?\s*([^\n✿{]*?)\s*(?=✿(?:FUNCTION|RESULT|RETURN)✿|\Z)")
_REACT_HEAD = re.compile(r"Action:[ \t]*([^\n]*?)[ \t]*\r?\n\s*Action Input:\s*+(?=\S)")
_REACT_PART = re.compile(
    r"Action:[^\n]*(?:\n\s*(?:A(?:c(?:t(?:i(?:o(?:n(?: (?:I(?:n(?:p(?:u(?:t(?::\s*)?)?)?)?)?)?)?)?)?)?)?)?)?)?\Z"
)
_REACT_NAME = re.compile(r"Action:[ \t]*([^\n]*?)[ \t]*\r?\n")
_RETURN_MARK = re.compile(r"✿RETURN✿[ \t]*[:：]?[ \t]*")
_COLON = re.compile(r"\s*[:：]?[ \t]*")
_ENDS_VALUE = re.compile(r"[}\]][}\]\s]*\Z")
_ENDS_VALUE_AND_LINE = re.compile(r"[}\]][}\]\s]*\n\s*\Z")
_ARRAY_OR_OBJECT = re.compile(r"\s*(?:\[\s*)?(\{)?\s*(?:([\"']?)([A-Za-z_]*)(\2\s*:)?)?")
_STRING_VALUE = re.compile(r"\s*([\"'])([^\"']*)(\1)?")
_TAG_NAME = re.compile(r"([\w.:/-]{1,128})\s*(?=<arg_key>|</tool_call>)")
_TAG_NAME_PART = re.compile(r"[\w.:/-]{0,128}\s*(?:<[\w/]{0,12})?\Z")


class Sink(Protocol):
    """What takes the scanner's findings, in order."""

    def text(self, piece: str) -> None: ...

    def thought(self, piece: str) -> None: ...

    def call(self, call: ParsedCall, in_thought: bool) -> None: ...


@dataclass
class _Region:
    """A stretch of text that may be a call."""

    kind: str  # tag, fence, bare, qwen, react
    opener: str
    ends: Tokens
    closing: str = ""
    name: str = ""
    fence: str = ""  # the fence's opening line, where a tag stands in a fence
    body: list[str] = field(default_factory=list)
    length: int = 0
    json: JsonScanner = field(default_factory=JsonScanner)
    vetted: bool = True
    possible_ends: list[int] = field(default_factory=list)
    closed: bool = True  # the value (or the whole region) was closed
    has_parameter: bool = False
    xml_open: bool = False

    def take(self, piece: str) -> None:
        if piece:
            self.body.append(piece)
            self.length += len(piece)

    def recent(self) -> str:
        """The end of what was gathered, at least its last 64 pieces."""
        return "".join(self.body[-64:])

    def text(self) -> str:
        return "".join(self.body)


class Scanner:
    """Splits one channel of a reply into text, thinking and calls.

    Args:
        names: The offered tools.
        dialect: The dialect that the model was asked for; its loosest forms are accepted only then.
        sink: Takes what is found.
        thinking: The text begins inside thinking.
        thinking_only: The whole channel is thinking (a server's reasoning field).
        parse_calls: Look for calls.
    """

    def __init__(
        self,
        names: ToolNames,
        dialect: str,
        sink: Sink,
        *,
        thinking: bool = False,
        thinking_only: bool = False,
        parse_calls: bool = True,
    ) -> None:
        self._names = names
        self._dialect = dialect
        self._sink = sink
        self._thinking = thinking or thinking_only
        self._thinking_only = thinking_only
        self._parse_calls = parse_calls
        self._json_calls = parse_calls and (bool(names) or dialect == "fenced")
        self._tail = ""
        self._state: Callable[[bool], bool] = self._in_text
        self._region: _Region | None = None
        self._final = False
        self._ended_well = False
        self._rescans = 0
        # The white space after the last text, which belongs to the text only if more text follows.
        self._space = ""
        self._skip_space = thinking
        self._has_text = False
        self._after_call = False
        self._fresh = True  # no text yet since the beginning, thinking or a call
        self._continues = dialect == "qwen" and not self._thinking
        self._in_dialogue = False  # a `qwen` or `react` call was found: a result that follows is made up

    # Feeding

    def feed(self, text: str) -> None:
        """Takes the next piece of text."""
        if not text:
            return
        self._tail = self._tail + text if self._tail else text
        while self._tail and self._state(False):
            pass

    def finish(self, finish_reason: str | None) -> None:
        """Decides all that was held back. Nothing may be fed afterwards."""
        self._final = True
        self._ended_well = finish_reason in _ENDED_WELL
        while self._tail or self._region is not None:
            if not self._state(True):
                break
        if self._space and self._has_text and not self._after_call and not self._thinking:
            self._sink.text(self._space)
        elif self._space and self._thinking_only:
            self._sink.thought(self._space)
        self._space = ""

    # Plain text and thinking

    def _plain(self, piece: str) -> None:
        """Text that is no part of a call."""
        if not piece:
            return
        if self._skip_space:
            piece = piece.lstrip()
            if not piece:
                return
            self._skip_space = False
        kept = piece.rstrip()
        if not kept:
            self._space += piece
            return
        if self._after_call and not self._thinking and self._has_text and not self._space:
            self._space = "\n"
        if self._after_call and not self._has_text and not self._thinking:
            self._space, kept = "", kept.lstrip()
        lead = self._space + kept
        self._space = piece[len(piece.rstrip()) :]
        self._fresh = False
        if self._thinking:
            self._sink.thought(lead)
        else:
            self._after_call = False
            self._has_text = True
            self._sink.text(lead)

    def _at_line_start(self) -> bool:
        return self._fresh or "\n" in self._space

    def _in_text(self, final: bool) -> bool:
        if self._continues:
            # The prompt ended with the mark of the answer; the model begins with the mark's colon.
            found = _COLON.match(self._tail)
            if not final and found is not None and found.end() == len(self._tail):
                return False
            self._continues = False
            if found is not None:
                self._tail = self._tail[found.end() :]
                return bool(self._tail)
        tail = self._tail
        tokens = _IN_THOUGHT if self._thinking else _IN_TEXT
        if not self._parse_calls:
            tokens = _PLAIN
        elif self._fresh and self._json_calls and not self._thinking:
            bare = tail.lstrip()
            if bare[:1] in ("{", "["):
                lead = tail[: len(tail) - len(bare)]
                self._tail = bare
                self._begin(_Region("bare", lead, _NO_ENDS, vetted=False), self._in_json)
                return True
        found = tokens.search(tail)
        if found is not None:
            self._plain(tail[: found.start()])
            self._tail = tail[found.start() :]
            return self._at_token(found[0], final)
        held = 0 if final else tokens.held(tail)
        split = len(tail) - held
        self._plain(tail[:split])
        self._tail = tail[split:]
        return False

    def _as_text(self, token: str) -> bool:
        self._plain(token)
        self._tail = self._tail[len(token) :]
        return True

    def _at_token(self, token: str, final: bool) -> bool:
        if token in _THINK_OPEN:
            return self._open_thinking(token)
        if token in _THINK_CLOSE:
            return self._close_thinking(token, final)
        if token in _CLOSING:
            closing = _CLOSING[token]
            self._tail = self._tail[len(token) :]
            self._begin(_Region("tag", token, _TAG_ENDS[closing], closing), self._in_tag_head)
            return True
        if token.startswith("<function"):
            self._begin(_Region("tag", "", _TAG_ENDS["</tool_call>"], "</tool_call>"), self._in_xml)
            return True
        if token == QWEN_FUNCTION:
            return self._qwen_head(final)
        if token == QWEN_RETURN:
            return self._return_mark(final)
        if token == "Action:":
            return self._react_head(final) if self._at_line_start() else self._as_text(token)
        if token == "```":
            return self._fence_head(final) if self._at_line_start() and self._json_calls else self._as_text(token)
        # A result that the model makes up after its own call: the stop word would have ended the reply here.
        if self._in_dialogue and (token == QWEN_RESULT or self._at_line_start()):
            self._state = self._ignored
            return True
        return self._as_text(token)

    def _ignored(self, final: bool) -> bool:
        self._tail = ""
        return False

    def _open_thinking(self, token: str) -> bool:
        if self._thinking:
            # A second opening: a template has opened the thinking and the model did so again.
            if not self._fresh:
                return self._as_text(token)
            self._tail = self._tail[len(token) :]
            return True
        if not self._at_line_start():
            return self._as_text(token)
        self._tail = self._tail[len(token) :]
        self._sink.thought("")
        self._thinking = True
        self._space = ""
        self._skip_space = True
        self._fresh = True
        return True

    def _close_thinking(self, token: str, final: bool) -> bool:
        if self._thinking:
            self._tail = self._tail[len(token) :]
            if not self._thinking_only:
                self._thinking = False
                self._space = ""
                self._skip_space = not self._has_text
                if self._has_text:
                    self._space = "\n"
                self._fresh = True
            return True
        # The end of thinking that was never begun: a mark alone on its line is no part of the answer.
        following = self._tail[len(token) :].lstrip(" \t\r")
        if not following and not final:
            return False
        if not self._at_line_start() or (following and not following.startswith("\n")):
            return self._as_text(token)
        self._tail = self._tail[len(token) :]
        return True

    # Regions

    def _begin(self, region: _Region, state: Callable[[bool], bool]) -> None:
        self._region = region
        self._state = state

    def _here(self) -> _Region:
        region = self._region
        if region is None:
            raise RuntimeError("The scanner stands in no call")
        return region

    def _take(self, length: int) -> None:
        self._here().take(self._tail[:length])
        self._tail = self._tail[length:]

    def _in_tag_head(self, final: bool) -> bool:
        region = self._here()
        rest = self._tail.lstrip()
        if not rest:
            return self._give_up() if final else False
        self._take(len(self._tail) - len(rest))
        if rest[0] in "{[":
            self._state = self._in_json
            return True
        if rest.startswith("<function"):
            self._state = self._in_xml
            return True
        fence = _FENCE_HEAD.match(rest)
        if fence is not None and rest[fence.end() : fence.end() + 1] in ("{", "["):
            self._take(fence.end())
            self._state = self._in_json
            return True
        if not final and ("<function".startswith(rest) or "```".startswith(rest) or _FENCE_PART.match(rest)):
            return False
        named = _TAG_NAME.match(rest)
        if named is not None and (
            self._names.resolve(named[1]) is not None or rest.startswith("<arg_key>", named.end())
        ):
            region.has_parameter = True
            self._state = self._in_raw
            return True
        if not final and _TAG_NAME_PART.match(rest):
            return False
        return self._give_up()

    def _in_json(self, final: bool) -> bool:
        """Inside a JSON value: until it is closed, or until a mark shows that it never will be."""
        region = self._here()
        tail = self._tail
        if not region.vetted:
            decided = self._vet(region, tail, final)
            if decided is None:
                return False
            if not decided:
                return self._give_up()
        limit = len(tail) - (0 if final else region.ends.held(tail))
        position = 0
        while True:
            mark = region.ends.search(tail, position)
            stop = limit if mark is None else mark.start()
            position = region.json.scan(tail, position, stop)
            if region.json.done:
                self._take(position)
                self._state = self._after_value
                return True
            if mark is None:
                break
            if region.json.quote is None or self._ends_here(region, mark.start(), mark.end(), final):
                self._take(mark.start())
                region.closed = False
                self._state = self._after_value
                return True
            if len(region.possible_ends) < _MAX_ENDS:
                region.possible_ends.append(region.length + mark.start())
            position = region.json.scan(tail, mark.start(), mark.end())
        self._take(position)
        if not final:
            return False
        return self._cut_off()

    def _ends_here(self, region: _Region, start: int, end: int, final: bool) -> bool:
        """Whether a mark inside what looks like a string ends the call all the same.

        A line end before the mark cannot stand in a JSON string, and after a closing bracket it shows that a stray
        quotation mark has misled the scanner.
        """
        before = region.recent() + self._tail[:start]
        if region.kind == "react" or _ENDS_VALUE_AND_LINE.search(before):
            return True
        if not final or not _ENDS_VALUE.search(before):
            return False
        after = self._tail[end:].lstrip()
        return not after or after.startswith(("<tool_call>", "<function", "✿"))

    def _vet(self, region: _Region, tail: str, final: bool) -> bool | None:
        """Whether JSON without a tag may be a call: its first key, and the name if that comes first. None: wait."""
        head = (region.text() + tail)[:_MAX_NAME]
        undecided = None if not final and len(head) < _MAX_NAME else False
        found = _ARRAY_OR_OBJECT.match(head)
        if found is None or found[1] is None:
            return undecided if not head.strip(" \t\r\n[") and head.count("[") <= 1 else False
        if found[4] is None:
            rest = head[found.end() :].strip()
            whole = found[2] and rest.startswith(found[2])
            return undecided if (not rest or (whole and rest == found[2])) else False
        key = found[3]
        if key not in CALL_KEYS:
            return False
        if key in NAME_KEYS:
            value = _STRING_VALUE.match(head, found.end())
            rest = head[found.end() :].strip()
            if value is None:
                if not rest:
                    return undecided
                return key == "function" and rest.startswith("{") and self._vetted(region)
            if value[3] is None:
                return undecided
            if self._names and self._names.resolve(value[2]) is None and self._dialect != "fenced":
                return False
        return self._vetted(region)

    def _vetted(self, region: _Region) -> bool:
        region.vetted = True
        return True

    def _after_value(self, final: bool) -> bool:
        """Behind a value (JSON or XML): its closing mark, or what else may belong to the same call."""
        region = self._here()
        tail = self._tail
        rest = tail.lstrip()
        space = len(tail) - len(rest)
        if region.kind in ("bare", "qwen", "react"):
            if rest[:1] == "}" and "\n" not in tail[:space]:
                self._take(space + 1)
                return True
            if not rest and not final and "\n" not in tail:
                return False
            if region.kind == "bare" and rest[:1] in (",", ";"):
                following = rest[1:].lstrip()
                if not following and not final:
                    return False
                if following.startswith("{"):
                    self._take(len(tail) - len(following))
                    region.json = JsonScanner()
                    self._state = self._in_json
                    return True
            return self._end(region.closed)
        if not rest:
            return self._end(region.closed) if final else False
        closing = region.closing if region.kind == "tag" else "```"
        if rest.startswith(closing):
            self._take(space + len(closing))
            return self._end(True)
        if rest[0] in "}],;" or (region.kind == "tag" and rest.startswith("```")):
            self._take(space + (3 if rest[0] == "`" else 1))
            return True
        if rest[0] in "{[" and not region.xml_open:
            self._take(space)
            region.json = JsonScanner()
            region.closed = True
            self._state = self._in_json
            return True
        if region.kind == "tag":
            if rest.startswith("<code>") and not region.xml_open:
                region.closed = False
                self._state = self._in_code
                return True
            if rest.startswith("<function=") or rest.startswith("<function name"):
                self._take(space)
                region.has_parameter = False
                self._state = self._in_xml
                return True
            waits = (closing, "<code>", "<function=", "<function name", "```")
        else:
            waits = (closing,)
        if not final and any(token.startswith(rest) for token in waits):
            return False
        return self._end(region.closed)

    def _in_code(self, final: bool) -> bool:
        region = self._here()
        end = self._tail.find("</code>")
        if end < 0:
            held = 0 if final else Tokens("</code>").held(self._tail)
            self._take(len(self._tail) - held)
            return self._cut_off() if final else False
        self._take(end + len("</code>"))
        region.closed = True
        self._state = self._after_value
        return True

    def _in_xml(self, final: bool) -> bool:
        """Inside ``<function=...>``: until a closing tag that is no part of a value."""
        region = self._here()
        region.xml_open = True
        tail = self._tail
        found = _XML_TOKENS.search(tail)
        if found is None:
            held = 0 if final else _XML_TOKENS.held(tail)
            self._take(len(tail) - held)
            return self._cut_off() if final else False
        token = found[0]
        if token.startswith("<parameter"):
            region.has_parameter = True
            self._take(found.end())
            return True
        before = (region.recent() + tail[: found.start()]).rstrip()
        ends = before.endswith("</parameter>") or not region.has_parameter
        if token == "</tool_call>":
            if not ends:
                self._take(found.end())
                return True
            self._take(found.start())
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

    def _in_raw(self, final: bool) -> bool:
        """Arguments that are no JSON: until the dialect's next mark."""
        region = self._here()
        tail = self._tail
        found = region.ends.search(tail)
        if found is not None:
            self._take(found.start())
            self._state = self._after_value
            if region.kind == "tag":
                return True
            return self._end(True)
        held = 0 if final else region.ends.held(tail)
        self._take(len(tail) - held)
        if not final:
            return False
        if region.kind == "react" or (region.kind == "qwen" and self._ended_well):
            return self._end(True)
        return self._cut_off()

    # Heads of the dialects without tags

    def _fence_head(self, final: bool) -> bool:
        tail = self._tail
        head = _FENCE_HEAD.match(tail)
        if head is None or (head.end() == len(tail) and not final):
            return self._as_text("```") if final or head is None else self._wait_for_fence(tail)
        rest = tail[head.end() :]
        if rest[:1] in ("{", "["):
            self._tail = rest
            self._begin(_Region("fence", head[0], _FENCE_ENDS, "```", vetted=False), self._in_json)
            return True
        for token in ("<tool_call>", "<function="):
            if rest.startswith(token):
                self._tail = rest
                region = _Region("tag", "", _TAG_ENDS["</tool_call>"], "</tool_call>", fence=head[0])
                if token == "<tool_call>":
                    region.opener, self._tail = token, rest[len(token) :]
                    self._begin(region, self._in_tag_head)
                else:
                    self._begin(region, self._in_xml)
                return True
            if not final and rest and token.startswith(rest):
                return False
        self._plain(head[0])
        self._tail = rest
        return True

    def _wait_for_fence(self, tail: str) -> bool:
        if _FENCE_PART.match(tail) and len(tail) < _MAX_NAME:
            return False
        return self._as_text("```")

    def _qwen_head(self, final: bool) -> bool:
        tail = self._tail
        head = _QWEN_HEAD.match(tail)
        if head is not None and not (final is False and head.end() >= len(tail)):
            rest = tail[head.end() :]
            if rest.startswith("✿") and not final and len(rest) < len(QWEN_FUNCTION):
                return False
            self._tail = rest
            region = _Region("qwen", head[0], _QWEN_ENDS, name=head[1])
            self._begin(region, self._in_json if rest[:1] == "{" else self._in_raw)
            return True
        bare = _QWEN_BARE.match(tail)
        if bare is not None and (bare.end() < len(tail) or final):
            self._tail = tail[bare.end() :]
            self._begin(_Region("qwen", bare[0], _QWEN_ENDS, name=bare[1]), self._in_raw)
            known = self._names.resolve(bare[1]) is not None
            return self._end(True) if known or self._tail else self._give_up()
        if final or len(tail) > _MAX_NAME:
            return self._as_text(QWEN_FUNCTION)
        name, _, following = tail[len(QWEN_FUNCTION) :].lstrip(" :：\n\t").partition("\n")
        if following.strip() and not following.lstrip().startswith(("✿", "{")) and name:
            return self._as_text(QWEN_FUNCTION)
        return False

    def _return_mark(self, final: bool) -> bool:
        found = _RETURN_MARK.match(self._tail)
        if found is None or (found.end() == len(self._tail) and not final):
            return False
        if not self._in_dialogue and self._dialect != "qwen":
            return self._as_text(QWEN_RETURN)
        self._tail = self._tail[found.end() :]
        return True

    def _react_head(self, final: bool) -> bool:
        tail = self._tail
        head = _REACT_HEAD.match(tail)
        if head is None:
            if not final and _REACT_PART.match(tail) and len(tail) < 4 * _MAX_NAME:
                named = _REACT_NAME.match(tail)
                if named is None or self._react_name(named[1]):
                    return False
            return self._as_text("Action:")
        if not self._react_name(head[1]):
            return self._as_text("Action:")
        self._tail = tail[head.end() :]
        region = _Region("react", head[0], _REACT_ENDS, name=head[1])
        self._begin(region, self._in_json if self._tail[:1] == "{" else self._in_raw)
        return True

    def _react_name(self, name: str) -> bool:
        if self._names.resolve(name) is not None:
            return True
        return self._dialect == "react" and settle_name(ParsedCall(name, "{}"), self._names) is not None

    # Ends

    def _cut_off(self) -> bool:
        """The reply ended inside a call."""
        region = self._here()
        body = region.text()
        for end in region.possible_ends:
            if self._read(region, body[:end], cut=False):
                # A stray quotation mark had hidden this end.
                self._tail = body[end:]
                region.body, region.length = [body[:end]], end
                region.closed = False
                self._state = self._after_value
                return True
        in_string = region.json.quote is not None and not region.xml_open
        return self._end(not in_string and self._ended_well and region.kind != "fence")

    def _end(self, closed: bool) -> bool:
        """The region is over: it is a call, or the text it always was."""
        region = self._here()
        body = region.text()
        calls = self._read(region, body, cut=not closed and not self._closed_by_mark(region))
        if not calls:
            return self._give_up()
        self._region = None
        self._state = self._in_text
        if self._thinking:
            self._sink.thought(self._space + region.opener + body)
        for call in calls:
            self._sink.call(call, self._thinking)
        if region.kind in ("qwen", "react") and not self._thinking:
            self._in_dialogue = True
        if self._thinking:
            self._space = ""
            return True
        self._after_call = True
        self._fresh = True
        if region.fence:
            self._region = region
            self._state = self._after_fenced_tag
        return True

    def _closed_by_mark(self, region: _Region) -> bool:
        """A closing mark follows a value that lacks a bracket: the model forgot it, nothing was cut."""
        return not region.closed and bool(self._tail)

    def _after_fenced_tag(self, final: bool) -> bool:
        """Behind a tag inside a fence: the fence's end goes with the call."""
        rest = self._tail.lstrip()
        if not final and (not rest or "```".startswith(rest) or "<tool_call>".startswith(rest)):
            return False
        region = self._here()
        self._region = None
        self._state = self._in_text
        if rest.startswith("```"):
            self._tail = rest[3:]
        elif rest.startswith("<tool_call>"):
            self._tail = rest[len("<tool_call>") :]
            again = _Region("tag", "<tool_call>", region.ends, region.closing, fence="\n")
            self._begin(again, self._in_tag_head)
        return bool(self._tail) or self._region is not None

    def _read(self, region: _Region, body: str, *, cut: bool) -> list[ParsedCall]:
        """The calls in a region's text; none when it is no call."""
        names = self._names
        if region.kind in ("qwen", "react"):
            arguments = body
            found: list[ParsedCall] | None = [call_from_parts(region.name, arguments, cut=cut)]
        elif region.kind == "tag":
            text = body.strip()
            found = calls_from_tag(text.removesuffix(region.closing), names, cut=cut)
        else:
            found = calls_from_json(body.strip().removesuffix("```").rstrip(), names, cut=cut)
        settled: list[ParsedCall] = []
        for call in found or ():
            one = settle_name(call, names)
            if one is None or not self._accepts(region, one):
                return []
            settled.append(one)
        return settled

    def _accepts(self, region: _Region, call: ParsedCall) -> bool:
        if region.kind == "tag" and not region.fence and region.closing != "</tools>":
            return True
        if region.kind == "qwen":
            return True
        if self._names.resolve(call.name) is not None:
            return True
        if region.kind == "react":
            return self._dialect == "react"
        return self._dialect == "fenced" and region.kind in ("fence", "bare")

    def _give_up(self) -> bool:
        """The region is no call: it goes on as text, and is looked through for calls that begin later in it."""
        region = self._here()
        self._region = None
        self._state = self._in_text
        body = region.text()
        opener = region.fence + region.opener
        if region.opener == "" and region.kind == "tag":
            opener, body = region.fence + body[:1], body[1:]
        self._fresh = self._fresh and not opener.strip() and region.kind != "bare"
        self._plain(opener)
        if region.kind == "bare" or self._rescans >= _MAX_RESCANS:
            self._plain(body)
            return bool(self._tail)
        self._rescans += 1
        self._tail = body + self._tail
        return bool(self._tail)
