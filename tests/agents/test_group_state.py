"""A team's memory: saved, loaded, forked, gone on with."""

import hashlib
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qwen_agentkit.agent import Agent, BasicAgent
from qwen_agentkit.agents.fncall_agent import FnCallAgent
from qwen_agentkit.agents.graph import Graph
from qwen_agentkit.agents.group.conditions import MaxMessages, TextMention
from qwen_agentkit.agents.group.edges import Edge
from qwen_agentkit.agents.group.model_selection import ByModel
from qwen_agentkit.agents.group.selection import ByHandoff, RandomSpeaker, RoundRobin
from qwen_agentkit.agents.group.state import TeamRunning, TeamState
from qwen_agentkit.agents.group.views import owners_of, view_for
from qwen_agentkit.agents.group_chat import GroupChat
from qwen_agentkit.agents.orchestrator import Orchestrator
from qwen_agentkit.agents.router import Router
from qwen_agentkit.agents.user_agent import PENDING_USER_INPUT, UserAgent
from qwen_agentkit.cancel import CancelToken
from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.limits import RunLimits
from qwen_agentkit.llm.history import check_history
from qwen_agentkit.schema import Message
from qwen_agentkit.testing import ScriptedChatModel, call
from qwen_agentkit.tools.base import BaseTool

ASK = [Message("user", "Go")]
MORE = [Message("user", "More")]


class Talker(Agent):
    """Says how many messages it sees."""

    def _run(self, messages, lang="en", **kwargs):
        yield [Message("assistant", f"{self.name} sees {len(messages)}")]


class Look(BaseTool):
    name = "look"
    description = "Looks."
    parameters = {"type": "object", "properties": {}}

    def __init__(self):
        super().__init__()
        self.calls = 0

    def call(self, params, **kwargs):
        self.calls += 1
        return f"seen {self.calls}"


class Glance(BaseTool):
    """Remembers nothing, so that it answers the same in another process."""

    name = "look"
    description = "Looks."
    parameters = {"type": "object", "properties": {}}

    def call(self, params, **kwargs):
        return "seen"


def talkers(names="ABC", selection="round_robin", **kwargs):
    return GroupChat([Talker(name=name) for name in names], selection, **kwargs)


def plain(messages):
    """What was said, without ids and usage."""
    return [(m.role, m.name, m.content, m.function_call and m.function_call.name) for m in messages]


def stop_after(run, yields):
    """Reads so many yields and leaves."""
    for _ in range(yields):
        if next(run, None) is None:
            break
    run.close()


# ---- one conversation over several runs


def test_with_a_state_only_new_messages_are_given_and_the_talk_is_one():
    chat, state = talkers(max_round=2), TeamState()
    assert [m.name for m in chat.run_nonstream(ASK, state=state)] == ["A", "B"]
    assert [m.name for m in chat.run_nonstream(MORE, state=state)] == ["C", "A"]
    assert [m.content for m in state.messages] == ["Go", "A sees 1", "B sees 1", "More", "C sees 1", "A sees 3"]
    assert [turn.speaker for turn in state.turns] == ["A", "B", "C", "A"]


def test_the_system_message_stands_once_in_the_conversation():
    chat, state = talkers(max_round=1, system_message="Be kind."), TeamState()
    chat.run_nonstream(ASK, state=state)
    chat.run_nonstream(MORE, state=state)
    assert [m.role for m in state.messages] == ["system", "user", "assistant", "user", "assistant"]


def test_without_new_messages_the_talk_goes_on_in_its_own_language():
    chat, state = talkers(max_round=1), TeamState()
    chat.run_nonstream([Message("user", "开始")], state=state)
    chat.run_nonstream([], state=state)
    assert state.lang == "zh"
    assert len(state.turns) == 2


def test_the_state_says_why_the_last_run_ended():
    state = TeamState()
    talkers(termination=TextMention("sees")).run_nonstream(ASK, state=state)
    assert state.stop_reason == "'sees' was said by A"


# ---- saving and loading


