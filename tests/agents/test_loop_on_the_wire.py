"""What the tool loop sends: the requests' own bodies, seen by a server."""

import pytest

from qwen_agentkit import tool
from qwen_agentkit.agents import FnCallAgent
from qwen_agentkit.events import ToolProgress
from qwen_agentkit.schema import ContentItem
from qwen_agentkit.testing import ScriptedChatModel, call
from tests.servers.model_server import Answer

USER = [{"role": "user", "content": "go"}]
PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwAD"
    "hgGAWjR9awAAAABJRU5ErkJggg=="
)


@tool
def weather(city: str) -> str:
    """Weather in a city.

    Args:
        city: Name of the city.
    """
    return f"21 in {city}"


@tool
def stock(symbol: str) -> str:
    """Price of a share."""
    return f"{symbol} 7"


@tool
def photo() -> list:
    """Takes a photo."""
    return [ContentItem(text="taken"), ContentItem(image=PIXEL)]


def oai(server, **cfg):
    return {"model": "m", "model_server": server.url, "api_key": "EMPTY", **cfg}


def test_a_light_schema_sends_no_parameters_and_then_those_of_the_chosen_tool_only(oai_server):
    oai_server.script = [
        Answer(calls=[("weather", "{}")]),
        Answer(calls=[("weather", '{"city": "Oslo"}')]),
        Answer("21 degrees."),
    ]
    agent = FnCallAgent([weather, stock], oai(oai_server), tool_schema_mode="light", honesty_rule=False)
    assert agent.run_nonstream(USER)[-1]["content"] == "21 degrees."
    first, second, third = (seen.body for seen in oai_server.seen)
    empty = {"type": "object", "properties": {}}
    assert [entry["function"] for entry in first["tools"]] == [
        {"name": "weather", "description": "Weather in a city.", "parameters": empty},
        {"name": "stock", "description": "Price of a share.", "parameters": empty},
    ]
    (chosen,) = second["tools"]
    assert chosen["function"]["name"] == "weather" and "description" not in chosen["function"]
    assert chosen["function"]["parameters"]["properties"]["city"]["description"] == "Name of the city."
    assert second["messages"][0]["role"] == "system" and "weather" in second["messages"][0]["content"]
    assert [message["role"] for message in third["messages"]] == ["user", "assistant", "tool"]


def image_parts(content):
    return [part for part in content if isinstance(part, dict) and ("image_url" in part or "image" in part)]


def test_images_of_results_go_to_a_model_that_sees_after_all_results_of_the_round(oai_server):
    oai_server.script = [Answer(calls=[("photo", "{}"), ("weather", '{"city": "Oslo"}')]), Answer("A dot.")]
    agent = FnCallAgent([photo, weather], oai(oai_server, model_type="qwenvl_oai", generate_cfg={"use_raw_api": True}))
    agent.run_nonstream(USER)
    messages = oai_server.seen[1].body["messages"]
    assert [message["role"] for message in messages[-3:]] == ["tool", "tool", "user"]
    assert [message["tool_call_id"] for message in messages[-3:-1]] == ["call_0", "call_1"]
    assert len(image_parts(messages[-1]["content"])) == 1


def test_images_of_results_are_described_to_a_model_that_does_not_see(oai_server):
    oai_server.script = [Answer(calls=[("photo", "{}")]), Answer("ok")]
    FnCallAgent([photo], oai(oai_server)).run_nonstream(USER)
    (result,) = [message for message in oai_server.seen[1].body["messages"] if message["role"] == "tool"]
    assert "taken" in result["content"] and "base64" not in str(result)


def test_images_of_results_reach_dashscopes_seeing_models(dashscope_server):
    dashscope_server.script = [Answer(calls=[("photo", "{}")]), Answer("A dot.")]
    cfg = {
        "model": "qwen-vl-max",
        "model_type": "qwenvl_dashscope",
        "api_key": "k",
        "base_http_api_url": dashscope_server.url,
        "generate_cfg": {"use_raw_api": True},
    }
    FnCallAgent([photo], cfg).run_nonstream(USER)
    messages = dashscope_server.seen[1].body["input"]["messages"]
    last = max(index for index, message in enumerate(messages) if message["role"] in ("tool", "function", "user"))
    assert image_parts(messages[last]["content"]), messages


def test_no_framework_key_of_extra_is_sent(oai_server):
    oai_server.script = [Answer(calls=[("weather", '{"city": "Oslo"}')]), Answer("ok"), Answer("fine")]
    agent = FnCallAgent([weather], oai(oai_server))
    messages = [*USER]
    messages.extend(agent.run_nonstream(messages))
    messages.append({"role": "user", "content": "more", "extra": {"mine": 1}})
    agent.run_nonstream(messages)
    for seen in oai_server.seen:
        for message in seen.body["messages"]:
            assert not {"extra", "function_call", "reasoning_content"} & set(message), message


def test_progress_comes_through_an_agent_used_as_a_tool():
    @tool
    def steps():
        """Works in steps."""
        yield "half"
        return "whole"

    worker = FnCallAgent([steps], ScriptedChatModel([call("steps"), "done"]), name="worker")
    boss = FnCallAgent([worker], ScriptedChatModel([call("worker", request="x"), "ok"]), name="boss")
    progress = [event for event in boss.run_events(USER) if isinstance(event, ToolProgress)]
    assert [(event.agent, event.data) for event in progress] == [("worker", "half")]


@pytest.mark.parametrize("dialect", ["nous", "qwen", "xml", "fenced"])
def test_the_loop_runs_in_every_text_dialect(oai_server, dialect):
    texts = {
        "nous": '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>',
        "qwen": '✿FUNCTION✿: weather\n✿ARGS✿: {"city": "Oslo"}\n✿RESULT✿',
        "xml": "<tool_call>\n<function=weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>",
        "fenced": '```json\n{"name": "weather", "arguments": {"city": "Oslo"}}\n```',
    }
    oai_server.script = [Answer(texts[dialect]), Answer("21 degrees.")]
    agent = FnCallAgent([weather], oai(oai_server, generate_cfg={"fncall_prompt_type": dialect}))
    last = agent.run_nonstream(USER)
    assert last[-2]["content"] == "21 in Oslo" and last[-1]["content"] == "21 degrees."
    assert "tools" not in oai_server.seen[0].body
