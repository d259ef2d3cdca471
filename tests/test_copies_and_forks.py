"""Agents and models may be copied, pickled, and carried over a fork: no live handle goes along."""

import copy
import os
import pickle

import pytest

from qwen_agentkit.agents import Assistant, DocQA, GroupChat, ReActChat
from qwen_agentkit.llm import get_chat_model
from qwen_agentkit.testing import ScriptedChatModel, call
from tests.servers.model_server import Answer

QUESTION = [{"role": "user", "content": "How long is the motor guaranteed?"}]


@pytest.fixture
def handbook(tmp_path):
    path = tmp_path / "handbook.md"
    path.write_text("The motor is guaranteed for 27 months from the date of purchase.")
    return str(path)


@pytest.mark.parametrize("agent_class", [Assistant, DocQA])
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda agent: pickle.loads(pickle.dumps(agent))])
def test_a_used_agent_is_copied_and_pickled(agent_class, copied, handbook):
    agent = agent_class(llm={"model_type": "extractive"}, function_list=["storage", "calculator"], files=[handbook])
    answer = agent.run_nonstream(QUESTION)[-1]["content"]
    assert "27 months" in answer and copied(agent).run_nonstream(QUESTION)[-1]["content"] == answer


def test_a_team_is_copied_and_pickled():
    members = [ReActChat(llm={"model_type": "extractive"}, name=name, description=name) for name in ("Mia", "Ken")]
    team = GroupChat(agents=members, agent_selection_method="round_robin")
    for twin in (copy.deepcopy(team), pickle.loads(pickle.dumps(team))):
        assert twin.agent_names == ["Mia", "Ken"]


def test_a_used_model_is_pickled_and_used_after_a_fork(oai_server):
    oai_server.script = [Answer("hello")]
    model = get_chat_model({"model": "m", "model_server": oai_server.url, "api_key": "EMPTY"})
    assert model.quick_chat("hi") == "hello"
    assert pickle.loads(pickle.dumps(model)).quick_chat("hi") == "hello" == copy.deepcopy(model).quick_chat("hi")
    assert in_a_child(lambda: model.quick_chat("hi") == "hello")
    assert model.quick_chat("hi") == "hello"


def test_an_agent_with_documents_and_tools_is_used_after_a_fork(handbook):
    agent = Assistant(llm={"model_type": "extractive"}, files=[handbook])
    agent.run_nonstream(QUESTION)
    assert in_a_child(lambda: "27 months" in agent.run_nonstream(QUESTION)[-1]["content"])
    scripted = Assistant(
        llm=ScriptedChatModel([call("calculator", expression="2+3"), "five"], repeat=True), function_list=["calculator"]
    )
    scripted.run_nonstream(QUESTION)
    assert in_a_child(lambda: scripted.run_nonstream(QUESTION)[-1]["content"] == "five")


def in_a_child(check):
    """Whether `check()` holds in a forked process."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if check() else 1
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
