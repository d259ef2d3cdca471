"""`qwen-agentkit web`: what it refuses at once, and the page that it serves."""

import os
import signal
import socket
import time
import urllib.request

import pytest

from tests.cli.conftest import RESOURCES


def test_help_shows_an_example(cli):
    done = cli("web", "--help")
    assert done.returncode == 0 and "qwen-agentkit web docs/" in done.stdout


def test_a_page_about_nothing_is_refused(cli):
    done = cli("web")
    assert done.returncode == 2 and "Example: qwen-agentkit web docs/" in done.stderr


@pytest.mark.slow
def test_files_that_are_not_there_open_no_page(cli):
    pytest.importorskip("gradio", reason="the extra `gui` is not installed")
    done = cli("web", "nothing.pdf")
    assert done.returncode == 2 and "no such file" in done.stderr


def test_a_login_is_a_name_and_a_password(cli):
    done = cli("web", str(RESOURCES / "meeting_notes.md"), QWEN_AGENTKIT_WEB_LOGIN="ada")
    assert done.returncode == 2 and "NAME:PASSWORD" in done.stderr


@pytest.mark.slow
def test_an_address_where_nothing_can_be_served_is_one_line(shell):
    pytest.importorskip("gradio", reason="the extra `gui` is not installed")
    notes = str(RESOURCES / "meeting_notes.md")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = shell("web", notes, "--port", str(port))
    assert done.returncode == 1 and f"127.0.0.1 port {port}: Address already in use" in done.stderr
    done = shell("web", notes, "--host", "no-such-host.invalid")
    assert done.returncode == 1 and "Nothing can be served at no-such-host.invalid" in done.stderr
    assert shell("web", notes, "--port", "70000").returncode == 2


@pytest.mark.slow
def test_the_page_is_served_until_ctrl_c(cli):
    pytest.importorskip("gradio", reason="the extra `gui` is not installed")
    process = cli.start("web", str(RESOURCES / "meeting_notes.md"))
    try:
        line, end = "", time.monotonic() + 60
        while "http://127.0.0.1:" not in line:
            assert time.monotonic() < end and process.poll() is None
            line = process.stderr.readline()
        url = line[line.index("http://") :].split()[0]
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url) as response:
            assert "default-src 'self'" in response.headers["Content-Security-Policy"]
            assert b"meeting_notes.md" in response.read()
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.communicate()
