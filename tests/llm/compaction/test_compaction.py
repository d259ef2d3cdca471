"""Making a history shorter: what each policy leaves out, what it never touches, and when it is applied."""

from __future__ import annotations

import copy
import pickle
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qwen_agentkit.errors import ModelServiceError, RunCancelled
from qwen_agentkit.events import HistoryCompacted
from qwen_agentkit.llm import get_chat_model
from qwen_agentkit.llm.compaction import (
    SUMMARIZE_RESULT,
    Budget,
    Compaction,
    PruneToolResults,
    RunningSummary,
    Window,
    compact,
    compact_after_turn,
    compact_now,
    compaction_from,
    read_summary,
)
from qwen_agentkit.llm.compaction.policy import rounds_of
from qwen_agentkit.llm.history import check_history, repair_history
from qwen_agentkit.llm.length import count_input_tokens
from qwen_agentkit.run_context import RunContext
from qwen_agentkit.schema import ContentItem, FunctionCall, Message
from qwen_agentkit.testing import ScriptedChatModel, reply
from tests.servers.model_server import Answer

PRUNE_BY_MODEL = {"summary": {}, "prune": {"by_model": True}}


def words(number: int) -> str:
    return " ".join(["motor", "handbook", "guarantee", "price"][i % 4] for i in range(number))


def round_of(number: int, size: int = 60, tools: int = 0) -> list[Message]:
    messages = [Message("user", f"question {number} {words(size)}")]
    for step in range(tools):
        function_id = f"call_{number:06x}{step:06x}"
        extra = {"function_id": function_id}
        messages.append(Message("assistant", "", function_call=FunctionCall("search", '{"q": "x"}'), extra=extra))
        messages.append(Message("function", f"result {number}.{step} {words(200)} the end", name="search", extra=extra))
    return [*messages, Message("assistant", f"answer {number} {words(size)}")]


def talk(rounds: int, size: int = 60, tools: int = 0) -> list[Message]:
    return [Message("system", "Be brief."), *(m for n in range(rounds) for m in round_of(n, size, tools))]


def budget(messages: list[Message], share: float = 0.5, **rest) -> Budget:
    """A budget that the history is over, to be brought down to a share of it."""
    tokens = count_input_tokens(messages)
    return Budget(low=int(tokens * share), high=tokens - 1, forced=True, **rest)


def model(replies=(), **cfg) -> ScriptedChatModel:
    scripted = ScriptedChatModel(list(replies))
    scripted.cfg.update(cfg)
    return scripted


def summarized(replies):
    """Asks that are answered from a list, and the prompts that were asked."""
    prompts: list[str] = []
    left = iter(replies)

    def ask(messages: list[Message]) -> str:
        prompts.append(str(messages[0].content))
        return next(left)

    return ask, prompts


# ---- rounds


def test_a_round_is_a_users_message_and_all_up_to_the_next():
    messages = talk(3, tools=2)
    head, rounds = rounds_of(messages)
    assert [m.role for m in head] == ["system"]
    assert [one[0].content.split()[1] for one in rounds] == ["0", "1", "2"]
    assert sum(map(len, rounds)) == len(messages) - 1


def test_what_stands_before_the_first_question_belongs_to_the_first_round():
    messages = [Message("assistant", "Welcome"), Message("user", "a"), Message("user", "b"), Message("assistant", "c")]
    assert rounds_of(messages) == ([], [messages])


# ---- window


def test_a_window_leaves_out_the_oldest_rounds_whole():
    messages = talk(10, tools=1)
    shorter = Window().compact(messages, budget(messages))
    assert shorter[0] is messages[0] and shorter[1].role == "user"
    assert shorter[-1] is messages[-1]
    assert count_input_tokens(shorter) <= budget(messages).low
    assert check_history(shorter) == []


def test_a_window_of_messages_keeps_whole_rounds():
    messages = talk(5)
    window = Window(max_messages=5)
    assert window.due(messages) and not window.due(messages[:3])
    shorter = window.compact(messages, Budget(low=10**6, high=10**6))
    assert [m.content.split()[:2] for m in shorter[1:]] == [
        [kind, str(n)] for n in (3, 4) for kind in ("question", "answer")
    ]


def test_a_window_of_tokens():
    messages = talk(5)
    shorter = Window(max_tokens=400).compact(messages, Budget(low=10**6, high=10**6))
    assert count_input_tokens(shorter) <= 400


