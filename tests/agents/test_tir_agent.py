"""Reasoning in text that runs the code it writes."""

import itertools

import pytest

from qwen_agentkit.agents.tir_agent import TIRMathAgent, extract_program, observation
from qwen_agentkit.errors import RunLimitExceeded
from qwen_agentkit.schema import ContentItem, Message
from qwen_agentkit.testing import ScriptedChatModel
from qwen_agentkit.tools.base import BaseTool

ASK = [Message("user", "What is 6 * 7?")]
CODE = "Let me compute.\n```python\nprint(6 * 7)\n```\n"


class Executor(BaseTool):
    """Gives a fixed result, and keeps the code it got."""

    name = "python_executor"
    description = "Runs Python."
    parameters = {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}

    def __init__(self, result=("42\n", "Done")):
        super().__init__()
        self.result = result
        self.code = []

    def call(self, params, **kwargs):
        self.code.append(self._verify_json_format_args(params)["code"])
        return self.result


def solver(*replies, executor=None, **kwargs):
    return TIRMathAgent(llm=ScriptedChatModel(list(replies)), executor=executor or Executor(), name="tir", **kwargs)


def test_the_response_is_one_message_of_text_code_and_output():
    executor = Executor()
    agent = solver(CODE, "So it is 42.", executor=executor)
    (message,) = agent.run_nonstream(ASK)
    assert message.content == f"{CODE}```output\n42\n```\nSo it is 42."
    assert executor.code == ["print(6 * 7)\n"]
    assert agent.extra_generate_cfg["stop"] == ["```output"]
    assert agent.llm.requests[1].messages[-1].role == "assistant"


def test_the_message_only_grows():
    agent = TIRMathAgent(llm=ScriptedChatModel([CODE, "So it is 42."], chunk_size=5), executor=Executor())
    texts = [response[0].content for response in agent.run(ASK)]
    assert all(after.startswith(before) for before, after in itertools.pairwise(texts))


def test_an_error_is_shown_in_place_of_the_output():
    agent = solver(CODE, "Hm.", executor=Executor(("", "ZeroDivisionError: division by zero")))
    assert "```output\nZeroDivisionError: division by zero\n```" in agent.run_nonstream(ASK)[0].content


def test_text_without_code_is_an_answer_at_once():
    agent = solver("It is 42.")
    assert agent.run_nonstream(ASK)[0].content == "It is 42."


def test_content_in_parts_is_understood():
    agent = solver("It is 42.")
    assert (
        agent.run_nonstream([Message("user", [ContentItem(text="6"), ContentItem(text="* 7")])])[0].content
        == "It is 42."
    )


@pytest.mark.parametrize(("mode", "ends"), [("answer", "42, I think."), ("return", "```\n")])
def test_when_the_calls_are_used_up_it_answers_or_returns(mode, ends):
    agent = solver(CODE, CODE, "42, I think.", max_llm_call_per_run=2, on_limit=mode)
    (message,) = agent.run_nonstream(ASK)
    assert message.content.endswith(ends)
    assert message.extra["end"] == "limit:model_calls"


def test_when_the_calls_are_used_up_it_may_raise_with_what_there_is():
    with pytest.raises(RunLimitExceeded) as raised:
        solver(CODE, max_llm_call_per_run=1, on_limit="raise").run_nonstream(ASK)
    assert raised.value.partial[0].content.startswith("Let me compute.")


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("no code", ""),
        ("```python\na = 1\n```", "a = 1\n"),
        ("```python\na = 1\n```\nand\n```python\nb = 2\n```", "b = 2\n"),
        ("```python\nunfinished", ""),
        ("then:```python\na = 1\n```", "a = 1\n"),
    ],
)
def test_the_last_closed_block_is_the_program(text, program):
    assert extract_program(text) == program


def test_all_blocks_may_be_joined():
    assert extract_program("```python\na\n```\n```python\nb\n```", last_only=False) == "a\n\n# ========\nb\n"


@pytest.mark.parametrize(
    ("result", "shown"), [('["42", "Done"]', "42"), ('["", "Error"]', "Error"), ("plain\n", "plain"), ("[1]", "[1]")]
)
def test_results_are_shown_as_text(result, shown):
    assert observation(result) == shown
    assert observation([ContentItem(text="42")]) == "42"
