"""The host of a group chat."""

import pytest

from qwen_agentkit.agent import BasicAgent
from qwen_agentkit.agents.group_chat_auto_router import GroupChatAutoRouter
from qwen_agentkit.schema import Message
from qwen_agentkit.testing import ScriptedChatModel, reply

NAMES = ["Ann", "A", "Senior_Engineer"]
TALK = [Message("user", "Hi", name="Ada"), Message("assistant", "Hello", name="A")]


def host(*answers, **kwargs):
    members = [BasicAgent(name=name, description=f"is\n {name}") for name in NAMES]
    return GroupChatAutoRouter(llm=ScriptedChatModel(list(answers)), agents=members, name="host", **kwargs)


def test_run_gives_the_models_answer_to_the_roles_and_the_talk():
    router = host("Ann")
    assert router.run_nonstream([{"role": "user", "content": "Hi", "name": "Ada"}])[-1]["content"] == "Ann"
    system, user = router.llm.requests[0].messages
    assert "Ann: is Ann\nA: is A\n" in system.content
    assert "Ann, A, Senior_Engineer" in system.content
    assert user.content == "Ada: Hi"


def test_an_empty_talk_is_begun():
    router = host("Ann")
    router.run_nonstream([])
    assert "Nothing has been said yet" in router.llm.requests[0].messages[-1].content


@pytest.mark.parametrize(
    ("answer", "speaker"),
    [
        ("Ann", "Ann"),
        ("ann.", "Ann"),
        (r"Senior\_Engineer", "Senior_Engineer"),
        ("senior engineer", "Senior_Engineer"),
        ("I choose **A**", "A"),
        ("[STOP]", None),
        ("[stop]", None),
        (reply("Ann", reasoning="A or Senior_Engineer?"), "Ann"),
    ],
)
def test_an_answer_is_read_tolerantly(answer, speaker):
    router = host(answer)
    assert router.choose(TALK, NAMES).speaker == speaker
    router.llm.assert_complete()


def test_an_answer_that_names_nobody_or_several_gets_an_explanation_and_another_try():
    router = host("Somebody", "Ann or A", "Ann")
    assert router.choose(TALK, NAMES).speaker == "Ann"
    second, third = router.llm.requests[1].messages, router.llm.requests[2].messages
    assert second[-2].content == "Somebody"
    assert "names nobody" in second[-1].content
    assert "names several: Ann, A." in third[-1].content


def test_after_three_tries_the_next_in_turn_speaks_who_is_a_candidate():
    router = host("?", "?", "?")
    choice = router.choose(TALK, ["Ann", "A"])
    assert choice.speaker == "Ann"  # after A comes Senior_Engineer, who may not
    assert "named nobody in 3 answers" in choice.reason
    router.llm.assert_complete()


def test_only_candidates_are_offered_and_heard():
    router = host("Ann", "Senior_Engineer")
    assert router.choose(TALK, ["A", "Senior_Engineer"]).speaker == "Senior_Engineer"
    assert "Ann" not in router.llm.requests[0].messages[0].content


def test_the_task_speaks_the_language_of_the_talk_and_can_be_replaced():
    router = host("Ann", "Ann", prompts={"select": {"en": "Pick: {participants}"}})
    router.choose(TALK, NAMES, lang="zh")
    assert router.llm.requests[0].messages[0].content == "Pick: Ann, A, Senior_Engineer"
    chinese = host("Ann")
    chinese.choose(TALK, NAMES, lang="zh")
    assert "主持" in chinese.llm.requests[0].messages[0].content


def test_a_host_without_members_is_refused():
    with pytest.raises(ValueError, match="at least one agent"):
        GroupChatAutoRouter(llm=ScriptedChatModel([]))
