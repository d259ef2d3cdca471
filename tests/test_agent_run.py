"""`Agent.run`: what a `_run` gets, what its reader gets."""

import asyncio
import copy
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwen_agentkit import Agent, CancelToken, Message, RunLimits
from qwen_agentkit.errors import RunLimitExceeded
from qwen_agentkit.events import RunEnded, RunStarted, TextDelta, ToolCallFinished, ToolCallStarted
from qwen_agentkit.run_context import current_run
from qwen_agentkit.schema import ContentItem, FunctionCall

USER = [{"role": "user", "content": "hi"}]


class Steps(Agent):
    """Yields the given lists, all through one list that it keeps changing."""

    def __init__(self, steps, **kwargs):
        super().__init__(**kwargs)
        self.steps = steps

    def _run(self, messages, lang="en", **kwargs):
        response: list[Message] = []
        for step in self.steps:
            response[:] = [message.model_copy() for message in step]
            yield response


class Spy(Agent):
    """Says back what its `_run` was given."""

    def _run(self, messages, lang="en", **kwargs):
        self.seen = (messages, lang, kwargs)
        yield [Message("assistant", "ok")]


def ended(response):
    """The response without the note of how the run ended."""
    plain = copy.deepcopy(response)
    for message in plain:
        extra = {key: value for key, value in (message.get("extra") or {}).items() if key != "end"}
        message["extra"] = extra or None
    return [Message(**message) for message in plain]


def test_all_dicts_in_gives_dicts_out_and_anything_else_messages():
    agent = Steps([[Message("assistant", "a")]])
    assert type(agent.run_nonstream(USER)[0]) is dict
    assert type(agent.run_nonstream([Message("user", "hi")])[0]) is Message
    assert type(agent.run_nonstream([*USER, Message("user", "hi")])[0]) is Message
    assert type(agent.run_nonstream([])[0]) is Message


def test_the_input_is_never_changed_and_is_read_when_run_is_called():
    given_messages = [{"role": "user", "content": [{"text": "hi"}], "extra": {"k": [1]}}]
    before = copy.deepcopy(given_messages)
    agent = Spy(system_message="Be kind.")
    steps = agent.run(given_messages)
    given_messages[0]["content"][0]["text"] = "changed"
    list(steps)
    assert agent.seen[0][1].content == [ContentItem(text="hi")]
    agent.seen[0][1].extra["k"].append(2)
    given_messages[0]["content"][0]["text"] = "hi"
    assert given_messages == before


def test_wrong_input_raises_at_the_call():
    with pytest.raises(ValueError, match="list of messages"):
        Spy().run("hello")


@pytest.mark.parametrize(
    ("messages", "lang"),
    [
        ([Message("user", "hello")], "en"),
        ([Message("user", "你好")], "zh"),
        ([Message("system", "用中文"), Message("user", "hello")], "zh"),
        ([Message("user", "hello"), Message("assistant", "你好"), Message("user", "why?")], "en"),
        ([Message("user", [ContentItem(text="图里是什么"), ContentItem(image="a.png")])], "zh"),
    ],
)
def test_the_language_is_found_in_system_and_user_text(messages, lang):
    agent = Spy()
    list(agent.run(messages))
    assert agent.seen[1] == lang


def test_a_given_language_wins():
    agent = Spy()
    list(agent.run([Message("user", "你好")], lang="en"))
    assert agent.seen[1] == "en"


@pytest.mark.parametrize(
    ("messages", "first"),
    [
        ([Message("user", "q")], "Be kind."),
        ([Message("system", "Be short."), Message("user", "q")], "Be kind.\n\nBe short."),
        (
            [Message("system", [ContentItem(text="Be short.")]), Message("user", "q")],
            [ContentItem(text="Be kind.\n\n"), ContentItem(text="Be short.")],
        ),
    ],
)
def test_the_system_message_is_added_or_put_in_front(messages, first):
    agent = Spy(system_message="Be kind.")
    list(agent.run(messages))
    assert agent.seen[0][0] == Message("system", first)
    assert sum(message.role == "system" for message in agent.seen[0]) == 1


