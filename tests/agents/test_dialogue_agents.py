"""Simulated dialogues, dialogues too long for a prompt, notes, and retrieval on request."""

import json

import pytest

from qwen_agentkit.agent import BasicAgent
from qwen_agentkit.agents.dialogue_retrieval_agent import DialogueRetrievalAgent
from qwen_agentkit.agents.dialogue_simulator import DialogueSimulator
from qwen_agentkit.agents.fncall_agent import FnCallAgent
from qwen_agentkit.agents.human_simulator import STOP, HumanSimulator
from qwen_agentkit.agents.loop.turn import Checkpoint
from qwen_agentkit.agents.memo_assistant import MemoAssistant, newest_turns, notes_in
from qwen_agentkit.agents.virtual_memory_agent import VirtualMemoryAgent
from qwen_agentkit.llm.history import check_history
from qwen_agentkit.schema import ContentItem, FunctionCall, Message
from qwen_agentkit.testing import ScriptedChatModel, call
from qwen_agentkit.utils.knowledge import read_knowledge
from tests.agents.looking import Look


@pytest.fixture(autouse=True)
def workspace(tmp_path, monkeypatch):
    monkeypatch.setenv("QWEN_AGENTKIT_DEFAULT_WORKSPACE", str(tmp_path / "workspace"))
    return tmp_path / "workspace"


def system_of(request):
    return next((m.content for m in request.messages if m.role == "system"), "")


# ---- simulated dialogues


def human(*replies):
    return HumanSimulator(llm=ScriptedChatModel(list(replies)), system_message="You are shy.", name="human")


def test_a_simulated_human_says_one_of_what_the_model_offers_the_same_for_the_same_seed():
    offers = json.dumps(["a", "b", "c", "d"])
    first, second = (human(offers).run_nonstream([], seed=3)[-1].content for _ in range(2))
    assert first == second
    assert {human(offers).run_nonstream([], seed=seed)[-1].content for seed in range(9)} > {first}


def test_its_task_comes_first_and_a_beginning_is_asked_for():
    agent = human('["Hi"]')
    agent.run_nonstream([])
    request = agent.llm.requests[0]
    assert system_of(request).startswith("Roles are swapped")
    assert system_of(request).endswith("You are shy.")
    assert request.messages[-1].role == "user"


@pytest.mark.parametrize("reply", [f'["{STOP}"]', "no list", "{}", "[]", "[1, 2]", ""])
def test_the_end_and_what_cannot_be_read_are_a_stop(reply):
    assert human(reply).run_nonstream([Message("user", "Bye")])[-1].content == STOP


def test_a_fenced_list_is_read():
    assert human('```json\n["Hi there"]\n```').run_nonstream([])[-1].content == "Hi there"


def test_a_dialogue_goes_on_until_the_human_stops_with_roles_swapped_for_them():
    person = human('["Hello?"]', '["What is it?"]', f'["{STOP}"]')
    assistant = FnCallAgent([Look()], ScriptedChatModel(["Hi.", call("look"), "A cat."]), name="bot")
    response = DialogueSimulator(person, assistant).run_nonstream([])
    assert [(m.role, m.content) for m in response if m.content] == [
        ("user", "Hello?"),
        ("assistant", "Hi."),
        ("user", "What is it?"),
        ("function", "seen"),
        ("assistant", "A cat."),
    ]
    assert check_history(response) == []
    seen = person.llm.requests[2].messages
    assert [(m.role, m.content) for m in seen[1:]] == [
        ("assistant", "Hello?"),
        ("user", "Hi."),
        ("assistant", "What is it?"),
        ("user", "A cat."),
    ]


def test_a_dialogue_is_bounded_and_may_begin_with_the_callers_words():
    assistant = BasicAgent(llm=ScriptedChatModel(["one", "two"]), name="bot")
    simulator = DialogueSimulator(human('["again"]'), assistant, max_round=2)
    response = simulator.run_nonstream([{"role": "user", "content": "Go"}])
    assert [m["content"] for m in response] == ["one", "again", "two"]
    with pytest.raises(ValueError, match="max_round"):
        DialogueSimulator(human(), assistant, max_round=0)


