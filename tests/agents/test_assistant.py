"""Assistant, DocQAAgent and Memory over real files, against a real model server."""

import json
import os
import time

import pytest

from qwen_agentkit import Message
from qwen_agentkit.agents import Assistant, BasicDocQA, DocQA, DocQAAgent
from qwen_agentkit.agents.assistant import (
    KNOWLEDGE_SNIPPET,
    KNOWLEDGE_TEMPLATE,
    format_knowledge_to_source_and_content,
    get_current_date_str,
)
from qwen_agentkit.events import MemoryRetrieved, WarningRaised
from qwen_agentkit.llm.history import check_history
from qwen_agentkit.memory import Memory
from qwen_agentkit.memory.keyword_model import keyword_model
from qwen_agentkit.schema import ContentItem
from qwen_agentkit.testing import ScriptedChatModel, call
from qwen_agentkit.tools.base import TOOL_REGISTRY, BaseTool, register_tool
from qwen_agentkit.utils.text.question import is_small_talk
from tests.servers.model_server import Answer

QUESTION = [{"role": "user", "content": "How long is the motor guaranteed?"}]
EXTRACTIVE = {"model_type": "extractive"}


@pytest.fixture
def handbook(tmp_path):
    path = tmp_path / "handbook.md"
    path.write_text(
        "# Warranty\n\nThe motor is guaranteed for 27 months from the date of purchase.\n\n# Cleaning\n\nUse water.\n"
    )
    return path


def without_keywords(**kwargs):
    return {"rag_cfg": {"rag_keygen_strategy": "none"}, **kwargs}


def test_a_program_of_qwen_agents_kind_runs_over_two_turns(oai_server, handbook):
    @register_tool("my_convert", allow_overwrite=True)
    class Convert(BaseTool):
        description = "Converts months to days."
        parameters = [{"name": "months", "type": "integer", "description": "Months.", "required": True}]

        def call(self, params: str, **kwargs) -> str:
            return str(json.loads(params)["months"] * 30)

    oai_server.script = [
        Answer('{"keywords_zh": ["电机"], "keywords_en": ["motor", "guarantee"]}'),
        Answer(calls=[("my_convert", '{"months": 27}')]),
        Answer("The motor is guaranteed for 27 months [1]. That is 810 days."),
        Answer('{"keywords_zh": [], "keywords_en": ["cleaning"]}'),
        Answer("Use water [2]."),
    ]
    bot = Assistant(
        llm={"model": "m", "model_server": oai_server.url, "api_key": "EMPTY"},
        function_list=["my_convert"],
        files=[str(handbook)],
        system_message="You help.",
    )
    messages = [{"role": "user", "content": [{"text": "How long is the motor guaranteed, in days?"}]}]
    *_, response = bot.run(messages)
    assert response[-1]["content"] == "The motor is guaranteed for 27 months [1]. That is 810 days."
    assert response[-1]["extra"]["citations"][0]["quote"].startswith("The motor is guaranteed for 27 months")
    assert response[-2] | {"extra": None} == {"role": "function", "name": "my_convert", "content": "810", "extra": None}
    messages.extend(response)
    messages.append({"role": "user", "content": "And how is it cleaned?"})
    *_, response = bot.run(messages)
    assert response[-1]["content"] == "Use water [2]." and response[-1]["extra"]["answered"] is True
    system = oai_server.seen[2].body["messages"][0]["content"]
    assert system.startswith("You help.") and "# Knowledge Base" in system and "27 months" in system
    assert check_history([Message(**message) for message in messages]) == []
    TOOL_REGISTRY.pop("my_convert")


def test_with_no_model_it_quotes(handbook):
    *_, response = Assistant(llm=EXTRACTIVE, files=[str(handbook)]).run(QUESTION)
    assert response[-1]["content"].startswith("The motor is guaranteed for 27 months")
    citation = response[-1]["extra"]["citations"][0]
    assert citation["source"] == str(handbook) and citation["section"] == "Warranty"


