"""Long-term memory: facts, past conversations, forgetting."""

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy")

from qwen_agentkit import Message
from qwen_agentkit.agents import FnCallAgent
from qwen_agentkit.agents.request_decorators import Recall
from qwen_agentkit.memory import LongTermMemory
from qwen_agentkit.rag.embedders import FunctionEmbedder
from qwen_agentkit.session import SessionStore
from qwen_agentkit.testing import ScriptedChatModel

DAY = 24 * 3600


@pytest.fixture
def memory(tmp_path):
    held = LongTermMemory(SessionStore(f"sqlite:///{tmp_path}/s.sqlite"), folder=tmp_path / "memory")
    yield held
    held.close()
    held.sessions.close()


def test_facts_are_found_by_their_words_in_both_languages(memory):
    memory.add("Ada owns a KX-41 pump.", "ada", topic="pump", points=["bought in 2024"])
    memory.add("她喜欢喝绿茶。", "ada")
    memory.add("Bob owns a KX-41 too.", "bob")
    (first, *_) = memory.search("Which pump does she have?", "ada")
    assert first.fact.text == "Ada owns a KX-41 pump." and first.fact.points == ["bought in 2024"]
    assert memory.search("喝什么茶", "ada")[0].fact.text == "她喜欢喝绿茶。"
    assert {one.fact.user_id for one in memory.search("KX-41", "ada")} == {"ada"}
    assert memory.search("", "ada") == []


def test_what_is_said_again_is_kept_once_with_a_new_date(memory):
    first = memory.add("Ada lives in Oslo.", "ada", created_at=time.time() - DAY)
    again = memory.add("ada lives in  Oslo!", "ada")
    assert again.id == first.id and again.updated_at > first.updated_at and again.created_at == first.created_at
    assert len(memory.of_user("ada")) == 1


def test_contradictions_are_kept_with_their_dates(memory):
    memory.add("Ada lives in Oslo.", "ada", created_at=time.time() - 100 * DAY)
    memory.add("Ada lives in Bergen.", "ada")
    assert [fact.text for fact in memory.of_user("ada")] == ["Ada lives in Bergen.", "Ada lives in Oslo."]


@pytest.mark.parametrize(
    "before, after",
    [
        ("Ada likes coffee.", "Ada likes no coffee."),
        ("Likes tea", "Dislikes tea"),
        ("Ada is married.", "Ada is unmarried."),
        ("她喜欢绿茶", "她不喜欢绿茶"),
        ("Ada has 2 cats.", "Ada has 12 cats."),
        ("Ada writes C.", "Ada writes C++."),
    ],
)
def test_the_contrary_in_nearly_the_same_words_is_another_fact(memory, before, after):
    first = memory.add(before, "ada", created_at=time.time() - DAY)
    assert memory.add(after, "ada").id != first.id
    assert [fact.text for fact in memory.of_user("ada")] == [after, before]


def test_many_users_do_not_use_up_the_file_descriptors(memory, monkeypatch):
    monkeypatch.setattr(memory._indexes, "most", 2)
    for number in range(6):
        memory.add(f"Likes the K{number} pump.", f"user-{number}")
        assert memory.search("pump", f"user-{number}")[0].fact.text == f"Likes the K{number} pump."
    assert len(memory._indexes._held) == 2
    assert memory.search("pump", "user-0")[0].fact.text == "Likes the K0 pump."


def test_a_fact_of_an_earlier_date_is_found_though_another_went(tmp_path, memory):
    old = memory.add("Ada owns a bicycle.", "ada", created_at=time.time() - 9 * DAY)
    memory.add("Ada lives in Oslo.", "ada")
    assert memory.search("bicycle", "ada", fragments=False)
    with SessionStore(f"sqlite:///{tmp_path}/s.sqlite") as sessions:  # another process, which has no index
        other = LongTermMemory(sessions, folder=tmp_path / "other")
        other.facts.delete("ada", old.id)
        other.add("Ada plays the xylophone.", "ada", created_at=time.time() - 8 * DAY)
        other.close()
    assert memory.search("xylophone", "ada", fragments=False)[0].fact.text == "Ada plays the xylophone."


