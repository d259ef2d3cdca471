"""Docker and Podman by their command lines: against a stand-in that checks them, and Podman itself where it runs."""

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from qwen_agentkit import settings
from qwen_agentkit.errors import ToolServiceError
from qwen_agentkit.events import ToolProgress
from qwen_agentkit.run_context import RunContext
from qwen_agentkit.tools import CodeInterpreter
from qwen_agentkit.tools.code import container, sandbox
from qwen_agentkit.tools.code.limits import Limits
from qwen_agentkit.tools.code.pool import kernels


@pytest.fixture(autouse=True)
def nothing_kept(tmp_path, monkeypatch):
    monkeypatch.setitem(vars(settings), "DEFAULT_WORKSPACE", str(tmp_path / "workspace"))
    container.forget_answers()
    yield
    kernels.end()
    container.forget_answers()


@pytest.fixture
def engines(tmp_path, monkeypatch):
    """Both engines, as the stand-in; a folder with its log and with what is to go wrong."""
    programs, here = tmp_path / "bin", tmp_path / "engine"
    programs.mkdir()
    here.mkdir()
    script = Path(__file__).with_name("stand_in_engine.py")
    for name in container.ENGINES:
        (programs / name).write_text(f'#!/bin/sh\nexec {sys.executable} -S {script} "$@"\n')
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("DOCKER_STAND_IN", str(here))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    return here


def make(tmp_path, kind, **more):
    return CodeInterpreter({"sandbox": kind, "image": "python:test", "work_dir": str(tmp_path / "work"), **more})


def calls(engines):
    return [json.loads(line) for line in (engines / "log").read_text().splitlines()]


@pytest.mark.parametrize("engine", container.ENGINES)
def test_cells_run_in_a_container_that_is_closed_on_all_sides(tmp_path, engines, engine):
    tool = make(tmp_path, engine, memory=300_000_000, processes=20, folder=20_000_000, cpus=1.5)
    tool.call({"code": "x = 20"})
    assert "21" in tool.call({"code": "open('made', 'w').close(); x + 1"})
    assert list((tmp_path / "work").rglob("made"))
    asked, started = calls(engines)
    assert asked["argv"] == ["image", "inspect", "python:test"]
    argv = started["argv"]
    for wanted in (
        "--rm", "--pull=never", "--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges",
        "--memory=300000000b", "--memory-swap=300000000b", "--cpus=1.5", "--pids-limit=20",
        "--ulimit=fsize=20000000:20000000",
    ):  # fmt: skip
        assert wanted in argv
    (user,) = [one.removeprefix("--user=") for one in argv if one.startswith("--user=")]
    assert not user.startswith("0:")
    assert not any(one.startswith(("--publish", "-p", "--privileged", "--volume")) for one in argv)
    assert sum(one.startswith("--mount=") for one in argv) == 2
    assert "OPENAI_API_KEY" not in started["environment"]
    assert not any("sk-secret" in one for one in argv)


def test_a_container_that_cannot_be_interrupted_is_removed_by_its_name(tmp_path, engines):
    tool = make(tmp_path, "docker", timeout=0.5)
    code = "import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})\ntime.sleep(60)"
    assert "could not be interrupted" in tool.call({"code": code})
    _, started, removed = calls(engines)
    (name,) = [one.removeprefix("--name=") for one in started["argv"] if one.startswith("--name=")]
    assert removed["argv"] == ["rm", "--force", name]
    assert "2" in tool.call({"code": "1 + 1"})


def test_one_that_was_killed_may_have_taken_too_much_memory(tmp_path, engines):
    tool = make(tmp_path, "docker")
    tool.call({"code": "1"})
    # The tool of an engine ends with 137 when the container was killed.
    assert "perhaps for more than 2000 MB of memory" in tool.call({"code": "import os; os._exit(137)"})


@pytest.mark.parametrize(("sign", "told"), [("down", "Cannot connect"), ("no_image", "docker pull python:test")])
def test_an_engine_that_is_down_or_has_no_image_is_told_with_what_helps(tmp_path, engines, sign, told):
    (engines / sign).touch()
    with pytest.raises(ToolServiceError, match=told):
        make(tmp_path, "docker").call({"code": "1"})