def test_an_edited_file_is_read_again(handbook):
    bot = Assistant(llm=EXTRACTIVE, files=[str(handbook)])
    assert "27 months" in bot.run_nonstream(QUESTION)[-1]["content"]
    handbook.write_text("The motor is guaranteed for 99 months from the date of purchase.\n")
    os.utime(handbook, (time.time() + 5, time.time() + 5))
    assert "99 months" in bot.run_nonstream(QUESTION)[-1]["content"]


def test_a_file_in_the_conversation_is_searched_in_this_turn_and_the_next(handbook):
    bot = Assistant(llm=EXTRACTIVE)
    messages = [{"role": "user", "content": [{"text": "Please keep this."}, {"file": str(handbook)}]}]
    messages.extend(bot.run_nonstream(messages))
    messages.append(QUESTION[0])
    assert "27 months" in bot.run_nonstream(messages)[-1]["content"]
    assert "27 months" not in bot.run_nonstream(QUESTION)[-1]["content"], "another conversation must not see it"


def test_a_file_that_a_tool_brought_in_stays_retrievable(handbook):
    class Fetch(BaseTool):
        name = "fetch"
        description = "Fetches a document."
        parameters = []

        def call(self, params, **kwargs):
            return [ContentItem(text="here it is"), ContentItem(file=str(handbook))]

    model = ScriptedChatModel([call("fetch"), "Fetched.", "27 months [1]."])
    bot = Assistant(llm=model, function_list=[Fetch()], **without_keywords())
    messages = [Message("user", "Fetch the handbook.")]
    messages.extend(bot.run_nonstream(messages))
    messages.append(Message(**QUESTION[0]))
    last = bot.run_nonstream(messages)[-1]
    assert last.extra["citations"][0]["source"] == str(handbook)


def test_files_given_to_the_memory_are_searched(handbook):
    bot = Assistant(llm=EXTRACTIVE)
    bot.mem.extend_files([str(handbook)])
    assert "27 months" in bot.run_nonstream(QUESTION)[-1]["content"]


def test_an_unreadable_file_is_told_and_the_rest_goes_on(handbook, tmp_path):
    bad = tmp_path / "old.doc"
    bad.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600)
    bot = Assistant(
        llm=ScriptedChatModel(["27 months [1]"], repeat=True), files=[str(handbook), str(bad)], **without_keywords()
    )
    events = list(bot.run_events(QUESTION))
    assert any(isinstance(event, WarningRaised) and "old.doc" in event.message for event in events)
    assert [problem["file"] for problem in bot.mem.problems] == [str(bad)] and bot.mem.problems[0]["reason"]
    assert "old.doc" in str(bot.llm.requests[0].messages[0].content)
    bad.write_text("The pump weighs 12 kg.")
    os.utime(bad, (time.time() + 5, time.time() + 5))
    bot.run_nonstream(QUESTION)
    assert bot.mem.problems == []


def test_given_knowledge_is_used_and_nothing_is_retrieved(handbook):
    bot = Assistant(
        llm=ScriptedChatModel(["Blue [1]."], repeat=True), files=["/nowhere/at/all.pdf"], **without_keywords()
    )
    last = bot.run_nonstream(QUESTION, knowledge="The casing of the pump is painted blue.")[-1]
    assert "painted blue" in bot.llm.requests[0].messages[0].content and bot.mem.problems == []
    assert last["extra"]["citations"][0]["n"] == 1
    found = [{"url": "a.pdf", "text": ["It is red."], "passages": [{"page": 3}]}]
    bot.run_nonstream(QUESTION, knowledge=json.dumps(found))
    assert '"page": 3' in bot.llm.requests[1].messages[0].content


