"""`qwen-agentkit serve` as a real process."""

import json
import signal
import socket
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from qwen_agentkit.cli.serve import tokens_of
from qwen_agentkit.cli.status import WrongUse

pytest.importorskip("fastapi")

BOTS = """
from qwen_agentkit.agents import BasicAgent
from qwen_agentkit.testing import ScriptedChatModel, reply

support = BasicAgent(llm=ScriptedChatModel(["Hello."], repeat=True), name="support")
slow = BasicAgent(llm=ScriptedChatModel([reply("slow", chunks=list("slow"), delay=0.3)], repeat=True), name="slow")
"""


@pytest.fixture
def bots(cli):
    (cli.folder / "my_bots.py").write_text(BOTS)
    return cli


def start(cli, *arguments, **environment):
    process = cli.start("serve", *arguments, "--port", "0", **environment)
    while not (line := process.stderr.readline()).startswith("Serving"):
        assert line, "the server did not start"
    return process, line.rpartition(" ")[2].strip()


def post(url, body, token=None):
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=20) as answer:
        return json.load(answer)


def test_agents_are_served_until_ctrl_c(bots):
    process, url = start(bots, "my_bots:support", "my_bots:slow")
    try:
        assert post(f"{url}/chat", {"message": "Hi"})["answer"] == "Hello."
        assert post(f"{url}/chat", {"message": "Hi", "agent": "slow"})["answer"] == "slow"
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert "Stopped." in process.stderr.read()
    finally:
        process.kill()


def test_sigterm_lets_a_running_answer_end(bots):
    process, url = start(bots, "my_bots:slow")
    try:
        request = urllib.request.Request(
            f"{url}/chat/stream", b'{"message": "Hi"}', {"Content-Type": "application/json"}
        )
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=20) as answer:
            time.sleep(0.3)
            process.send_signal(signal.SIGTERM)
            text = answer.read().decode()
        assert "event: done" in text and '"answer": "slow"' in text
        process.wait(20)
    finally:
        process.kill()


def test_tokens_come_from_the_command_and_the_environment(bots):
    process, url = start(
        bots, "my_bots:support", "--token", "ada:s3cret", QWEN_AGENTKIT_SERVER_TOKENS="bob:other, ,third"
    )
    try:
        for token in ("s3cret", "other", "third"):
            assert post(f"{url}/chat", {"message": "Hi", "session_id": "s"}, token)["answer"] == "Hello."
        with pytest.raises(urllib.error.HTTPError, match="401"):
            post(f"{url}/chat", {"message": "Hi"})
    finally:
        process.kill()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["my_bots:support", "--host", "0.0.0.0"], "--no-token"),
        (["my_bots:nobody"], "nobody"),
        (["my_bots:support", "my_bots:support"], "Two agents have the name"),
        (["my_bots:support", "--token", "a b"], "a token is"),
        (["my_bots:support", "--token", ""], "a token is"),
        (["my_bots:support", "--token", "x", "--no-token"], "either tokens or"),
        (["my_bots:support", "--cors-origin", "*"], "--cors-origin"),
    ],
)
def test_wrong_use_is_one_line(shell, arguments, told):
    Path("my_bots.py").write_text(BOTS)
    ended = shell("serve", *arguments)
    assert ended.returncode == 2 and told in ended.stderr and "Traceback" not in ended.stderr


def test_an_address_in_use_and_a_store_that_is_none_are_one_line(shell):
    Path("my_bots.py").write_text(BOTS)
    Path("text.sqlite").write_text("no database " * 100)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = shell("serve", "my_bots:support", "--port", str(port))
    assert ended.returncode == 1
    assert ended.stderr.endswith(f"Nothing can be served at 127.0.0.1 port {port}: Address already in use\n")
    ended = shell("serve", "my_bots:support", "--store", "sqlite:///text.sqlite")
    assert ended.returncode == 1 and ended.stderr.endswith("cannot be opened: file is not a database\n")
    assert "Traceback" not in ended.stderr


def test_a_token_without_a_user_is_the_local_users():
    assert tokens_of(["ada:a1", " b2=="]) == {"a1": "ada", "b2==": "local"}
    with pytest.raises(WrongUse, match="two users"):
        tokens_of(["ada:a1", "bob:a1"])
