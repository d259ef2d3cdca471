"""Agents and humans who talk with each other."""

import copy

import pytest

from qwen_agentkit.agent import Agent, BasicAgent
from qwen_agentkit.agents.fncall_agent import FnCallAgent
from qwen_agentkit.agents.group.selection import RandomSpeaker
from qwen_agentkit.agents.group_chat import GroupChat
from qwen_agentkit.agents.multi_agent_hub import MultiAgentHub
from qwen_agentkit.agents.user_agent import PENDING_USER_INPUT, UserAgent
from qwen_agentkit.cancel import CancelToken
from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.events import SpeakerSelected
from qwen_agentkit.limits import RunLimits
from qwen_agentkit.llm.history import check_history
from qwen_agentkit.schema import ContentItem, Message
from qwen_agentkit.testing import ScriptedChatModel, call
from tests.agents.looking import Look


class Echo(Agent):
    """Says its name and how many messages it sees."""

    def _run(self, messages, lang="en", **kwargs):
        self_count = sum(message.role == "assistant" for message in messages)
        yield [Message("assistant", f"{self.name} {self_count}")]


def echoes(*names):
    return [Echo(name=name, description=f"{name} speaks") for name in names]


def speakers(response):
    return [message["name"] for message in response]


HI = [{"role": "user", "content": "Hi"}]


# ---- the methods


def test_round_robin_goes_in_order_for_three_rounds():
    chat = GroupChat(echoes("A", "B"), "round_robin")
    assert speakers(chat.run_nonstream(HI)) == ["A", "B", "A"]


def test_round_robin_goes_on_after_a_named_member():
    chat = GroupChat(echoes("A", "B", "C"), "round_robin")
    said = [*HI, {"role": "assistant", "name": "A", "content": "Yes"}]
    assert speakers(chat.run_nonstream(said, max_round=2)) == ["B", "C"]


def test_random_chooses_members_and_the_same_ones_for_the_same_seed():
    chat = GroupChat(echoes("A", "B", "C"), RandomSpeaker(seed=5))
    first = speakers(chat.run_nonstream(HI, max_round=8))
    assert first == speakers(chat.run_nonstream(HI, max_round=8))
    assert len(set(first)) > 1
    by_run = GroupChat(echoes("A", "B", "C"), "random")
    assert speakers(by_run.run_nonstream(HI, max_round=8, seed=5)) == first


def test_manual_asks_at_the_keyboard_and_falls_back_to_the_order(monkeypatch):
    answers = iter(["B", "nobody", "nobody", "nobody"])
    monkeypatch.setattr("builtins.input", lambda question: next(answers))
    assert speakers(GroupChat(echoes("A", "B", "C"), "manual").run_nonstream(HI, max_round=2)) == ["B", "C"]


def test_auto_lets_a_host_decide_until_it_says_stop():
    host = ScriptedChatModel(["B", "A", "[STOP]"])
    chat = GroupChat(echoes("A", "B"), llm=host)
    assert speakers(chat.run_nonstream(HI, max_round=9)) == ["B", "A"]
    asked = host.requests[2].messages
    assert "A: A speaks" in asked[0].content
    assert asked[1].content == "user: Hi\nB: B 0\nA: A 0"


def test_auto_that_stops_at_once_gives_an_empty_response():
    assert GroupChat(echoes("A"), llm=ScriptedChatModel(["[STOP]"])).run_nonstream(HI) == []


def test_auto_falls_through_to_the_order_when_the_host_names_nobody():
    host = ScriptedChatModel(["nobody", "still nobody", "..."])
    assert speakers(GroupChat(echoes("A", "B"), llm=host).run_nonstream(HI, max_round=1)) == ["A"]
    host.assert_complete()


def test_auto_without_a_model_and_an_unknown_method_are_refused():
    with pytest.raises(ValueError, match="needs a model for the host"):
        GroupChat(echoes("A"))
    with pytest.raises(ValueError, match="auto, round_robin, random, manual"):
        GroupChat(echoes("A"), "alphabetical")


def test_at_a_round_table_each_speaks_once_and_then_the_human_comments():
    chat = GroupChat([*echoes("A", "B"), UserAgent(name="Ada")], round_table=True)
    first = chat.run_nonstream(HI)
    assert speakers(first) == ["A", "B", "Ada"]
    assert first[-1]["content"] == PENDING_USER_INPUT
    again = chat.run_nonstream([*HI, *first, {"role": "user", "name": "Ada", "content": "More"}])
    assert speakers(again) == ["A", "B", "Ada"]
    assert speakers(GroupChat(echoes("A", "B"), round_table=True).run_nonstream(HI)) == ["A", "B"]


