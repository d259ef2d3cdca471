"""A small reader of GBNF that says whether a text is what a grammar allows; for the tests of `tool_grammar`."""

import re
from functools import cache

_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|\{\d*,?\d*\}|[()|*+?]|[a-zA-Z][\w-]*)')
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def _unescaped(text):
    def one(match):
        code = match.group(1)
        return chr(int(code[1:], 16)) if code[0] == "x" else _ESCAPES.get(code, code)

    return re.sub(r"\\(x[0-9a-fA-F]{2}|.)", one, text)


def _tokens(rule):
    position, found = 0, []
    while position < len(rule.rstrip()):
        match = _TOKEN.match(rule, position)
        if match is None:
            raise ValueError(f"no GBNF: {rule[position:]!r}")
        found.append(match.group(1))
        position = match.end()
    return found


class Grammar:
    def __init__(self, text):
        self.rules = {}
        for line in text.splitlines():
            name, _, rule = line.partition(" ::= ")
            self._rest = _tokens(rule)
            self.rules[name] = self._alternatives()
            if self._rest:
                raise ValueError(f"left over in {name}: {self._rest}")

    def _alternatives(self):
        ways = [self._sequence()]
        while self._rest and self._rest[0] == "|":
            self._rest.pop(0)
            ways.append(self._sequence())
        return ("any", tuple(ways))

    def _sequence(self):
        parts = []
        while self._rest and self._rest[0] not in "|)":
            token = self._rest.pop(0)
            if token == "(":
                part = self._alternatives()
                self._rest.pop(0)
            elif token[0] == '"':
                part = ("text", _unescaped(token[1:-1]))
            elif token[0] == "[":
                part = ("class", re.compile(token, re.DOTALL))
            else:
                part = ("rule", token)
            if self._rest and (self._rest[0] in "*+?" or self._rest[0][0] == "{"):
                part = ("repeat", part, *self._bounds(self._rest.pop(0)))
            parts.append(part)
        return ("all", tuple(parts))

    @staticmethod
    def _bounds(token):
        if token[0] != "{":
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[token]
        least, comma, most = token[1:-1].partition(",")
        return int(least or 0), (int(most) if most else None) if comma else int(least)

    def allows(self, text):
        @cache
        def ends(node, start):
            kind = node[0]
            if kind == "text":
                return frozenset([start + len(node[1])] if text.startswith(node[1], start) else [])
            if kind == "class":
                return frozenset([start + 1] if start < len(text) and node[1].fullmatch(text[start]) else [])
            if kind == "rule":
                return ends(self.rules[node[1]], start)
            if kind == "any":
                return frozenset().union(*(ends(way, start) for way in node[1]))
            if kind == "all":
                places = {start}
                for part in node[1]:
                    places = {end for place in places for end in ends(part, place)}
                return frozenset(places)
            _, part, least, most = node
            reached, places, count = (set() if least else {start}), {start}, 0
            while places and (most is None or count < most):
                places = {end for place in places for end in ends(part, place)} - (reached if count >= least else set())
                count += 1
                if count >= least:
                    reached |= places
            return frozenset(reached)

        return len(text) in ends(("rule", "root"), 0)
