import time

import pytest

from qwen_agentkit.errors import ToolArgumentsError, ToolServiceError
from qwen_agentkit.tools import CodeInterpreter, RunCommand
from qwen_agentkit.tools.code import sandbox
from qwen_agentkit.tools.code.pool import kernels

try:
    sandbox.choose("bubblewrap")
    NO_WALL = None
except ToolServiceError as error:
    NO_WALL = error.message

pytestmark = pytest.mark.skipif(NO_WALL is not None, reason=str(NO_WALL))


@pytest.fixture
def tool(tmp_path):
    yield RunCommand({"work_dir": str(tmp_path / "work"), "timeout": 5})
    kernels.end()


def test_a_command_runs_in_the_sandbox(tool, tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    told = tool.call('{"command": "wc -l < a.txt; id -u; echo oops >&2"}', files=[str(tmp_path / "a.txt")])
    assert "2\n65534" in told
    assert "stderr:\n\n```\noops" in told
    assert "exit status" not in told
    assert "[exit status 3]" in tool.call({"command": "exit 3"})
    assert "[exit status" in tool.call({"command": "cat /etc/shadow"})


def test_quotes_and_braces_of_a_command_are_its_own(tool):
    assert "a'b\"c {d} \\n" in tool.call({"command": "printf '%s' \"a'b\\\"c {d} \\\\n\""})


def test_what_a_command_leaves_behind_is_ended(tool):
    assert tool.call({"command": "sleep 55 &"}) == "Finished execution."
    listing = r"for p in /proc/[0-9]*; do tr '\0' ' ' < $p/cmdline; echo; done"
    assert "sleep 55" not in tool.call({"command": f"{listing} | grep ^sleep"})
    assert "runner.py" in tool.call({"command": listing})


def test_a_command_that_takes_too_long_is_stopped(tool):
    start = time.monotonic()
    assert "stopped after 0.5 seconds" in tool.call({"command": "sleep 60"}, timeout=0.5)
    assert time.monotonic() - start < 4
    assert "ok" in tool.call({"command": "echo ok"})


def test_it_works_in_the_folder_of_the_interpreter(tmp_path):
    cfg = {"work_dir": str(tmp_path / "work")}
    try:
        CodeInterpreter(cfg).call({"code": "open('made.txt', 'w').write('by code')"}, session_id="s")
        assert "by code" in RunCommand(cfg).call({"command": "cat made.txt"}, session_id="s")
    finally:
        kernels.end()


def test_without_a_wall_it_is_refused(tool):
    with pytest.raises(ValueError, match="sandbox only"):
        RunCommand({"sandbox": "none"})
    with pytest.raises(ToolArgumentsError, match="'command'"):
        tool.call({"cmd": "ls"})
    with pytest.raises(ToolArgumentsError, match="end in the middle"):
        tool.call('{"command": "rm -r da')
