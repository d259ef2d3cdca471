"""Who may do what: tokens, users that never meet, web pages of strangers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwen_agentkit.agents import BasicAgent
from qwen_agentkit.server import ServerOptions, create_app, serve
from qwen_agentkit.server.failures import RequestFailed
from qwen_agentkit.server.users import Tokens, check_browser, is_loopback
from qwen_agentkit.testing import ScriptedChatModel

TOKENS = {"token-a": "ada", "token-b": "bob"}
RUN = {"messages": [{"role": "user", "content": "Hi"}], "session_id": "s", "background": True}


def agent():
    return BasicAgent(llm=ScriptedChatModel(["Hello."], repeat=True), name="helper")


def headers(token):
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.parametrize(
    "sent", [{}, headers("token-c"), headers("token-a token-b"), {"Authorization": "Basic token-a"}, headers("é")]
)
def test_without_a_known_token_there_is_nothing(serve, sent):
    served = serve(agent(), tokens=TOKENS)
    for path in ("/v1/models", "/v1/runs", "/v1/sessions", "/metrics"):
        raw = [(name.encode(), value.encode()) for name, value in sent.items()]
        answer = served.client.get(path, headers=raw)
        assert answer.status_code == 401 and answer.json()["error"]["code"] == "invalid_api_key"
        assert answer.headers["www-authenticate"] == "Bearer"
    assert served.client.get("/healthz").status_code == 200


def test_two_users_with_the_same_session_id_never_meet(serve):
    served = serve(agent(), tokens=TOKENS)
    run = served.client.post("/v1/runs", json=RUN, headers=headers("token-a")).json()
    served.client.post("/chat", json={"message": "I am Bob", "session_id": "s"}, headers=headers("token-b"))
    theirs = served.client.get("/v1/sessions/s/messages", headers=headers("token-b")).json()["data"]
    assert [message["content"] for message in theirs] == ["I am Bob", "Hello."]
    for method, path in (
        ("GET", f"/v1/runs/{run['id']}"),
        ("GET", f"/v1/runs/{run['id']}/events"),
        ("POST", f"/v1/runs/{run['id']}/cancel"),
    ):
        assert served.client.request(method, path, headers=headers("token-b")).status_code == 404
    assert served.client.get("/v1/runs", headers=headers("token-b")).json()["data"][0]["id"] != run["id"]


def test_a_key_of_one_user_is_not_another_users(serve):
    served = serve(agent(), tokens=TOKENS)
    ids = [
        served.client.post("/v1/runs", json=RUN, headers={**headers(token), "Idempotency-Key": "k"}).json()["id"]
        for token in TOKENS
    ]
    assert ids[0] != ids[1]


def test_a_user_can_take_and_erase_everything(serve):
    served = serve(agent(), tokens=TOKENS)
    for token in TOKENS:
        served.client.post("/chat", json={"message": "Hi", "session_id": "s"}, headers=headers(token))
    mine = served.client.get("/v1/me/export", headers=headers("token-a")).json()
    assert mine["user_id"] == "ada" and len(mine["sessions"]) == 1
    assert served.client.delete("/v1/me", headers=headers("token-a")).json()["sessions"] == 1
    assert served.client.get("/v1/sessions", headers=headers("token-a")).json()["data"] == []
    assert served.client.get("/v1/runs", headers=headers("token-a")).json()["data"] == []
    assert len(served.client.get("/v1/sessions", headers=headers("token-b")).json()["data"]) == 1


@given(st.dictionaries(st.text(min_size=1), st.text(min_size=1), min_size=1, max_size=5), st.text())
def test_a_token_gives_its_user_and_no_other_text_does(tokens, other):
    held = Tokens(tokens)
    for token, user in tokens.items():
        if token == token.strip():
            assert held.user(f"Bearer {token}") == user
    if other.strip() not in tokens:
        with pytest.raises(RequestFailed):
            held.user(f"Bearer {other}")


def test_a_public_address_wants_a_token_or_the_word(tmp_path):
    options = ServerOptions(store=f"sqlite:///{tmp_path}/s.sqlite")
    with pytest.raises(ValueError, match="--no-token"):
        serve(agent(), "0.0.0.0", 0, options)
    assert is_loopback("127.0.0.1") and is_loopback("localhost") and is_loopback("::1")
    assert not is_loopback("0.0.0.0") and not is_loopback("example.org") and not is_loopback("::")


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("evil.example:8000", None),
        ("127.0.0.1:8000", "http://evil.example"),
        ("127.0.0.1:8000", "http://127.0.0.1:9000"),
        ("127.0.0.1:8000", "null"),
        (None, None),
        ("[::1", None),
    ],
)
def test_pages_of_strangers_may_not_call_a_server_without_tokens(host, origin):
    with pytest.raises(RequestFailed) as caught:
        check_browser(host, origin, (), ())
    assert caught.value.status == 403


@pytest.mark.parametrize(
    ("host", "origin"),
    [("127.0.0.1:8000", None), ("localhost", None), ("[::1]:8000", None), ("127.0.0.1:8000", "http://127.0.0.1:8000")],
)
def test_programs_of_this_machine_may(host, origin):
    check_browser(host, origin, (), ())


def test_a_name_and_an_origin_can_be_allowed():
    check_browser("box.local:8000", "http://app.local", ["box.local"], ["http://app.local"])


def test_cors_is_off_unless_an_origin_is_named(serve):
    ask = {"Origin": "http://app.local", "Access-Control-Request-Method": "POST"}
    off = serve(agent()).client.options("/chat", headers=ask)
    assert "access-control-allow-origin" not in off.headers
    on = serve(agent(), cors_origins=["http://app.local"]).client
    assert on.options("/chat", headers=ask).headers["access-control-allow-origin"] == "http://app.local"
    answer = on.post("/chat", json={"message": "Hi"}, headers={"Origin": "http://app.local"})
    assert answer.status_code == 200 and answer.headers["access-control-allow-origin"] == "http://app.local"
    strange = on.options("/chat", headers={**ask, "Origin": "http://evil.example"})
    assert "access-control-allow-origin" not in strange.headers


def test_a_body_that_is_not_declared_json_is_refused(serve):
    # What a web page can send without asking first.
    answer = serve(agent()).client.post("/chat", content='{"message": "Hi"}', headers={"Content-Type": "text/plain"})
    assert answer.status_code == 422


def test_the_app_needs_agents_with_names_that_differ(tmp_path):
    options = ServerOptions(store=f"sqlite:///{tmp_path}/s.sqlite")
    for agents, text in (([], "at least one"), ([agent(), agent()], "have the name"), (["x"], "wants agents")):
        with pytest.raises(ValueError, match=text):
            create_app(agents, options)