def test_the_knowledge_prompt_may_be_overridden(handbook):
    class Own(Assistant):
        def _prepend_knowledge_prompt(self, messages, lang="en", knowledge="", **kwargs):
            return [Message("system", f"my own {lang}"), *messages]

    bot = Own(llm=ScriptedChatModel(["ok"]), files=[str(handbook)])
    bot.run_nonstream(QUESTION)
    assert bot.llm.requests[0].messages[0].content == "my own en"


def test_the_prompt_speaks_chinese_to_a_chinese_question(handbook):
    bot = Assistant(llm=ScriptedChatModel(["27个月 [1]"]), files=[str(handbook)], **without_keywords())
    bot.run_nonstream([{"role": "user", "content": "电机保修多久？"}])
    assert "# 知识库" in bot.llm.requests[0].messages[0].content


def test_small_talk_searches_nothing(handbook):
    bot = Assistant(llm=ScriptedChatModel(["Hello!"]), files=[str(handbook)])
    events = list(bot.run_events([{"role": "user", "content": "hi"}]))
    assert not [event for event in events if isinstance(event, MemoryRetrieved)]
    assert len(bot.llm.requests) == 1


@pytest.mark.parametrize(
    ("text", "small"),
    [
        ("hi", True),
        ("Hello there!", True),
        ("谢谢你", True),
        ("好的，谢谢", True),
        ("node", False),
        ("", False),
        ("hi, how long is the warranty?", False),
        ("保修多久", False),
    ],
)
def test_small_talk_is_told_from_questions(text, small):
    assert is_small_talk(text) is small


@pytest.mark.parametrize("agent_class", [DocQAAgent, DocQA, BasicDocQA])
def test_doc_qa_answers_with_one_model_call(handbook, agent_class):
    bot = agent_class(llm=ScriptedChatModel(["27 months [1]."]), files=[str(handbook)], **without_keywords())
    last = bot.run_nonstream(QUESTION)[-1]
    assert last["extra"]["citations"] and last["name"] == "DocQA" and len(bot.llm.requests) == 1
    assert "nothing else" in bot.llm.requests[0].messages[0].content


def test_doc_qa_bears_no_file_and_an_empty_file(tmp_path):
    empty = tmp_path / "empty.txt"
    empty.write_text("")
    for files in ([], [str(empty)]):
        bot = DocQA(llm=EXTRACTIVE, files=files)
        assert bot.run_nonstream(QUESTION)[-1]["extra"]["answered"] is False


def test_memory_gives_json_and_takes_run_arguments(handbook, tmp_path):
    long = tmp_path / "long.txt"
    long.write_text("\n\n".join(f"Paragraph {n} speaks of matter number {n} and nothing else." for n in range(400)))
    memory = Memory(files=[str(long)])
    *_, last = memory.run([{"role": "user", "content": "matter number 317"}], max_ref_token=200, parser_page_size=100)
    assert last[-1]["role"] == "assistant" and last[-1]["name"] == "memory"
    found = json.loads(last[-1]["content"])
    assert found[0]["url"] == str(long) and any("317" in text for text in found[0]["text"])
    assert len("".join(found[0]["text"])) < 3000
    assert Memory().run_nonstream(QUESTION)[-1]["content"] == ""


def test_memory_searches_with_the_models_words_and_without_them_when_it_fails(handbook):
    from qwen_agentkit.errors import ModelServiceError

    model = ScriptedChatModel(
        ['{"keywords_zh": ["电机"], "keywords_en": ["motor"]}', ModelServiceError(code="400", message="no"), "not json"]
    )
    for _ in range(3):
        *_, last = Memory(llm=model, files=[str(handbook)]).run(QUESTION)
        assert "27 months" in last[-1]["content"]
    model.assert_complete()


def test_settings_of_retrieval_that_do_not_exist_are_refused(handbook):
    with pytest.raises(ValueError, match="max_ref_tokens"):
        Memory(rag_cfg={"max_ref_tokens": 3})
    with pytest.raises(ValueError, match="GenKeyword"):
        Memory(llm=ScriptedChatModel(["x"]), files=[str(handbook)], rag_cfg={"rag_keygen_strategy": "Guess"})


