"""A conversation on the screen: folded thinking and tools, citations, pictures, names, endings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwen_agentkit.agents import Assistant
from qwen_agentkit.agents.user_agent import PENDING_USER_INPUT
from qwen_agentkit.gui.agents_shown import cast_of
from qwen_agentkit.gui.rendering import View, render
from qwen_agentkit.gui.tickets import Tickets
from qwen_agentkit.schema import ContentItem, FunctionCall, Message
from qwen_agentkit.testing import ScriptedChatModel

EVIL = '<img src="https://evil.example/x" onerror="alert(1)">'


def view(*names, lang="en"):
    agents = [Assistant(llm=ScriptedChatModel([]), name=name) for name in names or ("Bot",)]
    return View(cast_of(agents), Tickets(), "local", lang)


def call(name="weather", arguments='{"city": "Oslo"}', id="call_1"):
    return Message("assistant", "", function_call=FunctionCall(name, arguments), extra={"function_id": id})


def result(text="21", name="weather", id="call_1"):
    return Message("function", text, name=name, extra={"function_id": id})


def contents(shown):
    return [message["content"] for message in shown.messages]


def test_thinking_is_folded():
    shown = render([Message("assistant", "", reasoning_content="Hm."), Message("assistant", "Yes.")], view())
    assert shown.messages[0]["metadata"] == {"title": "Thinking", "status": "done"}
    assert contents(shown) == ["Hm.", "Yes."]


def test_a_call_and_its_result_are_one_fold():
    shown = render([call(), result()], view())
    (message,) = shown.messages
    assert message["metadata"]["title"] == "Tool weather" and message["metadata"]["status"] == "done"
    assert '"city": "Oslo"' in message["content"] and "21" in message["content"]


def test_calls_at_once_get_their_own_results():
    shown = render([call(id="a"), call(id="b"), result("second", id="b"), result("first", id="a")], view())
    assert ["first" in text for text in contents(shown)] == [True, False]


def test_only_a_run_that_goes_on_has_open_calls():
    assert render([call()], view(), live=True).messages[0]["metadata"]["status"] == "pending"
    assert render([call()], view()).messages[0]["metadata"]["status"] == "done"


def test_places_lead_back_to_the_messages():
    conversation = [Message("system", "s"), Message("user", "q"), call(), result(), Message("assistant", "a")]
    assert render(conversation, view()).origins == [1, 2, 4]


def test_a_citation_is_a_link_to_its_source(handbook):
    cited = [{"n": 1, "source": str(handbook), "page": 7, "quote": "27 months", "section": "<b>"}]
    shown = render([Message("assistant", "27 months [1], not [2]. `[1]`", extra={"citations": cited})], view())
    (text,) = contents(shown)
    assert r"\[[1](qak/source/" in text and r"\[2\]" in text and "`[1]`" in text
    assert "[1] handbook.pdf · page 7 · &lt;b&gt;</a>" in text


def test_citations_that_are_none_are_left_out():
    for citations in ("x", [3], [{"n": "1", "source": "a"}], None, {"n": 1}):
        assert contents(render([Message("assistant", "a [1]", extra={"citations": citations})], view())) == ["a [1]"]


def test_what_no_source_says_is_remarked():
    shown = render([Message("assistant", "a", extra={"unsupported": [{"text": "<i>"}]})], view())
    assert "Not found in the sources: &lt;i&gt;" in contents(shown)[0]


def test_names_are_shown_where_several_speak():
    conversation = [Message("assistant", "a", name="Mia"), Message("assistant", "b", name="Mia")]
    shown = render([*conversation, Message("assistant", "c", name="Ken")], view("Mia", "Ken"))
    assert [("qak-name" in text) for text in contents(shown)] == [True, False, False, True, False]
    assert contents(render(conversation, view())) == ["a", "b"]


@pytest.mark.parametrize(
    ("end", "words"),
    [("cancelled", "Stopped."), ("limit:tool_calls", "tool calls"), ("error", "broke off"), ("answered", None)],
)
def test_how_an_answer_ended_is_said(end, words):
    shown = contents(render([Message("assistant", "a", extra={"end": end})], view()))
    assert shown == ["a"] if words is None else words in shown[1]


def test_a_human_who_is_waited_for_is_named():
    pending = Message("user", PENDING_USER_INPUT, name="Ada", extra={"end": "paused"})
    (text,) = contents(render([pending], view(lang="zh")))
    assert "轮到您发言，Ada" in text and "PENDING" not in text


def test_pictures_of_the_workspace_are_shown_and_others_are_links(workspace):
    workspace.mkdir()
    (workspace / "figure.png").write_bytes(b"x")
    items = [ContentItem(text="see"), ContentItem(image=str(workspace / "figure.png")), ContentItem(file="/etc/passwd")]
    shown = contents(render([Message("assistant", [*items, ContentItem(image="https://a.example/b.png")])], view()))
    assert '<img class="qak-image" src="qak/file/' in shown[1]
    assert "href" not in shown[2] and shown[3] == '<a href="https://a.example/b.png">b.png</a>'


def test_pictures_in_text_and_results_are_shown(workspace):
    workspace.mkdir()
    (workspace / "figure.png").write_bytes(b"x")
    mark = f"![fig]({workspace / 'figure.png'})"
    assert "<img" in contents(render([Message("assistant", mark)], view()))[0]
    assert "<img" in contents(render([call(), result(mark)], view()))[1]


def test_a_very_long_result_is_cut():
    (text,) = contents(render([call(), result("x" * 100_000)], view()))
    assert len(text) < 21_000 and "80,000" in text


@given(st.text(alphabet='<>&"`!()[]ab\n', max_size=30))
def test_nothing_of_theirs_reaches_the_page_as_html(text):
    evil = text + EVIL
    conversation = [
        Message("user", evil),
        Message("assistant", "", reasoning_content=evil),
        call(EVIL, evil),
        result(evil),
        Message("assistant", evil, name=EVIL, extra={"unsupported": [evil], "citations": [{"n": 1, "source": EVIL}]}),
        Message("assistant", [ContentItem(image=evil), ContentItem(file=evil)]),
    ]
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    for message in render(conversation, view("Mia", EVIL)).messages:
        for token in parser.parse(message["content"]):
            for one in [token, *(token.children or ())]:
                assert one.type != "image"
                if one.type in ("html_block", "html_inline"):
                    assert "evil.example" not in one.content or one.content.startswith(
                        ("<a href", "<div class", "<span")
                    )
                    assert "<img" not in one.content and 'onerror="' not in one.content
