"""The chat on a real pseudo-terminal, with keys pressed."""

import os
import pty
import select
import subprocess
import sys
import termios
import time
from fcntl import ioctl

import pytest

from tests.servers.model_server import Answer

SECONDS = 60


class Terminal:
    """A process that has a terminal of its own."""

    def __init__(self, cli, *arguments):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "qwen_agentkit.cli", *arguments],
            cwd=cli.folder,
            env={**cli.clean_environment(), "TERM": "xterm"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            # Makes the terminal the process's own, so that Ctrl-C becomes SIGINT.
            start_new_session=True,
            preexec_fn=lambda: ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self.seen = ""

    def press(self, keys):
        os.write(self.master, keys.encode())

    def wait_for(self, text):
        """Reads the screen until `text` has come, after what was waited for before."""
        deadline = time.monotonic() + SECONDS
        while text not in self.seen:
            ready, _, _ = select.select([self.master], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                pytest.fail(f"{text!r} did not come; on the screen: {self.seen!r}")
            try:
                self.seen += os.read(self.master, 65536).decode()
            except OSError:
                pytest.fail(f"the process ended before {text!r}; on the screen: {self.seen!r}")
        self.seen = self.seen.partition(text)[2]

    def press_until_it_ends(self, keys):
        """Presses again after a while, as a person would who sees no effect: Ctrl-C in the instant between the
        prompt's being shown and being waited at goes unseen by Python's input()."""
        for _ in range(3):
            self.press(keys)
            try:
                return self.process.wait(10)
            except subprocess.TimeoutExpired:
                continue
        pytest.fail(f"the process goes on; on the screen: {self.seen!r}")

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)


@pytest.fixture
def terminal(cli):
    opened = []

    def start(*arguments):
        opened.append(Terminal(cli, *arguments))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def test_ctrl_c_stops_an_answer_and_at_the_prompt_leaves(terminal, chat_server):
    chat_server.script = [Answer(pieces=[{"content": "Once upon a"}], hang_after=1), "Gladly."]
    screen = terminal("chat", "--model", "qwen3", "--model-server", chat_server.url)
    screen.wait_for("> ")
    screen.press("Tell me a story.\n")
    screen.wait_for("Once upon a")
    screen.press("\x03")
    screen.wait_for("Stopped.")
    screen.wait_for("> ")
    screen.press("Go on.\n")
    screen.wait_for("Gladly.")
    screen.wait_for("> ")
    assert screen.press_until_it_ends("\x03") == 130


def test_the_end_of_input_leaves_with_0(terminal, chat_server):
    screen = terminal("chat", "--model", "qwen3", "--model-server", chat_server.url)
    screen.wait_for("> ")
    screen.press("\x04")
    assert screen.process.wait(SECONDS) == 0