def test_with_an_embedder_facts_are_found_by_meaning_and_another_embedder_is_noticed(tmp_path, memory, caplog):
    def embedder(name, length):
        def vectors(texts):
            return [[float(any(word in text.lower() for word in ("auto", "car"))), *[0.1] * length] for text in texts]

        return FunctionEmbedder(vectors, name)

    for name, length in (("one", 3), ("two", 5)):
        held = LongTermMemory(memory.sessions, embedder(name, length), folder=tmp_path / "vectors")
        if name == "one":
            held.add("Ada drives an automobile.", user_id="ada")
            held.add("Ada likes tea.", user_id="ada")
        with caplog.at_level("WARNING"):
            found = held.search("car", user_id="ada")
            held.close()
        assert found[0].text == "Ada drives an automobile.", name
    assert [r.getMessage() for r in caplog.records if "embedder" in r.getMessage()] == [
        "The embedder is two now and was one: all passages are embedded anew"
    ]


def test_facts_are_changed_and_forgotten_in_the_index_too(memory):
    fact = memory.add("Ada has a cat named Mio.", "ada")
    memory.update(fact.id, "ada", text="Ada has a dog named Rex.")
    assert memory.search("Rex the dog", "ada")[0].fact.id == fact.id and memory.search("Mio", "ada") == []
    with pytest.raises(KeyError):
        memory.update(fact.id, "bob", text="x")
    assert memory.delete(fact.id, "bob") is False and memory.delete(fact.id, "ada") is True
    assert memory.search("Rex", "ada") == []
    memory.add("secretword of Ada", "ada")
    memory.search("secretword", "ada")
    assert memory.forget_user("ada") == 1
    for folder, _, files in os.walk(memory._folder):
        for name in files:
            assert b"secretword" not in Path(folder, name).read_bytes()


def test_a_fact_may_be_for_one_agent_only(memory):
    memory.add("Speak formally.", "ada", agent="billing")
    memory.add("Ada is an engineer.", "ada")
    assert {fact.text for fact in memory.of_user("ada", agent="support")} == {"Ada is an engineer."}
    assert len(memory.of_user("ada", agent="billing")) == 2


def test_a_model_draws_facts_when_asked(memory):
    model = ScriptedChatModel(
        ['```json\n[{"topic": "home", "text": "Ada lives in Oslo.", "points": ["since 2020"]}]\n```', "[]", "no json"]
    )
    conversation = [Message("user", "I live in Oslo since 2020."), Message("assistant", "Nice.")]
    (fact,) = memory.learn(conversation, model, "ada", session_id="s1")
    assert (fact.topic, fact.text, fact.points) == ("home", "Ada lives in Oslo.", ["since 2020"])
    assert fact.source == {"session_id": "s1"} and fact.created_at > 0
    assert memory.learn(conversation, model, "ada") == [] == memory.learn(conversation, model, "ada")
    assert "I live in Oslo" in model.requests[0].messages[0].content


FRESH = """
    import sys
    from qwen_agentkit.memory import LongTermMemory
    from qwen_agentkit.session import SessionStore
    memory = LongTermMemory(SessionStore(sys.argv[1]), folder=sys.argv[2])
    for one in memory.search("the company that we spoke of", "ada"):
        print(one.fragment.session_id if one.fragment else one.fact.topic, one.text)
"""


def test_a_fresh_process_finds_what_was_spoken_of_days_ago(memory, tmp_path):
    session = memory.sessions.session("old", "ada")
    session.append(
        [Message("user", "Tell me about the company Nansen Pumps."), Message("assistant", "It makes pumps.")]
    )
    code = [sys.executable, "-c", textwrap.dedent(FRESH), memory.sessions.address, str(tmp_path / "memory")]
    done = subprocess.run(code, capture_output=True, text=True, timeout=60)
    assert "old Tell me about the company Nansen Pumps." in done.stdout, done.stderr


def test_memory_goes_into_each_request_and_never_into_the_history(memory):
    memory.add("Ada prefers Celsius.", "ada", topic="units")
    memory.sessions.session("old", "ada").append([Message("user", "Celsius please, always Celsius.")])
    session = memory.sessions.session("new", "ada")
    model = ScriptedChatModel(["21 C", "22 C"])
    agent = FnCallAgent(llm=model, decorators=[Recall(memory)])
    agent.chat("How warm is it, in which unit, Celsius?", session=session)
    agent.chat("And Celsius tomorrow?", session=session)
    for request in model.requests:
        assert str(request.messages).count("units: Ada prefers Celsius.") == 1
        assert "always Celsius" in str(request.messages)
    assert "Ada prefers" not in str(session.messages())
    other = ScriptedChatModel(["ok"])
    FnCallAgent(llm=other, decorators=[Recall(memory)]).chat("Celsius?", session=memory.sessions.session("x", "bob"))
    assert "Ada prefers" not in str(other.requests[0].messages)
