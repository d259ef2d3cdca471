"""A lead that plans, hands out the work step by step, and answers."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qwen_agentkit.agent import Agent, BasicAgent
from qwen_agentkit.agents.group.conditions import TextMention
from qwen_agentkit.agents.group.ledger import QUESTIONS, UnreadableLedger, read_ledger
from qwen_agentkit.agents.group.rehearsal import rehearse
from qwen_agentkit.agents.group.state import TeamState
from qwen_agentkit.agents.group_chat import GroupChat
from qwen_agentkit.agents.orchestrator import Orchestrator
from qwen_agentkit.agents.user_agent import PENDING_USER_INPUT, UserAgent
from qwen_agentkit.events import SpeakerSelected, WarningRaised
from qwen_agentkit.llm.history import check_history
from qwen_agentkit.schema import Message
from qwen_agentkit.testing import ScriptedChatModel

ASK = [Message("user", "How high is the tower?")]
NAMES = ["Finder", "Checker"]


class Worker(Agent):
    def _run(self, messages, lang="en", **kwargs):
        yield [Message("assistant", f"{self.name} did it")]


def ledger(speaker="Finder", satisfied=False, loop=False, progress=True, instruction="Look it up."):
    values = dict(zip(QUESTIONS, (satisfied, loop, progress, speaker, instruction), strict=True))
    return json.dumps({name: {"reason": f"why {name}", "answer": value} for name, value in values.items()})


DONE = ledger(satisfied=True)
PLAN = ["facts 1", "plan 1"]


def lead(*replies, names=NAMES, **kwargs):
    return Orchestrator(
        [Worker(name=name, description=f"is {name}") for name in names], ScriptedChatModel(list(replies)), **kwargs
    )


def said(response):
    return [message.content for message in response]


# ---- the way through


def test_facts_plan_ledger_steps_and_an_answer():
    team = lead(*PLAN, ledger("Finder"), ledger("Checker", instruction="Check it."), DONE, "300 metres.")
    response = team.run_nonstream(ASK)
    assert said(response)[1:] == [
        "@Finder Look it up.",
        "Finder did it",
        "@Checker Check it.",
        "Checker did it",
        "300 metres.",
    ]
    assert [m.name for m in response] == ["orchestrator"] * 2 + ["Finder", "orchestrator", "Checker", "orchestrator"]
    assert response[-1].extra["end"] == "answered"
    assert check_history([*ASK, *response]) == []
    team.llm.assert_complete()


def test_the_team_begins_with_task_members_facts_and_plan():
    team = lead(*PLAN, DONE, "x")
    brief = team.run_nonstream(ASK)[0].content
    assert all(text in brief for text in ("How high is the tower?", "Finder: is Finder", "facts 1", "plan 1"))
    asked = [request.messages[-1].content for request in team.llm.requests]
    assert "take stock" in asked[0]
    assert "facts 1" in asked[1]
    assert "next_speaker" in asked[2]
    assert "the answer for whoever gave the task" in asked[3]


def test_members_hear_the_plan_the_instruction_and_each_other():
    model = ScriptedChatModel(["found"])
    team = Orchestrator([BasicAgent(llm=model, name="Finder")], ScriptedChatModel([*PLAN, ledger(), DONE, "x"]))
    team.run_nonstream(ASK)
    heard = model.requests[0].messages[-1].content
    assert heard.endswith("orchestrator: @Finder Look it up.\nFinder: ")


def test_every_choice_is_an_event_with_its_reason():
    events = list(lead(*PLAN, ledger("Checker"), DONE, "x").run_events(ASK))
    chosen = [event for event in events if isinstance(event, SpeakerSelected)]
    assert (chosen[0].speaker, chosen[0].reason, chosen[0].candidates) == ("Checker", "why next_speaker", NAMES)
    assert chosen[-1].speaker is None


def test_a_single_member_is_not_asked_for():
    values = {name: {"reason": "", "answer": True} for name in QUESTIONS[:3]}
    reply = json.dumps({**values, "is_request_satisfied": False, "is_in_loop": False, "instruction_or_question": "Go."})
    assert "Finder did it" in said(lead(*PLAN, reply, DONE, "x", names=["Finder"]).run_nonstream(ASK))


# ---- stalls and new plans


def test_a_step_without_progress_or_in_a_loop_is_a_stall_and_progress_takes_one_back():
    team = lead(*PLAN, ledger(progress=False), ledger(), ledger(loop=True), DONE, "x", max_stalls=2)
    state = TeamState()
    team.run_nonstream(ASK, state=state)
    team.llm.assert_complete()
    assert state.rules["orchestrator"]["replans"] == 0


def test_too_many_stalls_make_a_new_plan_with_an_empty_conversation_and_no_stalls():
    stall = ledger(progress=False)
    team = lead(*PLAN, ledger(), stall, stall, "facts 2", "plan 2", stall, DONE, "x", max_stalls=2)
    model = ScriptedChatModel(["first", "second", "third"])
    team = team.with_speakers({"Finder": BasicAgent(llm=model, name="Finder")})
    response = team.run_nonstream(ASK)
    team.llm.assert_complete()
    again = [
        request.messages[-1].content for request in team.llm.requests if "does not get on" in str(request.messages)
    ]
    assert len(again) == 1
    assert "facts 1" in again[0]
    assert "plan 1" in next(str(r.messages) for r in team.llm.requests if "went wrong" in str(r.messages))
    # After the new plan the members begin anew, and one more stall is not too many again.
    last = str(model.requests[-1].messages)
    assert "plan 2" in last
    assert "first" not in last
    assert said(response)[-1] == "x"


def test_new_plans_can_be_bounded_and_the_answer_is_made_of_what_there_is():
    stall = ledger(progress=False)
    team = lead(*PLAN, stall, "facts 2", "plan 2", stall, "Best guess.", max_stalls=1, max_replans=1)
    response = team.run_nonstream(ASK)
    assert said(response)[-1] == "Best guess."
    assert response[-1].extra["end"] == "limit:replans"
    assert "stopped before the task was done" in team.llm.requests[-1].messages[0].content


def test_the_round_bound_ends_with_an_answer_too():
    state = TeamState()
    team = lead(*PLAN, ledger(), ledger(), "So far: nothing.", max_rounds=2)
    response = team.run_nonstream(ASK, state=state)
    assert said(response)[-1] == "So far: nothing."
    assert response[-1].extra["end"] == "limit:rounds"
    assert state.stop_reason == "Maximum number of rounds 2 reached"


@pytest.mark.parametrize("reply", ["garbage", ledger(loop=True)])
@pytest.mark.parametrize("stalls", [1, 3])
def test_a_lead_that_only_stalls_comes_to_an_end(reply, stalls):
    model = ScriptedChatModel([reply], repeat=True)
    team = Orchestrator([Worker(name="Finder", description="finds")], model, max_rounds=4, max_stalls=stalls)
    response = team.run_nonstream(ASK)
    assert response[-1].extra["end"] == "limit:rounds"
    # Two calls a plan (the first, and one after each round at most), three attempts a ledger, the answer.
    assert len(model.requests) <= 2 * (1 + 4) + 3 * 4 + 1


# ---- ledgers


def test_a_ledger_is_read_through_fences_prose_and_plain_values():
    fenced = f"Here it is:\n```json\n{ledger()}\n```"
    assert read_ledger(fenced, NAMES).speaker == "Finder"
    plain = dict(zip(QUESTIONS, ("no", "false", "Yes", "the checker", "Go."), strict=True))
    found = read_ledger(json.dumps(plain), NAMES)
    assert (found.satisfied, found.progress, found.speaker) == (False, True, "Checker")


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ("I think we are done", "no JSON object"),
        ("[1]", "no JSON object"),
        ("{}", "next_speaker is one of Finder, Checker, and is missing"),
        (ledger("Zoe"), "next_speaker is one of Finder, Checker, not 'Zoe'"),
        (ledger(satisfied="maybe"), "is_request_satisfied is true or false, not 'maybe'"),
        (ledger(instruction=""), "instruction_or_question is missing"),
    ],
)
def test_what_is_wrong_with_a_ledger_is_said(reply, says):
    with pytest.raises(UnreadableLedger, match=says):
        read_ledger(reply, NAMES)


def test_a_malformed_ledger_gets_feedback_and_another_try():
    team = lead(*PLAN, '{"next_speaker": {"answer": "Zoe"}}', f"{ledger()} {ledger()}", DONE, "x")
    assert "Finder did it" in said(team.run_nonstream(ASK))
    feedback = team.llm.requests[3].messages
    assert feedback[-2].content == '{"next_speaker": {"answer": "Zoe"}}'
    assert "not 'Zoe'" in feedback[-1].content
    team.llm.assert_complete()


def test_a_ledger_that_stays_unreadable_is_a_stall_and_never_an_exception():
    team = lead(
        *PLAN, *["?"] * 4, "facts 2", "plan 2", *["?"] * 4, "Sorry.", ledger_attempts=2, max_stalls=2, max_replans=1
    )
    events = list(team.run_events(ASK))
    assert any(
        "No usable ledger in 2 attempts" in event.message for event in events if isinstance(event, WarningRaised)
    )
    team.llm.assert_complete()


@given(
    st.text(max_size=60)
    | st.dictionaries(st.sampled_from(QUESTIONS), st.none() | st.booleans() | st.text(max_size=5)).map(json.dumps)
)
def test_any_reply_is_read_or_refused(reply):
    try:
        assert read_ledger(reply, NAMES).speaker in ("", *NAMES)
    except UnreadableLedger as error:
        assert str(error)


# ---- as a team


def test_a_termination_ends_the_work():
    team = lead(*PLAN, ledger(), termination=TextMention("did it"))
    assert said(team.run_nonstream(ASK))[-1] == "Finder did it"


def test_a_human_is_waited_for_and_the_task_goes_on():
    model = ScriptedChatModel([*PLAN, ledger("Ada", instruction="Which tower?"), DONE, "x"])
    team = Orchestrator([Worker(name="Finder"), UserAgent(name="Ada")], model)
    state = TeamState()
    assert said(team.run_nonstream(ASK, state=state))[-1] == PENDING_USER_INPUT
    state = TeamState.from_json(json.loads(json.dumps(state.to_json())))
    assert said(team.run_nonstream([Message("user", "The iron one")], state=state)) == ["x"]
    assert "Ada: The iron one" not in str(model.requests[0].messages)
    assert "The iron one" in str(model.requests[3].messages)


def test_a_new_task_is_planned_anew():
    team = lead(*PLAN, DONE, "one", "facts 2", "plan 2", DONE, "two")
    state = TeamState()
    team.run_nonstream(ASK, state=state)
    assert said(team.run_nonstream([Message("user", "And its age?")], state=state))[-1] == "two"
    assert "And its age?" in team.llm.requests[4].messages[0].content


def thoughtful(request):
    """Replies by what is asked, so that a call that is made again gets the same reply."""
    asked = request.messages[-1].content
    if "take stock" in asked:
        return "facts 1"
    if "short plan" in asked:
        return "plan 1"
    if "five questions" in asked:
        return [ledger(), ledger("Checker"), DONE][asked.count("did it")]
    return "x"


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 9), st.integers(0, 9))
def test_a_saved_run_goes_on_where_it_was(first, second):
    def team():
        workers = [Worker(name=name, description=f"is {name}") for name in NAMES]
        return Orchestrator(workers, ScriptedChatModel([thoughtful], repeat=True))

    whole, state = said(team().run_nonstream(ASK)), TeamState()
    for yields in (first, second):
        run = team().run([] if state.messages else ASK, state=state)
        for _ in range(yields):
            next(run, None)
        run.close()
        state = TeamState.from_json(json.loads(json.dumps(state.to_json())))
        if state.messages and not state.open:
            break
    if state.open or not state.messages:
        team().run_nonstream(ASK, state=state)
    assert said(state.response) == whole


def test_an_orchestrator_may_be_a_member_and_is_rehearsed_like_any_team():
    inner = lead(*PLAN, ledger(), DONE, "x", name="lab")
    response = GroupChat([inner, Worker(name="Boss")], "round_robin", max_round=2).run_nonstream(ASK)
    assert response[-1].content == "Boss did it"
    talk = rehearse(lead(*PLAN, ledger(), DONE, "x"), "Go", {"Finder": ["300"]})
    assert "300" in said(talk.response)


def test_it_speaks_chinese_where_the_task_does_and_its_prompts_can_be_replaced():
    team = lead(*PLAN, DONE, "x")
    team.run_nonstream([Message("user", "塔有多高？")])
    assert "任务" in team.llm.requests[0].messages[0].content
    own = lead(*PLAN, DONE, "x", prompts={"facts": "What do we know about {task}"})
    own.run_nonstream(ASK)
    assert own.llm.requests[0].messages[0].content == "What do we know about How high is the tower?"


def test_an_orchestrator_that_cannot_work_is_refused():
    with pytest.raises(ValueError, match="needs a model"):
        Orchestrator([Worker(name="Finder")])
    with pytest.raises(ValueError, match="max_stalls"):
        lead(max_stalls=0)
