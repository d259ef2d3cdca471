"""Spans by the conventions for generative AI, from the events of runs."""

import pytest

from qwen_agentkit import run_context, tool
from qwen_agentkit.agents import FnCallAgent
from qwen_agentkit.run_context import RunContext
from qwen_agentkit.telemetry import trace_runs
from qwen_agentkit.testing import ScriptedChatModel, call

sdk = pytest.importorskip("opentelemetry.sdk.trace")
USER = [{"role": "user", "content": "secret question"}]


@pytest.fixture
def spans():
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    stop = trace_runs(provider.get_tracer("test"))
    yield exporter.get_finished_spans
    stop()


@tool
def weather(city: str) -> str:
    """Weather."""
    if city == "nowhere":
        raise LookupError(city)
    return "21 degrees"


def test_a_run_its_tools_and_its_model_calls_are_one_tree(spans):
    inner = FnCallAgent(llm=ScriptedChatModel(["inner"]), name="inner", description="d")
    script = [[call("weather", city="Oslo"), call("weather", city="nowhere"), call("inner", request="x")], "done"]
    FnCallAgent(function_list=[weather, inner], llm=ScriptedChatModel(script), name="Mia").run_nonstream(USER)
    by_name = {}
    for span in spans():
        by_name.setdefault(span.name, []).append(span)
    root = by_name["invoke_agent Mia"][0]
    assert root.parent is None and len(by_name["chat scripted"]) == 3
    tools = by_name["execute_tool weather"]
    assert all(span.parent.span_id == root.context.span_id for span in tools)
    assert {span.attributes.get("error.type") for span in tools} == {None, "failed"}
    assert by_name["invoke_agent inner"][0].parent.span_id == root.context.span_id
    assert {span.context.trace_id for span in spans()} == {root.context.trace_id}
    chat = by_name["chat scripted"][0].attributes
    assert chat["gen_ai.operation.name"] == "chat" and chat["gen_ai.usage.input_tokens"] > 0
    assert all(span.start_time <= span.end_time for span in spans())


def test_what_is_said_stays_out_of_the_spans(spans):
    FnCallAgent(function_list=[weather], llm=ScriptedChatModel([call("weather", city="Oslo"), "ok"])).run_nonstream(
        USER
    )
    assert "Oslo" not in str([span.to_json() for span in spans()]) and "secret" not in str(
        [s.to_json() for s in spans()]
    )


def test_nobody_listening_costs_nothing():
    assert run_context.observers == [] and RunContext("x").sink is None
