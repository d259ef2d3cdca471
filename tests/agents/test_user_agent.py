"""A human in a team."""

import asyncio
import threading

import pytest

from qwen_agentkit.agents.user_agent import PENDING_USER_INPUT, UserAgent
from qwen_agentkit.cancel import CancelToken
from qwen_agentkit.schema import Message

ASK = [Message("user", "Who are you?")]


def test_without_an_input_function_the_turn_is_a_pause():
    (message,) = UserAgent(name="Ada").run_nonstream(ASK)
    assert (message.role, message.name, message.content) == ("user", "Ada", PENDING_USER_INPUT)
    assert PENDING_USER_INPUT == "<!-- INTERRUPT: PENDING_USER_INPUT -->"
    assert message.extra["end"] == "paused"


def test_an_input_function_speaks_for_the_human_and_sees_the_conversation():
    seen = []

    def speak(messages):
        seen.extend(messages)
        return "I am Ada."

    (message,) = UserAgent(name="Ada", input_func=speak).run_nonstream(ASK)
    assert (message.role, message.name, message.content) == ("user", "Ada", "I am Ada.")
    assert seen[0].content == "Who are you?"


def test_an_async_input_function_runs_on_the_callers_loop_under_arun():
    loops = []

    async def speak(messages):
        loops.append(asyncio.get_running_loop())
        return "I am Ada."

    async def main():
        async for response in UserAgent(name="Ada", input_func=speak).arun(ASK):
            last = response
        return last, asyncio.get_running_loop()

    last, loop = asyncio.run(main())
    assert last[0].content == "I am Ada."
    assert loops == [loop]


def test_an_async_input_function_works_without_a_loop_of_the_caller():
    async def speak(messages):
        await asyncio.sleep(0)
        return "I am Ada."

    assert UserAgent(name="Ada", input_func=speak).run_nonstream(ASK)[0].content == "I am Ada."


def test_a_cancel_ends_the_wait_for_an_async_human():
    token = CancelToken()

    async def speak(messages):
        threading.Timer(0.05, token.cancel).start()
        await asyncio.sleep(60)

    assert UserAgent(name="Ada", input_func=speak).run_nonstream(ASK, cancel=token) == []


def test_an_input_function_that_is_none_is_refused():
    with pytest.raises(ValueError, match="input_func is a function"):
        UserAgent(name="Ada", input_func="hello")