def test_a_saved_state_is_versioned_json_and_loads_to_the_same(tmp_path):
    path = tmp_path / "talk.json"
    chat, state = talkers(max_round=2), TeamState(path=path)
    chat.run_nonstream(ASK, state=state)
    data = json.loads(path.read_text("utf-8"))
    assert data["version"] == 1
    assert TeamState.load(path).to_json() == state.to_json() == data


def test_a_state_goes_to_another_team_with_the_same_members_and_to_no_other(tmp_path):
    state = TeamState()
    talkers(max_round=2).run_nonstream(ASK, state=state)
    state.save(tmp_path / "talk.json")
    loaded = TeamState.load(tmp_path / "talk.json")
    assert [m.name for m in talkers(max_round=2).run_nonstream(MORE, state=loaded)] == ["C", "A"]
    with pytest.raises(ValueError, match="made by a GroupChat of A, B, C; this is a GroupChat of A, B"):
        talkers("AB").run_nonstream(MORE, state=loaded)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("no json", "holds no saved team state"),
        ("[]", "no saved team state"),
        ('{"version": 2, "messages": []}', "version 2"),
    ],
)
def test_a_file_that_is_no_state_is_refused(tmp_path, text, says):
    (tmp_path / "talk.json").write_text(text)
    with pytest.raises(ValueError, match=says):
        TeamState.load(tmp_path / "talk.json")


def test_a_running_team_refuses_a_second_run_and_a_load():
    chat, state = talkers(), TeamState()
    run = chat.run(ASK, state=state)
    next(run)
    assert state.running
    with pytest.raises(TeamRunning, match="give each run its own"):
        chat.run_nonstream(ASK, state=state)
    with pytest.raises(TeamRunning, match="cannot be loaded over"):
        state.restore(TeamState().to_json())
    run.close()
    assert not state.running


# ---- going on


def test_a_run_that_was_broken_off_goes_on_with_no_message_or_the_same():
    chat = talkers(max_round=3)
    whole = chat.run_nonstream(ASK, state=TeamState())
    for messages in ([], ASK):
        state = TeamState()
        stop_after(chat.run(ASK, state=state), 2)
        assert plain(chat.run_nonstream(messages, state=state)) == plain(whole)


def test_with_a_new_message_a_broken_off_turn_stays_as_far_as_it_came():
    class Slow(Agent):
        def _run(self, messages, lang="en", **kwargs):
            yield [Message("assistant", "half")]
            yield [Message("assistant", "half and half")]

    chat, state = GroupChat([Slow(name="A")], "round_robin", max_round=1), TeamState()
    stop_after(chat.run(ASK, state=state), 1)
    chat.run_nonstream(MORE, state=state)
    assert [m.content for m in state.messages] == ["Go", "half", "More", "half and half"]


def test_what_is_left_of_a_broken_off_turn_has_its_calls_answered():
    model = ScriptedChatModel([call("look"), "More."])
    chat, state = GroupChat([FnCallAgent([Look()], model, name="A")], "round_robin", max_round=1), TeamState()
    run = chat.run(ASK, state=state)
    while next(run)[-1].function_call is None:
        pass
    run.close()
    chat.run_nonstream(MORE, state=state)
    assert [m.role for m in state.messages] == ["user", "assistant", "function", "user", "assistant"]
    assert check_history(state.messages) == []


def test_a_member_goes_on_in_the_middle_of_its_turn_in_another_process(tmp_path):
    path, look = tmp_path / "talk.json", Look()
    script = [call("look"), call("look"), "Seen twice.", "B too."]

    def team(script):
        model = ScriptedChatModel(script)
        return GroupChat([FnCallAgent([look], model, name="A"), BasicAgent(llm=model, name="B")], "round_robin")

    run = team(script).run(ASK, state=TeamState(path=path), max_round=2)
    for response in run:
        if response[-1].role == "function":
            break
    run.close()
    state = TeamState.load(path)
    assert state.speaking == "A"
    response = team(script[1:]).run_nonstream([], state=state)
    assert [m.content for m in response] == ["", "seen 1", "", "seen 2", "Seen twice.", "B too."]
    assert look.calls == 2
    assert check_history([*ASK, *response]) == []


