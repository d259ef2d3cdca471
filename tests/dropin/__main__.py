"""Runs a checkout of Qwen-Agent under this project's name and prints what ran, passed and failed.

    python -m tests.dropin CHECKOUT [--only WORD ...] [--seconds 120] [--gradio5 FOLDER] [--keep] [--verbose]

Offline: the model is a script on loopback (`speaker.py`), web addresses become local ones (`web.py`), uvx and npx start
local MCP servers (`mcp_server.py`). Nothing of the checkout is kept. `--gradio5` names a folder with Gradio 5 and
modelscope_studio, which one example builds its own page with; without it that example is left out with a word. The
Python at hand needs the extras `all` and `test`, and jsonlines for the server's test.
Exit status: 0 when nothing failed.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from tests.dropin.checkout import copy_checkout
from tests.dropin.programs import CALL, MAIN, PAGE, PROGRAMS, PYTEST, Program
from tests.dropin.speaker import Speaker
from tests.dropin.web import Web
from tests.servers.oai_server import OAIServer

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


@dataclass(frozen=True)
class Outcome:
    """What became of a program: `counts` is pytest's own line."""

    program: Program
    result: str
    why: str
    seconds: float
    requests: int
    counts: str = ""


def stand_ins(folder: Path) -> Path:
    """A folder with `uvx` and `npx` that start the local MCP servers."""
    folder.mkdir()
    script = f'#!/bin/sh\n[ "$1" = "-y" ] && shift\nexec {sys.executable} {HERE / "mcp_server.py"} "$@"\n'
    for name in ("uvx", "npx"):
        (folder / name).write_text(script)
        (folder / name).chmod(stat.S_IRWXU)
    return folder


def environment(
    program: Program, copy: Path, server: OAIServer, web: Web, tools: Path, gradio5: str | None
) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path = [*([gradio5] if program.gradio5 and gradio5 else []), str(ROOT), str(copy)]
    return {
        **kept,
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(path),
        "PYTHONUTF8": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "QWEN_AGENTKIT_MODEL_SERVER": server.url,
        "QWEN_AGENTKIT_MODEL_SERVER_MODEL": "scripted",
        "QWEN_AGENTKIT_MODEL_SERVER_API_KEY": "none",
        "QWEN_AGENTKIT_WEB_ALLOWED_HOSTS": "['127.0.0.1']",
        "QWEN_AGENTKIT_EMBEDDING_SERVER": f"{web.url}/v1",
        "QWEN_AGENTKIT_IMAGE_SERVER": f"{web.url}/v1",
        "AMAP_URL": web.url,
        "AMAP_TOKEN": "none",
        "SERPAPI_URL": f"{web.url}/serpapi",
        "SERPAPI_IMAGE_SEARCH_KEY": "none",
        "SERPER_URL": f"{web.url}/serper",
        "SERPER_API_KEY": "none",
        "GRADIO_SERVER_PORT": str(port),
        "GRADIO_ANALYTICS_ENABLED": "False",
    }


def command(program: Program, copy: Path) -> list[str]:
    child, file = [sys.executable, str(HERE / "child.py")], str(copy / program.path)
    if program.how == PYTEST:
        file, _, names = file.partition("::")
        chosen = [f"{file}::{name}" for name in names.split(",")] if names else [file]
        return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rf", "--no-header", *chosen]
    if program.how == MAIN:
        return [*child, file, "main"]
    if program.how == PAGE:
        return [*child, "--page", file, *(["main"] if file.endswith(".cells.py") else ["app_gui"])]
    return [*child, file, "test", *program.arguments]


def localised(speaker: Speaker, web: Web) -> Speaker:
    """The speaker with `WEB` in its arguments made the local web's address."""

    def local(value: object) -> object:
        if isinstance(value, list):
            return [local(one) for one in value]
        return value.replace("WEB/", f"{web.url}/") if isinstance(value, str) else value

    speaker.rounds = [
        [[(name, {key: local(value) for key, value in given.items()}) for name, given in calls] for calls in rounds]
        for rounds in speaker.rounds
    ]
    return speaker


