"""Settings, words, tickets, tabs and users of the page."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from qwen_agentkit.gui.config import page_config
from qwen_agentkit.gui.tabs import Tabs
from qwen_agentkit.gui.texts import TEXTS, preferred_language, say
from qwen_agentkit.gui.tickets import Tickets
from qwen_agentkit.gui.users import is_loopback, user_of


def test_importing_the_page_loads_no_gradio():
    code = "import sys; from qwen_agentkit.gui import WebUI, ask_in_page; print('gradio' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_both_languages_say_the_same_things():
    assert TEXTS["en"].keys() == TEXTS["zh"].keys()
    for key, text in TEXTS["en"].items():
        assert text.count("{") == TEXTS["zh"][key].count("{"), key


@pytest.mark.parametrize(
    ("header", "lang"),
    [
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("en-US,en;q=0.9,zh;q=0.8", "en"),
        ("de-DE,de;q=0.9,zh;q=0.5,en;q=0.4", "zh"),
        ("fr", "en"),
        (None, "en"),
        ("zh;q=bad,en", "en"),
    ],
)
def test_the_language_is_the_browsers(header, lang):
    assert preferred_language(header) == lang


def test_words_in_braces_are_not_read_as_places():
    assert say("failed", "en", "{oops}") == "The answer failed: {oops}"


def test_keys_of_qwen_agent_are_read(tmp_path):
    picture = tmp_path / "a.png"
    picture.write_bytes(b"x")
    config = page_config(
        {
            "user.name": "Ada",
            "user.avatar": str(picture),
            "agent.avatar": str(picture),
            "input.placeholder": "Ask",
            "prompt.suggestions": ["One?", {"text": "Two?", "files": ["b.pdf"]}],
            "verbose": True,
        }
    )
    assert (config.user_name, config.placeholder, config.verbose) == ("Ada", "Ask", True)
    assert config.suggestions == [{"text": "One?"}, {"text": "Two?", "files": ["b.pdf"]}]


def test_an_unknown_key_is_only_remarked_on(caplog):
    assert page_config({"color": "red"}) == page_config(None)
    assert "color" in caplog.text


@pytest.mark.parametrize(
    "wrong",
    [
        {"user.avatar": "/no/such/picture.png"},
        {"lang": "fr"},
        {"prompt.suggestions": "one"},
        {"prompt.suggestions": [3]},
        {"max_file_mb": 0},
    ],
)
def test_a_wrong_setting_is_refused(wrong):
    with pytest.raises(ValueError, match="chatbot_config"):
        page_config(wrong)


def test_a_ticket_is_the_same_for_the_same_and_cannot_be_made_elsewhere():
    mine, other = Tickets(), Tickets()
    ticket = mine.issue("file", path="/a")
    assert mine.issue("file", path="/a") == ticket != mine.issue("file", path="/b")
    assert mine.find(ticket, "file")["path"] == "/a"
    assert mine.find(ticket, "source") is None
    assert other.find(ticket, "file") is None
    assert other.issue("file", path="/a") != ticket


def test_a_tab_shows_one_conversation_until_it_is_closed():
    tabs = Tabs()
    tabs.show("t", "ada", "s1")
    assert tabs.shows("t", "s1") and tabs.has("ada")
    tabs.show("t", "ada", "s2")
    assert not tabs.shows("t", "s1")
    tabs.close("t")
    assert not tabs.shows("t", "s2") and not tabs.has("ada")


def request(host="127.0.0.1", username=None, **headers):
    return SimpleNamespace(client=SimpleNamespace(host=host), username=username, headers=headers)


ONE, TWO = "0" * 32, "1" * 32


def test_users_are_told_apart():
    assert user_of(request(), ONE, shared=False) == "local"
    assert user_of(request(username="ada"), ONE, shared=True) == "web:ada"
    assert user_of(request(), ONE, shared=True) != user_of(request(), TWO, shared=True)
    # Behind a proxy everyone comes from this machine.
    assert user_of(request(**{"x-forwarded-for": "9.9.9.9"}), ONE, shared=False) == f"browser:{ONE}"
    assert user_of(request(host="192.168.1.7"), ONE, shared=False) == f"browser:{ONE}"


def test_an_id_that_was_made_up_is_nobodys():
    assert user_of(request(), "local", shared=True) not in ("local", "browser:local")
    assert user_of(request(), "", shared=True) != user_of(request(), "", shared=True)


def test_a_name_that_was_logged_in_with_is_not_the_local_user():
    assert user_of(request(username="local"), ONE, shared=False) != "local"


@pytest.mark.parametrize(
    ("host", "expected"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("a.b", False)]
)
def test_which_addresses_are_this_machine(host, expected):
    assert is_loopback(host) is expected
