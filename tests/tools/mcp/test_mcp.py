"""The MCP client against real server processes (`server.py`), killed, restarted, slow and malformed."""

import copy
import gc
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from qwen_agentkit import tool
from qwen_agentkit.agents import FnCallAgent
from qwen_agentkit.agents.loop.turn import Turn
from qwen_agentkit.errors import RunCancelled, ToolArgumentsError, ToolServiceError
from qwen_agentkit.run_context import RunContext
from qwen_agentkit.testing import ScriptedChatModel, call
from qwen_agentkit.tools.mcp import MCPManager, MCPWorkbench
from qwen_agentkit.tools.mcp.config import read_servers
from qwen_agentkit.tools.mcp.connection import close_all
from qwen_agentkit.tools.mcp.content import result_of
from qwen_agentkit.tools.mcp.tool import function_name

pytest.importorskip("mcp")

SERVER = str(Path(__file__).parent / "server.py")


def stdio(marks, **more):
    return {"command": sys.executable, "args": [SERVER, "stdio"], "env": {"MARKS": str(marks)}, **more}


@pytest.fixture
def marks(tmp_path):
    path = tmp_path / "marks"
    path.touch()
    return path


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    marks = tmp_path_factory.mktemp("mcp") / "marks"
    marks.touch()
    bench = MCPWorkbench({"mcpServers": {"t": stdio(marks)}})
    yield bench
    bench.stop()


@pytest.fixture(scope="module")
def tools(shared):
    return {tool.name: tool for tool in shared.list_tools()}


