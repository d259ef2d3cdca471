"""The tool loop: rounds, results, failures, limits, cancels."""

import asyncio
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from qwen_agentkit import CancelToken, Message, RunLimits, settings, tool
from qwen_agentkit.agents import FnCallAgent, fncall_agent
from qwen_agentkit.errors import RunLimitExceeded, ToolServiceError
from qwen_agentkit.events import TextDelta, ToolCallFinished, ToolCallStarted, ToolProgress, WarningRaised
from qwen_agentkit.schema import ContentItem, FunctionCall
from qwen_agentkit.testing import ScriptedChatModel, call, reply
from qwen_agentkit.tools.base import BaseTool

USER = [{"role": "user", "content": "Weather in Oslo?"}]


class Weather(BaseTool):
    name = "weather"
    description = "Weather in a city."
    parameters = [{"name": "city", "type": "string", "description": "Name.", "required": True}]

    def call(self, params, **kwargs):
        self.seen = kwargs
        return {"city": self._verify_json_format_args(params)["city"], "degrees": 21}


def bot(script, *tools, **kwargs):
    return FnCallAgent(function_list=list(tools), llm=ScriptedChatModel(script), **kwargs)


def slow(seconds=0.3, name="slow", **attributes):
    class Slow(BaseTool):
        description = "Takes a while."
        parameters = []

        def call(self, params, **kwargs):
            time.sleep(seconds)
            return f"{name} {params}"

    Slow.name = name
    for key, value in attributes.items():
        setattr(Slow, key, value)
    return Slow()


def failing(error):
    class Failing(BaseTool):
        name = "failing"
        description = "Fails."
        parameters = []

        def call(self, params, **kwargs):
            raise error

    return Failing()


def test_one_tool_run_answers_with_call_result_and_text():
    agent = bot([call("weather", city="Oslo"), "It is 21 degrees."], Weather())
    last = agent.run_nonstream(USER)
    assert [message["role"] for message in last] == ["assistant", "function", "assistant"]
    assert last[-3]["function_call"] == {"name": "weather", "arguments": '{"city": "Oslo"}'}
    assert last[-2]["name"] == "weather" and '"degrees": 21' in last[-2]["content"]
    assert last[-2]["extra"]["function_id"] == last[-3]["extra"]["function_id"]
    assert last[-1]["content"] == "It is 21 degrees." and last[-1]["extra"]["end"] == "answered"
    agent.llm.assert_complete()


def test_text_ends_the_turn_at_once():
    agent = bot(["Hello."], Weather())
    assert agent.run_nonstream(USER)[-1]["content"] == "Hello."
    assert len(agent.llm.requests) == 1


def test_a_reply_without_anything_ends_the_turn():
    agent = bot([""], Weather())
    assert [message.get("content") for message in agent.run_nonstream(USER)] in ([], [""])


def test_the_tool_gets_the_messages_and_the_arguments_of_run():
    weather = Weather()
    agent = bot([call("weather", city="Oslo"), "ok"], weather)
    agent.run_nonstream(USER, user_id="u1", depth=3)
    assert weather.seen["user_id"] == "u1" and weather.seen["depth"] == 3
    assert [message.role for message in weather.seen["messages"]][-2:] == ["user", "assistant"]


def test_a_tool_without_kwargs_gets_only_what_it_declares():
    class Narrow(BaseTool):
        name = "narrow"
        description = "Narrow."
        parameters = []

        def call(self, params):
            return "fine"

    assert bot([call("narrow"), "ok"], Narrow()).run_nonstream(USER, x=1)[1]["content"] == "fine"


def test_the_calls_of_one_reply_run_at_once_and_answer_in_order():
    agent = bot([[call("slow", n=number) for number in range(8)], "done"], slow(0.3))
    started = time.monotonic()
    last = agent.run_nonstream(USER)
    assert time.monotonic() - started < 0.8
    assert [message["content"] for message in last[8:16]] == [f'slow {{"n": {number}}}' for number in range(8)]


def test_a_sequential_tool_runs_with_no_other_beside_it():
    running, most, lock = 0, 0, threading.Lock()

    class Alone(BaseTool):
        name = "alone"
        description = "Alone."
        parameters = []
        sequential = True

        def call(self, params, **kwargs):
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
            time.sleep(0.02)
            with lock:
                running -= 1
            return "ok"

    bot([[call("alone"), call("alone"), call("alone")], "done"], Alone()).run_nonstream(USER)
    assert most == 1


def test_context_variables_reach_the_tool():
    import contextvars

    user = contextvars.ContextVar("user", default="nobody")

    @tool
    def whoami() -> str:
        """Who asks."""
        return user.get()

    user.set("Ada")
    assert bot([call("whoami"), "ok"], whoami).run_nonstream(USER)[1]["content"] == "Ada"


