"""Agents as nodes that give way to each other."""

import itertools
import json
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qwen_agentkit.agent import Agent, BasicAgent
from qwen_agentkit.agents.fncall_agent import FnCallAgent
from qwen_agentkit.agents.graph import Graph
from qwen_agentkit.agents.group.conditions import MaxRounds, Seconds, TextMention
from qwen_agentkit.agents.group.edges import Edge
from qwen_agentkit.agents.group.state import TeamState
from qwen_agentkit.agents.group_chat import GroupChat
from qwen_agentkit.agents.user_agent import PENDING_USER_INPUT, UserAgent
from qwen_agentkit.cancel import CancelToken
from qwen_agentkit.llm.history import check_history
from qwen_agentkit.schema import Message
from qwen_agentkit.testing import ScriptedChatModel, call
from tests.agents.looking import Look

ASK = [Message("user", "Go")]


class Node(Agent):
    """Says the lines it was given, one a turn, the last one for ever; which turn it is shows in its view."""

    def __init__(self, name, *lines):
        super().__init__(name=name)
        self.lines = lines or (f"{name} says",)

    def _run(self, messages, lang="en", **kwargs):
        turn = sum(message.role == "assistant" for message in messages)
        yield [Message("assistant", self.lines[min(turn, len(self.lines) - 1)])]


def nodes(text, **lines):
    return [Node(name, *lines.get(name, ())) for name in text]


def edges(text):
    return [tuple(pair) for pair in text.split()]


def order(graph, messages=ASK, **kwargs):
    return "".join(message.name for message in graph.run_nonstream(messages, **kwargs))


# ---- sequences, branches, joins


def test_nodes_run_along_the_edges_and_the_graph_is_then_complete():
    state = TeamState()
    assert order(Graph(nodes("abc"), edges("ab bc")), state=state) == "abc"
    assert state.stop_reason == "the graph is complete"


def test_edges_may_name_agents_or_names():
    a, b = nodes("ab")
    assert order(Graph([a, b], [(a, b)])) == "ab"
    assert order(Graph([a, b], [Edge("a", "b")])) == "ab"


def test_each_node_sees_the_whole_conversation():
    model = ScriptedChatModel(["done"])
    graph = Graph([*nodes("ab"), BasicAgent(llm=model, name="c")], [("a", "b"), ("b", "c")])
    graph.run_nonstream(ASK)
    assert model.requests[0].messages[-1].content == "user: Go\na: a says\nb: b says\nc: "


def test_branches_run_at_the_same_time_and_join():
    both = threading.Barrier(2, timeout=5)

    class Meeting(Node):
        def _run(self, messages, **kwargs):
            both.wait()
            yield from super()._run(messages, **kwargs)

    team = [*nodes("a"), Meeting("b"), Meeting("c"), *nodes("d")]
    assert order(Graph(team, edges("ab ac bd cd"))) == "abcd"


def test_a_conversation_is_the_same_whichever_branch_is_faster():
    class Slow(Node):
        def _run(self, messages, **kwargs):
            time.sleep(0.05)
            yield from super()._run(messages, **kwargs)

    assert order(Graph([*nodes("a"), Slow("b"), *nodes("cd")], edges("ab ac bd cd"))) == "abcd"
    assert order(Graph([*nodes("ab"), Slow("c"), *nodes("d")], edges("ab ac bd cd"))) == "abcd"


def test_what_has_been_shown_of_branches_only_grows():
    def talker(name):
        return BasicAgent(llm=ScriptedChatModel([f"{name} one two three four"], chunk_size=3), name=name)

    graph = Graph([talker(name) for name in "abcd"], edges("ab ac bd cd"))
    shown = [[message.content for message in response] for response in graph.run(ASK)]
    for before, after in itertools.pairwise(shown):
        assert len(after) >= len(before)
        assert all(new.startswith(old) for old, new in zip(before, after, strict=False))


def test_all_waits_for_a_longer_way_and_any_does_not():
    shape = "ab bd ac ce ed"
    assert order(Graph(nodes("abcde"), edges(shape))) == "abced"
    assert order(Graph(nodes("abcde"), edges(shape), joins={"d": "any"})) == "abcded".replace(
        "ced", "cdeD".replace("D", "d")
    )


# ---- conditions


def test_a_text_condition_looks_at_the_sources_last_words():
    team = nodes("abc", a=("please REVISE",))
    assert order(Graph(team, [Edge("a", "b", "REVISE"), Edge("a", "c", "APPROVE")])) == "ab"


def test_a_function_condition_gets_the_sources_reply():
    seen = []

    def when(reply):
        seen.extend(message.content for message in reply)
        return False

    assert order(Graph(nodes("ab"), [Edge("a", "b", when)])) == "a"
    assert seen == ["a says"]


