"""Every raw output of the corpus is read the same whole, character by character, and cut anywhere."""

from __future__ import annotations

import json
import random

import pytest

from qwen_agentkit.llm.dialects.parser import ReplyParser
from qwen_agentkit.schema import Message
from tests.llm.dialects.corpus import FUNCTIONS, Output, corpus

CORPUS = corpus()
FAMILIES = [name for name in CORPUS if name != "plain"]
OUTPUTS = [output for outputs in CORPUS.values() for output in outputs]


def read(output: Output, cuts: list[int], dialect: str | None = None, functions=FUNCTIONS) -> list[Message]:
    """Feeds the output in pieces, and checks at each that what was shown only grows."""
    parser = ReplyParser(functions, dialect or output.dialect)
    shown: list[Message] = []
    start = 0
    if output.reasoning:
        parser.feed("", output.reasoning)
    for cut in [*cuts, len(output.text)]:
        parser.feed(output.text[start:cut])
        start = cut
        now = parser.messages()
        assert_grown(shown, now)
        shown = now
    whole = parser.finish(output.finish_reason)
    assert_grown(shown, whole)
    return whole


def assert_grown(before: list[Message], now: list[Message]) -> None:
    assert len(now) >= len(before)
    for old, new in zip(before, now, strict=False):
        assert old.function_call == new.function_call
        assert str(new.content).startswith(str(old.content))
        assert (new.reasoning_content or "").startswith(old.reasoning_content or "")


def facts(messages: list[Message]) -> list[tuple]:
    """All but the ids."""
    return [
        (
            message.content,
            message.reasoning_content,
            message.function_call,
            {key: value for key, value in (message.extra or {}).items() if key != "function_id"},
        )
        for message in messages
    ]


def squeezed(text: str) -> str:
    return "".join(text.split())


def title(output: Output) -> str:
    return f"{output.dialect}-{output.title}"


@pytest.mark.parametrize("family", FAMILIES)
def test_the_corpus_has_at_least_120_outputs_of_each_family(family):
    assert len({output.text + output.reasoning for output in CORPUS[family]}) >= 120


@pytest.mark.parametrize("output", OUTPUTS, ids=title)
def test_calls_and_text_are_read_whatever_the_pieces(output):
    messages = read(output, [])
    calls = [message for message in messages if message.function_call is not None]
    read_calls = tuple((call.function_call.name, json.loads(call.function_call.arguments)) for call in calls)
    assert read_calls == output.calls
    assert squeezed("".join(m.content for m in messages if m.function_call is None)) == squeezed(output.answer)
    assert squeezed("".join(m.reasoning_content or "" for m in messages)) == squeezed(output.thought)
    assert bool(calls and calls[-1].extra.get("truncated")) == output.truncated
    if output.repaired:
        assert any(call.extra.get("repaired") for call in calls)

    chance = random.Random(output.text)
    ways = [list(range(1, len(output.text)))]
    for pieces in (1, 2, 5):
        ways.append(sorted(chance.sample(range(len(output.text) + 1), min(pieces, len(output.text)))))
    for cuts in ways:
        assert facts(read(output, cuts)) == facts(messages), cuts


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("asked", ["native", "nous", "xml", "fenced"])
def test_a_call_is_read_whichever_dialect_was_asked_for(family, asked):
    """A server that should have read the calls, or a model that keeps to its own form."""
    for output in CORPUS[family][: len(CORPUS[family]) - 20]:
        if "unlisted" in output.title or output.text.startswith((":", "✿RETURN✿")):
            continue
        calls = [message.function_call for message in read(output, [], asked) if message.function_call is not None]
        assert tuple((call.name, json.loads(call.arguments)) for call in calls) == output.calls, output.title


@pytest.mark.parametrize("family", ["nous", "xml", "qwen", "react", "fenced"])
def test_tools_need_not_be_known_for_a_dialects_own_form(family):
    for output in CORPUS[family]:
        if family in ("nous", "qwen", "fenced") and output.title.endswith(("alone", "after text", "and another")):
            calls = [one.function_call for one in read(output, [], family, None) if one.function_call is not None]
            assert tuple((call.name, json.loads(call.arguments)) for call in calls) == output.calls, output.title


def test_no_output_without_tools_is_held_back_or_changed():
    for output in OUTPUTS:
        if output.thought or "think" in output.text:
            continue
        parser = ReplyParser(parse_calls=False)
        for character in output.text:
            parser.feed(character)
        assert "".join(message.content for message in parser.finish("stop")).strip() == output.text.strip()