# ---- who is called by name


def test_members_called_in_the_last_message_speak_in_that_order_each_once():
    chat = GroupChat(echoes("A", "B", "C"), "round_robin")
    called = [{"role": "user", "content": "@C @C and @B please"}]
    assert speakers(chat.run_nonstream(called, max_round=3)) == ["C", "B", "C"]


def test_a_name_that_begins_like_another_is_not_confused_with_it():
    chat = GroupChat(echoes("A", "An", "Ann"), "round_robin")
    assert speakers(chat.run_nonstream([{"role": "user", "content": "@Ann?"}], max_round=1)) == ["Ann"]
    assert speakers(chat.run_nonstream([{"role": "user", "content": "@Anna?"}], max_round=1)) == ["A"]


def test_a_member_may_call_another():
    model = ScriptedChatModel(["Ask @C", "Here I am"])
    chat = GroupChat([BasicAgent(llm=model, name=name) for name in "ABC"], "round_robin")
    assert speakers(chat.run_nonstream(HI, max_round=2)) == ["A", "C"]


def test_mentioned_agents_name_comes_first_and_the_callers_list_is_not_changed():
    chat = GroupChat(echoes("A", "B", "C"), "round_robin")
    names = ["B", "C"]
    assert speakers(chat.run_nonstream(HI, mentioned_agents_name=names, max_round=2)) == ["B", "C"]
    assert names == ["B", "C"]


def test_an_unknown_name_in_mentioned_agents_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"'Zoe'; the members are: A, B"):
        GroupChat(echoes("A", "B"), "round_robin").run_nonstream(HI, mentioned_agents_name=["Zoe"])


# ---- rounds


def test_max_round_bounds_the_turns_and_must_be_a_positive_number():
    chat = GroupChat(echoes("A"), "round_robin")
    response = chat.run_nonstream(HI, max_round=5)
    assert len(response) == 5
    assert response[-1]["extra"]["end"] == "limit:rounds"
    for wrong in (0, -1, True, "3"):
        with pytest.raises(ValueError, match="max_round is a whole number of at least 1"):
            chat.run_nonstream(HI, max_round=wrong)


def test_without_batch_response_there_is_one_turn():
    chat = GroupChat(echoes("A", "B"), "round_robin")
    assert speakers(chat.run_nonstream(HI, need_batch_response=False)) == ["A"]


def test_a_member_that_yields_nothing_ends_the_talk():
    class Silent(Agent):
        def _run(self, messages, lang="en", **kwargs):
            yield []

    chat = GroupChat([Echo(name="A"), Silent(name="B")], "round_robin")
    assert speakers(chat.run_nonstream(HI, max_round=9)) == ["A"]


def test_one_speaker_may_be_bounded_in_turns_in_a_row():
    host = ScriptedChatModel(["A", "A", "A", "A"])
    chat = GroupChat(echoes("A", "B"), llm=host, max_consecutive_same_speaker=2, max_round=4)
    assert speakers(chat.run_nonstream(HI)) == ["A", "A", "B", "A"]


# ---- input


def test_an_empty_conversation_is_begun():
    chat = GroupChat(echoes("A", "B"), "round_robin")
    assert speakers(chat.run_nonstream([], max_round=2)) == ["A", "B"]


def test_images_reach_every_member():
    model = ScriptedChatModel(["A cat."], cfg={"multimodal": True})
    chat = GroupChat([BasicAgent(llm=model, name="A")], "round_robin")
    content = [ContentItem(text="What is it?"), ContentItem(image="https://example.com/cat.png")]
    chat.run_nonstream([Message("user", content, name="Ada")], max_round=1)
    assert any(item.image == "https://example.com/cat.png" for item in model.requests[0].messages[-1].content)


