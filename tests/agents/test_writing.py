"""Writing articles: outline, chapters, their order, and the knowledge in each prompt."""

import itertools
import json

import pytest

from qwen_agentkit.agents.article_agent import ArticleAgent
from qwen_agentkit.agents.write_from_scratch import CHAPTER, WriteFromScratch
from qwen_agentkit.agents.writing import ContinueWriting, ExpandWriting, OutlineWriting
from qwen_agentkit.agents.writing.outline_writing import headings_of
from qwen_agentkit.schema import ContentItem, Message
from qwen_agentkit.testing import ScriptedChatModel
from qwen_agentkit.utils.knowledge import read_knowledge

ASK = [Message("user", "Motors")]
KNOWLEDGE = json.dumps([{"url": "motors.txt", "text": ["A motor turns.", "It needs {power}."]}])
OUTLINE = "I. What a motor is\n  1. Parts\nII. How it turns\nIII. What it needs"


def prompts(model):
    return ["\n".join(m.content for m in request.messages if isinstance(m.content, str)) for request in model.requests]


def passages(text):
    return [passage.text for passage in read_knowledge(text)]


# ---- one step each


@pytest.mark.parametrize("writer", [ContinueWriting, OutlineWriting, ExpandWriting])
def test_a_writer_makes_one_call_with_the_request_and_the_knowledge(writer):
    model = ScriptedChatModel(["text"])
    assert writer(llm=model).run_nonstream(ASK, knowledge=KNOWLEDGE)[-1].content == "text"
    (prompt,) = prompts(model)
    assert "Motors" in prompt
    assert passages(prompt) == ["A motor turns.", "It needs {power}."]


def test_a_chapter_is_written_from_its_outline_up_to_the_next_one():
    model = ScriptedChatModel(["text"])
    writer = ExpandWriting(llm=model)
    writer.run_nonstream(
        ASK, outline=OUTLINE, index="2", capture="II. How it turns", capture_later="III. What it needs"
    )
    (prompt,) = prompts(model)
    assert OUTLINE in prompt
    assert "Write chapter 2 now: II. How it turns" in prompt
    assert prompt.endswith("Stop before what belongs to the next chapter: III. What it needs")


def test_writers_speak_chinese_where_the_request_does_and_keep_pictures():
    model = ScriptedChatModel(["文字"], cfg={"multimodal": True})
    picture = ContentItem(image="https://example.com/motor.png")
    OutlineWriting(llm=model).run_nonstream([Message("user", [ContentItem(text="电机"), picture])])
    content = model.requests[0].messages[-1].content
    assert "罗马数字" in content[0].text
    assert content[-1].image == picture.image


@pytest.mark.parametrize(
    ("outline", "found"),
    [
        (OUTLINE, ["I. What a motor is", "II. How it turns", "III. What it needs"]),
        ("**I. One**\n**II. Two**", ["I. One", "II. Two"]),
        ("# IV: Four\n# V: Five", ["# IV: Four", "# V: Five"]),
        ("I am an outline\nVery good", []),
        ("一、概述\n（一）细节\n二、原理", ["一、概述", "二、原理"]),
        ("1. One\n  1.1 Part\n2. Two", ["1. One", "2. Two"]),
        ("# One\n### Part\n## Two", ["# One", "## Two"]),
        ("", []),
    ],
)
def test_headings_are_found_however_they_are_numbered(outline, found):
    assert headings_of(outline) == found


# ---- whole articles


def test_an_article_is_summary_outline_and_chapters_in_order_each_with_the_knowledge():
    model = ScriptedChatModel(["Motors turn.", OUTLINE, "one", "two", "three"])
    response = WriteFromScratch(llm=model).run_nonstream(ASK, knowledge=KNOWLEDGE)
    model.assert_complete()
    contents = [message.content for message in response]
    assert [text for text in contents if not text.startswith(">\n>")] == [
        "Motors turn.", OUTLINE, CHAPTER, "one", CHAPTER, "two", CHAPTER, "three"
    ]  # fmt: skip
    assert contents[0].startswith(">\n> Plan: summarize")
    asked = prompts(model)
    assert passages(asked[1]) == ["Motors turn."]
    for prompt, heading in zip(
        asked[2:], ("I. What a motor is", "II. How it turns", "III. What it needs"), strict=True
    ):
        assert passages(prompt) == ["A motor turns.", "It needs {power}."]
        assert f"now: {heading}" in prompt
    assert "next chapter" not in asked[4]


def test_without_material_there_is_no_summary_and_without_headings_one_chapter():
    model = ScriptedChatModel(["Just write.", "all of it"])
    response = WriteFromScratch(llm=model).run_nonstream(ASK, some_argument_of_the_program=1)
    model.assert_complete()
    assert response[-1].content == "all of it"
    assert "now: Just write." in prompts(model)[1]


def test_what_has_been_written_only_grows():
    model = ScriptedChatModel(["Motors turn.", OUTLINE, "one", "two", "three"], chunk_size=4)
    shown = [[m.content for m in response] for response in WriteFromScratch(llm=model).run(ASK, knowledge=KNOWLEDGE)]
    for before, after in itertools.pairwise(shown):
        assert len(after) >= len(before)
        assert all(new.startswith(old) for old, new in zip(before, after, strict=False))


def test_an_article_agent_retrieves_from_its_files(tmp_path, monkeypatch):
    monkeypatch.setenv("QWEN_AGENTKIT_DEFAULT_WORKSPACE", str(tmp_path / "workspace"))
    (tmp_path / "motors.txt").write_text("A motor turns. It needs power.")
    model = ScriptedChatModel(["It needs power, and so on."])
    agent = ArticleAgent(llm=model, files=[str(tmp_path / "motors.txt")], rag_cfg={"rag_keygen_strategy": "None"})
    response = agent.run_nonstream([{"role": "user", "content": "A motor needs"}])
    assert "motors.txt" in response[0]["content"]
    assert response[0]["content"].startswith(">\n> ")
    assert response[-1]["content"] == "It needs power, and so on."
    assert "A motor turns. It needs power." in passages(prompts(model)[0])[0]


def test_an_article_agent_writes_a_full_article_from_given_knowledge():
    model = ScriptedChatModel(["sum", "I. One\nII. Two", "one", "two"])
    response = ArticleAgent(llm=model).run_nonstream(ASK, full_article=True, knowledge=KNOWLEDGE)
    model.assert_complete()
    assert [m.content for m in response if not m.content.startswith(">")] == ["sum", "I. One\nII. Two", "one", "two"]


def test_an_article_agent_without_anything_only_goes_on():
    model = ScriptedChatModel(["on and on"])
    response = ArticleAgent(llm=model).run_nonstream(ASK)
    assert [m.content for m in response] == [">\n> Text:\n", "on and on"]