def test_the_last_round_always_stays():
    messages = talk(1, size=500, tools=3)
    assert Window(max_messages=1).compact(messages, budget(messages, 0.01)) is messages


@pytest.mark.parametrize("bad", [0, -1, "5", True])
def test_a_window_of_nothing_is_refused(bad):
    with pytest.raises(ValueError, match="max_messages"):
        Window(max_messages=bad)


def test_the_cut_stays_where_it_is_for_many_turns():
    held = Budget(low=1000, high=1640)
    starts = set()
    messages = talk(1)
    for number in range(1, 60):
        messages = [*messages, *round_of(number)]
        shorter = Window().compact(messages, held)
        assert count_input_tokens(shorter) <= held.high
        starts.add(shorter[1].content)
    assert len(starts) < 20


# ---- pruning


def test_old_results_keep_both_ends_and_the_newest_stays_whole():
    messages = talk(1, tools=4)
    shorter = PruneToolResults().compact(messages, budget(messages, 0.3))
    results = [m for m in shorter if m.role == "function"]
    assert results[0].content.startswith("[Shortened result] result 0.0") and results[0].content.endswith("the end")
    assert results[-1] is [m for m in messages if m.role == "function"][-1]
    assert [m.extra for m in results] == [m.extra for m in messages if m.role == "function"]
    assert check_history(shorter) == []


def test_only_as_many_results_are_pruned_as_have_to_be():
    messages = talk(1, tools=4)
    tokens = count_input_tokens(messages)
    shorter = PruneToolResults().compact(messages, Budget(low=tokens - 50, high=tokens - 1, forced=True))
    changed = [old is not new for old, new in zip(messages, shorter, strict=True)]
    assert changed.count(True) == 1 and changed.index(True) == 3


def test_a_tools_own_conclusion_comes_first():
    messages = talk(1, tools=3)
    told = []

    def conclude(name: str, text: str) -> str | None:
        told.append(name)
        return "27 months" if "0.0" in text else None

    shorter = PruneToolResults().compact(messages, budget(messages, 0.1, summarize=conclude))
    results = [m.content for m in shorter if m.role == "function"]
    assert results[0] == "[Shortened result] 27 months"
    assert results[1].endswith("the end")
    assert set(told) == {"search"}


def test_a_tool_that_cannot_conclude_does_not_stop_the_compaction(caplog):
    messages = talk(1, tools=3)

    def broken(name: str, text: str) -> str:
        raise RuntimeError("no")

    shorter = PruneToolResults().compact(messages, budget(messages, 0.1, summarize=broken))
    assert shorter[3].content.endswith("the end")
    assert "could not sum up" in caplog.text


def test_a_model_concludes_once_for_each_result():
    messages = talk(1, tools=3)
    ask, prompts = summarized(["first conclusion", "second conclusion"])
    policy = PruneToolResults(by_model=True)
    first = policy.compact(messages, budget(messages, 0.1, ask=ask))
    second = policy.compact(messages, budget(messages, 0.1, ask=ask))
    assert first == second and len(prompts) == 2
    assert first[3].content == "[Shortened result] first conclusion"


def test_an_image_in_an_old_result_is_named():
    messages = talk(1, tools=2)
    messages[3] = messages[3].model_copy(
        update={"content": [ContentItem(text=words(300)), ContentItem(image="http://x/y.png")]}
    )
    shorter = PruneToolResults().compact(messages, budget(messages, 0.1))
    assert isinstance(shorter[3].content, str) and "[image]" in shorter[3].content


# ---- running summary


def test_what_falls_out_is_summed_up_in_the_system_message():
    messages = talk(10)
    ask, prompts = summarized(["The user asked ten things."])
    shorter = RunningSummary(200).compact(messages, budget(messages, 0.4, ask=ask))
    assert shorter[0].content.startswith("Be brief.\n\n")
    assert read_summary(shorter) == "The user asked ten things."
    assert shorter[-2:] == messages[-2:]
    assert "question 0" in prompts[0] and "question 9" not in prompts[0]
    assert check_history(shorter) == []


def test_a_summary_is_carried_on_and_each_round_is_summed_up_once():
    policy = RunningSummary(200)
    ask, prompts = summarized(["first", "second"])
    messages = talk(10)
    held = budget(messages, 0.4, ask=ask)
    policy.compact(messages, held)
    longer = [*messages, *(m for n in range(10, 14) for m in round_of(n))]
    shorter = policy.compact(longer, Budget(low=held.low, high=held.high, forced=True, ask=ask))
    assert read_summary(shorter) == "second"
    assert "first" in prompts[1] and "question 0" not in prompts[1]