def test_a_slow_tool_times_out_and_the_turn_goes_on():
    agent = bot([call("slow"), "It took too long."], slow(5, timeout=0.1))
    started = time.monotonic()
    last = agent.run_nonstream(USER)
    assert time.monotonic() - started < 2
    assert "timed out after 0.1 s" in last[1]["content"] and last[-1]["content"] == "It took too long."


def test_a_process_that_timed_out_a_tool_exits_at_once():
    program = """
        import time
        from qwen_agentkit.agents import FnCallAgent
        from qwen_agentkit.testing import ScriptedChatModel, call
        from qwen_agentkit import tool

        @tool(timeout=0.1)
        def sleepy() -> str:
            "Sleeps."
            time.sleep(60)
            return "late"

        bot = FnCallAgent(function_list=[sleepy], llm=ScriptedChatModel([call("sleepy"), "gone"]))
        print(bot.run_nonstream([{"role": "user", "content": "x"}])[-1]["content"])
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=30)
    assert done.stdout.strip() == "gone", done.stderr


def test_an_unknown_tool_is_answered_with_the_near_names():
    last = bot([call("wether", city="Oslo"), "sorry"], Weather()).run_nonstream(USER)
    assert last[1]["content"].startswith("Tool wether does not exists.") and "weather" in last[1]["content"]


def test_bad_arguments_go_back_in_one_line():
    last = bot([call("weather", "{}"), "sorry"], Weather()).run_nonstream(USER)
    assert "city" in last[1]["content"] and "\n" not in last[1]["content"]


@pytest.mark.parametrize("error", [KeyError("x"), ToolServiceError(message="down", code="503"), ValueError("a\nb")])
def test_a_failing_tool_becomes_one_line_without_a_traceback(error):
    last = bot([call("failing"), "sorry"], failing(error)).run_nonstream(USER)
    text = last[1]["content"]
    assert type(error).__name__ in text and "Traceback" not in text and "\n" not in text
    assert last[-1]["content"] == "sorry"


def test_the_traceback_is_in_the_event_and_the_outcome_is_named():
    events = list(bot([call("failing"), "sorry"], failing(KeyError("x"))).run_events(USER))
    finished = [event for event in events if isinstance(event, ToolCallFinished)]
    assert len(finished) == 1 and finished[0].outcome == "failed" and "Traceback" in finished[0].error


def test_a_call_is_told_of_once_from_start_to_end():
    events = list(bot([call("weather", city="Oslo"), "ok"], Weather(), name="Mia").run_events(USER))
    shown = [event for event in events if isinstance(event, (ToolCallStarted, ToolCallFinished, TextDelta))]
    assert [event.type for event in shown] == ["tool_call_started", "tool_call_finished", "text_delta"]
    assert shown[0].call_id == shown[1].call_id and shown[1].outcome == "ok"


def test_a_tool_is_retried_as_often_as_it_says():
    class Shaky(BaseTool):
        name = "shaky"
        description = "Shaky."
        parameters = []
        retries = 2
        tries = 0

        def call(self, params, **kwargs):
            Shaky.tries += 1
            if Shaky.tries < 3:
                raise ConnectionError("again")
            return "at last"

    assert bot([call("shaky"), "ok"], Shaky()).run_nonstream(USER)[1]["content"] == "at last"


def test_async_tools_run_on_a_background_loop_under_run_and_on_the_callers_under_arun():
    loops = []

    @tool
    async def where() -> str:
        """Where it runs."""
        await asyncio.sleep(0)
        loops.append(asyncio.get_running_loop())
        return "here"

    assert bot([call("where"), "ok"], where).run_nonstream(USER)[1]["content"] == "here"

    async def main():
        async for _ in bot([call("where"), "ok"], where).arun(USER):
            pass
        return asyncio.get_running_loop()

    own = asyncio.run(main())
    assert loops[0] is not own and loops[1] is own


def test_progress_reaches_the_reader_before_the_tool_ends_and_while_another_runs():
    go_on = threading.Event()

    @tool
    def steps():
        """Works in steps."""
        yield "half"
        go_on.wait(5)
        return "whole"

    @tool
    def beside() -> str:
        """Runs beside it."""
        go_on.wait(5)
        return "beside"

    seen = []
    for event in bot([[call("steps"), call("beside")], "ok"], steps, beside).run_events(USER):
        seen.append(event.type)
        if isinstance(event, ToolProgress):
            assert event.data == "half" and "tool_call_finished" not in seen
            go_on.set()
    assert "tool_progress" in seen


def test_what_json_cannot_carry_is_described():
    @tool
    def odd() -> object:
        """Odd."""
        return {"when": {1, 2}, "raw": b"\x00"}

    last = bot([call("odd"), "ok"], odd).run_nonstream(USER)
    assert last[-1]["content"] == "ok" and "when" in last[1]["content"]


def test_content_items_pass():
    @tool
    def picture() -> list:
        """A picture."""
        return [ContentItem(text="see"), ContentItem(image="a.png")]

    last = bot([call("picture"), "ok"], picture).run_nonstream([Message("user", "q")])
    assert last[1].content == [ContentItem(text="see"), ContentItem(image="a.png")]


def test_a_result_without_usable_data_is_a_fixed_notice():
    @tool
    def price() -> dict:
        """A price."""
        return {"valid": False, "data": None, "error": "no quote"}

    events = list(bot([call("price"), "There is no price."], price).run_events(USER))
    (finished,) = [event for event in events if isinstance(event, ToolCallFinished)]
    assert finished.value == {"valid": False, "data": None, "error": "no quote"} and "value" not in finished.to_dict()
    agent = bot([call("price"), "There is no price."], price)
    last = agent.run_nonstream(USER)
    assert "no usable data" in last[1]["content"] and "no quote" in last[1]["content"]


def test_agents_with_tools_carry_the_honesty_rule_unless_told_not_to():
    def system_of(agent, question="hi"):
        agent.run_nonstream([{"role": "user", "content": question}])
        first = agent.llm.requests[0].messages[0]
        return first.content if first.role == "system" else ""

    assert "never make up" in system_of(bot(["ok"], Weather()))
    assert "编造" in system_of(bot(["ok"], Weather()), "天气怎么样？")
    assert "never make up" not in system_of(bot(["ok"], Weather(), honesty_rule=False))
    assert system_of(bot(["ok"])) == ""


def endless(**kwargs):
    return FnCallAgent(
        function_list=[Weather()], llm=ScriptedChatModel([call("weather", city="Oslo")], repeat=True), **kwargs
    )


def test_at_the_limit_one_call_without_tools_gives_the_answer():
    script = [call("weather", city=str(number)) for number in range(3)] + ["Best I can say."]
    agent = bot(script, Weather(), max_llm_call_per_run=3)
    last = agent.run_nonstream(USER)
    assert last[-1]["content"] == "Best I can say." and last[-1]["extra"]["end"] == "limit:model_calls"
    assert len(agent.llm.requests) == 4 and agent.llm.requests[-1].functions == []


def test_a_model_that_still_calls_at_the_limit_gets_a_fixed_answer():
    last = endless(max_llm_call_per_run=2).run_nonstream(USER)
    assert last[-1]["role"] == "assistant" and "limit" in last[-1]["content"]
    assert sum("function_call" in message for message in last) == 2


def test_on_limit_return_ends_as_qwen_agent_does():
    last = endless(max_llm_call_per_run=2, on_limit="return").run_nonstream(USER)
    assert last[-1]["role"] == "function" and last[-1]["extra"]["end"] == "limit:model_calls"


def test_on_limit_raise_carries_the_partial_response():
    with pytest.raises(RunLimitExceeded) as caught:
        endless(max_llm_call_per_run=2, on_limit="raise").run_nonstream(USER)
    assert len(caught.value.partial) == 4 and caught.value.which == "model_calls"


def requests_made(agent, **kwargs):
    agent.run_nonstream(USER, **kwargs)
    return len(agent.llm.requests) - 1


def test_the_limit_is_looked_up_from_the_run_down_to_the_default(monkeypatch):
    assert requests_made(endless(max_llm_call_per_run=3), max_llm_call_per_run=2) == 2
    assert requests_made(endless(max_llm_call_per_run=3)) == 3
    monkeypatch.setenv("QWEN_AGENT_MAX_LLM_CALL_PER_RUN", "6")
    assert requests_made(endless()) == 6
    monkeypatch.setenv("QWEN_AGENTKIT_MAX_LLM_CALL_PER_RUN", "5")
    assert requests_made(endless()) == 5
    monkeypatch.setattr(settings, "MAX_LLM_CALL_PER_RUN", 4, raising=False)
    assert requests_made(endless()) == 4
    monkeypatch.setattr(fncall_agent, "MAX_LLM_CALL_PER_RUN", 2)
    assert requests_made(endless()) == 2


def test_the_default_limit_is_twenty():
    assert requests_made(endless()) == 20


def test_a_budget_of_tool_calls_denies_the_rest_and_still_answers():
    agent = bot([[call("weather", city="a"), call("weather", city="b")], "One of two."], Weather())
    last = agent.run_nonstream(USER, limits=RunLimits(tool_calls=1))
    results = [message["content"] for message in last if message["role"] == "function"]
    assert sum("limit of 1 tool calls" in text for text in results) == 1
    assert last[-1]["content"] == "One of two."


def test_a_budget_of_model_calls_is_hard_and_still_ends_in_words():
    last = endless().run_nonstream(USER, limits=RunLimits(model_calls=2))
    assert last[-1]["role"] == "assistant" and last[-1]["extra"]["end"] == "limit:model_calls"


def test_cancel_takes_effect_in_a_synchronous_tool_and_answers_every_call():
    token, started = CancelToken(), threading.Event()

    @tool
    def stuck() -> str:
        """Sleeps."""
        started.set()
        time.sleep(10)
        return "late"

    @tool
    def quick() -> str:
        """Quick."""
        return "quick"

    agent = bot([[call("quick"), call("stuck")], "never"], quick, stuck)
    threading.Thread(target=lambda: (started.wait(5), time.sleep(0.1), token.cancel("user"))).start()
    before = time.monotonic()
    last = agent.run_nonstream(USER, cancel=token)
    assert time.monotonic() - before < 1.5
    results = [message for message in last if message["role"] == "function"]
    assert results[0]["content"] == "quick" and len(results) == 2
    assert last[-1]["extra"]["end"] == "cancelled"
    follow = bot(["next"], quick, stuck).run_nonstream([*USER, *last, {"role": "user", "content": "go on"}])
    assert follow[-1]["content"] == "next"


def test_cancel_while_the_model_streams_keeps_its_text():
    token = CancelToken()
    agent = bot([reply("one two three four five", chunks=["one ", "two ", "three"], delay=0.15)], Weather())
    last = []
    for response in agent.run(USER, cancel=token):
        last = response
        if response and response[-1]["content"].startswith("one"):
            token.cancel()
    assert last[-1]["content"].startswith("one") and last[-1]["extra"]["end"] == "cancelled"


def test_closing_the_generator_stops_the_tools():
    started, seen = threading.Event(), threading.Event()

    @tool
    def watching() -> str:
        """Watches the run."""
        from qwen_agentkit.run_context import current_run

        started.set()
        current_run().cancel.wait(5) and seen.set()
        return "x"

    steps = bot([call("watching"), "never"], watching).run_events(USER)
    for event in steps:
        if isinstance(event, ToolCallStarted):
            break
    assert started.wait(5)
    steps.close()
    assert seen.wait(2)


def test_calls_without_ids_get_them():
    class Bare(FnCallAgent):
        def _call_llm(self, messages, functions=None, stream=True, extra_generate_cfg=None):
            if messages[-1].role == "function":
                yield [Message("assistant", "done")]
            else:
                yield [Message("assistant", "", function_call=FunctionCall("weather", '{"city": "Oslo"}'))]

    last = Bare(function_list=[Weather()]).run_nonstream([Message("user", "q")])
    assert last[0].extra["function_id"].startswith("call_")
    assert last[1].extra["function_id"] == last[0].extra["function_id"]


def test_an_agent_without_a_model_says_so():
    with pytest.raises(ValueError, match="has no model"):
        FnCallAgent(function_list=[Weather()], name="Mia").run_nonstream(USER)


def test_tools_come_in_every_form():
    class Cfg(BaseTool):
        name = "cfg"
        description = "d"
        parameters = []

        def call(self, params, **kwargs):
            return "x"

    def plain(x: int) -> int:
        """Doubles."""
        return 2 * x

    agent = FnCallAgent(function_list=["storage", {"name": "storage", "storage_root_path": "s"}, Cfg(), plain])
    assert set(agent.function_map) == {"storage", "cfg", "plain"}
    with pytest.raises(ValueError, match="not registered"):
        FnCallAgent(function_list=["no_such_tool"])
    with pytest.raises(ValueError, match="function_list holds"):
        FnCallAgent(function_list=[3])


def test_a_run_is_not_disturbed_by_another_of_the_same_agent():
    agent = bot([call("weather", city="a"), call("weather", city="b"), "first", "second"], Weather())
    one, two = agent.run(USER), agent.run(USER)
    responses = {}
    for name, steps in (("one", one), ("two", two), ("one", one), ("two", two)):
        responses[name] = next(steps)
    ends = {name: list(steps)[-1][-1]["content"] for name, steps in (("one", one), ("two", two))}
    assert sorted(ends.values()) == ["first", "second"]


def test_streamed_and_not_streamed_runs_end_in_the_same_transcript():
    script = [["Let me see. ", call("weather", city="Oslo")], "It is 21 degrees."]
    streamed = FnCallAgent(function_list=[Weather()], llm=ScriptedChatModel(script, chunk_size=1)).run_nonstream(USER)
    whole = FnCallAgent(function_list=[Weather()], llm=ScriptedChatModel(script)).run_nonstream(USER)

    def plain(messages):
        return [(message["role"], message["content"], message.get("function_call")) for message in messages]

    assert plain(streamed) == plain(whole)


def test_no_warning_is_raised_in_a_plain_run():
    events = list(bot([call("weather", city="Oslo"), "ok"], Weather()).run_events(USER))
    assert not [event for event in events if isinstance(event, WarningRaised)]
