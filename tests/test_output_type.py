"""`run(..., output_type=...)`: typed answers of any agent."""

from dataclasses import dataclass

import pytest

from qwen_agentkit import Agent, BasicAgent, Message, parsed, tool
from qwen_agentkit.agents import FnCallAgent
from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.testing import ScriptedChatModel, call

USER = [{"role": "user", "content": "invoice?"}]
GOOD = '{"number": "A-7", "total": 12.5}'


@dataclass
class Invoice:
    number: str
    total: float


@tool
def look_up(number: str) -> str:
    """Looks up an invoice."""
    return f"{number}: 12.5 EUR"


def test_a_basic_agent_answers_with_the_type():
    last = BasicAgent(llm=ScriptedChatModel([GOOD])).run_nonstream(USER, output_type=Invoice)
    assert parsed(last[-1], Invoice) == Invoice("A-7", 12.5)
    assert last[-1]["extra"]["parsed"] == {"number": "A-7", "total": 12.5}


def test_an_answer_that_does_not_fit_is_asked_for_again():
    model = ScriptedChatModel(['{"number": "A-7"}', GOOD])
    last = BasicAgent(llm=model).run_nonstream(USER, output_type=Invoice)
    assert parsed(last[-1], Invoice).total == 12.5
    model.assert_complete()


def test_after_tools_one_more_reply_gives_the_type():
    model = ScriptedChatModel([call("look_up", number="A-7"), "It is 12.5 EUR.", GOOD])
    last = FnCallAgent(function_list=[look_up], llm=model).run_nonstream(USER, output_type=Invoice)
    assert parsed(last[-1], Invoice) == Invoice("A-7", 12.5)
    assert "12.5 EUR" in last[-2]["content"]


def test_a_single_round_reflects_by_default_when_a_type_is_wanted():
    model = ScriptedChatModel([call("look_up", number="A-7"), GOOD])
    agent = FnCallAgent(function_list=[look_up], llm=model, max_tool_iterations=1)
    assert parsed(agent.run_nonstream(USER, output_type=Invoice)[-1], Invoice).number == "A-7"
    model.assert_complete()


def test_a_json_schema_is_a_type_too():
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    last = BasicAgent(llm=ScriptedChatModel(['{"n": 3}'])).run_nonstream(USER, output_type=schema)
    assert last[-1]["extra"]["parsed"] == {"n": 3}


def test_a_model_that_never_fits_is_one_clear_error():
    model = ScriptedChatModel(["no"], repeat=True)
    with pytest.raises(ModelServiceError, match="Invoice"):
        BasicAgent(llm=model).run_nonstream(USER, output_type=Invoice)


def test_an_agent_of_the_users_own_gets_it_without_a_line():
    class Own(Agent):
        def _run(self, messages, **kwargs):
            yield [Message("assistant", GOOD)]

    assert parsed(Own().run_nonstream(USER, output_type=Invoice)[-1], Invoice).number == "A-7"


def test_an_output_type_that_is_none_is_left_to_the_program():
    class Own(Agent):
        def _run(self, messages, output_type="", **kwargs):
            yield [Message("assistant", output_type)]

    assert Own().run_nonstream(USER, output_type="markdown")[-1]["content"] == "markdown"