def test_otherwise_is_taken_when_no_other_edge_is():
    shape = [Edge("a", "b", "REVISE"), Edge("a", "c", otherwise=True)]
    assert order(Graph(nodes("abc"), shape)) == "ac"
    assert order(Graph(nodes("abc", a=("REVISE",)), shape)) == "ab"


def test_an_all_join_does_not_wait_for_a_way_that_was_not_taken():
    shape = [Edge("a", "b", "left"), Edge("a", "c", "right"), Edge("b", "d"), Edge("c", "d")]
    assert order(Graph(nodes("abcd", a=("left",)), shape)) == "abd"
    assert order(Graph(nodes("abcd", a=("left and right",)), shape)) == "abcd"


# ---- loops


def writer_and_critic(**kwargs):
    team = nodes("wce", w=("draft 1", "draft 2", "draft 3"), c=("REVISE", "REVISE", "FINE"))
    return Graph(team, [("w", "c"), Edge("c", "w", "REVISE"), Edge("c", "e", "FINE")], start="w", **kwargs)


def test_a_loop_goes_round_until_its_condition_lets_it_out():
    response = writer_and_critic(max_steps=20).run_nonstream(ASK)
    assert [m.content for m in response] == ["draft 1", "REVISE", "draft 2", "REVISE", "draft 3", "FINE", "e says"]


def test_a_loop_is_bounded_by_steps_or_a_termination():
    response = writer_and_critic(max_steps=3).run_nonstream(ASK)
    assert [m.content for m in response] == ["draft 1", "REVISE", "draft 2"]
    assert response[-1].extra["end"] == "limit:steps"
    assert order(writer_and_critic(termination=MaxRounds(2))) == "wc"


def test_a_node_may_lead_to_itself():
    team = nodes("ueo", e=("again", "again", "out"))
    graph = Graph(team, [("u", "e"), Edge("e", "e", "again"), Edge("e", "o", "out")], max_steps=9)
    assert order(graph) == "ueeeo"


def test_two_joins_that_wait_for_each_other_do_not_stop_the_graph():
    shape = [("s", "a"), ("s", "b"), Edge("a", "b", "x"), Edge("b", "a", "x")]
    assert sorted(order(Graph(nodes("sab"), shape, max_steps=9))) == ["a", "b", "s"]


# ---- checks when built


@pytest.mark.parametrize(
    ("text", "shape", "kwargs", "says"),
    [
        ("ab", [("a", "z")], {}, "names 'z'; the nodes are: a, b"),
        ("ab", ["ab"], {}, "An edge is an Edge"),
        ("ab", [("a", "b"), ("a", "b")], {}, "there twice"),
        ("ab", edges("ab ba"), {}, "where the graph begins"),
        ("abc", edges("ab"), {"start": "a"}, "No way leads to c"),
        ("ab", edges("ab"), {"start": "z"}, "start 'z' is no node"),
        ("abc", [("a", "b"), Edge("a", "c", "x")], {}, "all have a condition or none has"),
        ("abc", edges("ab bc cb"), {"max_steps": 5}, "no end"),
        ("abcd", [*edges("ab bc cb"), ("a", "d")], {"max_steps": 5}, "has no condition and can never be left"),
        ("ab", [("a", "b"), Edge("b", "a", "x")], {"start": "a"}, "give a termination or max_steps"),
        ("ab", edges("ab"), {"joins": {"b": "most"}}, "joins all and any"),
        ("ab", edges("ab"), {"max_steps": 0}, "max_steps"),
    ],
)
def test_a_graph_that_cannot_be_right_is_refused_when_it_is_built(text, shape, kwargs, says):
    with pytest.raises(ValueError, match=says):
        Graph(nodes(text), shape, **kwargs)


def test_edges_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="one of the two"):
        Edge("a", "b", "x", otherwise=True)
    with pytest.raises(ValueError, match="a text, a function or None"):
        Edge("a", "b", 5)


# ---- again, saved, in teams


def test_a_graph_runs_again_after_its_termination_fired():
    graph = Graph(nodes("ab"), edges("ab"), termination=TextMention("b says"))
    assert order(graph) == order(graph) == "ab"
    state = TeamState()
    assert order(graph, state=state) + order(graph, [Message("user", "More")], state=state) == "abab"


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 7), st.integers(0, 7))
def test_a_saved_loop_goes_on_where_it_was(first, second):
    whole = writer_and_critic(max_steps=20).run_nonstream(ASK)
    state = TeamState()
    for number, yields in enumerate((first, second)):
        run = writer_and_critic(max_steps=20).run([] if number else ASK, state=state)
        for _ in range(yields):
            next(run, None)
        run.close()
        state = TeamState.from_json(json.loads(json.dumps(state.to_json())))
        if not state.open:
            break
    if state.open or not state.messages:
        writer_and_critic(max_steps=20).run_nonstream(ASK, state=state)
    assert [m.content for m in state.response] == [m.content for m in whole]


