"""Writing the configuration of a group chat with a user."""

import itertools
import json

import pytest

from qwen_agentkit.agents.group_chat_creator import GroupChatCreator
from qwen_agentkit.schema import Message
from qwen_agentkit.testing import ScriptedChatModel

ROLE = {"name": "Max", "description": "a pawn", "instructions": "You are a pawn: go on."}
REPLY = (
    f"<Background>: A chess board.\n<Config>: {json.dumps(ROLE)}\n<Config>: {{'name': 'Eva'}}\n<Answer>: More pieces?"
)
ASK = [{"role": "user", "content": "A chat about chess"}]


def create(*replies, **kwargs):
    return GroupChatCreator(llm=ScriptedChatModel(list(replies), **kwargs), name="creator")


def test_a_reply_becomes_background_configurations_and_answer():
    response = create(REPLY).run_nonstream(ASK)
    assert [message["name"] for message in response] == ["background", "role_config", "role_config", "creator"]
    assert response[0]["content"] == "A chess board."
    assert json.loads(response[1]["content"]) == ROLE
    assert json.loads(response[2]["content"]) == {"name": "Eva"}
    assert response[3]["content"] == "More pieces?"


@pytest.mark.parametrize("size", [1, 3, 7])
def test_what_has_been_shown_only_grows(size):
    shown = list(create(REPLY, chunk_size=size).run(ASK))
    for before, after in itertools.pairwise(shown):
        assert len(after) >= len(before)
        for one, other in zip(before, after, strict=False):
            assert other["content"].startswith(one["content"])
    assert shown[-1] == create(REPLY).run_nonstream(ASK)[:-1] + shown[-1][-1:]


def test_a_reply_without_tokens_is_an_answer():
    (message,) = create("Which theme?").run_nonstream(ASK)
    assert (message["name"], message["content"]) == ("creator", "Which theme?")


def test_a_configuration_that_cannot_be_read_or_has_no_name_is_left_out():
    response = create("<Config>: no json\n<Config>: {}\n<Answer>: Hm.").run_nonstream(ASK)
    assert [message["name"] for message in response] == ["creator"]


def test_earlier_responses_go_back_to_the_model_as_it_wrote_them():
    creator = create("<Answer>: Done.")
    history = [
        Message("user", "A chat"),
        Message("assistant", "A board.", name="background"),
        Message("assistant", '{"name": "Max"}', name="role_config"),
        Message("assistant", "More?", name="creator"),
        Message("user", "No"),
    ]
    creator.run_nonstream(history)
    sent = creator.llm.requests[0].messages
    assert [message.role for message in sent] == ["system", "user", "assistant", "user"]
    assert sent[2].content == '<Background>: A board.\n<Config>: {"name": "Max"}\n<Answer>: More?'


def test_the_task_speaks_the_language_of_the_user():
    creator = create("<Answer>: 好")
    creator.run_nonstream([{"role": "user", "content": "关于象棋的群聊"}])
    assert "群聊" in creator.llm.requests[0].messages[0].content
