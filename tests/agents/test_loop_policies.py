"""What stands beside the loop: repeats, endings, approval, follow-ups, handoffs, hooks, saved turns."""

import json
import subprocess
import sys
import textwrap
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwen_agentkit import Message, tool
from qwen_agentkit.agents import BasicAgent, FnCallAgent
from qwen_agentkit.agents.group.conditions import FunctionCalled
from qwen_agentkit.agents.handoff import Handoff
from qwen_agentkit.agents.hooks import Hooks, StopTurn
from qwen_agentkit.agents.loop.approval import Decision, Remembered
from qwen_agentkit.agents.loop.endings import Endings
from qwen_agentkit.agents.loop.repeats import RepeatGuard
from qwen_agentkit.agents.loop.tool_round import ToolCall
from qwen_agentkit.agents.loop.turn import Checkpoint
from qwen_agentkit.events import ApprovalRequested, HandoffMade, ToolCallFinished, WarningRaised
from qwen_agentkit.follow_ups import FollowUps
from qwen_agentkit.llm.history import check_history
from qwen_agentkit.testing import ScriptedChatModel, call

USER = [{"role": "user", "content": "go"}]


@tool
def echo(text: str = "") -> str:
    """Says it back."""
    return f"echo {text}"


@tool(side_effects=True)
def refund(order: str) -> str:
    """Pays back."""
    return f"refunded {order}"


def bot(script, *tools, **kwargs):
    return FnCallAgent(function_list=list(tools or [echo]), llm=ScriptedChatModel(script), **kwargs)


def results(response):
    return [message["content"] for message in response if message["role"] == "function"]


# ---- repeats


def calls(*texts):
    return [
        ToolCall(str(number), text[0], json.dumps({"x": text}), "ok", text, text) for number, text in enumerate(texts)
    ]


def test_the_same_call_in_a_row_is_noted_at_three_four_and_five_each_firmer():
    script = [call("echo", text="a")] * 6 + ["done"]
    texts = results(bot(script).run_nonstream(USER))
    assert [("Note" in text) for text in texts] == [False, False, True, True, True, True]
    assert "3th" in texts[2] or "3" in texts[2]
    assert texts[2] != texts[3] != texts[4]
    assert all(text.startswith("echo a") for text in texts)


def test_another_call_begins_the_count_anew_and_key_order_does_not_matter():
    guard = RepeatGuard()
    assert guard.streak(calls("a", "a", "b", "a")) == 1
    same = [ToolCall("1", "f", '{"a": 1, "b": 2}'), ToolCall("2", "f", '{"b":2,"a":1}')]
    assert guard.streak(same) == 2


def test_alternating_cycles_count():
    guard = RepeatGuard()
    assert guard.streak(calls("a", "b", "a", "b", "a", "b")) == 3
    assert guard.streak(calls("a", "b", "c", "a", "b", "c", "a", "b", "c")) == 3
    assert guard.note(calls(*"ababab"), "en") is not None


def test_by_tool_counts_whatever_the_arguments_unless_results_differ():
    guard = RepeatGuard(by="tool")
    same = [ToolCall(str(n), "f", json.dumps({"n": n}), "ok", "none", "none") for n in range(4)]
    assert guard.streak(same) == 4
    different = [ToolCall(str(n), "f", json.dumps({"n": n}), "ok", str(n), str(n)) for n in range(4)]
    assert guard.streak(different) == 1


def test_an_agent_may_count_by_tool():
    script = [call("echo", text=text) for text in ("a", "b", "c")] + ["done"]

    @tool(name="echo")
    def deaf(text: str) -> str:
        """Says nothing of it."""
        return "nothing"

    assert "Note" in results(bot(script, deaf, repeat_by="tool").run_nonstream(USER))[2]
    assert not any("Note" in text for text in results(bot(script, deaf).run_nonstream(USER)))


def test_a_hard_stop_ends_the_turn_with_an_answer():
    script = [call("echo", text="a")] * 3 + ["I give up."]
    last = bot(script, repeats=RepeatGuard(stop_at=3)).run_nonstream(USER)
    assert last[-1]["content"] == "I give up." and last[-1]["extra"]["end"] == "limit:repeats"


def test_repeats_may_be_switched_off_and_are_checked():
    assert not any(
        "Note" in text for text in results(bot([call("echo")] * 5 + ["x"], repeats=False).run_nonstream(USER))
    )
    with pytest.raises(ValueError, match="'call' or 'tool'"):
        RepeatGuard(by="name")