def test_a_branch_that_ended_before_the_break_is_not_run_again():
    runs = []

    class Counted(Node):
        def _run(self, messages, **kwargs):
            runs.append(self.name)
            yield from super()._run(messages, **kwargs)

    class Failing(Counted):
        def _run(self, messages, **kwargs):
            runs.append(self.name)
            if runs.count(self.name) == 1:
                time.sleep(0.1)
                raise RuntimeError("out of order")
            yield [Message("assistant", "c at last")]

    graph = Graph([*nodes("a"), Counted("b"), Failing("c"), *nodes("d")], edges("ab ac bd cd"))
    state = TeamState()
    with pytest.raises(RuntimeError, match="out of order") as raised:
        graph.run_nonstream(ASK, state=state)
    assert raised.value.__notes__ == ["It was the turn of 'c' in a team."]
    response = graph.run_nonstream([], state=TeamState.from_json(json.loads(json.dumps(state.to_json()))))
    assert [m.content for m in response] == ["a says", "b says", "c at last", "d says"]
    assert sorted(runs) == ["b", "c", "c"]


def test_a_fork_keeps_branches_together():
    graph, state = Graph(nodes("abcd"), edges("ab ac bd cd")), TeamState()
    whole = graph.run_nonstream(ASK, state=state)
    assert len(state.fork(at=2).turns) == 1
    for at in range(4):
        assert [m.content for m in graph.run_nonstream([], state=state.fork(at=at))] == [m.content for m in whole]


def test_a_graph_waits_for_a_human_and_goes_on_behind_them():
    graph = Graph([*nodes("a"), UserAgent(name="Ada"), *nodes("b")], [("a", "Ada"), ("Ada", "b")])
    state = TeamState()
    response = graph.run_nonstream(ASK, state=state)
    assert response[-1].content == PENDING_USER_INPUT
    assert response[-1].extra["end"] == "paused"
    assert order(graph, [Message("user", "yes")], state=TeamState.from_json(state.to_json())) == "b"


def test_nodes_with_tools_leave_a_valid_history():
    model = ScriptedChatModel([[call("look"), call("look")], "Seen."])
    graph = Graph([FnCallAgent([Look()], model, name="a"), *nodes("bc")], edges("ab ac"))
    assert check_history([*ASK, *graph.run_nonstream(ASK)]) == []


def test_a_graph_may_be_a_member_and_a_node_may_be_a_team():
    graph = Graph(nodes("ab"), edges("ab"), name="g")
    assert [m.name for m in GroupChat([graph, *nodes("c")], "round_robin", max_round=2).run_nonstream(ASK)] == [
        "a",
        "b",
        "c",
    ]
    inner = GroupChat(nodes("xy"), "round_robin", max_round=2, name="t")
    assert [m.name for m in Graph([inner, *nodes("z")], [("t", "z")]).run_nonstream(ASK)] == ["x", "y", "z"]


def test_seconds_break_off_branches_in_a_blocked_read():
    from qwen_agentkit.testing import reply

    def stuck(name):
        return BasicAgent(llm=ScriptedChatModel([reply("x y", chunks=["x ", "y"], hang_after=1)]), name=name)

    graph = Graph([stuck("a"), stuck("b")], [], termination=Seconds(0.2))
    began = time.monotonic()
    response = graph.run_nonstream(ASK)
    assert time.monotonic() - began < 2
    assert response[-1].extra["end"] == "limit:seconds"


def test_a_cancel_ends_all_branches():
    from qwen_agentkit.testing import reply

    def stuck(name):
        return BasicAgent(llm=ScriptedChatModel([reply("x y", chunks=["x ", "y"], hang_after=1)]), name=name)

    token = CancelToken()
    threading.Timer(0.1, token.cancel).start()
    began = time.monotonic()
    response = Graph([stuck("a"), stuck("b")], []).run_nonstream(ASK, cancel=token)
    assert time.monotonic() - began < 1
    assert response[-1].extra["end"] == "cancelled"


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_graph_that_can_be_built_ends(data):
    names = "abcde"[: data.draw(st.integers(1, 5))]
    pairs = [(one, other) for one in names for other in names]
    chosen = data.draw(st.lists(st.sampled_from(pairs), unique=True, max_size=10))
    lines = {
        name: data.draw(st.lists(st.sampled_from(["x", "y", "x y", ""]), min_size=1, max_size=3)) for name in names
    }
    conditional = {name: data.draw(st.booleans()) for name in names}
    made = [
        Edge(one, other, data.draw(st.sampled_from(["x", "y"])) if conditional[one] else None) for one, other in chosen
    ]
    joins = {name: data.draw(st.sampled_from(["all", "any"])) for name in names}
    try:
        graph = Graph(nodes(names, **lines), made, start=names[0], joins=joins, max_steps=12)
    except ValueError:
        return
    response = graph.run_nonstream(ASK)
    assert len(response) <= 12 + len(names)
    assert response[0].name == names[0]
