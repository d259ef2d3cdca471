"""What every team is: an agent, with one budget, one cancel, one history."""

import asyncio
import copy
import json
import pickle
import threading
import time

import pytest

from qwen_agentkit.agent import Agent, BasicAgent
from qwen_agentkit.agents.fncall_agent import FnCallAgent
from qwen_agentkit.agents.graph import Graph
from qwen_agentkit.agents.group.conditions import ExternalSwitch, MaxRounds, TextMention
from qwen_agentkit.agents.group.state import TeamState
from qwen_agentkit.agents.group_chat import GroupChat
from qwen_agentkit.agents.orchestrator import Orchestrator
from qwen_agentkit.agents.router import Router
from qwen_agentkit.cancel import CancelToken
from qwen_agentkit.events import RunEnded, RunStarted, TextDelta, ToolCallFinished
from qwen_agentkit.limits import RunLimits
from qwen_agentkit.llm.history import check_history
from qwen_agentkit.run_context import current_run
from qwen_agentkit.schema import Message
from qwen_agentkit.testing import ScriptedChatModel, call, reply
from qwen_agentkit.tools.base import BaseTool
from tests.agents.looking import Look

ASK = [Message("user", "Go")]


class Talker(Agent):
    def _run(self, messages, lang="en", **kwargs):
        yield [Message("assistant", f"{self.name} talks")]


def chat():
    script = ["one two three", call("look"), "it is seen", "four five"]
    model = ScriptedChatModel(script, chunk_size=4)
    return GroupChat([FnCallAgent([Look()], model, name=name) for name in "AB"], "round_robin", name="team")


def plain(messages):
    return [(m.role, m.name, m.content) for m in messages]


# ---- the ways to run


def test_a_team_gives_the_same_talk_through_every_way_to_run_it():
    whole = plain(chat().run_nonstream(ASK))
    *_, streamed = chat().run(ASK)
    assert plain(streamed) == whole

    async def read():
        return [response async for response in chat().arun(ASK)][-1]

    assert plain(asyncio.run(read())) == whole


def test_events_tell_whose_words_they_are_and_each_once():
    events = list(chat().run_events(ASK))
    words = {}
    for event in events:
        if isinstance(event, TextDelta):
            words[event.agent] = words.get(event.agent, "") + event.text
    assert words == {"A": "one two threefour five", "B": "it is seen"}
    assert sum(isinstance(event, ToolCallFinished) for event in events) == 1
    assert [type(events[0]), type(events[-1])] == [RunStarted, RunEnded]
    assert events[-1].reason == "limit:rounds"


def test_leaving_the_stream_stops_the_members():
    model = ScriptedChatModel([reply("x y", chunks=["x ", "y"], hang_after=1)])
    run = GroupChat([BasicAgent(llm=model, name="A")], "round_robin").run(ASK)
    next(run)
    began = time.monotonic()
    run.close()
    assert time.monotonic() - began < 1


def test_a_cancel_reaches_a_blocked_member_at_once():
    model = ScriptedChatModel([reply("x y", chunks=["x ", "y"], hang_after=1)])
    token = CancelToken()
    threading.Timer(0.1, token.cancel).start()
    began = time.monotonic()
    response = GroupChat([BasicAgent(llm=model, name="A")], "round_robin").run_nonstream(ASK, cancel=token)
    assert time.monotonic() - began < 0.7
    assert response[-1].extra["end"] == "cancelled"


def test_a_cancel_reaches_a_member_of_a_team_that_is_a_tool():
    stuck = ScriptedChatModel([reply("x y", chunks=["x ", "y"], hang_after=1)])
    tool = GroupChat([BasicAgent(llm=stuck, name="A")], "round_robin", name="council").as_tool()
    arguments = dict.fromkeys(tool.function["parameters"]["properties"], "x")
    asker = FnCallAgent([tool], ScriptedChatModel([call("council", arguments)]), name="asker")
    token = CancelToken()
    threading.Timer(0.2, token.cancel).start()
    began = time.monotonic()
    response = asker.run_nonstream(ASK, cancel=token)
    assert time.monotonic() - began < 1
    assert check_history([*ASK, *response]) == []
    assert response[-1].extra["end"] == "cancelled"


def test_after_a_cancel_nothing_more_is_shown():
    model = ScriptedChatModel(["word " * 50], chunk_size=5)
    token, seen = CancelToken(), 0
    for response in GroupChat([BasicAgent(llm=model, name="A")], "round_robin", max_round=1).run(ASK, cancel=token):
        seen += 1
        token.cancel()
        shown = len(response[-1].content)
    assert seen <= 3
    assert shown < 250


# ---- a team as a tool, a worker, a node, a member


def test_a_team_is_a_tool_of_an_agent():
    team = GroupChat([Talker(name="A")], "round_robin", max_round=1, name="council", description="decides")
    tool = team.as_tool()
    arguments = dict.fromkeys(tool.function["parameters"]["properties"], "x")
    model = ScriptedChatModel([[call("council", arguments), call("council", arguments)], "They talked."])
    response = FnCallAgent([tool], model, name="asker").run_nonstream(ASK)
    assert [m.content for m in response if m.role == "function"] == ["A talks", "A talks"]
    assert check_history(response) == []


@pytest.mark.parametrize("depth", [1, 3])
def test_teams_nest(depth):
    team = GroupChat([Talker(name="A")], "round_robin", max_round=1, name="team0")
    for number in range(1, depth + 1):
        team = GroupChat([team, Talker(name=f"B{number}")], "round_robin", max_round=2, name=f"team{number}")
    names = [m.name for m in team.run_nonstream(ASK)]
    assert names == ["A", *(f"B{number}" for number in range(1, depth + 1))]


