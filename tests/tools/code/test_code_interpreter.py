"""code_interpreter in its sandboxes, for real: what it does, and what the walls stop."""

import copy
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from qwen_agentkit import settings
from qwen_agentkit.agents import FnCallAgent
from qwen_agentkit.errors import RunCancelled, ToolArgumentsError, ToolServiceError
from qwen_agentkit.run_context import RunContext
from qwen_agentkit.schema import Message
from qwen_agentkit.testing import ScriptedChatModel, call
from qwen_agentkit.tools import CodeInterpreter, PythonExecutor
from qwen_agentkit.tools.code import sandbox
from qwen_agentkit.tools.code.pool import kernels
from qwen_agentkit.utils.session_ends import session_mark

try:
    sandbox.choose("bubblewrap")
    NO_WALL = None
except ToolServiceError as error:
    NO_WALL = error.message

walled = pytest.mark.skipif(NO_WALL is not None, reason=str(NO_WALL))
SANDBOXES = [pytest.param("bubblewrap", marks=walled), "none"]


@pytest.fixture(autouse=True)
def workspace(tmp_path, monkeypatch):
    monkeypatch.setitem(vars(settings), "DEFAULT_WORKSPACE", str(tmp_path / "workspace"))
    yield
    kernels.end()


def make(tmp_path, kind="bubblewrap", **more):
    return CodeInterpreter({"sandbox": kind, "work_dir": str(tmp_path / "work"), **more})


@pytest.mark.parametrize("kind", SANDBOXES)
def test_cells_share_their_names_and_show_what_they_do(tmp_path, kind):
    tool = make(tmp_path, kind)
    assert tool.call('{"code": "x = 20\\nprint(\'hi\')\\nx + 1"}') == (
        "stdout:\n\n```\nhi\n```\n\nexecute_result:\n\n```\n21\n```"
    )
    assert tool.call({"code": "x"}) == "execute_result:\n\n```\n20\n```"
    assert tool.call("```python\nx = 5\n```") == "Finished execution."
    assert "5" in tool.call("x")
    assert tool.call("  ") == ""


@pytest.mark.parametrize("kind", SANDBOXES)
def test_errors_are_short_and_name_the_line(tmp_path, kind):
    tool = make(tmp_path, kind)
    told = tool.call({"code": "def f():\n    return 1 / 0\n\nf()"})
    assert "ZeroDivisionError: division by zero" in told
    assert "line 2, in f" in told
    assert "runner.py" not in told
    assert "SyntaxError" in tool.call({"code": "def ("})
    assert "SystemExit" in tool.call({"code": "import sys; sys.exit(3)"})
    assert tool.call({"code": "1"})


@pytest.mark.parametrize("kind", SANDBOXES)
def test_output_of_children_and_of_c_is_seen(tmp_path, kind):
    told = make(tmp_path, kind).call(
        {"code": "import os, sys\nos.write(1, b'raw\\n')\nos.system('echo child')\nprint('err', file=sys.stderr)"}
    )
    assert "raw" in told
    assert "child" in told
    assert "stderr:\n\n```\nerr" in told


@pytest.mark.parametrize("kind", SANDBOXES)
def test_a_cell_that_takes_too_long_is_stopped_and_names_stay(tmp_path, kind):
    tool = make(tmp_path, kind, timeout=0.5)
    tool.call({"code": "x = 1"})
    start = time.monotonic()
    for slow in ("while True: pass", "import time; time.sleep(30)"):
        assert "stopped after 0.5 seconds" in tool.call({"code": slow})
    assert time.monotonic() - start < 4
    assert "1" in tool.call({"code": "x"})
    assert "stopped after 0.2 seconds" in tool.call({"code": "while True: pass"}, timeout=0.2)


@pytest.mark.parametrize("kind", SANDBOXES)
def test_code_that_cannot_be_interrupted_is_ended(tmp_path, kind):
    tool = make(tmp_path, kind, timeout=0.5)
    code = (
        "import signal, ctypes\nsignal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})\nctypes.CDLL(None).sleep(60)"
    )
    start = time.monotonic()
    told = tool.call({"code": code})
    assert "could not be interrupted" in told
    assert "names are gone" in told
    assert time.monotonic() - start < 6
    assert "2" in tool.call({"code": "1 + 1"})