@pytest.mark.parametrize("routing", ["model", "rule"])
def test_a_routers_worker_goes_on_in_the_middle_of_its_turn(routing):
    look = Look()

    def team(script):
        model = ScriptedChatModel(script)
        worker = FnCallAgent([look], model, name="worker", description="looks")
        rules = {"routing": "rule", "rules": {"worker": "go"}, "default": "worker"} if routing == "rule" else {}
        return GroupChat([Router(llm=model, agents=[worker], name="desk", **rules)], "round_robin", max_round=1)

    script = [*(["Call: worker"] if routing == "model" else []), call("look"), "Seen once."]
    state = TeamState()
    run = team(script).run(ASK, state=state)
    while next(run)[-1].role != "function":
        pass
    run.close()
    response = team(script[-1:]).run_nonstream([], state=TeamState.from_json(state.to_json()))
    assert [m.content for m in response] == ["", "seen 1", "Seen once."]
    assert look.calls == 1


def test_a_call_that_waits_for_approval_pauses_the_team_and_goes_on_with_the_decision(tmp_path):
    path, look = tmp_path / "talk.json", Look()
    model = ScriptedChatModel([call("look"), "Seen."])
    chat = GroupChat([FnCallAgent([look], model, name="A", approve="pause")], "round_robin", max_round=1)
    paused = chat.run_nonstream(ASK, state=TeamState(path=path))
    assert paused[-1].extra["end"] == "paused"
    assert look.calls == 0
    response = chat.run_nonstream([], state=TeamState.load(path), decisions=True)
    assert [m.content for m in response] == ["", "seen 1", "Seen."]


def test_a_human_turn_over_a_restart(tmp_path):
    path = tmp_path / "talk.json"
    chat = GroupChat([Talker(name="A"), UserAgent(name="Ada")], "round_robin")
    assert chat.run_nonstream(ASK, state=TeamState(path=path))[-1].content == PENDING_USER_INPUT
    state = TeamState.load(path)
    response = chat.run_nonstream([Message("user", "I say so", name="Ada")], state=state)
    assert [m.name for m in response] == ["A", "Ada"]
    assert (
        "Ada: I say so"
        in view_for("A", state.messages, state.owners)[-2 if state.messages[-1].name == "A" else 2].content
    )


def test_an_error_leaves_a_state_that_goes_on():
    model = ScriptedChatModel(["one", ModelServiceError(code="400", message="down"), "two"])
    chat = GroupChat([BasicAgent(llm=model, name=name) for name in "AB"], "round_robin", max_round=2)
    state = TeamState()
    with pytest.raises(ModelServiceError):
        chat.run_nonstream(ASK, state=state)
    assert [m.content for m in chat.run_nonstream([], state=state)] == ["one", "two"]


# ---- time travel


def test_a_fork_is_the_talk_as_it_was_after_that_turn():
    chat, state = talkers(max_round=3), TeamState()
    chat.run_nonstream(ASK, state=state)
    fork = state.fork(at=1)
    assert [m.content for m in fork.messages] == ["Go", "A sees 1"]
    again = chat.run_nonstream([], state=fork)
    assert plain(again) == plain(state.response)
    other = state.fork(at=1)
    assert [m.name for m in chat.run_nonstream([Message("user", "@A again")], state=other)] == ["A", "B", "C"]
    assert len(state.turns) == 3


def test_forks_of_earlier_runs_and_from_the_end():
    chat, state = talkers(max_round=2), TeamState()
    first = chat.run_nonstream(ASK, state=state)
    chat.run_nonstream(MORE, state=state)
    assert plain(chat.run_nonstream([], state=state.fork(at=0))) == plain(first)
    assert len(state.fork(at=-1).turns) == 3
    assert state.fork(at=4).to_json() == state.fork().to_json() == state.to_json()
    with pytest.raises(ValueError, match=r"fork\(at=5\): the state has 4 turns"):
        state.fork(at=5)