def run(program: Program, copy: Path, web: Web, tools: Path, gradio5: str | None, verbose: bool) -> Outcome:
    if program.gradio5 and gradio5 is None:
        return Outcome(program, SKIPPED, "Gradio 5 with modelscope_studio is absent (--gradio5)", 0.0, 0)
    server = OAIServer()
    speaker = localised(program.speaker(), web)
    server.script = [speaker]
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(dir=copy.parent) as folder:
        # Examples name their files relative to examples/.
        for name in ("resource",):
            (Path(folder) / name).symlink_to(copy / "examples" / name)
        process = subprocess.Popen(
            command(program, copy),
            cwd=folder,
            env=environment(program, copy, server, web, tools, gradio5),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=program.seconds)
            ended = True
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            ended = False
    server.close()
    if verbose:
        print(output, file=sys.stderr)
    seconds, requests = time.monotonic() - begun, len(speaker.requests)
    counts = next(
        (line for line in reversed(output.splitlines()) if re.match(r"\d+ (passed|failed|skipped)", line)), ""
    )
    if not ended:
        return Outcome(program, FAILED, f"not done after {program.seconds:.0f} s", seconds, requests, counts)
    if process.returncode:
        return Outcome(program, FAILED, reason(output), seconds, requests, counts)
    missing = [words for words in program.prints if words not in output]
    if missing:
        return Outcome(program, FAILED, f"did not print {missing[0]!r}", seconds, requests, counts)
    if counts.startswith(tuple(f"{n} skipped" for n in range(1, 10))):
        return Outcome(program, SKIPPED, program.stands_in, seconds, requests, counts)
    return Outcome(program, PASSED, "", seconds, requests, counts)


def reason(output: str) -> str:
    """The last line that names an error."""
    lines = [line.strip() for line in output.splitlines()]
    for pattern in (r"E  +\w[\w.]*(Error|Exception)\b", r"\w[\w.]*(Error|Exception)\b", r"E  +", r"FAILED "):
        errors = [line for line in lines if re.match(pattern, line)]
        if errors:
            return errors[-1].removeprefix("E ").strip()[:200]
    return (output.strip().splitlines() or ["no output"])[-1][:200]


def table(outcomes: list[Outcome]) -> str:
    wide = max(len(outcome.program.name) for outcome in outcomes) + 2
    lines = [f"{'program':<{wide}}{'class':<9}{'result':<9}{'s':>5}{'calls':>7}  why, or what is local"]
    for outcome in outcomes:
        program = outcome.program
        words = outcome.why or program.stands_in
        if outcome.counts and outcome.result == PASSED:
            words = f"{outcome.counts.split(' in ')[0]}{'; ' if words else ''}{words}"
        numbers = f"{outcome.seconds:>5.1f}{outcome.requests:>7}"
        lines.append(f"{program.name:<{wide}}{program.kind:<9}{outcome.result:<9}{numbers}  {words}")
    lines.append("")
    for label, chosen in (
        ("examples", [one for one in outcomes if one.program.how in (CALL, MAIN)]),
        ("pages of examples and notebooks", [one for one in outcomes if one.program.how == PAGE]),
        ("tests", [one for one in outcomes if one.program.how == PYTEST]),
        ("all", outcomes),
    ):
        count = {result: sum(one.result == result for one in chosen) for result in (PASSED, FAILED, SKIPPED)}
        lines.append(
            f"{label}: {len(chosen)} run, {count[PASSED]} passed, {count[FAILED]} failed, {count[SKIPPED]} skipped"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.dropin", description="Qwen-Agent's own programs, run here.")
    parser.add_argument("checkout", type=Path, help="a checkout of Qwen-Agent")
    parser.add_argument("--only", nargs="*", default=[], help="run programs whose name holds one of these words")
    parser.add_argument("--seconds", type=float, help="another limit for each program")
    parser.add_argument("--gradio5", help="folder with Gradio 5 and modelscope_studio")
    parser.add_argument("--keep", type=Path, help="make the copy here and leave it")
    parser.add_argument("--verbose", action="store_true", help="print what each program prints")
    given = parser.parse_args()
    chosen = [one for one in PROGRAMS if not given.only or any(word in one.name for word in given.only)]
    if not chosen:
        parser.error(f"no program is named like {', '.join(given.only)}")
    with tempfile.TemporaryDirectory() as held:
        folder = given.keep or Path(held)
        folder.mkdir(exist_ok=True, parents=True)
        web = Web(given.checkout / "examples" / "resource")
        copy = folder / "programs"
        copy_checkout(given.checkout, copy, web.url)
        tools = stand_ins(folder / "bin")
        outcomes = []
        for program in chosen:
            if given.seconds:
                program = replace(program, seconds=given.seconds)
            outcome = run(program, copy, web, tools, given.gradio5, given.verbose)
            print(f"{outcome.result:<9}{program.name}  {outcome.why}", file=sys.stderr, flush=True)
            outcomes.append(outcome)
        web.close()
    print(table(outcomes))
    return int(any(one.result == FAILED for one in outcomes))


if __name__ == "__main__":
    sys.exit(main())