def test_a_cancel_stops_the_cell_at_once(tmp_path):
    tool = make(tmp_path, "none")
    tool.call({"code": "x = 7"})
    run = RunContext("agent")
    threading.Timer(0.3, run.cancel.cancel).start()
    start = time.monotonic()
    with pytest.raises(RunCancelled):
        run.enter().run(tool.call, {"code": "import time; time.sleep(30)"})
    assert time.monotonic() - start < 1.3
    assert "7" in tool.call({"code": "x"})


@pytest.mark.parametrize("kind", SANDBOXES)
def test_files_are_at_hand_and_what_is_written_stays(tmp_path, kind):
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")
    tool = make(tmp_path, kind)
    assert "1,2" in tool.call({"code": "print(open('data.csv').read())"}, files=[str(tmp_path / "data.csv")])
    tool.call({"code": "open('out.txt', 'w').write('made')"})
    assert [path.read_text() for path in (tmp_path / "work").rglob("out.txt")] == ["made"]
    assert (tmp_path / "data.csv").read_text() == "a,b\n1,2\n"


@pytest.mark.parametrize("kind", SANDBOXES)
def test_pictures_are_saved_and_shown(tmp_path, kind):
    code = "class Picture:\n    def _repr_png_(self):\n        return b'\\x89PNG drawn'\nprint('look')\nPicture()"
    text, picture = make(tmp_path, kind).call({"code": code})
    assert Path(picture.image).read_bytes() == b"\x89PNG drawn"
    assert "look" in text.text
    assert f"![fig-001]({picture.image})" in text.text


def test_plots_of_matplotlib_are_pictures(tmp_path):
    pytest.importorskip("matplotlib")
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.figure(); plt.plot([3])"
    result = make(tmp_path, "none").call({"code": code}, timeout=60)
    assert [item.type for item in result] == ["text", "image", "image"]
    assert all(Path(item.image).read_bytes().startswith(b"\x89PNG") for item in result[1:])


def test_each_conversation_has_its_own_names_and_files(tmp_path):
    tool = make(tmp_path, "none")
    ada = [Message("user", "I am Ada")]
    tool.call({"code": "x = 1; open('mine.txt', 'w').write('a')"}, messages=ada)
    assert "NameError" in tool.call({"code": "x"}, messages=[Message("user", "I am Eve")])
    assert "[]" in tool.call({"code": "import os; os.listdir()"}, messages=[Message("user", "I am Eve")])
    assert "1" in tool.call({"code": "x"}, messages=[*ada, Message("assistant", "hi"), Message("user", "more")])
    tool.call({"code": "y = 1"}, user_id="ada", session_id="s", messages=ada)
    assert "NameError" in tool.call({"code": "y"}, user_id="eve", session_id="s", messages=ada)
    assert "NameError" in tool.call({"code": "y"}, messages=ada)
    assert "NameError" in copy.deepcopy(tool).call({"code": "x"}, messages=ada)


def in_session(user, session, work):
    run = RunContext("agent")
    run.session_key = (user, session)
    return run.enter().run(work)


def test_a_stored_session_has_its_own_names_and_files_whatever_was_said_first(tmp_path):
    tool, other_agents = make(tmp_path, "none"), make(tmp_path, "none")
    said = [Message("user", "hello")]
    in_session("ada", "s1", lambda: tool.call({"code": "x = 1; open('a.txt', 'w').close()"}, messages=said))
    for user, session in (("eve", "s1"), ("ada", "s2")):
        told = in_session(
            user, session, lambda: tool.call({"code": "import os; print(os.listdir()); x"}, messages=said)
        )
        assert "NameError" in told
        assert "a.txt" not in told
    more = [Message("user", "something else, after a cut")]
    assert "1" in in_session("ada", "s1", lambda: other_agents.call({"code": "x"}, messages=more))
    # What a program says in `run` does not lead into a stored session of somebody else.
    forged = {"user_id": "ada", "session_id": "s1", "messages": said}
    assert "NameError" in in_session("eve", "s9", lambda: tool.call({"code": "x"}, **forged))