def test_a_fork_remembers_what_selection_and_termination_knew():
    chat = talkers(selection=RandomSpeaker(), termination=MaxMessages(7))
    state = TeamState()
    whole = chat.run_nonstream(ASK, state=state)
    for at in range(len(state.turns)):
        assert plain(chat.run_nonstream([], state=state.fork(at=at))) == plain(whole)


# ---- random teams


def thinker(seed):
    """A model whose reply depends on nothing but the request."""

    def think(request):
        last = request.messages[-1]
        text = f"{seed}/{len(request.messages)}/{last.role}/{last.content}"
        draw = hashlib.sha256(text.encode()).digest()
        offered = [function["name"] for function in request.functions]
        kind = draw[0] % 8
        if (last.role == "function" and draw[1] % 3) or (not offered and kind in (1, 2, 3)):
            kind = 0
        if kind in (1, 2):
            return call(offered[draw[2] % len(offered)])
        if kind == 3:
            return [call(offered[draw[2] % len(offered)]), call(offered[draw[3] % len(offered)])]
        return {4: "", 5: "Sorry, I cannot help.", 6: f"Ask @{'ABC'[draw[2] % 3]}", 7: "AGREED"}.get(
            kind, f"Words {draw[4]}"
        )

    return ScriptedChatModel([think], repeat=True)


def host(seed):
    def choose(request):
        draw = hashlib.sha256(f"{seed}/{request.messages[-1].content}".encode()).digest()
        return ["A", "B", "C", "nobody", "A or B", "[STOP]"][draw[0] % 6]

    return BasicAgent(llm=ScriptedChatModel([choose], repeat=True), name="host")


@st.composite
def teams(draw):
    """How to build a team, the same one each time."""
    seed = draw(st.integers(0, 1000))
    kind = draw(st.sampled_from(["round", "random", "handoff", "model"]))
    repeated, rounds = draw(st.booleans()), draw(st.integers(1, 8))
    tools, handoffs = draw(st.booleans()), draw(st.booleans())
    agreed = draw(st.booleans())

    def build():
        selection = {
            "round": RoundRobin(),
            "random": RandomSpeaker(seed),
            "handoff": ByHandoff("same"),
            "model": ByModel(host(seed)),
        }[kind]
        members = [
            FnCallAgent(
                [Glance()] if tools else [],
                thinker(f"{seed}/{name}"),
                name=name,
                handoffs=[other for other in "ABC" if other != name] if handoffs else [],
                handoff_mode="return",
                repeats=False,
                max_llm_call_per_run=4,
            )
            for name in "ABC"
        ]
        return GroupChat(
            members,
            selection,
            max_round=rounds,
            allow_repeated_speaker=repeated or kind == "handoff",
            termination=TextMention("AGREED") if agreed else None,
        )

    return build


def check_members(chat, messages):
    owners = owners_of(messages, chat.agents)
    for name in chat.agent_names:
        assert check_history(view_for(name, messages, owners)) == []
    assert check_history(messages) == []


SLOW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@SLOW
@given(teams())
def test_any_team_ends_with_a_valid_history_for_every_member(build):
    chat = build()
    response = chat.run_nonstream(ASK)
    check_members(chat, [*ASK, *response])


@SLOW
@given(teams(), st.integers(0, 12), st.integers(0, 12))
def test_a_run_broken_off_anywhere_and_loaded_equals_the_uninterrupted_one(tmp_path, build, first, second):
    path = tmp_path / "talk.json"
    path.unlink(missing_ok=True)
    whole = TeamState()
    expected = build().run_nonstream(ASK, state=whole)
    stop_after(build().run(ASK, state=TeamState(path=path)), first)
    state = TeamState.load(path) if path.exists() else TeamState(path=path)
    if state.open:
        stop_after(build().run([], state=state), second)
        state = TeamState.load(path)
    begun = state.open or state.messages
    response = state.response if begun and not state.open else build().run_nonstream([] if begun else ASK, state=state)
    assert plain(response) == plain(expected)
    assert [turn.speaker for turn in state.turns] == [turn.speaker for turn in whole.turns]
    assert state.stop_reason == whole.stop_reason


