"""What one speaker of a team sees of the conversation."""

from qwen_agentkit.agent import BasicAgent
from qwen_agentkit.agents.group.views import lines_of, owners_of, view_for
from qwen_agentkit.agents.group_chat import GroupChat
from qwen_agentkit.agents.user_agent import PENDING_USER_INPUT, UserAgent
from qwen_agentkit.llm.history import check_history
from qwen_agentkit.schema import ContentItem, FunctionCall, Message

MEMBERS = [BasicAgent(name="Mia"), BasicAgent(name="Ken"), UserAgent(name="Ada")]


def said(name, text, role="assistant", **kwargs):
    return Message(role, text, name=name, **kwargs)


def called(name, *ids):
    calls = [said(name, "", function_call=FunctionCall("look", "{}"), extra={"function_id": one}) for one in ids]
    results = [Message("function", f"result {one}", name="look", extra={"function_id": one}) for one in ids]
    return [*calls, *results]


def view(name, messages, **kwargs):
    return view_for(name, messages, owners_of(messages, MEMBERS), **kwargs)


def test_own_turns_are_assistant_messages_and_the_others_are_lines_in_user_messages():
    talk = [Message("user", "Hi all"), said("Mia", "Hello"), said("Ken", "Hey"), said("Mia", "Well")]
    assert [(m.role, m.content) for m in view("Mia", talk)] == [
        ("user", "user: Hi all\nMia: "),
        ("assistant", "Hello"),
        ("user", "Ken: Hey\nMia: "),
        ("assistant", "Well"),
        ("user", "Mia: "),
    ]


def test_a_view_is_the_beginning_of_the_speakers_next_view():
    talk = [Message("user", "Hi all"), said("Ken", "Hey")]
    later = [*talk, said("Mia", "Hello"), said("Ken", "So?"), said("Ada", "Go on", role="user")]
    first, second = view("Mia", talk), view("Mia", later)
    assert second[: len(first)] == first
    assert second[-1].content == "Ken: So?\nAda: Go on\nMia: "


def test_the_others_tool_calls_results_and_thinking_are_hidden():
    talk = [
        Message("user", "Look it up"),
        said("Ken", "", reasoning_content="hm"),
        *called("Ken", "call_1", "call_2"),
        said("Ken", "Found"),
    ]
    assert [(m.role, m.content) for m in view("Mia", talk)] == [("user", "user: Look it up\nKen: Found\nMia: ")]


def test_own_parallel_calls_keep_all_their_results():
    talk = [Message("user", "Look it up"), *called("Mia", "call_1", "call_2"), said("Mia", "Found"), said("Ken", "Ok")]
    seen = view("Mia", talk)
    assert seen[1:6] == talk[1:6]
    assert check_history(seen) == []


def test_images_and_files_of_the_others_stay():
    items = [ContentItem(text="See"), ContentItem(image="a.png"), ContentItem(file="b.pdf")]
    (seen,) = view("Mia", [said("Ada", items, role="user"), said("Ken", "Nice")])
    assert [item.model_dump() for item in seen.content] == [
        {"text": "Ada: See"},
        {"image": "a.png"},
        {"file": "b.pdf"},
        {"text": "Ken: Nice\nMia: "},
    ]


def test_a_pause_is_not_shown_and_the_words_after_it_are_the_humans():
    talk = [said("Ken", "And you?"), said("Ada", PENDING_USER_INPUT, role="user"), Message("user", "Fine")]
    assert owners_of(talk, MEMBERS) == ["Ken", "Ada", "Ada"]
    assert PENDING_USER_INPUT not in view("Mia", talk)[0].content


def test_system_messages_of_the_conversation_and_the_introduction_come_first():
    talk = [Message("system", "Be kind."), Message("user", "Hi")]
    seen = view("Mia", talk, intro="You are Mia.")
    assert (seen[0].role, seen[0].content) == ("system", "Be kind.\n\nYou are Mia.")


def test_an_empty_conversation_gives_the_speaker_a_line_to_begin():
    assert [(m.role, m.content) for m in view("Mia", [])] == [("user", "Mia: ")]


def test_messages_of_agents_inside_a_member_belong_to_that_member():
    inner = GroupChat([BasicAgent(name="Eve"), BasicAgent(name="Bob")], "round_robin", name="desk")
    messages = [said("Eve", "Hello"), said("Mia", "Hi"), said("stranger", "?")]
    assert owners_of(messages, [*MEMBERS, inner]) == ["desk", "Mia", None]


def test_an_assistant_message_without_a_name_is_somebody_elses():
    assert view("Mia", [Message("assistant", "Old words")])[0].content == "assistant: Old words\nMia: "


def test_the_conversation_as_lines():
    talk = [Message("system", "x"), Message("user", "Hi"), *called("Ken", "call_1"), said("Ken", "Found")]
    assert lines_of(talk) == "user: Hi\nKen: Found"