def test_the_same_history_is_sent_the_same_and_asked_about_once():
    policy = RunningSummary(200)
    ask, prompts = summarized(["only"])
    messages = talk(10)
    held = budget(messages, 0.4, ask=ask)
    first = policy.compact(messages, held)
    assert policy.compact(copy.deepcopy(messages), held) == first
    assert len(prompts) == 1


def test_a_kept_summary_is_read_from_the_system_message():
    ask, prompts = summarized(["first", "second"])
    kept = RunningSummary(200).compact(talk(10), budget(talk(10), 0.4, ask=ask))
    longer = [*kept, *(m for n in range(10, 20) for m in round_of(n))]
    again = RunningSummary(200).compact(longer, budget(longer, 0.3, ask=ask))
    assert read_summary(again) == "second"
    assert "first" in prompts[1]
    assert again[0].content.count("<conversation_summary>") == 1


def test_a_system_message_in_parts_keeps_them():
    messages = talk(10)
    messages[0] = Message("system", [ContentItem(text="Be brief."), ContentItem(image="http://x/y.png")])
    ask, _ = summarized(["one", "two"])
    shorter = RunningSummary(200).compact(messages, budget(messages, 0.6, ask=ask))
    assert [item.type for item in shorter[0].content] == ["text", "image", "text"]
    again = [*shorter, *(m for n in range(10, 20) for m in round_of(n))]
    shorter = RunningSummary(200).compact(again, budget(again, 0.4, ask=ask))
    assert [item.type for item in shorter[0].content] == ["text", "image", "text"]
    assert read_summary(shorter) == "two"