# ---- endings


def test_one_round_ends_in_a_summary_of_the_results():
    agent = bot([[call("echo", text="a"), call("echo", text="b")]], max_tool_iterations=1)
    last = agent.run_nonstream(USER)
    assert last[-1]["content"] == "echo a\necho b" and last[-1]["extra"]["end"] == "tool_ended"
    assert len(agent.llm.requests) == 1


def test_the_summary_format_knows_the_call():
    last = bot(
        [[call("echo", text="a"), call("missing")]],
        max_tool_iterations=1,
        tool_call_summary_format="{tool_name} {arguments} {is_error}",
    ).run_nonstream(USER)
    assert last[-1]["content"].splitlines() == ['echo {"text": "a"} False', "missing {} True"]
    last = bot(
        [call("echo", text="a")], max_tool_iterations=1, tool_call_summary_formatter=lambda call, result: result.upper()
    ).run_nonstream(USER)
    assert last[-1]["content"] == "ECHO A"


@pytest.mark.parametrize(("rounds", "text"), [("last", "echo b"), ("all", "echo a\necho b")])
def test_the_summary_covers_the_last_round_or_all(rounds, text):
    script = [call("echo", text="a"), call("echo", text="b")]
    last = bot(script, max_tool_iterations=2, summary_rounds=rounds).run_nonstream(USER)
    assert last[-1]["content"] == text


def test_reflection_makes_one_more_call_without_tools():
    agent = bot(
        [call("echo", text="a"), call("echo", text="b"), "Both said."], max_tool_iterations=2, reflect_on_tool_use=True
    )
    assert agent.run_nonstream(USER)[-1]["content"] == "Both said."
    assert len(agent.llm.requests) == 3 and agent.llm.requests[-1].functions == []


def test_reflection_that_calls_again_falls_back_to_the_summary():
    agent = bot([call("echo", text="a"), call("echo", text="b")], max_tool_iterations=1, reflect_on_tool_use=True)
    assert agent.run_nonstream(USER)[-1]["content"] == "echo a"


def test_text_ends_the_turn_whatever_rounds_remain():
    agent = bot(["hello"], max_tool_iterations=5)
    assert agent.run_nonstream(USER)[-1]["content"] == "hello" and len(agent.llm.requests) == 1


@pytest.mark.parametrize(
    "settings", [{"max_tool_iterations": 0}, {"max_tool_iterations": 1.5}, {"summary_rounds": "x"}]
)
def test_settings_that_cannot_be_meant_are_refused(settings):
    with pytest.raises(ValueError):
        Endings(**settings)
    with pytest.raises(ValueError, match="max_tool_iterations"):
        Endings(reflect_on_tool_use=False)


def test_a_tool_may_return_the_answer_directly():
    @tool(return_direct=True)
    def answer() -> str:
        """The answer."""
        return "42"

    agent = bot([call("answer")], answer)
    last = agent.run_nonstream(USER)
    assert last[-1] == {"role": "assistant", "content": "42", "extra": {"end": "tool_ended"}}
    assert len(agent.llm.requests) == 1


# ---- approval


@pytest.mark.parametrize(
    ("approve", "said"),
    [
        (False, "denied."),
        ({"refund": False}, "denied."),
        ({"refund": lambda call: "42" not in call.arguments}, "denied."),
        (lambda call: "too much", "denied: too much"),
        (lambda call: Decision(False, "no money"), "denied: no money"),
    ],
)
def test_a_denied_call_is_not_made_and_the_model_is_told(approve, said):
    made = []

    @tool(name="refund")
    def paying(order: str) -> str:
        """Pays."""
        made.append(order)
        return "paid"

    agent = bot([call("refund", order="42"), "Sorry."], paying, approve=approve)
    events = list(agent.run_events(USER))
    finished = [event for event in events if isinstance(event, ToolCallFinished)]
    assert made == [] and finished[0].outcome == "denied" and said in finished[0].result


def test_an_approved_call_is_made_with_the_arguments_that_were_decided():
    agent = bot(
        [call("refund", order="42"), "ok"], refund, approve=lambda call: Decision(True, arguments='{"order": "7"}')
    )
    assert results(agent.run_nonstream(USER)) == ["refunded 7"]