# ---- a dialogue too long for a prompt


def history(turns):
    said = []
    for number in range(turns):
        said += [Message("user", f"My number {number} is {number * 7}."), Message("assistant", "Noted.")]
    return said


def test_the_dialogue_becomes_a_file_from_which_the_question_is_answered(workspace):
    agent = DialogueRetrievalAgent(llm=ScriptedChatModel(["21"]), rag_cfg={"rag_keygen_strategy": "None"})
    messages = [Message("system", "Be brief."), *history(5), Message("user", "What is my number 3?")]
    assert agent.run_nonstream(messages, session_id="s1")[-1].content == "21"
    (kept,) = workspace.glob("dialogue_history_s1_*.txt")
    assert "user: My number 3 is 21.\nassistant: Noted." in kept.read_text()
    request = agent.llm.requests[0]
    assert system_of(request).startswith("Be brief.")
    assert "My number 3 is 21." in read_knowledge(system_of(request))[0].text
    assert len([m for m in request.messages if m.role != "system"]) == 1


def test_a_long_last_message_is_divided_into_its_request_and_material(workspace):
    material = "The tower is 300 metres high. " * 60
    model = ScriptedChatModel(["How high is the tower?", "300 metres."])
    agent = DialogueRetrievalAgent(llm=model, rag_cfg={"rag_keygen_strategy": "None"})
    response = agent.run_nonstream([Message("user", f"{material}How high is the tower?")])
    assert response[-1].content == "300 metres."
    (kept,) = workspace.glob("dialogue_history_*.txt")
    assert kept.read_text().count("How high is the tower?") == 0
    assert "300 metres high" in kept.read_text()
    question = model.requests[1].messages[-1].content
    assert "How high is the tower?" in str(question)
    assert material not in str(question)


def test_a_session_id_cannot_leave_the_workspace_and_nothing_is_overwritten(workspace):
    for text in ("one", "two"):
        agent = DialogueRetrievalAgent(llm=ScriptedChatModel(["ok"]), rag_cfg={"rag_keygen_strategy": "None"})
        agent.run_nonstream(
            [Message("user", text), Message("assistant", "x"), Message("user", "?")], session_id="../../e"
        )
    files = list(workspace.glob("dialogue_history_*.txt"))
    assert len(files) == 2
    assert not list(workspace.parent.parent.glob("e_*"))


def test_a_conversation_that_does_not_end_with_the_user_is_refused():
    agent = DialogueRetrievalAgent(llm=ScriptedChatModel([]))
    with pytest.raises(ValueError, match="ends with the user's message"):
        agent.run_nonstream([Message("assistant", "Hi")])


def test_pictures_of_the_last_message_stay():
    model = ScriptedChatModel(["A cat."], cfg={"multimodal": True})
    items = [ContentItem(text="What is it?"), ContentItem(image="https://example.com/cat.png")]
    DialogueRetrievalAgent(llm=model).run_nonstream([Message("user", items)])
    assert any(item.image for item in model.requests[0].messages[-1].content)


# ---- notes


def note(operate, key, value=None):
    arguments = {"operate": operate, "key": key} | ({"value": value} if value is not None else {})
    return Message(
        "assistant", "", function_call=FunctionCall("storage", arguments), extra={"function_id": f"call_{key}"}
    )


def test_what_was_stored_in_the_conversation_stands_in_the_system_message():
    model = ScriptedChatModel(["Blue."])
    done = Message("function", "Successfully saved", name="storage", extra={"function_id": "call_colour"})
    messages = [Message("user", "I like blue"), note("put", "colour", "blue"), done, Message("user", "My colour?")]
    MemoAssistant(llm=model, system_message="Be kind.").run_nonstream(messages)
    assert system_of(model.requests[0]).startswith("Be kind.")
    assert "<info>\ncolour: blue\n</info>" in system_of(model.requests[0])


def test_notes_follow_puts_and_deletes_and_survive_wrong_arguments():
    wrong = Message("assistant", "", function_call=FunctionCall("storage", "no json"))
    other = Message("assistant", "", function_call=FunctionCall("storage", '{"operate": "put"}'))
    messages = [note("put", "a", "1"), wrong, other, note("put", "b", "2"), note("delete", "a"), note("scan", "/")]
    assert notes_in(messages) == {"b": "2"}


