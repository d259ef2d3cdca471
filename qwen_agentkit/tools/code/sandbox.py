"""The wall around a model's code: which one is at hand, and the command that starts a program behind it."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from qwen_agentkit.errors import ToolServiceError
from qwen_agentkit.events import ToolProgress
from qwen_agentkit.log import logger
from qwen_agentkit.run_context import current_run
from qwen_agentkit.tools.code.container import DEFAULT_IMAGE, ENGINES, engine_problem
from qwen_agentkit.tools.code.limits import Limits
from qwen_agentkit.tools.execution import current_call_id

AUTO = "auto"
BUBBLEWRAP = "bubblewrap"
NONE = "none"
SANDBOXES = (AUTO, *ENGINES, BUBBLEWRAP, NONE)

# Read-only parts of the system that a Python program needs. Not /etc, where passwords and keys are, nor /opt, where
# other programs keep theirs.
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "fonts", "ssl/certs", "localtime", "mime.types")
# Bytes of the two folders in memory: /tmp, and what processes share.
_TMP_BYTES = 256_000_000
_SHARED_BYTES = 64_000_000
_NOBODY = "65534"
_RUNNER_INSIDE = "/run/runner.py"


def choose(wanted: str, image: str = "") -> str:
    """The sandbox to use.

    Args:
        wanted: `auto` (the strongest at hand), or one by name. `none` runs the code as a plain process with the
            program's own rights, and only a developer can ask for it.
        image: Image for a container. Without one `auto` takes no container: what code can import is the image's, so
            it must be chosen.

    Raises:
        ToolServiceError: There is none; the text says how to get one.
    """
    if wanted == NONE:
        return NONE
    problems: list[str] = []
    for kind in (*ENGINES, BUBBLEWRAP) if wanted == AUTO else (wanted,):
        if kind == BUBBLEWRAP:
            problem = _bubblewrap_problem()
        elif wanted == AUTO and not image:
            continue
        else:
            problem = engine_problem(kind, image or DEFAULT_IMAGE)
        if problem is None:
            return kind
        problems.append(problem)
    raise ToolServiceError(
        None,
        "no_sandbox",
        f"Code is run in a sandbox only, and none is at hand: {'; '.join(problems)}. Install one (Debian, Ubuntu: apt "
        "install bubblewrap; Fedora: dnf install bubblewrap), or set sandbox='none' to run code with your own rights.",
    )


@functools.lru_cache(maxsize=1)
def _bubblewrap_problem() -> str | None:
    """Why bubblewrap cannot be used here, None when it can; tried once."""
    program = shutil.which("bwrap")
    if program is None:
        return "bubblewrap is not installed"
    command = [program, *_WALLS, *_system(), "--proc", "/proc", "/usr/bin/env", "true"]
    try:
        tried = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap does not start ({error})"
    if tried.returncode:
        return f"bubblewrap does not work here ({' '.join(tried.stderr.split())[:200]})"
    logger.info("Code is run in bubblewrap")
    return None


# Own namespaces for everything (so no network), no privileges, gone with its parent, no terminal.
_WALLS = (
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
    "--uid",
    _NOBODY,
    "--gid",
    _NOBODY,
    "--cap-drop",
    "ALL",
)


def command_for(sandbox: str, work_dir: str, limits: Limits) -> list[str]:
    """The command that runs the runner in a sandbox, with `work_dir` as the one place that it may write to."""
    runner = str(Path(__file__).with_name("runner.py"))
    # Address space is more than what is used; the host watches over what is used.
    bounds = [str(limits.memory * 3), str(limits.folder)]
    if sandbox == NONE:
        return [sys.executable, "-u", "-E", runner, *bounds]
    command = [shutil.which("bwrap") or "bwrap", *_WALLS, *_system(), "--proc", "/proc", "--dev", "/dev"]
    for folder, size in (("/tmp", _TMP_BYTES), ("/dev/shm", _SHARED_BYTES)):
        command += [*(["--size", str(size)] if _knows("--size") else []), "--tmpfs", folder]
    for path in _python_folders():
        command += ["--ro-bind", path, path]
    command += ["--ro-bind", runner, _RUNNER_INSIDE, "--bind", work_dir, work_dir, "--chdir", work_dir]
    # What is mounted above the root stays as it is; the root and /dev themselves are memory that nobody bounds.
    command += ["--remount-ro", "/dev", "--remount-ro", "/", "--clearenv"]
    for name, value in environment(work_dir).items():
        command += ["--setenv", name, value]
    # A fork bomb is quicker than the host's watch; threads count here, so it is more than the host allows.
    return [*command, sys.executable, "-u", _RUNNER_INSIDE, *bounds, str(limits.processes * 4 + 200)]


def environment(work_dir: str) -> dict[str, str]:
    """The variables that code sees: nothing of the program's own, where keys are kept."""
    return {
        "PATH": f"{os.path.dirname(sys.executable)}:/usr/local/bin:/usr/bin:/bin",
        "HOME": "/tmp",
        "LANG": "C.UTF-8",
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": "/tmp/matplotlib",
        "IPYTHONDIR": "/tmp/ipython",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "2",
        "OMP_NUM_THREADS": "2",
    }


def tell_sandbox(tool: str, sandbox: str) -> None:
    """Says in the run's events which sandbox a call of a tool runs in."""
    run = current_run()
    if run is not None:
        run.emit(ToolProgress, call_id=current_call_id.get() or "", name=tool, data={"sandbox": sandbox})


def _system() -> list[str]:
    command: list[str] = []
    for path in _SYSTEM:
        if os.path.islink(path):
            command += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            command += ["--ro-bind", path, path]
    for name in _ETC:
        if os.path.exists(f"/etc/{name}"):
            command += ["--ro-bind", os.path.realpath(f"/etc/{name}"), f"/etc/{name}"]
    return command


def _python_folders() -> list[str]:
    """Where this Python and its packages are, outside of what is bound anyway."""
    paths = {sys.prefix, sys.base_prefix, sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    real = {os.path.realpath(path) for path in paths} | paths
    real |= {os.path.dirname(os.path.dirname(os.path.realpath(sys.executable)))}
    outer = sorted(path for path in real if path not in ("/", "/usr") and not path.startswith("/usr/"))
    return [path for path in outer if not any(path.startswith(f"{other}/") for other in outer)]


@functools.lru_cache(maxsize=8)
def _knows(option: str) -> bool:
    told = subprocess.run(["bwrap", "--help"], capture_output=True, text=True, timeout=10, check=False)
    return option in told.stdout + told.stderr