@pytest.mark.parametrize(
    "wrong", [{"max_ref_token": -1}, {"max_ref_token": True}, {"parser_page_size": 7}, {"parser_page_size": "500"}]
)
def test_sizes_that_are_none_are_refused_when_the_memory_is_made(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Memory(rag_cfg=wrong)


def test_settings_of_retrieval_that_are_null_are_those_of_the_settings(handbook):
    names = ("max_ref_token", "parser_page_size", "rag_searchers", "rag_keygen_strategy", "llm", "embedder", "store")
    bot = Assistant(llm=EXTRACTIVE, files=[str(handbook)], rag_cfg=dict.fromkeys(names))
    assert (bot.mem.max_ref_token, bot.mem.parser_page_size) == (20000, 500)
    assert bot.run_nonstream(QUESTION)[-1]["extra"]["answered"]


@pytest.mark.parametrize("agent", [Assistant, DocQAAgent])
def test_settings_of_retrieval_may_stand_behind_the_files(agent, handbook):
    bot = agent(None, ScriptedChatModel(["x"]), "", "bot", "answers", [str(handbook)], {"max_ref_token": 300})
    assert bot.mem.max_ref_token == 300


def test_search_words_of_thinking_models_come_from_a_quick_one():
    made = keyword_model(
        {
            "model": "qwen3-32b",
            "model_type": "qwen_dashscope",
            "api_key": "k",
            "base_http_api_url": "http://127.0.0.1:1/api",
        }
    )
    assert (made.model, made.model_type, made.cfg["api_key"]) == ("qwen-turbo", "qwen_dashscope", "k")
    assert made.cfg["base_http_api_url"] == "http://127.0.0.1:1/api" and made.generate_cfg["max_input_tokens"] == 30000
    assert keyword_model({"model": "qwq-32b", "model_server": "http://127.0.0.1:1/v1"}) is None
    assert keyword_model(EXTRACTIVE) is None and keyword_model(None) is None
    assert keyword_model({"model": "gpt-4o-mini", "model_type": "oai"}).model == "gpt-4o-mini"


def test_one_file_may_be_named_without_a_list(handbook):
    bot = Assistant(llm=EXTRACTIVE, files=str(handbook))
    assert bot.mem.system_files == [str(handbook)]
    assert Memory(files=handbook).system_files == [str(handbook)]
    for wrong in ([3], [""], 5):
        with pytest.raises((ValueError, TypeError)):
            Assistant(llm=EXTRACTIVE, files=wrong)


def test_a_model_that_is_none_is_refused_at_once():
    with pytest.raises(ValueError, match="chat model"):
        Assistant(llm=3)


def test_passages_never_take_more_than_half_of_the_models_window():
    small = ScriptedChatModel(["x"], cfg={"profile": {"context_window": 4096}})
    assert Memory(llm=small).max_ref_token == 2048
    assert Memory(llm=small, rag_cfg={"max_ref_token": 300}).max_ref_token == 300
    assert Memory(llm=ScriptedChatModel(["x"])).max_ref_token == Memory().max_ref_token == 20000


def test_names_that_qwen_agent_programs_import():
    assert set(KNOWLEDGE_TEMPLATE) == set(KNOWLEDGE_SNIPPET) == {"en", "zh"}
    assert "{knowledge}" in KNOWLEDGE_TEMPLATE["en"] and "{source}" in KNOWLEDGE_SNIPPET["zh"]
    found = format_knowledge_to_source_and_content(json.dumps([{"url": "a", "text": ["x", "y"]}]))
    assert found == [{"source": "a", "content": "x\n\n...\n\ny"}]
    assert format_knowledge_to_source_and_content("plain")[0]["content"] == "plain"
    assert get_current_date_str().startswith("Current date: ") and "星期" in get_current_date_str(
        "zh", hours_from_utc=8
    )
