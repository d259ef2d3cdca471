"""The marks of the text dialects: wire tokens, what ends what, and the shapes around them."""

from __future__ import annotations

import re

# The wire tokens of Qwen-Agent's `qwen` dialect.
QWEN_FUNCTION, QWEN_ARGS, QWEN_RESULT, QWEN_RETURN = "✿FUNCTION✿", "✿ARGS✿", "✿RESULT✿", "✿RETURN✿"

# Tags around a call, with what closes them. Some Qwen 2.5 models answer with the tag that the tools are listed in.
CLOSING = {"<tool_call>": "</tool_call>", "<function_call>": "</function_call>", "<tools>": "</tools>"}
THINK_OPEN = ("<think>", "<thinking>")
THINK_CLOSE = ("</think>", "</thinking>")

# Longest text between a dialect's marks for a name, in characters.
MAX_NAME = 300


class Tokens:
    """A set of marks to look for, and how much of a text's end may be the beginning of one."""

    def __init__(self, *tokens: str) -> None:
        ordered = sorted(tokens, key=len, reverse=True)
        self.search = re.compile("|".join(re.escape(token) for token in ordered) or r"(?!)").search
        self._prefixes = {token[:length] for token in tokens for length in range(1, len(token))}
        self._longest = max((len(token) for token in tokens), default=1) - 1
        first = "".join(sorted({token[0] for token in tokens}))
        self._first = re.compile(f"[{re.escape(first)}]" if first else r"(?!)")

    def held(self, text: str) -> int:
        """Length of the text's end that may grow into a token."""
        for found in self._first.finditer(text, max(0, len(text) - self._longest)):
            if text[found.start() :] in self._prefixes:
                return len(text) - found.start()
        return 0


_THINK = (*THINK_OPEN, *THINK_CLOSE)
_TAGS = ("<tool_call>", "<function_call>", "<function=", "<function name=")

# What is looked for in text without calls, in thinking, and in the answer.
PLAIN = Tokens(*_THINK)
IN_THOUGHT = Tokens(*_THINK, *_TAGS, QWEN_FUNCTION)
IN_TEXT = Tokens(*_THINK, *_TAGS, "<tools>", QWEN_FUNCTION, QWEN_RESULT, QWEN_RETURN, "```", "Action:", "Observation:")

# What ends the body of a call, by the form it has.
TAG_ENDS = {closing: Tokens(closing, "<tool_call>", *THINK_CLOSE) for closing in CLOSING.values()}
FENCE_ENDS = Tokens("```")
QWEN_ENDS = Tokens(QWEN_FUNCTION, QWEN_RESULT, QWEN_RETURN)
REACT_ENDS = Tokens("\nObservation:", "\nThought:", "\nAction:", "\nFinal Answer:")
NO_ENDS = Tokens()
CODE_END = Tokens("</code>")
XML = Tokens("<parameter=", "<parameter name", "</function>", "</tool_call>")

FUNCTION_OPEN = re.compile(r"<function(?:=|\s+name\s*=)\s*[\"']?([^\"'>\n]*)[\"']?\s*>")
FENCE_HEAD = re.compile(r"```+[ \t]*[\w+-]*[ \t]*\r?\n?\s*")
FENCE_PART = re.compile(r"`{3,}[ \t]*[\w+-]{0,20}[ \t]*\r?\n?\s*\Z")
QWEN_HEAD = re.compile(r"✿FUNCTION✿\s*[:：]?\s*([^\n✿{]*?)\s*(?:✿ARGS✿\s*+[:：]?+\s*+|(?=\{))(?=\S)")
QWEN_BARE = re.compile(r"✿FUNCTION✿\s*[:：]?\s*([^\n✿{]*?)\s*(?=✿(?:FUNCTION|RESULT|RETURN)✿|\Z)")
RETURN_MARK = re.compile(r"✿RETURN✿[ \t]*[:：]?[ \t]*")
ANSWER_COLON = re.compile(r"\s*[:：]?[ \t]*")
REACT_HEAD = re.compile(r"Action:[ \t]*([^\n]*?)[ \t]*\r?\n\s*Action Input:\s*+(?=\S)")
REACT_NAME = re.compile(r"Action:[ \t]*([^\n]*?)[ \t]*\r?\n")
# Each beginning of "Action Input:" as nested options.
_INPUT = "Action Input:"
REACT_PART = re.compile(
    r"Action:[^\n]*(?:\n\s*"
    + "".join(f"(?:{re.escape(char)}" for char in _INPUT)
    + r"\s*"
    + ")?" * len(_INPUT)
    + r")?\Z"
)
