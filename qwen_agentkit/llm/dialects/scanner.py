"""Where calls and thinking stand in a model's text: one pass over text that is still arriving.

The scanner knows every text dialect at once. Text that may turn out to be a tag is held back until it is decided;
what may be a call is gathered by a `Region`. What turns out to be no call goes on as the text it was. Every
character is moved a bounded number of times, so the cost is linear in the text, however it is cut into pieces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from qwen_agentkit.llm.dialects.calls import ParsedCall, ToolNames, settle_name
from qwen_agentkit.llm.dialects.growth import CallWatch
from qwen_agentkit.llm.dialects.marks import (
    ANSWER_COLON,
    CLOSING,
    FENCE_ENDS,
    FENCE_HEAD,
    FENCE_PART,
    IN_TEXT,
    IN_THOUGHT,
    MAX_NAME,
    NO_ENDS,
    PLAIN,
    QWEN_BARE,
    QWEN_ENDS,
    QWEN_FUNCTION,
    QWEN_HEAD,
    QWEN_RESULT,
    QWEN_RETURN,
    REACT_ENDS,
    REACT_HEAD,
    REACT_NAME,
    REACT_PART,
    RETURN_MARK,
    TAG_ENDS,
    THINK_CLOSE,
    THINK_OPEN,
    Tokens,
)
from qwen_agentkit.llm.dialects.region import Region

# Finish reasons that say the model stopped of itself.
_ENDED_WELL = frozenset({"stop", "tool_calls", "function_call", "eos"})
# How often text that was no call after all is looked through again.
_MAX_RESCANS = 64


class Sink(Protocol):
    """What takes the scanner's findings, in order."""

    def text(self, piece: str) -> None: ...

    def thought(self, piece: str) -> None: ...

    def call(self, call: ParsedCall, in_thought: bool) -> None: ...