def test_a_long_past_is_summed_up_in_parts():
    messages = talk(40, size=120)
    ask, prompts = summarized([f"part {n}" for n in range(40)])
    tokens = count_input_tokens(messages)
    held = Budget(low=tokens // 8, high=tokens // 5, forced=True, ask=ask)
    shorter = RunningSummary(summary_chars=100).compact(messages, held)
    assert len(prompts) > 2
    assert read_summary(shorter) == f"part {len(prompts) - 1}"
    assert all(f"part {n}" in prompts[n + 1] for n in range(len(prompts) - 1))


def test_the_length_of_a_summary_is_bounded_and_its_tags_cannot_break_out():
    messages = talk(10)
    ask, _ = summarized(["x" * 500 + "</conversation_summary>"])
    shorter = RunningSummary(summary_chars=100).compact(messages, budget(messages, 0.4, ask=ask))
    assert read_summary(shorter) == "x" * 100
    ask, _ = summarized(["a</conversation_summary>b"])
    shorter = RunningSummary(200).compact(messages, budget(messages, 0.4, ask=ask))
    assert read_summary(shorter) == "ab"


@pytest.mark.parametrize("reply", ["", "  \n"])
def test_an_empty_summary_leaves_the_history_as_it_is(reply):
    messages = talk(10)
    ask, _ = summarized([reply])
    assert RunningSummary(200).compact(messages, budget(messages, 0.4, ask=ask)) is messages


def test_without_a_model_there_is_no_summary():
    messages = talk(10)
    assert RunningSummary(200).compact(messages, budget(messages)) is messages


def test_the_newest_rounds_may_be_kept_out_of_the_summary():
    messages = talk(6)
    ask, prompts = summarized(["short"])
    shorter = RunningSummary(200, keep_rounds=4).compact(messages, budget(messages, 0.1, ask=ask))
    assert shorter[1:] == messages[5:]
    assert "question 1" in prompts[0] and "question 2" not in prompts[0]


def test_a_summary_survives_copying_and_pickling():
    policy = RunningSummary(200)
    ask, prompts = summarized(["only"])
    messages = talk(10)
    held = budget(messages, 0.4, ask=ask)
    first = policy.compact(messages, held)
    for copied in (copy.deepcopy(policy), pickle.loads(pickle.dumps(policy))):
        assert copied.compact(messages, held) == first
    assert len(prompts) == 1


# ---- when, and by what


def test_compaction_begins_at_one_share_and_goes_down_to_another():
    messages = talk(20)
    tokens = count_input_tokens(messages)
    asked = model(compaction={"by": "window", "max_tokens": int(tokens / 0.8)})
    assert compact(asked, messages) == messages
    asked = model(compaction={"by": "window", "max_tokens": int(tokens / 0.83)})
    shorter = compact(asked, messages)
    assert count_input_tokens(shorter) <= tokens / 0.83 * 0.55
    assert shorter[-1] is messages[-1]


def test_tools_count():
    messages = talk(20)
    tokens = count_input_tokens(messages)
    asked = model(compaction={"by": "window", "max_tokens": int(tokens / 0.8)})
    assert len(compact(asked, messages, [{"name": "f", "description": words(400)}])) < len(messages)


def test_a_model_without_the_setting_gets_the_history_as_it_is():
    messages = talk(30)
    assert compact(model(), messages) == messages


def test_the_summary_is_written_by_the_model_itself_and_not_compacted_in_turn():
    messages = talk(20)
    tokens = count_input_tokens(messages)
    asked = model(["A summary."], compaction={"by": "summary", "summary_chars": 200, "max_tokens": tokens})
    shorter = compact(asked, messages)
    assert read_summary(shorter) == "A summary."
    asked.assert_complete()
    assert compact(asked, messages) == shorter


def test_a_failed_summary_leaves_the_messages_as_they_were():
    messages = talk(20)
    broken = ScriptedChatModel([ModelServiceError(code="400", message="no")])
    broken.cfg["compaction"] = {"by": "summary", "summary_chars": 200, "max_tokens": count_input_tokens(messages)}
    assert compact(broken, messages) == messages


@pytest.mark.parametrize("by", ["summary", "prune"])
def test_a_cancel_during_a_compaction_is_heard_within_half_a_second(by):
    messages = talk(20, tools=2)
    setting = {"by": by, "summary_chars": 200, "max_tokens": count_input_tokens(messages)}
    asked = model([reply("A summary.", hang_after=0)], compaction={**setting, **PRUNE_BY_MODEL[by]})
    run = RunContext("bot")
    cancelled_at = []

    def cancel():
        cancelled_at.append(time.monotonic())
        run.cancel.cancel("stop")

    threading.Timer(0.2, cancel).start()
    with pytest.raises(RunCancelled):
        run.enter().run(lambda: list(asked.chat(messages)))
    assert time.monotonic() - cancelled_at[0] < 0.5
    assert len(asked.requests) == 1  # the question itself was never asked


def test_a_cancel_during_a_summary_by_a_service_is_heard_within_half_a_second(oai_server):
    oai_server.script = [Answer("never comes", hang=True)]
    messages = talk(20)
    setting = {"by": "summary", "summary_chars": 200, "max_tokens": count_input_tokens(messages)}
    asked = get_chat_model({"model": "m", "model_server": oai_server.url, "compaction": setting})
    run = RunContext("bot")
    cancelled_at = []

    def cancel():
        while not oai_server.seen:
            time.sleep(0.02)
        cancelled_at.append(time.monotonic())
        run.cancel.cancel("stop")

    threading.Thread(target=cancel, daemon=True).start()
    with pytest.raises(RunCancelled):
        run.enter().run(lambda: list(asked.chat(messages)))
    assert time.monotonic() - cancelled_at[0] < 0.5


def test_a_tool_that_is_cancelled_while_it_concludes_ends_the_run():
    def cancelled(name, text):
        raise RunCancelled("stop")

    messages = talk(1, tools=4)
    asked = model(compaction={"by": "prune", "max_tokens": count_input_tokens(messages)})
    run = RunContext("bot")
    run.state[SUMMARIZE_RESULT] = cancelled
    with pytest.raises(RunCancelled):
        run.enter().run(compact, asked, messages)


def test_policies_are_chained_until_the_history_is_short_enough():
    messages = talk(6, tools=2)
    tokens = count_input_tokens(messages)
    compaction = Compaction((PruneToolResults(), Window()), max_tokens=tokens)
    assert len(compact(model(compaction=compaction), messages)) == len(messages)  # pruning was enough
    compaction = Compaction((PruneToolResults(), Window()), max_tokens=tokens // 4)
    shorter = compact(model(compaction=compaction), messages)
    assert len(shorter) < len(messages) and check_history(shorter) == []


def test_the_last_users_message_is_exact():
    messages = [*talk(10), Message("user", "exactly this")]
    for by in ("window", "prune", ["prune", "window"]):
        shorter = compact_now(messages, by={"by": by, "max_tokens": 300})
        assert [m for m in shorter if m.role == "user"][-1].content == "exactly this"


def test_by_hand_the_history_is_brought_down_at_once():
    messages = talk(20)
    tokens = count_input_tokens(messages)
    shorter = compact_now(
        [m.model_dump() for m in messages], by={"by": "window", "max_tokens": tokens * 10, "compact_to": 0.05}
    )
    assert count_input_tokens(shorter) <= tokens / 2
    with pytest.raises(ValueError, match="max_tokens"):
        compact_now(messages, by="window" and Window())


def test_after_a_turn_the_kept_history_is_made_shorter():
    messages = talk(20)
    asked = model(compaction={"by": "window", "when": "after_turn", "max_tokens": count_input_tokens(messages)})
    assert compact(asked, messages) == messages
    assert len(compact_after_turn(asked, messages)) < len(messages)
    assert compact_after_turn(model(), messages) == messages


def test_the_run_is_told_once_for_the_same_cut():
    messages = talk(20)
    asked = model(compaction={"by": "window", "max_tokens": count_input_tokens(messages)})
    events = []
    run = RunContext("bot", sink=events.append)
    run.enter().run(lambda: [compact(asked, messages) for _ in range(3)])
    (event,) = [one for one in events if isinstance(one, HistoryCompacted)]
    assert event.policy == "window" and event.tokens_before > event.tokens_after > 0


def test_tools_conclude_through_the_runs_state():
    messages = talk(1, tools=4)
    asked = model(compaction={"by": "prune", "max_tokens": count_input_tokens(messages)})
    run = RunContext("bot")
    run.state[SUMMARIZE_RESULT] = lambda name, text: f"{name} found it"
    shorter = run.enter().run(compact, asked, messages)
    assert shorter[3].content == "[Shortened result] search found it"


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ({"by": "magic"}, "'magic'"),
        ({"compact_at": 0.5, "compact_to": 0.8}, "compact_to and compact_at"),
        ({"compact_at": 2}, "compact_to and compact_at"),
        ({"when": "later"}, "'later'"),
        ({"by": "window", "summary_chars": 5}, "'summary_chars'"),
        ({"by": "summary", "summary_chars": 5}, "summary_chars"),
        ({"max_tokens": -1}, "max_tokens"),
        (5, "compact"),
        ((), "at least one"),
    ],
)
def test_a_wrong_setting_says_what_is_wrong(setting, problem):
    with pytest.raises(ValueError, match=problem):
        compaction_from(setting)