def test_an_engine_that_does_not_answer_costs_two_seconds_once(tmp_path, engines):
    (engines / "slow").touch()
    for most in (4.0, 0.5):
        start = time.monotonic()
        with pytest.raises(ToolServiceError, match="docker does not answer within 2 seconds"):
            make(tmp_path, "docker").call({"code": "1"})
        assert time.monotonic() - start < most


def test_auto_takes_a_container_where_an_image_is_chosen_and_else_what_comes_next(engines, monkeypatch):
    assert sandbox.choose("auto", "python:test") == "docker"
    monkeypatch.setattr(sandbox, "_bubblewrap_problem", lambda: None)
    assert sandbox.choose("auto") == "bubblewrap"
    container.forget_answers()
    (engines / "down").touch()
    assert sandbox.choose("auto", "python:test") == "bubblewrap"
    monkeypatch.setattr(sandbox, "_bubblewrap_problem", lambda: "it is not installed")
    with pytest.raises(ToolServiceError, match=r"(?s)docker cannot.*podman cannot.*apt install bubblewrap"):
        sandbox.choose("auto", "python:test")


def test_the_image_may_be_a_setting_and_the_events_say_where_code_ran(tmp_path, engines, monkeypatch):
    monkeypatch.setitem(vars(settings), "CODE_IMAGE", "house:1")
    events = []
    run = RunContext("agent", sink=events.append)
    run.enter().run(CodeInterpreter({"work_dir": str(tmp_path / "w")}).call, {"code": "1"})
    assert "house:1" in calls(engines)[-1]["argv"]
    assert [event.data for event in events if isinstance(event, ToolProgress)] == [{"sandbox": "docker"}]


def test_a_folder_that_no_command_line_can_name_is_refused(tmp_path):
    with pytest.raises(ToolServiceError, match="no commas"):
        container.container_command("docker", "i", "n", str(tmp_path / "a,readonly"), Limits())


# ---- Podman itself


def libraries(program):
    told = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return re.findall(r"(/\S+) \(0x", told)


def small_system() -> bytes:
    """A root file system with the system's Python and nothing else, as a tar archive."""
    python, shell = "/usr/bin/python3", "/bin/sh"
    standard = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    modules = Path(standard, "lib-dynload")
    programs = [python, shell, *map(str, modules.iterdir())]
    files = {python, shell, os.path.realpath(python)}.union(*(libraries(one) for one in programs))
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        for file in sorted(files):
            archive.add(os.path.realpath(file), file.lstrip("/"))
        archive.add(standard, standard.lstrip("/"), filter=lambda one: None if "/test" in one.name else one)
        for folder in ("tmp", "proc", "dev", "run", "etc", "sys"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
    return held.getvalue()


@pytest.fixture(scope="module")
def podman_image():
    if shutil.which("podman") is None or not os.path.exists("/usr/bin/python3"):
        pytest.skip("podman and the system's python3 are wanted")
    name = "localhost/qwen-agentkit-test:small"
    made = subprocess.run(
        ["podman", "import", "-", name], input=small_system(), capture_output=True, timeout=120, check=False
    )
    if made.returncode:
        pytest.skip(f"podman imports no image here: {made.stderr.decode(errors='replace')[-200:]}")
    tried = subprocess.run(
        ["podman", "run", "--rm", "--network=none", "--pull=never", name, "python3", "-c", "print(1)"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    if tried.returncode:
        subprocess.run(["podman", "rmi", name], capture_output=True, timeout=60, check=False)
        pytest.skip(f"podman runs no container here: {' '.join(tried.stderr.split())[-200:]}")
    yield name
    subprocess.run(["podman", "rmi", "--force", name], capture_output=True, timeout=60, check=False)


def test_podman_itself_keeps_names_and_lets_nothing_out(tmp_path, podman_image):
    tool = make(tmp_path, "podman", image=podman_image, timeout=10, memory=200_000_000)
    tool.call({"code": "x = 20"})
    assert "21" in tool.call({"code": "open('made', 'w').close(); x + 1"})
    for code in (
        "import socket; socket.create_connection(('1.1.1.1', 53), 2)",
        "open('/usr/evil', 'w')",
        "open('/etc/shadow').read()",
        "import os; os.setuid(0)",
    ):
        assert "Error" in tool.call({"code": code}), code
    assert "False" in tool.call({"code": "import os; os.getuid() == 0"})
    told = tool.call({"code": "held = []\nwhile True: held.append(bytearray(10_000_000))"})
    assert "MemoryError" in told or "memory" in told