def test_a_decision_is_remembered_by_tool_or_by_arguments():
    asked = []

    def approve(call):
        asked.append(call.arguments)
        return True

    script = [[call("echo", text="a"), call("echo", text="b"), call("echo", text="a")], "ok"]
    bot(script, approve=Remembered(approve)).run_nonstream(USER)
    assert len(asked) == 1
    bot(script, approve=Remembered(approve, by="arguments")).run_nonstream(USER)
    assert len(asked) == 3


def test_a_pause_ends_the_run_with_open_calls_and_resume_goes_on():
    saved = Checkpoint()
    agent = bot([["One moment.", call("refund", order="42")], "Done."], refund, approve={"refund": "pause"})
    last = agent.run_nonstream(USER, checkpoint=saved)
    assert last[-1]["extra"]["end"] == "paused" and results(last) == []
    state = json.loads(json.dumps(saved.state))
    resumed = list(agent.resume(state, decisions=True))
    assert resumed[-1][-1]["content"] == "Done." and results(resumed[-1]) == ["refunded 42"]
    assert resumed[-1][: len(last) - 1] == last[:-1]
    assert check_history([Message(**message) for message in [*USER, *resumed[-1]]]) == []


def test_a_pause_asks_in_an_event_and_a_denial_by_id_reaches_the_model():
    saved = Checkpoint()
    agent = bot([call("refund", order="42", id="call_1"), "Sorry."], refund, approve="pause")
    events = [event for event in agent.run_events(USER, checkpoint=saved) if isinstance(event, ApprovalRequested)]
    assert [event.call_id for event in events] == ["call_1"]
    last = agent.resume(saved.state, {"call_1": "not today"})
    assert "not today" in results(list(last)[-1])[0]