def test_a_kernel_and_its_folder_end_with_their_stored_session(tmp_path):
    pytest.importorskip("sqlalchemy")
    from qwen_agentkit.session import SessionStore

    cell = "x = 1; open('made.txt', 'w').close()"
    model = ScriptedChatModel([made for _ in range(3) for made in (call("code_interpreter", code=cell), "ok")])
    agent = FnCallAgent([make(tmp_path, "none")], model)
    with SessionStore(f"sqlite:///{tmp_path / 'sessions.db'}") as store:
        sessions = {key: store.session(key[1], key[0]) for key in (("ada", "s1"), ("ada", "s2"), ("eve", "s1"))}
        for session in sessions.values():
            agent.run_nonstream([{"role": "user", "content": "hello"}], session=session)

        def owners():
            return {kernel.session for kernel in kernels._kernels.values() if kernel.is_alive}

        def folders():
            return {key for key in sessions if (tmp_path / "work" / session_mark(*key) / "made.txt").exists()}

        assert owners() == folders() == set(sessions)
        sessions["ada", "s1"].delete()
        assert owners() == folders() == {("ada", "s2"), ("eve", "s1")}
        store.delete_user("ada")
        assert owners() == folders() == {("eve", "s1")}


def test_a_deleted_session_leaves_no_folder_in_the_workspace_when_no_tool_was_made(tmp_path):
    pytest.importorskip("sqlalchemy")
    from qwen_agentkit.session import SessionStore

    tools = tmp_path / "workspace" / "tools"
    mine, others = (tools / "python_executor" / session_mark("ada", session) for session in ("s1", "s2"))
    link = tools / "code_interpreter" / session_mark("ada", "s1")
    for folder in (mine, others, link.parent):
        folder.mkdir(parents=True)
    (others / "kept.txt").write_text("kept")
    link.symlink_to(others)
    with SessionStore(f"sqlite:///{tmp_path / 'sessions.db'}") as store:
        store.session("s1", "ada").delete()
    assert not mine.exists()
    # A link in its place goes, not what it leads to.
    assert not link.is_symlink()
    assert (others / "kept.txt").read_text() == "kept"


@walled
def test_pictures_outlast_a_session_whose_fork_shows_them_but_not_their_user(tmp_path):
    pytest.importorskip("sqlalchemy")
    from qwen_agentkit.session import SessionStore

    tool, picture = make(tmp_path), "class P:\n    def _repr_png_(self): return b'\\x89PNG'\nP()"
    shown = {user: in_session(user, "s1", lambda: tool.call({"code": picture}))[1].image for user in ("ada", "eve")}
    with SessionStore(f"sqlite:///{tmp_path / 'sessions.db'}") as store:
        store.session("s1", "ada").delete()
        assert Path(shown["ada"]).is_file()
        store.delete_user("ada")
        assert not Path(shown["ada"]).exists()
        assert Path(shown["eve"]).is_file()


def calls(first, *ids):
    made = [Message("user", first)]
    for one in ids:
        made.append(Message("assistant", "", function_call={"name": "t", "arguments": ""}, extra={"function_id": one}))
    return made


def test_without_a_session_a_conversation_is_known_by_its_first_call(tmp_path):
    tool, executor = make(tmp_path, "none"), PythonExecutor({"sandbox": "none", "work_dir": str(tmp_path / "executor")})
    tool.call({"code": "x = 1"}, messages=calls("hi", "call_aaaaaaaaaaa1"))
    assert "1" in tool.call({"code": "x"}, messages=calls("hi", "call_aaaaaaaaaaa1", "call_ccccccccccc1"))
    assert "NameError" in tool.call({"code": "x"}, messages=calls("hi", "call_bbbbbbbbbbb2"))
    # An id that a server counts up says nothing by itself.
    tool.call({"code": "y = 1"}, messages=calls("hi", "functions.python:0"))
    assert "NameError" in tool.call({"code": "y"}, messages=calls("hello", "functions.python:0"))
    executor.call({"code": "open('mine', 'w').write('a')"}, messages=calls("hi", "call_aaaaaaaaaaa1"))
    listing = {"code": "import os; print(os.listdir())"}
    assert executor.call(listing, messages=calls("hi", "call_bbbbbbbbbbb2"))[0] == "[]"


