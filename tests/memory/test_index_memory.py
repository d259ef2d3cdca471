"""An agent over an index that is there already."""

from qwen_agentkit.agents import Assistant
from qwen_agentkit.memory import IndexMemory
from qwen_agentkit.rag.index import DocumentIndex

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
