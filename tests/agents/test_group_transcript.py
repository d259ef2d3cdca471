"""A conversation for people to read."""

import json

import pytest

from qwen_agentkit.agents.group.state import TeamState
from qwen_agentkit.agents.group.transcripts import difference, read_talk, transcript
from qwen_agentkit.schema import ContentItem, FunctionCall, Message

TALK = [
    Message("system", "Be kind."),
    Message("user", "<b>Hi</b> & welcome"),
    Message("assistant", "", name="Mia", reasoning_content="Hm.\nWell."),
    Message(
        "assistant", "", name="Mia", function_call=FunctionCall("look", '{"a": "```"}'), extra={"function_id": "call_1"}
    ),
    Message("function", "found", name="look", extra={"function_id": "call_1"}),
    Message("assistant", [ContentItem(text="See"), ContentItem(image="https://example.com/a.png")], name="Mia"),
    Message("assistant", "Fine", name="Ken"),
]


def test_markdown_names_the_speakers_and_shows_calls_results_and_thinking():
    text = transcript(TALK, title="A talk")
    assert text.startswith("# A talk\n\n**System**\n\nBe kind.\n\n**user**\n\n<b>Hi</b> & welcome\n")
    assert "**Mia**\n\n> Hm.\n> Well." in text
    assert 'calls `look`\n\n````\n{"a": "```"}\n````' in text
    assert "**Result of look**\n\n```\nfound\n```" in text
    assert "See\n\n![image](https://example.com/a.png)" in text


def test_html_is_escaped_and_each_speaker_has_a_colour_of_its_own():
    page = transcript(TALK, "html", title="<A>")
    assert "<title>&lt;A&gt;</title>" in page
    assert "&lt;b&gt;Hi&lt;/b&gt; &amp; welcome" in page
    assert "<b>Hi</b>" not in page
    colours = {line.split('"')[1] for line in page.splitlines() if line.startswith("<article")}
    assert len(colours) == 3
    assert '<img src="https://example.com/a.png"' in page


def test_html_loads_nothing_from_a_path_or_a_script():
    items = [ContentItem(image="/etc/passwd"), ContentItem(image="javascript:alert(1)"), ContentItem(file="a.pdf")]
    page = transcript([Message("user", items)], "html")
    assert "<img" not in page
    assert "[file: a.pdf]" in page


def test_many_speakers_keep_different_colours():
    page = transcript([Message("assistant", "x", name=f"agent {number}") for number in range(20)], "html")
    assert len({line.split('"')[1] for line in page.splitlines() if line.startswith("<article")}) == 20


def test_json_is_the_messages_and_reads_back(tmp_path):
    path = tmp_path / "talk.json"
    path.write_text(transcript(TALK, "json"), "utf-8")
    assert read_talk(path) == TALK


def test_a_saved_state_is_read_too(tmp_path):
    state = TeamState()
    state.begin(TALK, [None] * len(TALK), "en")
    state.save(tmp_path / "state.json")
    assert read_talk(tmp_path / "state.json") == TALK
    assert transcript(state) == transcript(state.to_json()) == transcript(TALK)


@pytest.mark.parametrize("text", ["{}", "no json", '"talk"', "[1]"])
def test_a_file_without_a_conversation_is_refused(tmp_path, text):
    (tmp_path / "talk.json").write_text(text)
    with pytest.raises(ValueError, match="holds no conversation"):
        read_talk(tmp_path / "talk.json")


def test_an_unknown_form_is_refused():
    with pytest.raises(ValueError, match="markdown, json, html"):
        transcript(TALK, "pdf")


def test_the_difference_of_two_talks_is_where_they_part():
    assert difference(TALK, TALK) == ""
    other = [*TALK[:-1], Message("assistant", "Not fine", name="Ken")]
    assert "-Fine" in difference(TALK, other).splitlines()
    assert "+Not fine" in difference(TALK, other).splitlines()
    assert json.loads(transcript(other, "json"))[-1]["content"] == "Not fine"
