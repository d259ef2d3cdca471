"""Connections, pools and stopping a read."""

import os

import pytest

from qwen_agentkit.llm._transport import (
    Connection,
    Pool,
    _holds_data,
    arrived_probe,
    is_loopback,
    openai_http_client,
    shut_down,
    socket_of,
)
from tests.servers.model_server import Answer


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("http://localhost:80/v1", True),
        ("http://api.localhost/v1", True),
        ("http://127.0.0.1:8000", True),
        ("http://127.8.8.8", True),
        ("http://[::1]:80/v1", True),
        ("http://0.0.0.0:80", True),
        ("http://10.0.0.1", False),
        ("https://localhost.example.com", False),
        (None, False),
    ],
)
def test_what_is_this_machine(address, local):
    assert is_loopback(address) is local


def test_proxies_of_the_environment():
    assert Connection(address="https://h/v1").trusts_environment
    assert not Connection(address="http://localhost/v1").trusts_environment
    assert not Connection(address="https://h/v1", proxy=False).trusts_environment
    assert not Connection(address="https://h/v1", proxy="http://p").trusts_environment


def test_an_address_must_be_one():
    with pytest.raises(ValueError, match="http://"):
        Connection.from_cfg({}, "localhost:8000", None)


def test_a_pool_makes_one_client():
    pool = Pool()
    made = []
    assert pool.get(lambda: made.append(1) or object()) is pool.get(lambda: made.append(1) or object())
    assert made == [1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_gets_clients_of_its_own():
    pool = Pool()
    pool.get(lambda: "parent's")
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writer, pool.get(lambda: "child's").encode())
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(reader, 100) == b"child's"
    assert pool.get(lambda: "new") == "parent's"


@pytest.fixture
def openai_response(oai_server):
    """A streamed response of the OpenAI SDK that is installed, with pieces still to come."""
    import openai

    oai_server.script = [Answer("abcdefgh", chunk=1, hang_after=4)]
    connection = Connection(address=oai_server.url)
    client = openai.OpenAI(api_key="k", base_url=oai_server.url, http_client=openai_http_client(connection))
    with client.chat.completions.with_streaming_response.create(model="m", messages=[], stream=True) as opened:
        yield opened.http_response


def test_the_socket_under_openais_response_is_found(openai_response):
    assert socket_of(openai_response) is not None
    assert shut_down(openai_response)


def test_the_state_under_openais_response_is_found(openai_response):
    probe = arrived_probe(openai_response)
    pieces = openai_response.iter_bytes()
    next(pieces)
    assert probe.__closure__ is not None  # not the one that always says False
    assert probe() in (True, False)


def test_the_socket_under_a_requests_response_is_found(dashscope_server):
    import requests

    dashscope_server.script = [Answer("abcdefgh", chunk=1, hang_after=4)]
    for keep in (True, False):
        headers = {"X-DashScope-SSE": "enable", **({} if keep else {"Connection": "close"})}
        response = requests.Session().post(dashscope_server.url, json={}, stream=True, headers=headers)
        assert socket_of(response) is not None
        assert shut_down(response)


def test_shutting_what_has_no_socket_says_so():
    assert shut_down(object()) is False


@pytest.mark.parametrize(
    ("unread", "holds"),
    [
        (b"", False),
        (b"\r\n", False),
        (b"\r\n1f", False),
        (b"\r\n1f\r\n", False),
        (b"\r\n1f\r\nd", True),
        (b"5\r\nhello\r\n", True),
        (b"\r\n0\r\n\r\n", True),
    ],
)
def test_whether_a_piece_has_come(unread, holds):
    assert _holds_data(unread) is holds
