"""A router over workers."""

import itertools
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwen_agentkit.agent import Agent, BasicAgent
from qwen_agentkit.agents.assistant import Assistant
from qwen_agentkit.agents.group.routing import Rule, may_route, read_decision, shown
from qwen_agentkit.agents.multi_agent_hub import MultiAgentHub
from qwen_agentkit.agents.router import Router
from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.events import SpeakerSelected, TextDelta
from qwen_agentkit.schema import ContentItem, Message
from qwen_agentkit.testing import ScriptedChatModel, call
from tests.agents.looking import Look

WORKERS = ["weather", "calculator"]
ROUTE = '{"worker": "weather", "confidence": 0.9, "reason": "about rain"}'


def ask(text):
    return [Message("user", text)]


def team(script=(), weather=("Rain.",), calculator=("4",), **kwargs):
    workers = [
        BasicAgent(llm=ScriptedChatModel(list(weather)), name="weather", description="knows the weather"),
        BasicAgent(llm=ScriptedChatModel(list(calculator)), name="calculator", description="calculates"),
    ]
    kwargs.setdefault("llm", ScriptedChatModel(list(script), chunk_size=5))
    return Router(agents=workers, name="desk", **kwargs)


def chosen(router, text):
    events = list(router.run_events(ask(text)))
    return next((event.speaker, event.reason) for event in events if isinstance(event, SpeakerSelected))


def test_a_router_is_an_assistant_and_a_hub_with_its_stop_words():
    router = team()
    assert isinstance(router, Assistant)
    assert isinstance(router, MultiAgentHub)
    assert router.extra_generate_cfg["stop"] == ["Reply:", "Reply:\n"]


# ---- by model


@pytest.mark.parametrize(
    "reply",
    [
        ROUTE,
        f"```json\n{ROUTE}\n```",
        "{'worker': 'Weather', 'reason': 'rain',}",
        "Call: weather",
        "Call: weather\nReply: invented",
        "I need help.\nCall: weather",
    ],
)
def test_the_model_names_a_worker_whose_answer_takes_the_place_of_the_routing(reply):
    response = team([reply]).run_nonstream(ask("Rain tomorrow?"))
    assert [(m.name, m.content) for m in response] == [("weather", "Rain.")]


def test_the_worker_sees_the_conversation_without_system_messages():
    router = team([ROUTE], system_message="You are a desk.")
    router.run_nonstream([Message("system", "Be kind."), *ask("Rain?")])
    assert [(m.role, m.content) for m in router.agents[0].llm.requests[0].messages] == [("user", "Rain?")]
    assert "Be kind." in router.llm.requests[0].messages[0].content


def test_what_the_model_can_answer_itself_is_streamed():
    router = team(["Hello, how can I help you?"])
    shown_texts = [response[-1].content for response in router.run(ask("Hi"))]
    assert shown_texts[-1] == "Hello, how can I help you?"
    assert len(set(shown_texts)) > 2
    assert all(shown_texts[-1].startswith(text) for text in shown_texts)


@pytest.mark.parametrize("reply", [ROUTE, "Call: weather", f"```json\n{ROUTE}\n```"])
def test_nothing_of_the_routing_is_ever_shown(reply):
    router = team([reply])
    for response in router.run(ask("Rain?")):
        assert [m.name for m in response] == ["weather"]
    told = [event for event in team([reply]).run_events(ask("Rain?")) if isinstance(event, TextDelta)]
    assert {event.agent for event in told} == {"weather"}


@pytest.mark.parametrize(
    "answer",
    [
        'Write "Call: me" on it.',
        "In code:\nCall: nobody_known\nand so on.",
        '{"a": 1}',
        "```python\nprint(1)\n```",
        "Call me.",
    ],
)
def test_an_answer_that_looks_a_little_like_routing_stays_an_answer(answer):
    assert team([answer]).run_nonstream(ask("Hm?"))[-1].content == answer


@pytest.mark.parametrize("reply", ["Call: zoe", '{"worker": "zoe"}', '{"worker": ', '{"worker": null}'])
def test_an_unknown_or_unreadable_choice_goes_to_the_default_and_the_reason_says_so(reply):
    assert chosen(team([reply], default="calculator"), "?")[0] == "calculator"
    assert chosen(team([reply], default="calculator"), "?")[1].startswith("the default, since")