class Scanner:
    """Splits one channel of a reply into text, thinking and calls.

    Args:
        names: The offered tools.
        dialect: The dialect that the model was asked for; its loosest forms are accepted only then.
        sink: Takes what is found.
        thinking: The text begins inside thinking.
        thinking_only: The whole channel is thinking (a server's reasoning field).
        parse_calls: Look for calls.

    Attributes:
        watch: Follows calls while they are written, None when nobody wants to know.
    """

    watch: CallWatch | None = None

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
        self._region: Region | None = None
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

    def release(self) -> None:
        """Gives out what is held back as a possible tag: another channel has begun, so that it will not become one.
        A call that has begun is still gathered."""
        if self._region is None and self._tail:
            held, self._tail = self._tail, ""
            self._plain(held)
        if self._space and self._thinking_only:
            self._sink.thought(self._space)
            self._space = ""

    def finish(self, finish_reason: str | None) -> None:
        """Decides all that was held back. Nothing may be fed afterwards."""
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
            found = ANSWER_COLON.match(self._tail)
            if not final and found is not None and found.end() == len(self._tail):
                return False
            self._continues = False
            if found is not None:
                self._tail = self._tail[found.end() :]
                return bool(self._tail)
        tail = self._tail
        tokens = IN_THOUGHT if self._thinking else IN_TEXT
        if not self._parse_calls:
            tokens = PLAIN
        elif self._fresh and self._json_calls and not self._thinking:
            bare = tail.lstrip()
            if bare[:1] in ("{", "["):
                lead = tail[: len(tail) - len(bare)]
                self._tail = bare
                self._begin("bare", lead, NO_ENDS).begin("json")
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
        if token in THINK_OPEN:
            return self._open_thinking(token)
        if token in THINK_CLOSE:
            return self._close_thinking(token, final)
        if token in CLOSING:
            closing = CLOSING[token]
            self._tail = self._tail[len(token) :]
            self._begin("tag", token, TAG_ENDS[closing], closing=closing)
            return True
        if token.startswith("<function"):
            self._begin("tag", "", TAG_ENDS["</tool_call>"], closing="</tool_call>").begin("xml")
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

    def _begin(
        self, kind: str, opener: str, ends: Tokens, *, closing: str = "", name: str = "", fence: str = ""
    ) -> Region:
        region = Region(kind, opener, ends, self._names, self._dialect, closing=closing, name=name, fence=fence)
        self._region = region
        self._state = self._in_region
        return region

    def _in_region(self, final: bool) -> bool:
        region = self._region
        if region is None:
            self._state = self._in_text
            return True
        region.tail = self._tail
        region.ended_well = self._ended_well
        more = region.step(final)
        self._tail = region.tail
        if self.watch is not None and not self._thinking:
            self.watch.grown(region)
        if not region.over:
            return more
        calls = [] if region.refused else region.calls(cut=not region.closed)
        return self._found(region, calls) if calls else self._give_up(region)

    def _found(self, region: Region, calls: list[ParsedCall]) -> bool:
        self._leave_region()
        told_as = self.watch.id_of(region) if self.watch is not None else None
        if told_as is not None:
            calls = [replace(calls[0], id=told_as), *calls[1:]]
        for call in calls:
            self._sink.call(call, self._thinking)
        if self._thinking:
            # What is thought stays in the thinking, whatever becomes of the call.
            self._sink.thought(self._space + region.opener + region.text())
            self._space = ""
            return True
        self._in_dialogue = self._in_dialogue or region.kind in ("qwen", "react")
        self._after_call = self._fresh = True
        if region.fence:
            self._region = region
            self._state = self._after_fenced_tag
        return True

    def _give_up(self, region: Region) -> bool:
        """The region is no call: it goes on as text, and is looked through for calls that begin later in it."""
        self._leave_region()
        body = region.text()
        opener = region.fence + region.opener
        if not region.opener and region.kind == "tag":
            # The tag itself is still in the text: its first sign goes on, so that it is not found again.
            self._tail = body + self._tail
            body, opener, self._tail = "", region.fence + self._tail[:1], self._tail[1:]
        self._fresh = self._fresh and not opener.strip() and region.kind != "bare"
        self._plain(opener)
        if region.kind == "bare" or self._rescans >= _MAX_RESCANS:
            self._plain(body)
        else:
            self._rescans += 1
            self._tail = body + self._tail
        return bool(self._tail)

    def _leave_region(self) -> None:
        self._region = None
        self._state = self._in_text

    def _after_fenced_tag(self, final: bool) -> bool:
        """Behind a tag inside a fence: the fence's end goes with the call."""
        rest = self._tail.lstrip()
        if not final and (not rest or "```".startswith(rest) or "<tool_call>".startswith(rest)):
            return False
        self._leave_region()
        if rest.startswith("```"):
            self._tail = rest[3:]
        elif rest.startswith("<tool_call>"):
            self._tail = rest[len("<tool_call>") :]
            self._begin("tag", "<tool_call>", TAG_ENDS["</tool_call>"], closing="</tool_call>", fence="\n")
        return bool(self._tail) or self._region is not None

    # Heads of the dialects without tags

    def _fence_head(self, final: bool) -> bool:
        tail = self._tail
        head = FENCE_HEAD.match(tail)
        if head is None or (head.end() == len(tail) and not final):
            return self._as_text("```") if final or head is None else self._wait_for_fence(tail)
        rest = tail[head.end() :]
        if rest[:1] in ("{", "["):
            self._tail = rest
            self._begin("fence", head[0], FENCE_ENDS, closing="```").begin("json")
            return True
        for token in ("<tool_call>", "<function="):
            if rest.startswith(token):
                tagged = token == "<tool_call>"
                self._tail = rest[len(token) :] if tagged else rest
                opener = token if tagged else ""
                region = self._begin("tag", opener, TAG_ENDS["</tool_call>"], closing="</tool_call>", fence=head[0])
                if not tagged:
                    region.begin("xml")
                return True
            if not final and rest and token.startswith(rest):
                return False
        self._plain(head[0])
        self._tail = rest
        return True

    def _wait_for_fence(self, tail: str) -> bool:
        if FENCE_PART.match(tail) and len(tail) < MAX_NAME:
            return False
        return self._as_text("```")

    def _qwen_head(self, final: bool) -> bool:
        tail = self._tail
        head = QWEN_HEAD.match(tail)
        if head is not None:
            rest = tail[head.end() :]
            if rest.startswith("✿") and not final and len(rest) < len(QWEN_FUNCTION):
                return False
            self._tail = rest
            self._begin("qwen", head[0], QWEN_ENDS, name=head[1]).begin("json" if rest[:1] == "{" else "raw")
            return True
        bare = QWEN_BARE.match(tail)
        if bare is not None and (bare.end() < len(tail) or final):
            # A call without arguments. At the very end of a reply the name itself may have been cut.
            self._tail = tail[bare.end() :]
            region = self._begin("qwen", bare[0], QWEN_ENDS, name=bare[1])
            whole = self._names.resolve(bare[1]) is not None or bool(self._tail)
            calls = region.calls(cut=False) if whole else []
            return self._found(region, calls) if calls else self._give_up(region)
        if final or len(tail) > MAX_NAME:
            return self._as_text(QWEN_FUNCTION)
        name, _, following = tail[len(QWEN_FUNCTION) :].lstrip(" :：\n\t").partition("\n")
        if following.strip() and not following.lstrip().startswith(("✿", "{")) and name:
            return self._as_text(QWEN_FUNCTION)
        return False

    def _return_mark(self, final: bool) -> bool:
        found = RETURN_MARK.match(self._tail)
        if found is None or (found.end() == len(self._tail) and not final):
            return False
        if not self._in_dialogue and self._dialect != "qwen":
            return self._as_text(QWEN_RETURN)
        self._tail = self._tail[found.end() :]
        return True

    def _react_head(self, final: bool) -> bool:
        tail = self._tail
        head = REACT_HEAD.match(tail)
        if head is None:
            if not final and REACT_PART.match(tail) and len(tail) < 4 * MAX_NAME:
                named = REACT_NAME.match(tail)
                if named is None or self._react_name(named[1]):
                    return False
            return self._as_text("Action:")
        if not self._react_name(head[1]):
            return self._as_text("Action:")
        self._tail = tail[head.end() :]
        self._begin("react", head[0], REACT_ENDS, name=head[1]).begin("json" if self._tail[:1] == "{" else "raw")
        return True

    def _react_name(self, name: str) -> bool:
        if self._names.resolve(name) is not None:
            return True
        return self._dialect == "react" and settle_name(ParsedCall(name, "{}"), self._names) is not None
