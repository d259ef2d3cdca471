"""What holds for every command: help with an example and exit statuses, --json, --quiet, completion, colours."""

import os
import pty
import select
import subprocess
import sys

import pytest
import typer.main

from qwen_agentkit.cli import terminal
from qwen_agentkit.cli.app import app

# What these print is a running server, not a result.
SERVERS = {"web", "serve", "mcp"}


def commands(group, before=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*before, name))
        else:
            yield (*before, name), command


ALL = dict(commands(typer.main.get_command(app)))
NAMES = {" ".join(name): command for name, command in ALL.items()}


def test_the_commands_are_those_of_the_manual():
    assert {name[0] for name in ALL} == set(
        ["ask", "chat", "web", "serve", "mcp", "index", "sessions", "memory", "check", "transcript", "clean", "doctor"]
    )
    assert {name[1] for name in ALL if name[0] == "index"} == set(["add", "list", "search", "remove", "stats", "clean"])


@pytest.mark.parametrize("name", NAMES)
def test_help_shows_an_example_and_the_exit_statuses(name):
    text = NAMES[name].help
    assert f"qwen-agentkit {name}" in text
    assert "Example" in text
    statuses = text.partition("Exit status: ")[2]
    assert statuses.startswith("0 ")
    assert "2 " in statuses or name == "doctor"


@pytest.mark.parametrize("name", NAMES)
def test_every_command_can_be_quiet_and_every_result_can_be_json(name):
    flags = {flag for parameter in NAMES[name].params for flag in parameter.opts}
    assert {"--quiet", "-q"} <= flags
    assert "--json" in flags or name in SERVERS


def test_help_of_every_command_has_no_colours_in_a_pipe(shell):
    for name in ALL:
        done = shell(*name, "--help")
        assert done.returncode == 0
        assert "\x1b" not in done.stdout


def test_an_unknown_command_or_option_is_status_2(shell):
    for arguments in (["dance"], ["clean", "--dance"], ["index", "search"]):
        done = shell(*arguments)
        assert (done.returncode, done.stdout) == (2, "")


def test_quiet_leaves_out_remarks_and_keeps_what_went_wrong(shell):
    done = shell("ask", "gone.pdf", "resources/meeting_notes.md", "Who chaired the meeting?", "--quiet")
    assert done.returncode == 0
    assert "no model is configured" not in done.stdout
    assert done.stderr == "gone.pdf: there is no such file\n"


def test_the_package_runs_as_the_command():
    done = subprocess.run([sys.executable, "-m", "qwen_agentkit", "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("qwen-agentkit ")


def test_a_shell_completes_commands_of_all_depths(cli):
    def complete(words, at):
        return cli("", _QWEN_AGENTKIT_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=at).stdout.split()

    assert complete("qwen-agentkit s", "1") == ["serve", "sessions"]
    assert complete("qwen-agentkit index s", "2") == ["search", "stats"]


def test_a_shell_completes_the_ids_of_sessions_and_makes_no_store_for_it(cli):
    pytest.importorskip("sqlalchemy", reason="the extra `sessions` is not installed")

    def complete(words, at):
        return cli("", _QWEN_AGENTKIT_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=at).stdout.split()

    assert complete("qwen-agentkit sessions show ", "3") == []
    assert not (cli.folder / "workspace").exists()
    from qwen_agentkit.session import SessionStore

    with SessionStore(f"sqlite:///{cli.folder}/workspace/sessions.sqlite") as store:
        for session_id, user in (("plans", "local"), ("places", "local"), ("pluto", "ada")):
            store.session(session_id, user)
    assert sorted(complete("qwen-agentkit sessions show pl", "3")) == ["places", "plans"]
    assert complete("qwen-agentkit sessions show --user ada pl", "5") == ["pluto"]
    assert sorted(complete("qwen-agentkit chat --session p", "3")) == ["places", "plans"]
    assert sorted(complete("qwen-agentkit transcript --session p", "3")) == ["places", "plans"]
    assert complete("qwen-agentkit sessions show --store nonsense p", "5") == []


def test_colours_are_for_a_terminal_alone(cli):
    arguments = [sys.executable, "-m", "qwen_agentkit.cli", "doctor", "--offline"]
    environment = {**cli.clean_environment(), "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    piped = subprocess.run(arguments, cwd=cli.folder, env=environment, capture_output=True, timeout=60)
    assert b"\x1b" not in piped.stdout + piped.stderr
    assert b"\x1b[32mok" in on_a_terminal(arguments, cli.folder, environment)


def on_a_terminal(arguments, folder, environment):
    """What a process writes whose standard output is a terminal."""
    master, slave = pty.openpty()
    process = subprocess.Popen(arguments, cwd=folder, env=environment, stdout=slave, stderr=slave)
    os.close(slave)
    seen = b""
    try:
        while select.select([master], [], [], 60)[0]:
            try:
                seen += os.read(master, 65536)
            except OSError:
                break  # the other side is closed: the process ended
    finally:
        process.kill()
        process.wait()
        os.close(master)
    return seen


def test_who_wants_no_colours_gets_none(monkeypatch):
    class Terminal:
        def isatty(self):
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert terminal.has_colours(Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not terminal.has_colours(Terminal())
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not terminal.has_colours(Terminal())
