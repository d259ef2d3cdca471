"""`qwen-agentkit chat`, as a process of its own."""

import json
import signal
import subprocess
import sys
import time

import pytest

from tests.servers.model_server import Answer


def test_each_line_is_answered_from_the_files(cli):
    done = cli(
        "chat", "resources/handbook.pdf", typed="How long is the motor guaranteed?\n\nWhich tester measures capacity?\n"
    )
    assert done.returncode == 0, done.stderr
    assert "The motor is guaranteed for 27 months from the date of purchase. [1]" in done.stdout
    assert "BT-2" in done.stdout
    assert "(qwen-agentkit chat --help shows how)" in done.stdout


def test_the_conversation_is_kept_until_a_new_one_begins(shell, chat_server):
    chat_server.script = ["Hello Ada.", "You are Ada.", "I do not know."]
    done = shell(
        "chat",
        "--model",
        "qwen3",
        "--model-server",
        chat_server.url,
        typed="I am Ada.\nWho am I?\n/new\nWho am I?\n/exit\nnever read\n",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Hello Ada.\nYou are Ada.\nI do not know.\n"
    said = [[message["content"] for message in seen.body["messages"]] for seen in chat_server.seen]
    assert said == [["I am Ada."], ["I am Ada.", "Hello Ada.", "Who am I?"], ["Who am I?"]]


def test_json_is_one_line_an_answer(shell):
    done = shell("chat", "resources/handbook.pdf", "--json", typed="How long is the motor guaranteed?\n/files\n")
    (line,) = done.stdout.splitlines()
    assert json.loads(line)["citations"][0]["page"] == 7
    assert "resources/handbook.pdf" in done.stderr


def test_a_failure_is_said_and_the_conversation_goes_on(shell, chat_server):
    chat_server.script = [Answer(status=400), "Here again."]
    done = shell("chat", "--model", "qwen3", "--model-server", chat_server.url, typed="One?\nTwo?\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Here again.\n"
    assert "Traceback" not in done.stderr
    assert [message["content"] for message in chat_server.last["messages"]] == ["Two?"]


def test_ctrl_c_stops_the_answer_and_keeps_what_was_said(cli, chat_server):
    chat_server.script = [Answer(pieces=[{"content": "Once upon a"}], hang_after=1), "Gladly."]
    process = cli.start("chat", "--model", "qwen3", "--model-server", chat_server.url)
    process.stdin.write("Tell me a story.\n")
    process.stdin.flush()
    assert process.stdout.read(len("Once upon a")) == "Once upon a", process.communicate()
    process.send_signal(signal.SIGINT)
    process.stdin.write("Go on.\n")
    process.stdin.flush()
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert out == "\nGladly.\n"
    assert "Stopped." in err
    said = [message["content"] for message in chat_server.last["messages"]]
    assert said == ["Tell me a story.", "Once upon a", "Go on."]


def test_ctrl_c_while_it_waits_for_a_line_leaves_with_130(cli, chat_server):
    chat_server.script = ["Yes."]
    process = cli.start("chat", "--model", "qwen3", "--model-server", chat_server.url)
    process.stdin.write("Are you there?\n")
    process.stdin.flush()
    assert process.stdout.readline() == "Yes.\n"
    # The first may still meet the end of the answer, and then stops that; a later one meets the leaving.
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        process.send_signal(signal.SIGINT)
        time.sleep(0.05)
    assert process.returncode == 130
    assert "Traceback" not in process.stderr.read()


@pytest.mark.parametrize("module", ["typer", "qwen_agentkit.cli.chat"])
def test_ctrl_c_while_the_program_is_loading_leaves_with_130(cli, module):
    program = f"""
import os, signal, sys
class Interrupting:
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
sys.argv = ["qwen-agentkit", "chat"]
from qwen_agentkit.cli import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=cli.folder,
        env=cli.clean_environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (130, "")


def test_ctrl_c_at_the_very_end_does_not_change_the_status(cli):
    program = """
import atexit, os, signal, sys
atexit.register(os.kill, os.getpid(), signal.SIGINT)
sys.argv = ["qwen-agentkit", "--version"]
from qwen_agentkit.cli import main
main()
"""
    # Registered before the program's own: it runs when interrupts count no more.
    late = subprocess.run(
        [sys.executable, "-c", program], cwd=cli.folder, env=cli.clean_environment(), capture_output=True, timeout=60
    )
    assert (late.returncode, late.stderr) == (0, b"")


def test_without_files_and_without_a_model_there_is_nothing_to_talk_about(shell):
    done = shell("chat")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "--model" in done.stderr


def test_an_unknown_command_is_said_and_not_sent(shell, chat_server):
    done = shell("chat", "--model", "qwen3", "--model-server", chat_server.url, typed="/dance\n/help\n")
    assert done.returncode == 0
    assert "/dance" in done.stderr
    assert "/exit" in done.stderr
    assert chat_server.seen == []
