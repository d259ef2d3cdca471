"""ParallelDocQA, and the other ways by which knowledge reaches a model."""

import threading

import pytest

from qwen_agentkit import Message
from qwen_agentkit.agents import Assistant, ParallelDocQA
from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.events import ToolProgress, WarningRaised
from qwen_agentkit.memory import Memory
from qwen_agentkit.testing import ScriptedChatModel, call

QUESTION = [{"role": "user", "content": "How long is the motor guaranteed?"}]


@pytest.fixture
def book(tmp_path):
    path = tmp_path / "book.txt"
    filler = [f"Chapter {n} tells of voyage number {n} and of the weather on the way. " * 12 for n in range(40)]
    filler[23] += "The motor is guaranteed for 27 months from the date of purchase."
    path.write_text("\n\n".join(filler))
    return path


def reading(request):
    text = request.messages[-1].content
    if "helps to answer" in text:
        if "27 months" in text:
            return '{"res": "ans", "content": "The motor is guaranteed for 27 months."}'
        return '{"res": "none", "content": ""}'
    return "27 months [1]."


def test_every_part_is_read_and_the_answer_rests_on_passages(book):
    model = ScriptedChatModel([reading], repeat=True)
    events = list(ParallelDocQA(llm=model, files=[str(book)]).run_events(QUESTION))
    progress = [event.data for event in events if isinstance(event, ToolProgress)]
    assert progress[-1]["parts_done"] == progress[-1]["parts"] >= 8 and progress[-1]["found"] >= 1
    last = model.requests[-1].messages[0].content
    assert "27 months" in last and "Readers of single parts" in last
    assert len(model.requests) == progress[-1]["parts"] + 1
    answer = ParallelDocQA(llm=ScriptedChatModel([reading], repeat=True), files=[str(book)]).run_nonstream(QUESTION)[-1]
    assert answer["name"] == "ParallelDocQA" and "citations" in answer["extra"]


def test_parts_are_read_at_once_and_no_more_than_asked(book):
    running, most, lock, together = 0, 0, threading.Lock(), threading.Event()

    def slow(request):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
            if running == 4:
                together.set()
        together.wait(2)
        with lock:
            running -= 1
        return reading(request)

    ParallelDocQA(llm=ScriptedChatModel([slow], repeat=True), files=[str(book)], max_concurrency=4).run_nonstream(
        QUESTION
    )
    assert most == 4


def test_beyond_the_budget_the_best_parts_are_read(book):
    model = ScriptedChatModel([reading], repeat=True)
    ParallelDocQA(llm=model, files=[str(book)], map_tokens=2000).run_nonstream(QUESTION)
    parts = [request for request in model.requests if "helps to answer" in request.messages[-1].content]
    assert 1 <= len(parts) <= 2 and any("27 months" in part.messages[-1].content for part in parts)


def test_a_part_whose_call_fails_costs_itself(book):
    def shaky(request):
        if "helps to answer" in request.messages[-1].content and "27 months" not in request.messages[-1].content:
            return ModelServiceError(code="400", message="no")
        return reading(request)

    def answering(request):
        made = shaky(request)
        if isinstance(made, ModelServiceError):
            raise made
        return made

    events = list(
        ParallelDocQA(llm=ScriptedChatModel([answering], repeat=True), files=[str(book)]).run_events(QUESTION)
    )
    assert any(isinstance(event, WarningRaised) and "were not read" in event.message for event in events)


def test_no_file_an_empty_file_and_one_line_are_borne(tmp_path):
    empty, line = tmp_path / "empty.txt", tmp_path / "line.txt"
    empty.write_text("")
    line.write_text("The motor is guaranteed for 27 months.")
    for files in ([], [str(empty)], [str(line)]):
        last = ParallelDocQA(llm=ScriptedChatModel([reading], repeat=True), files=files).run_nonstream(QUESTION)
        assert last[-1]["content"] == "27 months [1]."


def test_settings_that_cannot_be_meant_are_refused():
    with pytest.raises(ValueError, match="map_tokens"):
        ParallelDocQA(llm=None, map_tokens=10)
    with pytest.raises(ValueError, match="knowledge_mode"):
        Memory(rag_cfg={"knowledge_mode": "guess"})


# ---- where knowledge goes


def assistant(script, book, **rag_cfg):
    return Assistant(
        llm=ScriptedChatModel(script),
        files=[str(book)],
        rag_cfg={"rag_keygen_strategy": "none", "max_ref_token": 1500, **rag_cfg},
    )


def test_knowledge_may_go_into_the_user_message(book):
    bot = assistant(["27 months [1]."], book, knowledge_in="user")
    last = bot.run_nonstream(QUESTION)
    (message,) = bot.llm.requests[0].messages
    assert message.role == "user" and message.content.startswith("How long") and "# Knowledge Base" in message.content
    assert last[-1]["extra"]["citations"]


def test_the_model_may_search_itself_and_its_numbers_go_on(book):
    script = [
        [call("search_documents", query="motor guarantee"), call("search_documents", query="voyage number 7")],
        "27 months [1].",
    ]
    bot = assistant(script, book, knowledge_mode="tool")
    last = bot.run_nonstream(QUESTION)
    first, second = bot.llm.requests
    assert "# Knowledge Base" not in str(first.messages) and first.function_names == ["search_documents"]
    from qwen_agentkit.utils.knowledge import read_knowledge

    numbers = [
        passage.n
        for message in second.messages
        if message.role == "function"
        for passage in read_knowledge(message.content)
    ]
    assert len(set(numbers)) == len(numbers) > 2
    assert last[-1]["extra"]["citations"][0]["source"] == str(book)


def test_both_ways_together(book):
    bot = assistant([call("search_documents", query="voyage"), "ok"], book, knowledge_mode="both")
    bot.run_nonstream(QUESTION)
    assert "# Knowledge Base" in bot.llm.requests[0].messages[0].content
    assert bot.llm.requests[0].function_names == ["search_documents"]


def test_without_documents_there_is_no_search_tool():
    bot = Assistant(llm=ScriptedChatModel(["ok"]), rag_cfg={"knowledge_mode": "tool"})
    bot.run_nonstream([Message("user", "q")])
    assert bot.llm.requests[0].function_names == []