def test_without_a_default_it_is_answered_directly_and_never_by_the_first():
    router = team(["Call: zoe", "I answer: Reply: yes."])
    assert [m.content for m in router.run_nonstream(ask("?"))] == ["I answer: Reply: yes."]
    assert "helpers" not in str(router.llm.requests[1].messages)
    assert router.agents[0].llm.requests == []


def test_a_choice_without_enough_confidence_counts_as_none():
    low = '{"worker": "weather", "confidence": "20%", "reason": "a guess"}'
    name, reason = chosen(team([low], default="calculator", min_confidence=0.5), "?")
    assert name == "calculator"
    assert "only with confidence 0.2 (a guess)" in reason


def test_earlier_answers_of_workers_are_shown_to_the_model_with_their_routing():
    router = team(["Fine."])
    history = [*ask("Rain?"), Message("assistant", "Rain.", name="weather"), *ask("Thanks")]
    router.run_nonstream(history)
    assert router.llm.requests[0].messages[2].content == "Call: weather\nReply:Rain."
    items = Message("assistant", [ContentItem(text="See"), ContentItem(image="a.png")], name="weather")
    assert Router.supplement_name_special_token(items).content[0].text == "Call: weather\nReply:"
    plain = Message("assistant", "x")
    assert Router.supplement_name_special_token(plain) is plain


def test_the_prompt_speaks_the_language_of_the_conversation_and_can_be_replaced():
    router = team(["好。"])
    router.run_nonstream(ask("你好"))
    assert "帮手" in router.llm.requests[0].messages[0].content
    own = team(["ok"], prompts={"route": "Helpers: {names}."})
    own.run_nonstream(ask("Hi"))
    assert own.llm.requests[0].messages[0].content.endswith("Helpers: weather, calculator.")


def test_a_router_may_have_tools_of_its_own_and_still_route():
    router = team([[call("look")], "I have seen it.", [call("look")], ROUTE], function_list=[Look()])
    own = router.run_nonstream(ask("Look"))
    assert [m.role for m in own] == ["assistant", "function", "assistant"]
    routed = router.run_nonstream(ask("Rain?"))
    assert [(m.name, m.content) for m in routed] == [("weather", "Rain.")]
    assert router.llm.requests[0].function_names == ["look"]


# ---- by rules


RULES = {"weather": ["rain", "天气"], "calculator": ["sum"]}


def test_a_rule_is_free():
    router = team(rules=RULES)
    assert [m.content for m in router.run_nonstream(ask("Will it Rain?"))] == ["Rain."]
    assert router.llm.requests == []
    assert team(rules=RULES).run_nonstream(ask("北京天气"))[-1].content == "Rain."


@pytest.mark.parametrize("text", ["Hello", "the sum of rain", "a training"])
def test_the_model_is_asked_only_when_no_rule_fires_or_rules_disagree(text):
    router = team(["Myself."], rules=RULES)
    assert [m.content for m in router.run_nonstream(ask(text))] == ["Myself."]
    assert len(router.llm.requests) == 1


def test_rules_alone_need_no_model():
    router = team(llm=None, rules=RULES, routing="rule", default="calculator")
    assert router.run_nonstream(ask("Rain?"))[-1].name == "weather"
    assert chosen(team(llm=None, rules=RULES, routing="rule", default="calculator"), "rain sum") == (
        "calculator",
        "the default, since rules disagree: weather, calculator",
    )


def test_rules_may_be_patterns_and_functions():
    rules = [Rule("calculator", pattern=r"\d\s*[+*/-]\s*\d"), Rule("weather", test=lambda text: text.endswith("?"))]
    assert team(rules=rules).run_nonstream(ask("1 + 3"))[-1].content == "4"
    assert team(rules=rules).run_nonstream(ask("Umbrella?"))[-1].content == "Rain."


@pytest.mark.parametrize(
    ("kwargs", "says"),
    [
        ({"rules": {"zoe": ["x"]}}, "rule is for 'zoe'; the workers are: weather, calculator"),
        ({"rules": [("weather", "x")]}, "Rule"),
        ({"routing": "chance"}, "routing is one of"),
        ({"routing": "hybrid"}, "needs rules"),
        ({"default": "zoe"}, "default worker 'zoe'"),
        ({"llm": None}, "without a model"),
        ({"min_confidence": 2}, "from 0 to 1"),
        ({"prompts": {"route": "{x}"}}, "field {x}"),
    ],
)
def test_a_router_that_cannot_work_is_refused_when_it_is_made(kwargs, says):
    with pytest.raises(ValueError, match=says.replace("{", r"\{").replace("}", r"\}")):
        team(**kwargs)
    with pytest.raises(ValueError, match="no test"):
        Rule("weather")