def test_a_history_with_parallel_tool_calls_goes_on():
    model = ScriptedChatModel([[call("look"), call("look")], "Two found.", "And now?"])
    team = [FnCallAgent([Look("found")], model, name="A"), FnCallAgent(llm=model, name="B")]
    chat = GroupChat(team, "round_robin")
    messages = [Message("user", "Look twice")]
    messages.extend(chat.run_nonstream(messages, max_round=1))
    assert [m.role for m in messages[1:]] == ["assistant", "assistant", "function", "function", "assistant"]
    assert check_history(messages) == []
    messages.extend(chat.run_nonstream(messages, max_round=1))
    assert messages[-1].name == "B"
    assert [m.content for m in model.requests[-1].messages] == ["user: Look twice\nA: Two found.\nB: "]
    model = ScriptedChatModel(["Again."])
    back = GroupChat([FnCallAgent([Look("found")], model, name="A"), FnCallAgent(llm=model, name="B")], "round_robin")
    back.run_nonstream(messages, max_round=1)
    assert [m.role for m in model.requests[-1].messages].count("function") == 2


def test_dicts_in_give_dicts_out_and_the_input_is_not_changed():
    chat = GroupChat(echoes("A"), "round_robin")
    given = copy.deepcopy(HI)
    assert all(isinstance(message, dict) for message in chat.run_nonstream(given))
    assert given == HI
    assert all(isinstance(message, Message) for message in chat.run_nonstream([Message("user", "Hi")]))


# ---- the dict configuration

CONFIG = {
    "background": "A chess club",
    "agents": [
        {"name": "Ada", "description": "the human", "is_human": True},
        {"name": "Max", "description": "plays black", "instructions": "You play black, badly."},
        {"name": "Eva", "description": "comments"},
    ],
}


def test_a_configuration_makes_members_who_know_the_background_and_each_other():
    model = ScriptedChatModel(["e5", "Dull."])
    chat = GroupChat(CONFIG, "round_robin", llm=model, name="club")
    response = chat.run_nonstream([{"role": "user", "name": "Ada", "content": "e4"}])
    assert speakers(response) == ["Max", "Eva", "Ada"]
    assert response[-1]["content"] == PENDING_USER_INPUT
    assert response[-1]["extra"]["end"] == "paused"
    system = model.requests[0].messages[0].content
    assert system.startswith("You play black, badly.")
    assert "A chess club" in system
    assert "Ada, Eva" in system


def test_the_introduction_speaks_the_language_of_the_conversation_and_can_be_replaced():
    model = ScriptedChatModel(["好", "ok"])
    chat = GroupChat(CONFIG, "round_robin", llm=model)
    chat.run_nonstream([{"role": "user", "name": "Ada", "content": "你好"}], max_round=1)
    assert "群聊" in model.requests[0].messages[0].content
    own = GroupChat(CONFIG, "round_robin", llm=model, prompts={"member": "You: {name}. They: {others}."})
    own.run_nonstream([{"role": "user", "name": "Ada", "content": "Hi"}], max_round=1)
    assert model.requests[1].messages[0].content.endswith("You: Max. They: Ada, Eva.")
    with pytest.raises(ValueError, match="no prompt 'membr'"):
        GroupChat(echoes("A"), "round_robin", prompts={"membr": ""})
    with pytest.raises(ValueError, match=r"field \{who\}"):
        GroupChat(echoes("A"), "round_robin", prompts={"member": "{who}"})


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"agents": []}, "a list 'agents' with at least one role"),
        ({"agents": [{"description": "x"}]}, r"agents\[0\] of the configuration is a dict with a 'name'"),
        ({"agents": [{"name": "A"}]}, "needs a model"),
    ],
)
def test_a_configuration_without_what_it_needs_is_refused(config, says):
    with pytest.raises(ValueError, match=says):
        GroupChat(config, "round_robin")


# ---- humans


def test_a_human_turn_pauses_and_the_talk_goes_on_with_their_words():
    chat = GroupChat([*echoes("A"), UserAgent(name="Ada")], "round_robin")
    messages = [Message("user", "Hi")]
    messages += chat.run_nonstream(messages)
    assert messages[-1].content == PENDING_USER_INPUT
    messages.append(Message("user", "I say so", name="Ada"))
    assert speakers(chat.run_nonstream(messages)) == ["A", "Ada"]


def test_a_human_with_an_input_function_takes_part_without_a_pause():
    human = UserAgent(name="Ada", input_func=lambda messages: "me too")
    response = GroupChat([*echoes("A"), human], "round_robin").run_nonstream(HI, max_round=4)
    assert speakers(response) == ["A", "Ada", "A", "Ada"]


# ---- a team is an agent


def test_a_team_is_an_agent_and_a_hub():
    chat = GroupChat(echoes("A"), "round_robin", name="team")
    assert isinstance(chat, Agent)
    assert isinstance(chat, MultiAgentHub)
    assert chat.agent_names == ["A"]


