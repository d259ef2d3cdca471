"""Docker and Podman as the wall around a model's code, by their command lines, which are the same for what is used."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from pathlib import Path

from qwen_agentkit.errors import ToolServiceError
from qwen_agentkit.log import logger
from qwen_agentkit.tools.code.limits import Limits

ENGINES = ("docker", "podman")
# Used when an engine is asked for by name and no image is; it has Python and no more.
DEFAULT_IMAGE = "python:3.12-slim"
# Seconds within which an engine must answer to be used, and to remove a container.
ANSWER_SECONDS = 2.0
_REMOVE_SECONDS = 10.0
# Seconds for which an engine that cannot be used is not asked again.
_ASK_AGAIN = 60.0
# Another user than root, where the work folder belongs to root.
_NOBODY = 65534
_RUNNER = "/run/runner.py"
# What a command line tool needs to find its engine; nothing of it enters the container.
_FOR_THE_ENGINE = ("PATH", "HOME", "USER", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "TMPDIR")

_lock = threading.Lock()
_asked: dict[tuple[str, str], tuple[float, str | None]] = {}


def engine_problem(engine: str, image: str) -> str | None:
    """Why an engine cannot be used, None when it can: it answers in time, and has the image.

    Args:
        engine: `docker` or `podman`.
        image: Name of an image that it must have; none is fetched from anywhere.
    """
    with _lock:
        when, problem = _asked.get((engine, image), (-_ASK_AGAIN, "never asked"))
        if problem is None or time.monotonic() - when < _ASK_AGAIN:
            return problem
        problem = _ask(engine, image)
        _asked[engine, image] = (time.monotonic(), problem)
        if problem is None:
            logger.info("Code is run by %s in the image %s", engine, image)
        return problem


def forget_answers() -> None:
    """Asks the engines again at the next need."""
    with _lock:
        _asked.clear()


def _ask(engine: str, image: str) -> str | None:
    program = shutil.which(engine)
    if program is None:
        return f"{engine} is not installed"
    try:
        told = subprocess.run(
            [program, "image", "inspect", image],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=ANSWER_SECONDS,
            check=False,
            env=engine_environment(),
        )
    except subprocess.TimeoutExpired:
        return f"{engine} does not answer within {ANSWER_SECONDS:g} seconds"
    except OSError as error:
        return f"{engine} does not start ({error})"
    if told.returncode:
        reason = " ".join(told.stderr.split())[:200]
        return f"{engine} cannot run the image {image} ({reason}); get it with: {engine} pull {image}"
    return None


def container_command(engine: str, image: str, name: str, work_dir: str, limits: Limits) -> list[str]:
    """The command that runs the runner in a container.

    No network, a read-only system, no privileges, not root; memory, processors and processes are bounded, and the
    work folder is the one place that can be written to. The image is never fetched.

    Args:
        engine: `docker` or `podman`.
        image: An image with `python3`.
        name: For the container.
        work_dir: The folder; it has the same path inside.
        limits: What it may use.

    Raises:
        ToolServiceError: The path of the folder cannot be written on the command line.
    """
    runner = str(Path(__file__).with_name("runner.py"))
    for path in (work_dir, runner):
        if any(sign in path for sign in ',"\n'):
            raise ToolServiceError(None, "no_sandbox", f"{engine} cannot mount {path!r}: no commas and quotes, please")
    owner, group = _user_for(work_dir)
    variables = {"HOME": "/tmp", "MPLBACKEND": "Agg", "MPLCONFIGDIR": "/tmp/matplotlib", "IPYTHONDIR": "/tmp/ipython"}
    return [
        shutil.which(engine) or engine,
        "run",
        "--rm",
        "--interactive",
        # Something that takes leave of processes whose parent has gone.
        *(["--init"] if engine == "docker" or _has_init() else []),
        "--pull=never",
        f"--name={name}",
        "--network=none",
        "--read-only",
        "--cap-drop=ALL",
        "--security-opt=no-new-privileges",
        # Without root's rights Podman maps this user to itself, so that the folder's files stay his.
        *(["--userns=keep-id"] if engine == "podman" and _is_rootless() else []),
        f"--user={owner}:{group}",
        f"--memory={limits.memory}b",
        f"--memory-swap={limits.memory}b",
        f"--cpus={limits.cpus:g}",
        f"--pids-limit={limits.processes}",
        f"--ulimit=fsize={limits.folder}:{limits.folder}",
        "--ulimit=core=0:0",
        "--shm-size=64m",
        "--tmpfs=/tmp:rw,size=256m,mode=1777",
        f"--mount=type=bind,source={work_dir},target={work_dir}",
        f"--mount=type=bind,source={runner},target={_RUNNER},readonly",
        f"--workdir={work_dir}",
        *(f"--env={key}={value}" for key, value in variables.items()),
        image,
        "python3",
        "-u",
        _RUNNER,
        str(limits.memory * 3),
        str(limits.folder),
    ]


def remove_container(engine: str, name: str) -> None:
    """Ends a container and all its processes; one that has ended already is no mistake."""
    try:
        subprocess.run(
            [shutil.which(engine) or engine, "rm", "--force", name],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_REMOVE_SECONDS,
            check=False,
            env=engine_environment(),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        logger.warning("The container %s could not be removed: %s", name, error)


def engine_environment() -> dict[str, str]:
    """The variables for the command line tool itself."""
    kept = {name: os.environ[name] for name in _FOR_THE_ENGINE if name in os.environ}
    return kept | {key: value for key, value in os.environ.items() if key.startswith(("DOCKER_", "CONTAINER"))}


def _user_for(work_dir: str) -> tuple[int, int]:
    """Who the code runs as: the folder's owner, never root. A folder of root's is given away for it."""
    held = os.stat(work_dir)
    if held.st_uid != 0:
        return held.st_uid, held.st_gid
    os.chown(work_dir, _NOBODY, _NOBODY)
    return _NOBODY, _NOBODY


def _has_init() -> bool:
    """Whether Podman finds its small init, which Docker always brings."""
    places = ("/usr/libexec/podman/catatonit", "/usr/lib/podman/catatonit")
    return shutil.which("catatonit") is not None or any(os.path.exists(place) for place in places)


def _is_rootless() -> bool:
    return hasattr(os, "getuid") and os.getuid() != 0