# ---- in parts


PLAN = '{"parts": [{"worker": "weather", "task": "Rain in Oslo?"}, {"worker": "calculator", "task": "2 + 2"}]}'


def test_a_request_is_split_each_worker_sees_its_part_and_one_answer_is_made():
    router = team([PLAN, "It rains, and it is 4."], split=True)
    response = router.run_nonstream(ask("Rain in Oslo, and 2 + 2?"))
    assert [(m.name, m.content) for m in response] == [("desk", "It rains, and it is 4.")]
    assert [m.content for m in router.agents[0].llm.requests[0].messages] == ["Rain in Oslo?"]
    merge = router.llm.requests[1].messages[0].content
    assert "[weather] Rain in Oslo?\nRain." in merge
    assert "[calculator] 2 + 2\n4" in merge


def test_a_worker_that_failed_is_named_in_the_answer():
    down = ModelServiceError(code="400", message="down")
    router = team([PLAN, "It is 4."], split=True, weather=[down])
    text = "\n".join(m.content for m in router.run_nonstream(ask("Both?")))
    assert text.startswith("It is 4.")
    assert "weather could not do its part (Rain in Oslo?): down" in text
    told = team([PLAN, "It is 4; weather failed."], split=True, weather=[down])
    assert [m.content for m in told.run_nonstream(ask("Both?"))] == ["It is 4; weather failed."]


def test_when_all_failed_the_answer_says_so_without_a_model_call():
    down = ModelServiceError(code="400", message="down")
    router = team([PLAN], split=True, weather=[down], calculator=[""])
    (message,) = router.run_nonstream(ask("Both?"))
    assert "weather could not" in message.content
    assert "calculator could not do its part (2 + 2): no answer" in message.content


def test_the_workers_work_at_the_same_time():
    both = threading.Barrier(2, timeout=5)

    class Meeting(Agent):
        def _run(self, messages, lang="en", **kwargs):
            both.wait()
            yield [Message("assistant", f"{self.name} done")]

    router = Router(
        llm=ScriptedChatModel([PLAN, "Both done."]), agents=[Meeting(name=name) for name in WORKERS], split=True
    )
    assert router.run_nonstream(ask("Both?"))[-1].content == "Both done."


def test_a_cancel_ends_all_workers():
    from qwen_agentkit.cancel import CancelToken

    token = CancelToken()

    class Slow(Agent):
        def _run(self, messages, lang="en", **kwargs):
            threading.Timer(0.05, token.cancel).start()
            time.sleep(0.3)
            yield [Message("assistant", "late")]

    router = Router(llm=ScriptedChatModel([PLAN]), agents=[Slow(name=name) for name in WORKERS], split=True)
    began = time.monotonic()
    assert router.run_nonstream(ask("Both?"), cancel=token) == []
    assert time.monotonic() - began < 0.25


@pytest.mark.parametrize(
    "plan",
    [
        '{"parts": []}',
        '{"parts": [{"worker": "zoe", "task": "x"}]}',
        '{"parts": [{"worker": "weather"}]}',
        '{"parts": [1]}',
    ],
)
def test_a_plan_that_cannot_be_done_is_no_plan(plan):
    assert chosen(team([plan], split=True, default="weather"), "?")[0] == "weather"


def test_a_plan_of_one_part_is_a_choice():
    assert read_decision('{"parts": [{"worker": "weather", "task": "x"}]}', WORKERS, True).worker == "weather"


# ---- reading


@given(st.text(st.sampled_from('Cal: \n`{"worker}:zoe1'), max_size=60))
def test_what_is_shown_of_a_reply_only_grows_and_routing_never_shows(text):
    pieces = [shown(text[:end]) for end in range(len(text) + 1)]
    for before, after in itertools.pairwise(pieces):
        assert after.startswith(before)
    assert all(text.startswith(piece) for piece in pieces)


@given(st.text(max_size=80))
def test_any_reply_can_be_read(text):
    decision = read_decision(text, WORKERS, may_split=True)
    assert decision is None or decision.worker in (None, *WORKERS)


def test_the_beginnings_of_routing_are_known():
    assert all(may_route(text) for text in ("", " ", "C", "Call:", "{", "```json"))
    assert not any(may_route(text) for text in ("Hello", "Can", "[1]"))
