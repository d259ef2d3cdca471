"""An agent over an index that is there already."""

import json

import pytest

from qwen_agentkit.agents import Assistant
from qwen_agentkit.memory import IndexMemory, Memory
from qwen_agentkit.rag.index import DocumentIndex
from qwen_agentkit.utils.tokenization_qwen import count_tokens

QUESTION = [{"role": "user", "content": "How long does the lamp burn?"}]


def ask(agent, messages=QUESTION):
    return agent.run_nonstream(messages)[-1]


def test_an_assistant_answers_from_an_index_and_sees_what_others_add(tmp_path):
    with DocumentIndex(tmp_path / "index") as index, DocumentIndex(tmp_path / "index") as writer:
        agent = Assistant(llm={"model_type": "extractive"})
        agent.mem = IndexMemory(index, llm=agent.llm)
        assert ask(agent)["extra"]["answered"] is False
        writer.add_texts([("lamps", "The lamp of the hall burns for 900 hours.")])
        answer = ask(agent)
        assert "900 hours" in answer["content"]
        assert answer["extra"]["citations"][0]["source"] == "lamps"
        writer.remove("lamps")
        assert ask(agent)["extra"]["answered"] is False


def test_files_of_the_conversation_are_searched_beside_the_index(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "soup.txt").write_text("The soup is served at 6.")
    with DocumentIndex(tmp_path / "index") as index:
        index.add_texts([("lamps", "The lamp of the hall burns for 900 hours.")])
        agent = Assistant(llm={"model_type": "extractive"})
        agent.mem = IndexMemory(index, llm=agent.llm)
        content = [{"file": str(tmp_path / "soup.txt")}, {"text": "When is the soup served?"}]
        assert "at 6" in ask(agent, [{"role": "user", "content": content}])["content"]
        assert "900 hours" in ask(agent)["content"]


def test_index_and_files_share_the_budget_of_tokens(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "pumps.md"
    file.write_text(
        "\n\n".join(f"The pump {number} is tested on day {number} of the year. " * 8 for number in range(40))
    )
    with DocumentIndex(tmp_path / "index") as index:
        index.add_texts([(f"lamp {number}", f"The lamp {number} beside the pump burns. " * 20) for number in range(40)])
        memory = IndexMemory(index, rag_cfg={"max_ref_token": 1000})
        content = [{"file": str(file)}, {"text": "Which pump is tested beside the lamp?"}]
        found = json.loads(ask(memory, [{"role": "user", "content": content}])["content"])
    assert {entry["url"].startswith("lamp") for entry in found} == {True, False}
    assert 500 < sum(count_tokens(text) for entry in found for text in entry["text"]) <= 1000


@pytest.mark.parametrize(
    "wrong", [{"max_ref_token": "many"}, {"parser_page_size": 2.5}, {"rag_searchers": "keyword_search"}]
)
def test_a_setting_of_the_wrong_kind_is_refused_by_its_name(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Memory(rag_cfg=wrong)