def wait_until(condition, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"


# ---- results


def test_tools_are_named_after_their_server_and_keep_their_whole_schema(tools):
    assert {"t-add", "t-slow", "t-list_resources", "t-read_resource"} <= set(tools)
    schema = tools["t-total"].function["parameters"]
    assert schema["$defs"]["Point"]["properties"]["y"]["default"] == 0
    assert tools["t-add"].description == "Adds two numbers."
    assert tools["t-add"].side_effects
    assert not tools["t-pid"].side_effects


def test_a_call_takes_a_dict_or_a_models_text(tools):
    assert tools["t-add"].call({"a": 1, "b": 2}) == "3"
    assert tools["t-add"].call("{'a': 1, 'b': '2',}") == "3"
    with pytest.raises(ToolArgumentsError, match="'b' is required"):
        tools["t-add"].call({"a": 1})


def test_pictures_and_resources_are_kept(tools):
    content = tools["t-mixed"].call({})
    assert [item.type for item in content] == ["text", "image", "text"]
    assert content[1].image.startswith("data:image/png;base64,")
    assert content[2].text == "memo://a\ninside"


def test_structured_content_is_given_once(tools):
    assert '"x": 3' in tools["t-total"].call({"points": [{"x": 1}, {"x": 2}]})
    assert (
        result_of({"content": [{"type": "text", "text": '{"a": 1}'}], "structuredContent": {"a": 1}}, "t") == '{"a": 1}'
    )
    assert result_of({"content": [], "structuredContent": {"a": 1}}, "t") == '{\n  "a": 1\n}'
    assert result_of({"content": []}, "t") is None


def test_an_error_of_the_tool_is_an_error_here(tools):
    with pytest.raises(ToolServiceError, match="t-fail reported an error") as caught:
        tools["t-fail"].call({"reason": "out of paper"})
    assert caught.value.code == "tool_error"


def test_resources_are_listed_and_read(tools):
    assert "memo://one" in tools["t-list_resources"].call("{}")
    assert "remember" in tools["t-read_resource"].call({"uri": "memo://one"})
    with pytest.raises(ToolServiceError):
        tools["t-read_resource"].call({"uri": "memo://none"})


def test_odd_content_is_described(tmp_path, monkeypatch):
    from qwen_agentkit import settings

    monkeypatch.setitem(vars(settings), "DEFAULT_WORKSPACE", str(tmp_path))
    blob = {"type": "resource", "resource": {"uri": "x://y", "blob": "JVBERg==", "mimeType": "application/pdf"}}
    content = result_of({"content": [blob, {"type": "video"}, {"type": "image", "data": "!"}, "junk"]}, "t")
    assert Path(content[0].file).read_bytes() == b"%PDF"
    assert "'video'" in content[1].text
    assert "broken" in content[2].text
    link = {"type": "resource_link", "name": "n", "uri": "x://z", "description": "d"}
    assert result_of({"content": [link]}, "t") == "[n](x://z) d"


# ---- progress, cancel, time


def test_progress_reaches_the_run(tools):
    seen = []
    run = RunContext("agent", sink=seen.append)
    assert run.enter().run(tools["t-slow"].call, {"seconds": 0.2}) == "done"
    assert {event.data["progress"] for event in seen if event.type == "tool_progress"} >= {0, 5}


def test_a_cancel_ends_the_call_at_once_and_reaches_the_server(marks):
    bench = MCPWorkbench({"mcpServers": {"t": stdio(marks)}})
    try:
        slow = next(tool for tool in bench.list_tools() if tool.name == "t-slow")
        run = RunContext("agent")
        threading.Timer(0.3, run.cancel.cancel).start()
        start = time.monotonic()
        with pytest.raises(RunCancelled):
            run.enter().run(slow.call, {"seconds": 30})
        assert time.monotonic() - start < 1
        assert wait_until(lambda: "cancelled" in marks.read_text())
        assert slow.call({"seconds": 0.01}) == "done"
    finally:
        bench.stop()


def test_a_slow_call_times_out_and_the_server_stays_usable(marks):
    bench = MCPWorkbench({"mcpServers": {"t": stdio(marks, timeout=0.5)}})
    try:
        slow = next(tool for tool in bench.list_tools() if tool.name == "t-slow")
        with pytest.raises(ToolServiceError, match=r"within 0\.5 seconds"):
            slow.call({"seconds": 30})
        assert slow.call({"seconds": 0.01}) == "done"
        assert marks.read_text().count("started") == 1
    finally:
        bench.stop()


def test_calls_run_at_once(tools):
    threads = [threading.Thread(target=tools["t-slow"].call, args=({"seconds": 0.5},)) for _ in range(4)]
    start = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - start < 1.5


# ---- servers that go away, and their processes


def test_a_server_that_died_is_started_again_and_a_call_in_flight_is_not_repeated(marks):
    bench = MCPWorkbench({"mcpServers": {"t": stdio(marks)}})
    try:
        tools = {tool.name: tool for tool in bench.list_tools()}
        with pytest.raises(ToolServiceError, match="may have done the work or not"):
            tools["t-die"].call({})
        assert marks.read_text().split() == ["started", "died"]
        pid = int(tools["t-pid"].call({}))
        os.kill(pid, signal.SIGKILL)
        assert wait_until(lambda: not is_running(pid))
        time.sleep(0.3)
        assert tools["t-add"].call({"a": 2, "b": 2}) == "4"
        assert int(tools["t-pid"].call({})) != pid
    finally:
        bench.stop()
    assert not is_running(pid)


def test_stopping_ends_the_process_and_listing_starts_another(marks):
    bench = MCPWorkbench({"mcpServers": {"t": stdio(marks)}})
    pid = int(bench.call_tool("t-pid", {}))
    bench.stop()
    assert wait_until(lambda: not is_running(pid))
    bench.stop()
    second = int(bench.call_tool("t-pid", {}))
    assert second != pid
    del bench
    gc.collect()
    assert wait_until(lambda: not is_running(second))


def test_the_process_of_a_program_that_ends_is_ended(marks):
    program = (
        "import sys; from qwen_agentkit.tools.mcp import MCPManager\n"
        f"tools = MCPManager().initConfig({{'mcpServers': {{'t': {stdio(marks)!r}}}}})\n"
        "print(next(t for t in tools if t.name == 't-pid').call({}))"
    )
    pid = int(subprocess.check_output([sys.executable, "-c", program], text=True, timeout=60))
    assert wait_until(lambda: not is_running(pid))


def test_one_dead_or_malformed_server_costs_only_itself(shared, caplog):
    junk = {"command": sys.executable, "args": ["-c", "print('no json'); import sys; sys.exit('broken setup')"]}
    config = {
        "dead": {"command": "/nowhere/at/all"},
        "junk": {**junk, "connect_timeout": 20},
        "mute": {"command": sys.executable, "args": ["-c", "import time; time.sleep(60)"], "connect_timeout": 1},
        "away": {"url": "http://127.0.0.1:9/mcp", "connect_timeout": 5},
    }
    bench = MCPWorkbench({"mcpServers": config})
    bench._servers.append(shared._servers[0])
    names = [tool.name for tool in bench.list_tools()]
    assert "t-add" in names
    assert all(name.startswith("t-") for name in names)
    for server in config:
        assert f"MCP server {server} are missing" in caplog.text
    assert "broken setup" in caplog.text


# Speaks the protocol by hand: the official package's server gives its whole list at once.
PAGES = """
import json, sys
schema = {"type": "object", "properties": {}}
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("id") is None:
        continue
    if asked["method"] == "initialize":
        result = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "pages", "version": "1"}}
    elif asked["method"] == "tools/list":
        page = int((asked.get("params") or {}).get("cursor") or 0)
        result = {"tools": [{"name": f"tool{page}", "inputSchema": schema}]}
        if page < 2:
            result["nextCursor"] = str(page + 1)
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "unknown"}}),
              flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


def test_a_list_in_pages_is_read_to_its_end():
    bench = MCPWorkbench({"mcpServers": {"p": {"command": sys.executable, "args": ["-c", PAGES]}}})
    try:
        assert [tool.name for tool in bench.list_tools()] == ["p-tool0", "p-tool1", "p-tool2"]
    finally:
        bench.stop()


def test_a_server_that_says_its_tools_changed_is_asked_anew(marks):
    bench = MCPWorkbench({"mcpServers": {"t": stdio(marks)}})
    try:
        before = bench.list_tools()
        assert [tool.name for tool in bench.list_tools()] == [tool.name for tool in before]
        bench.call_tool("t-grow", {})
        assert wait_until(lambda: "t-later" in [tool.name for tool in bench.list_tools()])
        assert bench.call_tool("t-later", {}) == "late"
    finally:
        bench.stop()


def test_only_the_wanted_tools_are_offered(marks):
    bench = MCPWorkbench({"mcpServers": {"t": stdio(marks, tools=["add"])}})
    try:
        assert "t-add" in [tool.name for tool in bench.list_tools()]
        assert "t-pid" not in [tool.name for tool in bench.list_tools()]
    finally:
        bench.stop()


def test_tools_can_be_copied_and_pickled(tools, shared):
    assert copy.deepcopy(tools["t-add"]).call({"a": 1, "b": 1}) == "2"
    again = pickle.loads(pickle.dumps(tools["t-add"]))
    assert again.function == tools["t-add"].function
    assert copy.deepcopy(shared).call_tool("t-add", {"a": 1, "b": 5}) == "6"


# ---- in an agent's function_list


def names_sent(model):
    return [function["name"] for function in model.requests[-1].functions]


def test_an_agent_sees_what_a_server_adds_while_it_runs(marks):
    model = ScriptedChatModel([call("t-grow"), call("t-later"), "ok"])
    agent = FnCallAgent([{"mcpServers": {"t": stdio(marks)}}], model)
    agent.function_map["t-add"] = mine = pretended("t-add")
    del agent.function_map["t-fail"]
    *_, last = agent.run([{"role": "user", "content": "go"}])
    assert "late" in last[3]["content"]
    assert "t-later" in names_sent(model)
    assert "t-fail" not in names_sent(model)
    assert agent.function_map["t-add"] is mine
    assert "t-later" not in agent.function_map
    assert "t-later" in copy.deepcopy(agent)._tools(Turn([], "en", 1))
    agent.llm = None
    del agent.function_map["t-add"]
    assert "t-pid" in pickle.loads(pickle.dumps(agent))._tools(Turn([], "en", 1))
    close_all()


def pretended(name):
    @tool(name=name)
    def own() -> str:
        """The program's own."""
        return "mine"

    return own


def test_a_server_that_comes_up_late_is_found_and_nobody_waits_for_it(tmp_path):
    port = free_port()
    config = {"mcpServers": {"w": {"url": f"http://127.0.0.1:{port}/mcp", "connect_timeout": 10}}}
    model = ScriptedChatModel(["no tools yet"] + ["and now?"] * 200)
    agent = FnCallAgent([config], model)
    assert agent.function_map == {}
    start = time.monotonic()
    for _ in range(3):
        agent.run_nonstream([{"role": "user", "content": "go"}])
    assert time.monotonic() - start < 2
    process = start_server("http", port)
    try:

        def found():
            agent.run_nonstream([{"role": "user", "content": "go"}])
            return "w-add" in [function["name"] for function in model.requests[-1].functions or []]

        assert wait_until(found, 20)
        process.kill()
        process.wait()
        assert found()
    finally:
        process.kill()
        process.wait()
        close_all()


def test_a_run_that_ends_leaves_the_connection_to_the_others(marks):
    bench = MCPWorkbench({"mcpServers": {"t": stdio(marks)}})
    bench.start()
    bench.start()
    first = bench.call_tool("t-pid", {})
    bench.stop()
    assert bench.call_tool("t-pid", {}) == first
    bench.stop()
    assert wait_until(lambda: not is_running(int(first)))


# ---- over HTTP


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_server(kind, port):
    process = subprocess.Popen(
        [sys.executable, SERVER, kind, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )

    def is_up():
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    assert wait_until(is_up, 30)
    return process


@pytest.mark.parametrize(("kind", "path"), [("http", "/mcp"), ("sse", "/sse")])
def test_an_address_is_reached_whichever_kind_it_is_and_again_after_a_restart(kind, path, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    port = free_port()
    process = start_server(kind, port)
    bench = MCPWorkbench({"mcpServers": {"w": {"url": f"http://127.0.0.1:{port}{path}", "connect_timeout": 10}}})
    try:
        tools = {tool.name: tool for tool in bench.list_tools()}
        assert tools["w-add"].call({"a": 1, "b": 2}) == "3"
        first = tools["w-pid"].call({})
        process.kill()
        process.wait()
        with pytest.raises(ToolServiceError):
            tools["w-add"].call({"a": 1, "b": 2})
        process = start_server(kind, port)
        assert tools["w-pid"].call({}) != first
        assert tools["w-add"].call({"a": 2, "b": 2}) == "4"
    finally:
        bench.stop()
        process.kill()
        process.wait()


# ---- configuration


@pytest.mark.parametrize(
    ("server", "words"),
    [
        ({}, "'command' or 'url'"),
        ({"command": "x", "url": "http://y"}, "either"),
        ({"url": "ftp://y"}, "http://"),
        ({"command": "x", "args": "y"}, "args is a list"),
        ({"command": "x", "type": "sse"}, "type is"),
        ({"url": "http://y", "type": "smoke signals"}, "type is"),
        ({"command": "x", "timeout": -1}, "above 0"),
        ("x", "is a dict"),
    ],
)
def test_a_wrong_configuration_names_the_server_and_the_mistake(server, words):
    with pytest.raises(ValueError, match="mcpServers") as caught:
        read_servers({"mcpServers": {"s": server}})
    assert words in str(caught.value)
    with pytest.raises(ValueError, match="MCP servers"):
        MCPManager().initConfig({"servers": {}})


def test_names_fit_every_protocol():
    assert function_name("s", "tool.x/y") == "s-tool_x_y"
    long = function_name("server", "t" * 100)
    assert len(long) == 64
    assert long != function_name("server", "t" * 101)


def test_there_is_one_manager():
    assert MCPManager() is MCPManager()
