"""A model that follows a script: it calls the tools that a program expects, in whatever form the request asks for."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from tests.servers.model_server import Answer

Call = tuple[str, Mapping[str, Any]]

_TOOL_RESPONSE = "<tool_response>"
_REACT = "Action Input:"
_QWEN = "✿FUNCTION✿"


class Speaker:
    """Answers requests; to be put into a server's script.

    Args:
        rounds: For each question of a user in turn, the rounds of calls that are made before the answer. A round is
            offered only when the request offers its tools. The last question's rounds serve all further ones when
            `again`.
        says: (words, answer): the answer to a request whose text holds the words; the first that fits.
        answer: What is said otherwise.
    """

    def __init__(
        self,
        rounds: Sequence[Sequence[Sequence[Call]]] = (),
        says: Sequence[tuple[str, str]] = (),
        answer: str = "That is all there is to say.",
        again: bool = True,
        status: int = 200,
    ) -> None:
        self.rounds, self.says, self.answer, self.again, self.status = rounds, says, answer, again, status
        self.lock = threading.Lock()
        self.requests: list[dict[str, Any]] = []

    def __call__(self, body: dict[str, Any]) -> Answer:
        with self.lock:
            self.requests.append(body)
        if self.status != 200:
            return Answer(status=self.status, error={"error": {"message": "no such key", "code": "invalid_api_key"}})
        messages = body["messages"]
        whole = "\n".join(text_of(message) for message in messages)
        calls = self.calls(body, messages, whole)
        if calls:
            return calls
        for words, said in self.says:
            if words in whole:
                return Answer(said)
        return Answer(self.answer)

    def calls(self, body: Mapping[str, Any], messages: Sequence[Mapping[str, Any]], whole: str) -> Answer | None:
        """The calls of the round that is due, in the request's own form; None when none is."""
        form = form_of(body, whole)
        if form is None or not self.rounds:
            return None
        questions, done = progress(form, messages)
        number = questions - 1
        if number >= len(self.rounds):
            if not self.again:
                return None
            number = len(self.rounds) - 1
        rounds = self.rounds[number]
        if done >= len(rounds):
            return None
        wanted = [(name, arguments) for name, arguments in rounds[done] if offered(name, body, whole)]
        return written(form, wanted, text_of(messages[-1])) if wanted else None


def text_of(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(part.get("text") or "" for part in content)
    return content or ""


def form_of(body: Mapping[str, Any], whole: str) -> str | None:
    """In which form the request wants calls: native, nous, qwen or react; None when it wants none."""
    if body.get("tools") and body.get("tool_choice") != "none":
        return "native"
    if "<tools>" in whole:
        return "nous"
    if _QWEN in whole:
        return "qwen"
    return "react" if _REACT in whole else None


def offered(name: str, body: Mapping[str, Any], whole: str) -> bool:
    if body.get("tools"):
        return any(tool["function"]["name"] == name for tool in body["tools"])
    return name in whole


def progress(form: str, messages: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """How many questions users have asked, and how many rounds of results have followed the last of them."""
    questions = done = 0
    before = ""
    for message in messages:
        text = text_of(message)
        # Pictures of a result follow it as a user's message of their own.
        results = text.startswith((_TOOL_RESPONSE, "Observation:")) or before == "tool"
        before = message["role"]
        if message["role"] == "user" and not results:
            questions, done = questions + 1, 0
        if form == "native":
            done += bool(message.get("tool_calls"))
        elif form == "qwen":
            # One mark for each round; a turn to be continued may stand in the user's message.
            done += text.count("✿RETURN✿") if message["role"] != "system" else 0
        elif results:
            done += message["role"] == "user"
    return questions, done


def written(form: str, calls: Sequence[Call], last: str) -> Answer:
    """The calls as the model says them."""
    if form == "native":
        return Answer(calls=[(name, json.dumps(dict(arguments), ensure_ascii=False)) for name, arguments in calls])
    texts = [(name, json.dumps(dict(arguments), ensure_ascii=False)) for name, arguments in calls]
    if form == "nous":
        blocks = [f'<tool_call>\n{{"name": "{name}", "arguments": {text}}}\n</tool_call>' for name, text in texts]
        return Answer("\n".join(blocks))
    if form == "react":
        name, text = texts[0]
        return Answer(f"I need the tool.\nAction: {name}\nAction Input: {text}\n")
    begun = re.search(r"✿FUNCTION✿: *(\w+)\n✿ARGS✿:\s*$", last)
    if begun:
        return Answer(texts[0][1])
    return Answer("\n".join(f"✿FUNCTION✿: {name}\n✿ARGS✿: {text}" for name, text in texts))