def test_settings_in_their_forms():
    assert compaction_from(None) is None and compaction_from(False) is None
    assert [p.name for p in compaction_from(True).policies] == ["prune_tool_results", "running_summary"]
    held = compaction_from({"by": ["prune", "summary"], "summary_chars": 300, "keep_steps": 2, "compact_at": 0.9})
    assert held.policies[0].keep_steps == 2 and held.policies[1].summary_chars == 300 and held.compact_at == 0.9
    assert compaction_from(held) is held
    assert compaction_from(Window()).policies == (Window(),)
    assert compaction_from([Window(), PruneToolResults()]).policies == (Window(), PruneToolResults())
    assert (compaction_from(True).compact_at, compaction_from(True).compact_to) == (0.82, 0.5)


STEPS = st.lists(
    st.one_of(
        st.builds(Message, st.just("user"), st.integers(0, 80).map(words)),
        st.builds(Message, st.just("assistant"), st.integers(0, 80).map(words)),
        st.builds(
            lambda n: Message("assistant", "", function_call=FunctionCall("f", "{}"), extra={"function_id": str(n)}),
            st.integers(0, 3),
        ),
        st.builds(
            lambda n, size: Message("function", words(size), name="f", extra={"function_id": str(n)}),
            st.integers(0, 3),
            st.integers(0, 400),
        ),
    ),
    min_size=1,
    max_size=20,
)


@settings(max_examples=150, deadline=None)
@given(
    STEPS,
    st.sampled_from(["window", "prune", "summary", ["prune", "window"], ["prune", "summary", "window"]]),
    st.sampled_from([100, 400, 2000]),
)
def test_any_history_stays_valid_and_its_last_question_exact(steps, by, max_tokens):
    messages = repair_history([Message("system", "s"), *steps])
    before = [m.model_dump() for m in messages]
    asked = ScriptedChatModel(["A summary."] * 40)
    shorter = compact_now(messages, asked, by={"by": by, "max_tokens": max_tokens})
    assert check_history(shorter) == []
    assert [m.model_dump() for m in messages] == before
    questions = [m for m in messages if m.role == "user"]
    if questions:
        assert [m for m in shorter if m.role == "user"][-1] == questions[-1]
    assert count_input_tokens(shorter) <= count_input_tokens(messages)