class Recording(TeamState):
    """Keeps each form in which the state would have been saved."""

    def keep(self):
        self.__dict__.setdefault("saved", []).append(json.loads(json.dumps(self.to_json())))


def graph_team():
    members = [FnCallAgent([Glance()], thinker(f"graph/{name}"), name=name, repeats=False) for name in "ABCD"]
    return Graph(
        members, [("A", "B"), ("A", "C"), ("B", "D"), ("C", "D"), Edge("D", "A", "Words")], start="A", max_steps=9
    )


def orchestrated_team():
    def lead(request):
        asked = request.messages[-1].content
        if "five questions" not in asked:
            return f"{len(asked)} characters were asked"
        spoken = asked.count("orchestrator: @")
        return json.dumps(
            {
                "is_request_satisfied": spoken >= 3,
                "is_in_loop": False,
                "is_progress_being_made": spoken != 1,
                "next_speaker": "AB"[spoken % 2],
                "instruction_or_question": f"step {spoken}",
            }
        )

    members = [FnCallAgent([Glance()], thinker(f"lead/{name}"), name=name, repeats=False) for name in "AB"]
    return Orchestrator(members, ScriptedChatModel([lead], repeat=True), max_stalls=2)


def check_every_save(build):
    state = Recording()
    expected = build().run_nonstream(ASK, state=state)
    for saved in state.saved:
        loaded = TeamState.from_json(saved)
        response = build().run_nonstream([], state=loaded) if loaded.open else loaded.response
        assert plain(response) == plain(expected)
        assert loaded.stop_reason == state.stop_reason


@settings(SLOW, max_examples=10)
@given(teams())
def test_a_process_that_dies_after_any_save_goes_on_to_the_same_end(build):
    check_every_save(build)


def nested_team():
    inner = GroupChat(
        [FnCallAgent([Glance()], thinker(f"nested/{name}"), name=name, repeats=False) for name in "AB"],
        "round_robin",
        max_round=3,
        name="desk",
    )
    return GroupChat([inner, Talker(name="C")], "round_robin", max_round=4)


def test_a_nested_team_talks_the_same_with_and_without_a_state():
    assert plain(nested_team().run_nonstream(ASK)) == plain(nested_team().run_nonstream(ASK, state=TeamState()))


@pytest.mark.parametrize("build", [graph_team, orchestrated_team, nested_team])
def test_graphs_and_orchestrators_go_on_from_any_save(build):
    check_every_save(build)


@SLOW
@given(teams(), st.integers(0, 6), st.integers(0, 6))
def test_cancels_and_budgets_anywhere_leave_valid_histories(build, yields, calls):
    chat, token = build(), CancelToken()
    last = []
    for number, response in enumerate(chat.run(ASK, cancel=token, limits=RunLimits(model_calls=calls))):
        last = response
        if number == yields:
            token.cancel()
    check_members(chat, [*ASK, *last])


@SLOW
@given(teams(), st.lists(st.booleans(), min_size=1, max_size=6))
def test_faults_of_models_leave_a_state_that_goes_on_with_a_valid_history(build, faults):
    chat, state, pending = build(), TeamState(), list(faults)
    for agent in chat.agents:
        think = agent.llm._script.entries[0]

        def faulty(request, think=think):
            if pending and pending.pop():
                raise ModelServiceError(code="400", message="down")
            return think(request)

        agent.llm._script.entries[0] = faulty
    messages = ASK
    for _ in range(len(faults) + 1):
        try:
            chat.run_nonstream(messages, state=state)
            break
        except ModelServiceError:
            messages = []
    assert not state.open
    check_members(chat, state.messages)
