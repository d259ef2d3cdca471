"""`qwen-agentkit mcp --agent`: an agent of a program, behind the official client."""

import asyncio
import time
from importlib.util import find_spec

import pytest

from tests.mcp_server.test_documents import call, session

mcp = pytest.importorskip("mcp")

PROGRAM = '''
import time
from pathlib import Path

from qwen_agentkit import tool
from qwen_agentkit.agent import Agent
from qwen_agentkit.agents import Assistant
from qwen_agentkit.schema import ASSISTANT, Message
from qwen_agentkit.testing import ScriptedChatModel, call

print("a program may print")


@tool
def weather(city: str) -> str:
    """Today's weather in a city."""
    return f"21 degrees in {city}"


def bot():
    model = ScriptedChatModel([call("weather", city="Oslo"), "It is 21 degrees in Oslo.", "As I said, 21."])
    return Assistant(llm=model, name="Weather", description="Knows the weather.", function_list=[weather])


class Slow(Agent):
    def _run(self, messages, **kwargs):
        try:
            for number in range(600):
                yield [Message(ASSISTANT, f"{number}")]
                time.sleep(0.05)
        finally:
            Path("ended").write_text(str(number))


class Fails(Agent):
    def _run(self, messages, **kwargs):
        raise ValueError("the till is empty")
        yield


slow = Slow(name="Slow")
fails = Fails(name="Fails")
'''


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "my_bots.py").write_text(PROGRAM)
    return tmp_path


def test_an_agent_is_asked_and_the_conversation_goes_on(folder):
    progress = []

    async def told(done, total, message):
        progress.append(message)

    async def run():
        async with session(folder, "--agent", "my_bots:bot") as client:
            (tool,) = (await client.list_tools()).tools
            assert tool.name == "ask"
            assert tool.description == "Knows the weather."
            asked = await client.call_tool("ask", {"message": "How warm is Oslo?"}, progress_callback=told)
            first = asked.model_dump(by_alias=True)["structuredContent"]
            assert first["answer"] == "It is 21 degrees in Oslo."
            assert first["end"] == "answered"
            second = await call(client, "ask", message="Sure?", conversation=first["conversation"])
            assert second["answer"] == "As I said, 21."
            assert second["conversation"] == first["conversation"]
            assert "not known" in await call(client, "ask", message="Sure?", conversation="made up")
            assert "wanted" in await call(client, "ask", message=" ")

    asyncio.run(run())
    assert "calls weather" in progress


@pytest.mark.skipif(
    find_spec("mcp.server.mcpserver") is None, reason="the client of mcp 1.x does not tell that it gave up"
)
def test_a_client_that_gives_up_stops_the_run(folder):
    async def run():
        async with session(folder, "--agent", "my_bots:slow") as client:
            waiting = asyncio.create_task(client.call_tool("ask", {"message": "Count."}))
            await asyncio.sleep(1)
            waiting.cancel()
            end = time.monotonic() + 8
            while not (folder / "ended").exists() and time.monotonic() < end:
                await asyncio.sleep(0.1)

    asyncio.run(run())
    assert int((folder / "ended").read_text()) < 200


def test_a_failure_is_one_line_without_a_traceback(folder):
    async def run():
        async with session(folder, "--agent", "my_bots:fails") as client:
            told = await call(client, "ask", message="Pay.")
            assert told.endswith("the till is empty")
            assert "Traceback" not in told

    asyncio.run(run())