def test_a_paused_run_is_resumed_in_another_process(tmp_path):
    path = tmp_path / "state.json"
    agent = bot([call("refund", order="42"), "never"], refund, approve="pause")
    agent.run_nonstream(USER, checkpoint=Checkpoint(lambda state: path.write_text(json.dumps(state))))
    program = f"""
        import json
        from qwen_agentkit import tool
        from qwen_agentkit.agents import FnCallAgent
        from qwen_agentkit.testing import ScriptedChatModel

        @tool
        def refund(order: str) -> str:
            "Pays back."
            return f"refunded {{order}}"

        bot = FnCallAgent(function_list=[refund], llm=ScriptedChatModel(["Done."]), approve="pause")
        *_, last = bot.resume(json.loads(open({str(path)!r}).read()), decisions=True)
        print(json.dumps(last))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60)
    last = json.loads(done.stdout)
    assert results(last) == ["refunded 42"] and last[-1]["content"] == "Done."


def test_every_saved_state_goes_on_to_the_same_end():
    script = [[call("echo", text="a"), call("echo", text="b")], call("echo", text="c"), "Done."]
    states = []
    whole = bot(script).run_nonstream(USER, checkpoint=Checkpoint(lambda state: states.append(json.dumps(state))))
    assert len(states) >= 5
    for state in map(json.loads, states):
        rest = script[state["model_calls"] :]
        again = list(bot(rest).resume(state))[-1]
        assert results(again) == results(whole) and again[-1]["content"] == "Done."


def test_a_state_of_another_version_is_refused():
    with pytest.raises(ValueError, match="version 99"):
        bot([]).resume({"version": 99})


# ---- follow-ups


def sending(mail, tickets):
    """A tool during which the user adds something."""

    @tool
    def working() -> str:
        """Works."""
        tickets.append(mail.send("in Celsius please"))
        return "21"

    return working


def test_a_follow_up_reaches_the_model_with_the_next_tool_result():
    mail, tickets = FollowUps(), []
    agent = bot([call("working"), "ok"], sending(mail, tickets))
    late = []
    for response in agent.run(USER, follow_ups=mail):
        late = response
    assert "in Celsius please" in results(late)[0] and tickets[0].wait(1) == "delivered"
    assert mail.send("too late").status == "not_delivered"


@pytest.mark.parametrize(
    ("settings", "status", "answer"),
    [
        # No model reads the results.
        ({"max_tool_iterations": 1, "reflect_on_tool_use": False}, "not_delivered", "21"),
        ({"termination": FunctionCalled("working")}, "not_delivered", "21"),
        ({"max_llm_call_per_run": 1, "on_limit": "return"}, "not_delivered", "21"),
        # One does, be it the last.
        ({"max_tool_iterations": 1, "reflect_on_tool_use": True}, "delivered", "ok"),
        ({"max_llm_call_per_run": 1}, "delivered", "ok"),
    ],
)
def test_a_follow_up_is_delivered_when_a_model_reads_it_and_else_stays_out(settings, status, answer):
    mail, tickets = FollowUps(), []
    agent = bot([call("working"), "ok"], sending(mail, tickets), **settings)
    response = agent.run_nonstream(USER, follow_ups=mail)
    assert tickets[0].wait(1) == status
    assert response[-1]["content"] == answer
    assert ("in Celsius please" in results(response)[0]) is (status == "delivered")


def test_a_follow_up_during_a_handoff_reaches_the_agent_that_goes_on():
    mail, tickets = FollowUps(), []
    billing = FnCallAgent([sending(mail, tickets)], ScriptedChatModel([call("working"), "Paid."]), name="billing")
    agent = FnCallAgent(llm=ScriptedChatModel([call("transfer_to_billing")]), handoffs=[billing])
    response = agent.run_nonstream(USER, follow_ups=mail)
    assert response[-1]["content"] == "Paid." and tickets[0].wait(1) == "delivered"
    assert "in Celsius please" in str(billing.llm.requests[-1].messages)
    assert mail.send("too late").status == "not_delivered"


def test_a_follow_up_before_a_handoff_to_a_team_or_an_agent_without_tools_is_not_delivered():
    for target, mode in (
        (BasicAgent(llm=ScriptedChatModel(["Paid."]), name="billing"), "continue"),
        ("billing", "return"),
    ):
        mail, tickets = FollowUps(), []
        script = [[call("working"), call("transfer_to_billing")]]
        agent = FnCallAgent(
            [sending(mail, tickets)], ScriptedChatModel(script), handoffs=[Handoff(target)], handoff_mode=mode
        )
        agent.run_nonstream(USER, follow_ups=mail)
        assert tickets[0].wait(1) == "not_delivered"


def test_a_follow_up_without_a_further_tool_is_not_delivered():
    mail = FollowUps()
    ticket = mail.send("hello?")
    bot(["no tools"]).run_nonstream(USER, follow_ups=mail)
    assert ticket.status == "not_delivered"
    with pytest.raises(ValueError, match="says something"):
        mail.send("  ")


# ---- handoffs


def desk(script, **kwargs):
    billing = FnCallAgent(
        function_list=[refund], llm=ScriptedChatModel(kwargs.pop("billing", ["Paid."])), name="billing"
    )
    return FnCallAgent(
        function_list=[echo], llm=ScriptedChatModel(script), name="support", handoffs=[billing], **kwargs
    ), billing


def test_a_handoff_goes_on_with_the_other_agent_whose_answer_carries_its_name():
    agent, billing = desk([[call("echo", text="a"), call("transfer_to_billing")]], system_message="You are support.")
    last = agent.run_nonstream([Message("user", "money back")])
    assert (last[-1].content, last[-1].name) == ("Paid.", "billing")
    assert check_history([Message("user", "money back"), *last]) == []
    seen = billing.llm.requests[0].messages
    text = str(seen)
    assert "money back" in text and "echo a" in text and "transfer_to_billing" not in text
    assert "You are support." not in text
    events = [
        event for event in desk([call("transfer_to_billing")])[0].run_events(USER) if isinstance(event, HandoffMade)
    ]
    assert [(event.source, event.target) for event in events] == [("support", "billing")]


def test_a_team_gets_the_handoff_as_a_note():
    agent, _ = desk([call("transfer_to_billing", "[]")], handoff_mode="return")
    last = agent.run_nonstream(USER)
    assert last[-1]["extra"]["handoff"]["target"] == "billing" and last[-1]["extra"]["end"] == "handoff"


def test_of_several_handoffs_the_first_is_carried_out_with_a_warning():
    other = FnCallAgent(llm=ScriptedChatModel(["never"]), name="sales")
    billing = FnCallAgent(llm=ScriptedChatModel(["Paid."]), name="billing")
    agent = FnCallAgent(
        llm=ScriptedChatModel([[call("transfer_to_billing"), call("transfer_to_sales")]]), handoffs=[billing, other]
    )
    events = list(agent.run_events(USER))
    assert any(isinstance(event, WarningRaised) for event in events)
    assert [event.target for event in events if isinstance(event, HandoffMade)] == ["billing"]


def test_handoffs_are_counted_so_that_two_agents_cannot_pass_for_ever():
    first = FnCallAgent(llm=ScriptedChatModel(["x"]), name="first")
    second = FnCallAgent(
        llm=ScriptedChatModel([call("transfer_to_first")], repeat=True), name="second", handoffs=[first]
    )
    first.handoff_map = FnCallAgent(llm=None, handoffs=[second]).handoff_map
    first.llm = ScriptedChatModel([call("transfer_to_second")], repeat=True)
    first.max_llm_call_per_run = second.max_llm_call_per_run = 3
    events = list(first.run_events(USER))
    assert sum(isinstance(event, HandoffMade) for event in events) == 3


def test_a_handoff_may_be_allowed_only_after_a_failure():
    @tool
    def broken() -> str:
        """Broken."""
        raise ConnectionError("down")

    def agent(script):
        billing = FnCallAgent(llm=ScriptedChatModel(["Paid."]), name="billing")
        return FnCallAgent(
            function_list=[broken],
            llm=ScriptedChatModel(script),
            handoffs=[Handoff(billing, rule="only_on_failure")],
        )

    refused = agent([call("transfer_to_billing"), "I do it myself."]).run_nonstream(USER)
    assert refused[-1]["content"] == "I do it myself."
    assert agent([call("broken"), call("transfer_to_billing")]).run_nonstream(USER)[-1]["content"] == "Paid."


def test_an_input_filter_chooses_what_is_passed_on():
    billing = FnCallAgent(llm=ScriptedChatModel(["Paid."]), name="billing")
    agent = FnCallAgent(
        llm=ScriptedChatModel([call("transfer_to_billing")]),
        handoffs=[Handoff(billing, input_filter=lambda messages: messages[-1:])],
    )
    agent.run_nonstream(USER)
    assert len(billing.llm.requests[0].messages) == 1


def test_names_of_handoffs_are_checked():
    billing = FnCallAgent(llm=None, name="billing")
    assert Handoff(billing).name == "transfer_to_billing" and Handoff("客服 一").name == "transfer_to_客服_一"
    with pytest.raises(ValueError, match="identifier"):
        Handoff(billing, name="not one")
    with pytest.raises(ValueError, match="with a name"):
        Handoff(FnCallAgent(llm=None))
    with pytest.raises(ValueError, match="Two handoffs"):
        FnCallAgent(llm=None, handoffs=[billing, billing])
    with pytest.raises(ValueError, match="name of a tool"):
        FnCallAgent(function_list=[echo], llm=None, handoffs=[Handoff(billing, name="echo")])
    with pytest.raises(ValueError, match="give the agent itself"):
        FnCallAgent(llm=None, handoffs=[Handoff("billing")])


# ---- hooks


def test_hooks_look_change_and_stop():
    class Change(Hooks):
        def before_model(self, messages, functions):
            return [*messages, Message("user", "be brief")]

        def after_model(self, reply):
            return [message.model_copy(update={"content": message.content.upper()}) for message in reply]

        def before_tool(self, call):
            return "cached" if call.name == "echo" else None

        def after_tool(self, call, content):
            return f"[{content}]"

    agent = bot([call("echo", text="a"), "bye"], hooks=[Change()])
    last = agent.run_nonstream(USER)
    assert results(last) == ["[cached]"] and last[-1]["content"] == "BYE"
    assert agent.llm.requests[0].messages[-1].content.endswith("be brief")

    class Stop(Hooks):
        def after_model(self, reply):
            raise StopTurn("stopped")

    assert bot(["x"], hooks=[Stop()]).run_nonstream(USER)[-1]["content"] == "stopped"


def test_a_hook_that_fails_does_not_end_the_run():
    class Broken(Hooks):
        def before_model(self, messages, functions):
            raise RuntimeError("hook")

        def after_tool(self, call, content):
            raise RuntimeError("hook")

    last = bot([call("echo", text="a"), "bye"], hooks=[Broken()]).run_nonstream(USER)
    assert results(last) == ["echo a"] and last[-1]["content"] == "bye"


# ---- large results and workbenches


def test_a_large_result_is_previewed_and_read_on_by_a_tool_that_appears_by_itself(tmp_path):
    from qwen_agentkit.tools.large_results import READ_TOOL, LargeResults

    @tool
    def book() -> str:
        """A book."""
        return "word " * 500

    store = LargeResults(tmp_path, limit=100, preview=20)
    agent = bot(
        [call("book"), lambda request: call(READ_TOOL, result=_name(request), offset=20), "read"],
        book,
        large_results=store,
    )
    last = agent.run_nonstream(USER)
    assert last[-1]["content"] == "read" and len(results(last)[0]) < 1000
    assert READ_TOOL not in agent.llm.requests[0].function_names and READ_TOOL in agent.llm.requests[1].function_names
    assert results(last)[1].lstrip().startswith("word")


def _name(request):
    text = str(request.messages[-1].content)
    return text.split('result="')[1].split('"')[0]


def test_a_workbench_is_listed_before_every_model_call_and_clashes_are_told():
    from qwen_agentkit.tools.workbench import WorkbenchBase

    class Growing(WorkbenchBase):
        started = stopped = 0

        def __init__(self):
            self.listed = []

        def list_tools(self):
            self.listed = [*self.listed, echo][:2]
            return [refund] if len(self.listed) == 1 else [refund, echo]

        def start(self):
            self.started += 1

        def stop(self):
            self.stopped += 1

    bench = Growing()
    agent = FnCallAgent(
        llm=ScriptedChatModel([call("refund", order="1"), call("echo", text="a"), "ok"]), workbench=bench
    )
    last = agent.run_nonstream(USER)
    assert agent.llm.requests[0].function_names == ["refund"]
    assert agent.llm.requests[1].function_names == ["refund", "echo"]
    assert results(last) == ["refunded 1", "echo a"] and (bench.started, bench.stopped) == (1, 1)
    with pytest.raises(ValueError, match="in the workbench"):
        bot(["x"], refund, workbench=bench).run_nonstream(USER)


# ---- everything together


entries = st.one_of(
    st.sampled_from(["text", "", "long text"]),
    st.builds(lambda text: call("echo", text=text), st.text(max_size=3)),
    st.builds(lambda: [call("echo", "{bad"), call("missing"), "both"]),
    st.builds(lambda: [call("echo", id="same"), call("echo", id="same")]),
    st.builds(lambda: call("transfer_to_billing", "[]")),
)


@given(st.lists(entries, max_size=5), st.integers(0, 12))
def test_whatever_the_model_does_the_history_that_remains_is_valid_and_goes_on(script, leave_after):
    billing = FnCallAgent(llm=ScriptedChatModel(["Paid."], repeat=True), name="billing")
    agent = FnCallAgent(
        function_list=[echo], llm=ScriptedChatModel([*script, "end"]), handoffs=[billing], max_llm_call_per_run=4
    )
    from qwen_agentkit import CancelToken

    token, last = CancelToken(), []
    for number, response in enumerate(agent.run([Message("user", "go")], cancel=token)):
        last = response
        if number == leave_after:
            token.cancel()
    assert check_history([Message("user", "go"), *last]) == []
    following = FnCallAgent(llm=ScriptedChatModel(["next"])).run_nonstream(
        [Message("user", "go"), *last, Message("user", "and now?")]
    )
    assert following[-1].content == "next"


def test_many_runs_of_one_agent_at_once_do_not_mix():
    def script(request):
        number = request.messages[-1].content if request.messages[-1].role == "user" else None
        return call("echo", text=number) if number else f"said {request.messages[-1].content}"

    agent = FnCallAgent(function_list=[echo], llm=ScriptedChatModel([script], repeat=True), honesty_rule=False)
    answers = {}

    def run(number):
        answers[number] = agent.run_nonstream([{"role": "user", "content": str(number)}])[-1]["content"]

    threads = [threading.Thread(target=run, args=(number,)) for number in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: f"said echo {number}" for number in range(32)}


# ---- termination of a single agent


def test_a_condition_ends_a_turn_that_would_go_on():
    from qwen_agentkit.agents import MaxMessages, TextMention

    script = [["DONE, but one more: ", call("echo", text="a")], "never"]
    agent = bot(script, termination=TextMention("DONE") | MaxMessages(50))
    last = agent.run_nonstream(USER)
    assert len(agent.llm.requests) == 1 and "Not made" in results(last)[0]
    assert check_history([Message(**message) for message in [*USER, *last]]) == []
    again = bot([call("echo", text="a"), call("echo", text="DONE"), "x"], termination=TextMention("DONE"))
    again.run_nonstream([{"role": "user", "content": "say DONE when you are DONE"}])
    assert len(again.llm.requests) >= 2, "the task's own words do not end it"


def test_something_else_is_no_condition():
    with pytest.raises(ValueError, match="condition"):
        bot([], termination="DONE")