def test_a_memo_assistant_stores_by_its_tool(workspace):
    model = ScriptedChatModel([call("storage", operate="put", key="colour", value="blue"), "Noted."])
    response = MemoAssistant(llm=model).run_nonstream([Message("user", "I like blue")])
    assert response[-1].content == "Noted."
    assert "colour: blue" not in system_of(model.requests[0])
    assert check_history(response) == []


def test_only_the_newest_turns_are_sent_and_turns_stay_whole():
    messages = [Message("system", "s"), *history(5)]
    kept = newest_turns(messages, 2)
    assert [m.content for m in kept] == ["s", "My number 3 is 21.", "Noted.", "My number 4 is 28.", "Noted."]
    assert newest_turns(messages, 9) == messages


# ---- retrieval on request


def test_what_is_retrieved_goes_into_the_system_message_and_the_call_gets_a_note(tmp_path):
    (tmp_path / "tower.txt").write_text("The tower is 300 metres high.")
    model = ScriptedChatModel(
        [[call("retrieval", query="height of the tower"), call("retrieval", query="tower metres")], "300 metres [1]."]
    )
    agent = VirtualMemoryAgent(llm=model, files=[str(tmp_path / "tower.txt")])
    response = agent.run_nonstream([Message("user", "How high is the tower?")])
    assert [m.role for m in response] == ["assistant", "assistant", "function", "function", "assistant"]
    assert "system message" in response[2].content
    assert "300 metres" not in response[2].content
    assert read_knowledge(system_of(model.requests[0])) == []
    assert [p.text for p in read_knowledge(system_of(model.requests[1]))] == ["The tower is 300 metres high."]
    assert response[-1].extra["citations"][0]["source"].endswith("tower.txt")
    assert check_history(response) == []


def test_what_was_found_is_there_again_in_a_turn_that_was_saved(tmp_path):
    (tmp_path / "tower.txt").write_text("The tower is 300 metres high.")
    model = ScriptedChatModel([call("retrieval", query="tower"), "300 metres."])
    saved = Checkpoint()
    run = VirtualMemoryAgent(llm=model, files=[str(tmp_path / "tower.txt")]).run(
        [Message("user", "How high?")], checkpoint=saved
    )
    while next(run)[-1].role != "function":
        pass
    run.close()
    *_, response = VirtualMemoryAgent(llm=model, files=[str(tmp_path / "tower.txt")]).resume(saved.state)
    assert response[-1].content == "300 metres."
    assert "The tower is 300 metres high." in system_of(model.requests[1])


def test_nothing_is_retrieved_unless_the_model_asks_and_files_are_named_to_it(tmp_path):
    (tmp_path / "tower.txt").write_text("The tower is 300 metres high.")
    model = ScriptedChatModel(["Hello."])
    items = [ContentItem(text="Hi"), ContentItem(file=str(tmp_path / "tower.txt"))]
    VirtualMemoryAgent(llm=model).run_nonstream([Message("user", items)])
    sent = str(model.requests[0].messages)
    assert f"[file]({tmp_path / 'tower.txt'})" in sent
    assert "300 metres" not in sent


def test_two_runs_of_one_agent_do_not_share_what_was_found(tmp_path):
    (tmp_path / "tower.txt").write_text("The tower is 300 metres high.")
    model = ScriptedChatModel([call("retrieval", query="tower"), "300.", "Hello."])
    agent = VirtualMemoryAgent(llm=model, files=[str(tmp_path / "tower.txt")])
    agent.run_nonstream([Message("user", "How high?")])
    agent.run_nonstream([Message("user", "Hi")])
    assert read_knowledge(system_of(model.requests[2])) == []


def test_knowledge_that_is_given_needs_no_retrieval():
    model = ScriptedChatModel(["300."])
    VirtualMemoryAgent(llm=model).run_nonstream(
        [Message("user", "How high?")], knowledge="The tower is 300 metres high."
    )
    assert "300 metres high" in system_of(model.requests[0])