@pytest.mark.parametrize("system_message", [None, ""])
def test_an_agent_without_a_system_message_adds_none(system_message):
    agent = Spy(system_message=system_message)
    list(agent.run(USER))
    assert [message.role for message in agent.seen[0]] == ["user"]


def test_other_arguments_reach_run_unchanged():
    agent = Spy()
    list(agent.run(USER, knowledge="k", seed=3, cancel="not a token", limits=5))
    assert agent.seen[2] == {"knowledge": "k", "seed": 3, "cancel": "not a token", "limits": 5}


def test_a_run_method_without_kwargs_gets_only_what_it_declares():
    class Narrow(Agent):
        def _run(self, messages, depth=1):
            yield [Message("assistant", str(depth))]

    assert Narrow().run_nonstream(USER, depth=4, other=True)[0]["content"] == "4"


def test_replies_without_a_name_get_the_agents():
    agent = Steps(
        [[Message("assistant", "a"), Message("function", "r", name="f"), Message("assistant", "b")]], name="Mia"
    )
    assert [message.name for message in agent.run_nonstream([Message("user", "q")])] == ["Mia", "f", "Mia"]


def test_run_nonstream_is_the_last_yield_and_empty_when_there_is_none():
    assert Steps([]).run_nonstream(USER) == []
    assert Steps([[Message("assistant", "a")], [Message("assistant", "ab")]]).run_nonstream(USER)[0]["content"] == "ab"


def test_a_run_that_yields_something_else_says_so():
    class Wrong(Agent):
        def _run(self, messages, **kwargs):
            yield Message("assistant", "x")

    with pytest.raises(ValueError, match="list of messages"):
        list(Wrong().run(USER))


def test_unchanged_messages_are_shared_between_yields_and_changed_ones_are_new():
    first, second = Message("assistant", "a"), Message("assistant", "b")
    yields = list(Steps([[first], [first, second], [first, Message("assistant", "bc")]]).run([Message("user", "q")]))
    assert yields[0][0] is yields[1][0] is yields[2][0]
    assert yields[1][1] is not yields[2][1] and yields[1][1].content == "b"


step = st.lists(
    st.builds(
        Message,
        role=st.just("assistant"),
        content=st.text(max_size=3) | st.lists(st.builds(lambda text: ContentItem(text=text), st.text(max_size=2))),
        extra=st.none() | st.dictionaries(st.sampled_from("ab"), st.lists(st.integers(), max_size=2)),
    ),
    max_size=4,
)


@given(st.lists(step, max_size=6))
def test_yields_never_change_after_they_were_given(steps):
    for messages in (USER, [Message("user", "hi")]):
        kept, frozen = [], []
        for response in Steps(steps).run(messages):
            kept.append(response)
            frozen.append(copy.deepcopy(response))
        assert kept == frozen


@given(st.lists(step, max_size=6))
def test_dict_and_message_runs_say_the_same(steps):
    agent = Steps(steps, name="n")
    as_messages = [[message.model_dump() for message in response] for response in agent.run([Message("user", "hi")])]
    assert list(agent.run(USER)) == as_messages


@given(st.lists(step, max_size=5))
def test_run_nonstream_arun_and_events_tell_the_same_story(steps):
    agent = Steps(steps)
    streamed = list(agent.run(USER))

    async def read():
        return [response async for response in agent.arun(USER)]

    assert asyncio.run(read()) == streamed
    assert agent.run_nonstream(USER) == (streamed[-1] if streamed else [])
    events = list(agent.run_events(USER))
    assert isinstance(events[0], RunStarted) and isinstance(events[-1], RunEnded)
    assert [event.seq for event in events] == sorted({event.seq for event in events})


def test_text_deltas_add_up_to_the_message():
    words = ["w0 ", "w0 w1 ", "w0 w1 w2"]
    agent = Steps([[Message("assistant", word)] for word in words], name="Mia")
    deltas = [event for event in agent.run_events(USER) if isinstance(event, TextDelta)]
    assert "".join(event.text for event in deltas) == words[-1]
    assert {event.agent for event in deltas} == {"Mia"} and len({event.message_id for event in deltas}) == 1