def test_a_team_can_be_a_member_and_sees_its_own_earlier_talk():
    model = ScriptedChatModel(["first", "second", "third"])
    inner = GroupChat([BasicAgent(llm=model, name="Eve")], "round_robin", max_round=1, name="desk")
    outer = GroupChat([inner, *echoes("A")], "round_robin")
    response = outer.run_nonstream(HI)
    assert speakers(response) == ["Eve", "A", "Eve"]
    assert [m.content for m in model.requests[1].messages] == ["user: Hi\nEve: ", "first", "A: A 0\nEve: "]


def test_a_nested_team_is_called_by_its_own_name():
    inner = GroupChat(echoes("Eve"), "round_robin", max_round=1, name="desk")
    outer = GroupChat([*echoes("A"), inner], "round_robin")
    assert speakers(outer.run_nonstream([{"role": "user", "content": "@desk"}], max_round=1)) == ["Eve"]


# ---- streaming, events, limits, cancel, errors


def test_each_yield_is_the_whole_response_so_far_and_never_changes():
    model = ScriptedChatModel(["one two three", "four five six"], chunk_size=4)
    chat = GroupChat([BasicAgent(llm=model, name=name) for name in "AB"], "round_robin")
    seen = [(response, copy.deepcopy(response)) for response in chat.run(HI, max_round=2)]
    assert all(response == copied for response, copied in seen)
    assert [len(response) for response, _ in seen] == sorted(len(response) for response, _ in seen)


def test_every_choice_is_an_event_with_candidates_and_reason():
    chat = GroupChat(echoes("A", "B"), "round_robin", name="team")
    chosen = [event for event in chat.run_events(HI, max_round=2) if isinstance(event, SpeakerSelected)]
    assert [(event.speaker, event.reason) for event in chosen] == [
        ("A", "next in turn"),
        ("B", "next in turn"),
        (None, "Maximum number of rounds 2 reached"),
    ]
    assert chosen[0].candidates == ["A", "B"]
    assert chosen[0].agent == "team"


def test_a_members_error_stops_the_talk_with_its_own_type_and_the_members_name():
    model = ScriptedChatModel([ModelServiceError(code="400", message="down")])
    chat = GroupChat([*echoes("A"), BasicAgent(llm=model, name="B")], "round_robin")
    with pytest.raises(ModelServiceError) as raised:
        chat.run_nonstream(HI)
    assert "It was the turn of 'B' in a team." in raised.value.__notes__


def test_the_members_share_one_budget():
    model = ScriptedChatModel(["x"], repeat=True)
    chat = GroupChat([BasicAgent(llm=model, name=name) for name in "AB"], "round_robin")
    response = chat.run_nonstream(HI, max_round=50, limits=RunLimits(model_calls=3))
    assert len(response) == 3
    assert response[-1]["extra"]["end"] == "limit:model_calls"


def test_a_cancel_ends_the_talk_and_keeps_what_was_said():
    token = CancelToken()

    class Stopper(Agent):
        def _run(self, messages, lang="en", **kwargs):
            yield [Message("assistant", "half")]
            token.cancel()
            yield [Message("assistant", "half and half")]

    chat = GroupChat([*echoes("A"), Stopper(name="B")], "round_robin")
    response = chat.run_nonstream(HI, cancel=token)
    assert response[0]["content"] == "A 0"
    assert response[1]["content"].startswith("half")
    assert response[-1]["extra"]["end"] == "cancelled"


def test_one_team_serves_interleaved_runs():
    chat = GroupChat(echoes("A", "B"), "round_robin")
    first, second = chat.run(HI), chat.run([{"role": "user", "content": "@B"}])
    turns = [next(first), next(second), next(first), next(second)]
    assert speakers(turns[0]) == ["A"]
    assert speakers(turns[1]) == ["B"]


def test_each_answer_can_be_bounded_in_tokens_without_changing_the_members():
    model = ScriptedChatModel(["x"], repeat=True)
    mia = BasicAgent(llm=model, name="A")
    chat = GroupChat([mia, BasicAgent(llm=model, name="B")], "round_robin", max_response_tokens={"A": 7})
    chat.run_nonstream(HI, max_round=2)
    assert [seen.request.options.max_response_tokens for seen in model.requests] == [7, None]
    assert mia.extra_generate_cfg == {}
    assert chat.agents[0] is mia
