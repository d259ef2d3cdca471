"""Compaction as the tool loop and conversations use it."""

from qwen_agentkit.agents import FnCallAgent
from qwen_agentkit.events import HistoryCompacted
from qwen_agentkit.testing import ScriptedChatModel, call
from qwen_agentkit.tools.base import BaseTool

USER = [{"role": "user", "content": "go"}]


class Book(BaseTool):
    name = "book"
    description = "A long text."
    parameters = [{"name": "n", "type": "integer", "description": "Number.", "required": False}]

    def __init__(self):
        super().__init__()
        self.seen = set()

    def call(self, params, **kwargs):
        return f"{params} " + "word " * 400

    def summarize(self, result):
        # The result itself goes to the model whole; only compaction asks a second time.
        if result in self.seen:
            return "CONCLUSION of it"
        self.seen.add(result)
        return None


def test_an_old_result_is_replaced_by_the_conclusion_of_its_own_tool():
    model = ScriptedChatModel(
        [call("book", n=1), call("book", n=2), call("book", n=3), "done"],
        cfg={"compaction": {"by": "prune"}, "generate_cfg": {"max_input_tokens": 1500}},
    )
    agent = FnCallAgent(function_list=[Book()], llm=model, honesty_rule=False)

    events = list(agent.run_events(USER))
    assert any(isinstance(event, HistoryCompacted) for event in events)
    results = [message.content for message in model.requests[-1].messages if message.role == "function"]
    assert len(results) == 3 and any("CONCLUSION" in text for text in results[:2]) and "CONCLUSION" not in results[-1]


def test_a_conversation_is_made_shorter_after_a_turn_and_by_hand():
    model = ScriptedChatModel(
        ["answer " * 150] * 4 + ["summary of it", "fine"],
        cfg={"compaction": {"by": "window", "when": "after_turn"}, "generate_cfg": {"max_input_tokens": 600}},
    )
    talk = FnCallAgent(llm=model).conversation()
    for number in range(4):
        talk.send(f"question {number}")
    assert len(talk.messages) < 8 and talk.messages[-1].content.startswith("answer")
    before = len(talk.messages)
    talk.compact()
    assert len(talk.messages) <= before