def test_tool_events_of_an_agent_that_only_yields_messages():
    call = Message("assistant", "", function_call=FunctionCall("f", "{}"), extra={"function_id": "call_1"})
    result = Message("function", "42", name="f", extra={"function_id": "call_1"})
    events = list(Steps([[call], [call, result]]).run_events(USER))
    started = [event for event in events if isinstance(event, ToolCallStarted)]
    finished = [event for event in events if isinstance(event, ToolCallFinished)]
    assert [event.call_id for event in started + finished] == ["call_1", "call_1"]
    assert finished[0].result == "42" and finished[0].outcome == "ok"


def test_interleaved_runs_of_one_agent_do_not_mix():
    class Counting(Agent):
        def _run(self, messages, **kwargs):
            for _ in range(3):
                yield [Message("assistant", f"{current_run().run_id} {messages[-1].content}")]

    agent = Counting()
    first, second = agent.run([Message("user", "a")]), agent.run([Message("user", "b")])
    seen = [next(first)[0].content, next(second)[0].content, next(first)[0].content, next(second)[0].content]
    assert seen[0] == seen[2] and seen[1] == seen[3] and seen[0].split()[0] != seen[1].split()[0]
    assert current_run() is None


def test_one_run_may_be_advanced_from_several_threads():
    class Asking(Agent):
        def _run(self, messages, **kwargs):
            for _ in range(8):
                yield [Message("assistant", current_run().run_id)]

    steps, seen, lock = Asking().run(USER), [], threading.Lock()

    def advance():
        with lock:
            seen.append(next(steps)[0]["content"])

    threads = [threading.Thread(target=advance) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8 and len(set(seen)) == 1


class Endless(Agent):
    """Goes on for ever; tells when its generator was closed."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.closed = threading.Event()
        self.token: Any = None

    def _run(self, messages, **kwargs):
        self.token = current_run().cancel
        number = 0
        try:
            while True:
                number += 1
                yield [Message("assistant", "x" * number)]
        finally:
            self.closed.set()


def test_closing_the_generator_closes_run_and_cancels_what_it_started():
    agent = Endless()
    steps = agent.run(USER)
    next(steps)
    steps.close()
    assert agent.closed.is_set() and agent.token.cancelled


def test_a_cancelled_token_ends_the_run_with_what_there_is():
    agent, token = Endless(), CancelToken()
    last = []
    for number, response in enumerate(agent.run(USER, cancel=token)):
        last = response
        if number == 2:
            token.cancel()
        assert number < 10
    assert last[-1]["content"] == "xxx" and last[-1]["extra"]["end"] == "cancelled"
    assert agent.closed.is_set()


def test_a_reader_that_leaves_does_not_cancel_the_programs_token():
    token = CancelToken()
    steps = Endless().run(USER, cancel=token)
    next(steps)
    steps.close()
    assert not token.cancelled


def test_a_cancel_answers_the_open_calls():
    call = Message("assistant", "", function_call=FunctionCall("f", "{}"), extra={"function_id": "call_1"})
    token = CancelToken()

    class Hanging(Agent):
        def _run(self, messages, **kwargs):
            yield [call]
            token.cancel()
            yield [call]

    last = list(Hanging().run([Message("user", "q")], cancel=token))[-1]
    assert [message.role for message in last] == ["assistant", "function"]
    assert last[1].extra["function_id"] == "call_1" and last[-1].extra["end"] == "cancelled"


def test_leaving_an_async_loop_cancels_the_run():
    agent = Endless()

    async def read():
        stream = agent.arun(USER)
        async for _ in stream:
            break
        await stream.aclose()

    asyncio.run(read())
    assert agent.closed.wait(2) and agent.token.cancelled


def test_cancelling_the_task_cancels_the_run():
    agent = Endless()

    async def read():
        async for _ in agent.arun(USER):
            await asyncio.sleep(0.01)

    async def main():
        task = asyncio.create_task(read())
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert agent.closed.wait(2)


def test_a_full_queue_pauses_the_producer():
    agent = Endless()
    events = agent.run_events(USER)
    next(events)
    threading.Event().wait(0.3)
    assert not agent.closed.is_set()
    second = next(events)
    events.close()
    assert second.seq == 2 and agent.closed.wait(2)


def test_an_error_reaches_every_reader():
    class Failing(Agent):
        def _run(self, messages, **kwargs):
            yield [Message("assistant", "a")]
            raise KeyError("gone")

    agent = Failing()
    with pytest.raises(KeyError):
        list(agent.run(USER))
    with pytest.raises(KeyError):
        asyncio.run(_drain(agent.arun(USER)))
    seen = []
    with pytest.raises(KeyError):
        for event in agent.run_events(USER):
            seen.append(event)
    assert isinstance(seen[-1], RunEnded) and seen[-1].reason == "error" and "gone" in seen[-1].error


async def _drain(stream):
    async for _ in stream:
        pass


def test_a_sub_agents_events_are_told_once_under_its_own_name():
    inner = Steps([[Message("assistant", "he")], [Message("assistant", "hello")]], name="inner")

    class Outer(Agent):
        def _run(self, messages, **kwargs):
            yield from inner.run(messages)

    events = list(Outer(name="outer").run_events(USER))
    deltas = [(event.agent, event.text) for event in events if isinstance(event, TextDelta)]
    assert deltas == [("inner", "he"), ("inner", "llo")]
    starts = [event for event in events if isinstance(event, RunStarted)]
    assert starts[1].parent_run_id == starts[0].run_id


def test_one_cancel_reaches_a_sub_agent():
    inner, token = Endless(name="inner"), CancelToken()

    class Outer(Agent):
        def _run(self, messages, **kwargs):
            yield from inner.run(messages)

    last = []
    for number, response in enumerate(Outer().run(USER, cancel=token)):
        last = response
        if number == 1:
            token.cancel("enough")
        assert number < 10
    assert last[-1]["extra"]["end"] == "cancelled" and inner.token.reason == "enough"


def test_a_limit_of_seconds_ends_a_run_that_waits():
    class Waiting(Agent):
        def _run(self, messages, **kwargs):
            yield [Message("assistant", "so far")]
            current_run().cancel.wait(5)
            current_run().cancel.raise_if_cancelled()

    last = Waiting().run_nonstream(USER, limits=RunLimits(seconds=0.1))
    assert last[-1]["content"] == "so far" and last[-1]["extra"]["end"] == "limit:seconds"
    with pytest.raises(RunLimitExceeded) as caught:
        Waiting(on_limit="raise").run_nonstream(USER, limits=RunLimits(seconds=0.1))
    assert caught.value.which == "seconds" and caught.value.partial[-1].content == "so far"


def test_one_budget_covers_the_tree():
    class Spending(Agent):
        def _run(self, messages, **kwargs):
            current_run().reserve_model_call()
            yield [Message("assistant", "spent")]

    inner = Spending()

    # At the limit the inner run ends without an answer.
    class Careful(Agent):
        def _run(self, messages, **kwargs):
            for number in range(5):
                if not inner.run_nonstream(messages):
                    break
                yield [Message("assistant", str(number))]

    assert Careful().run_nonstream(USER, limits=RunLimits(model_calls=3))[-1]["content"] == "2"


@pytest.mark.parametrize("value", [-1, "3", True, float("nan")])
def test_a_limit_that_is_no_number_is_refused(value):
    with pytest.raises(ValueError, match="tokens"):
        RunLimits(tokens=value)


def test_the_end_is_noted_on_the_last_message_only():
    response = Steps([[Message("assistant", "a"), Message("assistant", "b")]]).run_nonstream(USER)
    assert "extra" not in response[0] and response[1]["extra"] == {"end": "answered"}
    assert ended(response) == [Message("assistant", "a"), Message("assistant", "b")]


def test_agents_deepcopy():
    agent = Spy(name="Mia", system_message="x")
    twin = copy.deepcopy(agent)
    assert twin is not agent and twin.name == "Mia" and twin.run_nonstream(USER)[0]["content"] == "ok"


def test_a_run_that_is_never_begun_leaves_no_trace_on_the_programs_token():
    token = CancelToken()
    for _ in range(3):
        Spy().run(USER, cancel=token)
        list(Spy().run(USER, cancel=token))
    assert token._callbacks == {}