def test_a_router_may_have_teams_as_workers():
    team = GroupChat([Talker(name="A")], "round_robin", max_round=1, name="council")
    router = Router(agents=[team], rules={"council": "go"}, routing="rule", default="council")
    assert router.run_nonstream(ASK)[-1].content == "A talks"


# ---- one budget


def test_branches_that_run_at_the_same_time_cannot_overspend():
    model = ScriptedChatModel(["x"], repeat=True)
    graph = Graph([BasicAgent(llm=model, name=name) for name in "abcdef"], [])
    response = graph.run_nonstream(ASK, limits=RunLimits(model_calls=3))
    assert len(model.requests) == 3
    assert response[-1].extra["end"] == "limit:model_calls"


@pytest.mark.parametrize("calls", range(5))
def test_an_orchestrator_keeps_to_its_budget_too(calls):
    model = ScriptedChatModel(["x"], repeat=True)
    team = Orchestrator([BasicAgent(llm=model, name="A")], llm=model)
    team.run_nonstream(ASK, limits=RunLimits(model_calls=calls))
    assert len(model.requests) == calls


def test_members_can_be_told_what_is_left_for_all():
    model = ScriptedChatModel(["x"], repeat=True)
    team = GroupChat([BasicAgent(llm=model, name=name) for name in "AB"], "round_robin", show_budget=True)
    team.run_nonstream(ASK, max_round=2, limits=RunLimits(model_calls=10))
    told = [request.messages[0].content for request in model.requests]
    assert told == [f"Left for the whole team: {left} model calls. Spend it with care." for left in (10, 9)]
    team.run_nonstream(ASK, max_round=1)
    assert model.requests[-1].messages[0].role == "user"


# ---- one state for tools


class Note(BaseTool):
    name = "note"
    description = "Notes and reads."
    parameters = {"type": "object", "properties": {"text": {"type": "string"}}}

    def call(self, params, **kwargs):
        notes = current_run().state.setdefault("notes", [])
        text = self._verify_json_format_args(params).get("text")
        if text:
            notes.append(text)
        return ", ".join(notes)


def test_tools_of_all_members_share_the_state_of_the_run():
    script = [call("note", text="from A"), "noted", call("note"), "read"]
    model = ScriptedChatModel(script)
    team = GroupChat([FnCallAgent([Note()], model, name=name) for name in "AB"], "round_robin", max_round=2)
    results = [m.content for m in team.run_nonstream(ASK) if m.role == "function"]
    assert results == ["from A", "from A"]
    again = ScriptedChatModel([call("note"), "empty"])
    other = GroupChat([FnCallAgent([Note()], again, name="A")], "round_robin", max_round=1)
    assert [m.content for m in other.run_nonstream(ASK) if m.role == "function"] == [""]


# ---- copies


def test_teams_are_copied_and_pickled_whole():
    cfg = {"model": "m", "model_server": "http://127.0.0.1:1/v1"}
    members = [FnCallAgent(llm=cfg, name="a", handoffs=["b"], handoff_mode="return"), FnCallAgent(llm=cfg, name="b")]
    switch = ExternalSwitch()
    team = GroupChat(members, llm=cfg, termination=MaxRounds(3) | TextMention("x") | switch)
    for copied in (copy.deepcopy(team), pickle.loads(pickle.dumps(team))):
        assert copied.agent_names == ["a", "b"]
        assert copied._speakers["b"] is copied.agents[1]
        assert copied.agents[1] is not members[1]
    copied = copy.deepcopy(team)
    switch.set()
    assert copied.run_nonstream(ASK) == []
    state = TeamState()
    GroupChat([Talker(name="A")], "round_robin").run_nonstream(ASK, state=state)
    assert pickle.loads(pickle.dumps(state)).to_json() == state.to_json()
    assert copy.deepcopy(state) is state


def test_a_state_that_is_none_of_a_teams_goes_to_the_tools():
    class Reads(BaseTool):
        name = "reads"
        description = "Reads the program's state."
        parameters = {"type": "object", "properties": {}}

        def call(self, params, **kwargs):
            return str(kwargs["state"])

    model = ScriptedChatModel([call("reads"), "read"])
    team = GroupChat([FnCallAgent([Reads()], model, name="A")], "round_robin", max_round=1)
    assert team.run_nonstream(ASK, state={"user": 7})[1].content == "{'user': 7}"


# ---- many at once


def test_one_team_serves_many_threads():
    team = GroupChat([Talker(name=name) for name in "ABC"], "round_robin", termination=MaxRounds(6))
    results, threads = [], []

    def work():
        state = TeamState()
        results.append(
            ("".join(m.name for m in team.run_nonstream(ASK, state=state)), len(json.dumps(state.to_json())))
        )

    for _ in range(12):
        threads.append(threading.Thread(target=work))
        threads[-1].start()
    for thread in threads:
        thread.join()
    assert {names for names, _ in results} == {"ABCABC"}
    assert len(results) == 12


def test_a_long_talk_costs_no_more_a_turn_than_its_history_grows():
    team = GroupChat([Talker(name=f"agent {number}") for number in range(10)], "round_robin")

    def cpu(rounds):
        began = time.process_time()
        assert len(team.run_nonstream(ASK, max_round=rounds)) == rounds
        return time.process_time() - began

    cpu(20)
    short, long = cpu(50), cpu(200)
    # Four times the turns, each over at most four times the history.
    assert long < 16 * 1.5 * max(short, 0.01)
