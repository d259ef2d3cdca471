"""Stands in for `docker` and `podman`: checks the command line as they would, and runs the runner without a wall.

`STAND_IN` in the environment names a folder: `log` gets a JSON line for each call, `slow`, `down` and `no_image` say
how it fails. Named with a prefix that both tools' settings have, so that it passes to them: DOCKER_STAND_IN.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

HERE = Path(os.environ["DOCKER_STAND_IN"])
WITH_VALUE = {
    "--name", "--network", "--cap-drop", "--security-opt", "--user", "--memory", "--memory-swap", "--cpus", "--env",
    "--pids-limit", "--ulimit", "--shm-size", "--tmpfs", "--mount", "--workdir", "--pull", "--userns",
}  # fmt: skip
FLAGS = {"--rm", "--interactive", "--init", "--read-only"}


def fail(text: str, status: int = 125) -> None:
    print(text, file=sys.stderr)
    sys.exit(status)


def main() -> None:
    arguments = sys.argv[1:]
    with (HERE / "log").open("a") as log:
        log.write(json.dumps({"argv": arguments, "environment": sorted(os.environ)}) + "\n")
    if arguments[:2] == ["image", "inspect"]:
        if (HERE / "slow").exists():
            time.sleep(30)
        if (HERE / "down").exists():
            fail("Cannot connect to the daemon", 1)
        if (HERE / "no_image").exists():
            fail(f"No such image: {arguments[2]}", 1)
        return
    if arguments[0] == "rm":
        pid = HERE / arguments[2]
        if pid.exists():
            os.kill(int(pid.read_text()), signal.SIGKILL)
            pid.unlink()
        return
    if arguments[0] != "run":
        fail(f"unknown command: {arguments[0]}")
    run(arguments[1:])


def run(arguments: list[str]) -> None:
    options: dict[str, list[str]] = {}
    while arguments and arguments[0].startswith("--"):
        name, equals, value = arguments.pop(0).partition("=")
        if (name in WITH_VALUE) != bool(equals) or name not in WITH_VALUE | FLAGS:
            fail(f"unknown flag: {name}")
        options.setdefault(name, []).append(value)
    image, python, unbuffered, inside, *bounds = arguments
    mounts = dict(mount(value) for value in options["--mount"])
    if (python, unbuffered) != ("python3", "-u") or inside not in mounts or not image:
        fail("the image runs the runner that is mounted")
    (HERE / options["--name"][0]).write_text(str(os.getpid()))
    os.chdir(mounts[options["--workdir"][0]])
    os.execv(sys.executable, [sys.executable, "-u", mounts[inside], *bounds])


def mount(text: str) -> tuple[str, str]:
    fields = dict(part.partition("=")[::2] for part in text.split(","))
    if fields["type"] != "bind" or not os.path.exists(fields["source"]) or not os.path.isabs(fields["target"]):
        fail(f"bad mount: {text}")
    return fields["target"], fields["source"]


if __name__ == "__main__":
    main()