def test_a_kernel_that_works_is_not_ended_for_a_new_one(tmp_path, monkeypatch):
    monkeypatch.setattr("qwen_agentkit.tools.code.pool.MAX_KERNELS", 1)
    tool, told = make(tmp_path, "none"), []
    slow = threading.Thread(
        target=lambda: told.append(tool.call({"code": "import time; time.sleep(1.5); 'slept'"}, session="a"))
    )
    slow.start()
    time.sleep(0.7)
    assert "2" in tool.call({"code": "1 + 1"}, session="b")
    slow.join(20)
    assert "slept" in told[0]
    tool.call({"code": "1"}, session="c")
    assert sum(kernel.is_alive for kernel in kernels._kernels.values()) == 1


def test_a_missing_sandbox_is_said_when_the_tool_is_called(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    sandbox._bubblewrap_problem.cache_clear()
    try:
        tool = CodeInterpreter()
        with pytest.raises(ToolServiceError, match="apt install bubblewrap"):
            tool.call({"code": "1"})
    finally:
        sandbox._bubblewrap_problem.cache_clear()


def test_wrong_settings_and_half_arguments_are_told(tmp_path):
    for cfg in ({"sandbox": "glass"}, {"timeout": 0}, {"timeout": 10_000}):
        with pytest.raises(ValueError, match="code_interpreter"):
            CodeInterpreter(cfg)
    with pytest.raises(ToolArgumentsError, match="ends in the middle"):
        make(tmp_path, "none").call('{"code": "import shutil; shutil.rmtree(\'da')
    with pytest.raises(ToolArgumentsError, match="'code'"):
        make(tmp_path, "none").call({"cod": "1"})


# ---- the walls


@pytest.fixture
def walls(tmp_path):
    return make(tmp_path, "bubblewrap", timeout=15, memory=300_000_000, folder=20_000_000, processes=20)


OUT_OF_REACH = [
    "open('/etc/shadow').read()",
    "open('/etc/passwd').read()",
    "open('/usr/evil', 'w')",
    "open('/etc/evil', 'w')",
    "import os; os.listdir('/home')",
    "import os; os.remove(os.__file__)",
    "import os; os.setuid(0)",
    "import os; os.kill(os.getppid() + 10 ** 6, 9)",
    "import socket; socket.create_connection(('1.1.1.1', 53), 2)",
    "import socket; socket.create_connection(('127.0.0.1', 22), 2)",
    "open('/evil', 'w')",
    "open('/dev/evil', 'w')",
    "open('/dev/shm/big', 'wb').write(bytes(70_000_000))",
    "open('/run/runner.py', 'w')",
    "import ctypes\nif ctypes.CDLL(None).mount(b'x', b'/tmp', b'tmpfs', 0, 0): raise OSError('no')",
]


@walled
def test_the_system_the_network_and_other_processes_are_out_of_reach(walls):
    reached = [code for code in OUT_OF_REACH if "Error" not in walls.call({"code": code})]
    assert reached == []


@walled
def test_secrets_of_the_environment_and_of_the_host_are_not_seen(walls, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    (tmp_path / "secret.txt").write_text("secret")
    secret = str(tmp_path / "secret.txt")
    told = walls.call(
        {
            "code": f"import os\nprint(dict(os.environ), os.getuid())\nprint(os.path.exists({secret!r}))"
            "\nprint(len([p for p in os.listdir('/proc') if p.isdigit()]) < 10)"
        }
    )
    assert "sk-secret" not in told
    assert "65534" in told
    assert "False" in told
    assert "True" in told


@walled
def test_many_processes_end_the_sandbox(walls):
    code = "import subprocess, time\nfor n in range(60): subprocess.Popen(['sleep', '30'])\ntime.sleep(10)"
    assert "more than 20 processes" in walls.call({"code": code})
    assert "2" in walls.call({"code": "1 + 1"})


@walled
def test_filling_the_memory_ends_the_sandbox_or_the_cell(walls):
    code = "held = []\nwhile True: held.append(bytearray(10_000_000)); import time; time.sleep(0.01)"
    assert "300 MB of memory" in walls.call({"code": code})
    assert "MemoryError" in walls.call({"code": "bytearray(10 ** 12)"})


@walled
def test_filling_the_disk_is_stopped(walls, tmp_path):
    told = walls.call({"code": "with open('big', 'wb') as f:\n    for _ in range(100): f.write(bytes(1_000_000))"})
    assert "Error" in told or "more than 20 MB" in told
    code = "import time\nfor n in range(100):\n    open(f'p{n}', 'wb').write(b'x' * 1_000_000); time.sleep(0.05)"
    assert "more than 20 MB" in walls.call({"code": code})
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) < 80_000_000


@walled
def test_killing_its_own_kernel_is_told(walls):
    told = walls.call({"code": "import os; os._exit(0)"})
    assert "ended its own Python process" in told
    assert "2" in walls.call({"code": "1 + 1"})
    walls.call({"code": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"})
    assert "2" in walls.call({"code": "1 + 1"})


@pytest.mark.parametrize("kind", SANDBOXES)
def test_output_without_end_is_bounded(tmp_path, kind):
    tool = make(tmp_path, kind, timeout=2)
    told = tool.call({"code": "import os\nwhile True: os.write(1, b'x' * 1_000_000)"})
    assert "left out" in told
    assert "stopped after 2 seconds" in told
    assert len(told) < 100_000
    assert "2" in tool.call({"code": "1 + 1"})
    assert (
        "more characters" in tool.call({"code": "'y' * 10 ** 7"}) or len(tool.call({"code": "'y' * 10 ** 7"})) < 100_000
    )


@walled
def test_what_the_code_writes_into_the_channel_is_not_trusted(walls):
    code = (
        "import json, os\nfor fd in range(3, 20):\n    try:\n"
        "        event = json.dumps({'id': 1, 'figure': '../../../etc/passwd'}).encode()\n"
        "        os.write(fd, event + b'\\n[1]\\nnot json\\n')\n"
        "    except OSError: pass"
    )
    result = walls.call({"code": code})
    assert "passwd" not in json.dumps(result if isinstance(result, str) else [i.model_dump() for i in result])
    assert "2" in walls.call({"code": "1 + 1"})


def test_no_process_outlives_the_program(tmp_path):
    kind = "none" if NO_WALL else "bubblewrap"
    program = (
        "from qwen_agentkit.tools import CodeInterpreter\n"
        f"tool = CodeInterpreter({{'sandbox': {kind!r}, 'work_dir': {str(tmp_path / 'w')!r}}})\n"
        "from qwen_agentkit.tools.code.pool import kernels\n"
        "tool.call({'code': 'import subprocess; subprocess.Popen([\"sleep\", \"77.25\"])'})\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    time.sleep(0.3)
    running = [Path(f"/proc/{pid}/cmdline") for pid in os.listdir("/proc") if pid.isdigit()]
    assert not any(b"77.25" in path.read_bytes() for path in running if path.exists())


def test_idle_kernels_are_ended(tmp_path, monkeypatch):
    monkeypatch.setattr("qwen_agentkit.tools.code.pool._LOOK_EVERY", 0.1)
    kernels._is_watched = False
    tool = make(tmp_path, "none", idle=0.5)
    tool.call({"code": "x = 1"})
    held = next(iter(kernels._kernels.values()))
    end = time.monotonic() + 5
    while held.is_alive and time.monotonic() < end:
        time.sleep(0.05)
    assert not held.is_alive
    assert "NameError" in tool.call({"code": "x"})


# ---- python_executor


def test_the_executor_gives_the_answer_and_forgets(tmp_path):
    kind = "none" if NO_WALL else "bubblewrap"
    tool = PythonExecutor({"sandbox": kind, "work_dir": str(tmp_path), "timeout_length": 1})
    assert tool.call("```python\nx = 2 ** 10\nprint(x)\n```") == ["1024", "Done"]
    assert tool.call({"code": "x"})[1].startswith("NameError")
    assert tool.call({"code": "1 / 0"}) == ["", "ZeroDivisionError: division by zero"]
    assert "stopped after 1 seconds" in tool.call({"code": "while True: pass"})[1]
    assert len(tool.call({"code": "print('x' * 1000)"})[0]) == 259
    assert PythonExecutor({"sandbox": kind, "get_answer_symbol": "y"}).call({"code": "y = 3\nprint(1)"}) == [
        "3",
        "Done",
    ]
