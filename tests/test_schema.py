"""Messages: construction, dict-like access, OpenAI shapes."""

import copy
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwen_agentkit.schema import ContentItem, FunctionCall, Message, messages_from


def test_positional_construction_keeps_the_order_of_qwen_agent():
    call = FunctionCall("f", "{}")
    message = Message("assistant", "text", "thought", "bot", call, {"k": 1})
    assert (message.reasoning_content, message.name, message.function_call, message.extra) == (
        "thought",
        "bot",
        call,
        {"k": 1},
    )


def test_a_message_without_content_has_the_empty_text():
    assert Message("user").content == "" == Message("user", None).content


def test_unknown_arguments_are_dropped():
    assert Message("user", "hi", weight=3) == Message("user", "hi")
    assert FunctionCall("f", "{}", id="x") == FunctionCall("f", "{}")


def test_dict_parts_and_calls_are_converted():
    message = Message("assistant", [{"text": "a"}, {"image": "b.png"}], function_call={"name": "f", "arguments": "{}"})
    assert message.content == [ContentItem(text="a"), ContentItem(image="b.png")]
    assert message.function_call == FunctionCall("f", "{}")


def test_arguments_given_as_a_dict_are_written_as_json():
    assert FunctionCall("f", {"city": "海淀区"}).arguments == '{"city": "海淀区"}'


@pytest.mark.parametrize(
    ("kwargs", "said"),
    [
        ({"role": "robot"}, "robot"),
        ({"role": None}, "None"),
        ({"role": "user", "content": 5}, "int 5"),
        ({"role": "user", "content": {"text": "x"}}, "dict"),
        ({"role": "user", "content": [{"text": "a", "image": "b"}]}, "text, image"),
        ({"role": "user", "content": [{}]}, "none was given"),
        ({"role": "user", "extra": "x"}, "extra"),
        ({"role": "assistant", "function_call": {"name": 3, "arguments": ""}}, "int 3"),
    ],
)
def test_wrong_input_is_a_value_error_that_says_what_was_given(kwargs, said):
    with pytest.raises(ValueError, match=said):
        Message(**kwargs)


def test_dict_access_reads_and_writes():
    message = Message("user", "hi")
    message["content"] = "there"
    assert message["content"] == "there" == message.content
    with pytest.raises(KeyError):
        message["colour"]
    with pytest.raises(KeyError, match="role, content"):
        message["colour"] = 1


def test_in_unpacking_and_dict_see_the_fields_that_are_set():
    message = Message("user", "hi", name="Ada")
    assert "name" in message and "function_call" not in message and "x" not in message
    assert {**message} == {"role": "user", "content": "hi", "name": "Ada"} == dict(message)


def test_get_gives_the_default_for_an_unset_field_and_the_value_of_an_empty_one():
    message = Message("user", "")
    assert message.get("name", "nobody") == "nobody"
    assert message.get("content", "D") == "" == message.model_dump().get("content", "D")
    assert message.get("colour", 1) == 1


def test_the_dump_leaves_unset_fields_out_unless_asked():
    message = Message("assistant", [ContentItem(text="a")])
    assert message.model_dump() == {"role": "assistant", "content": [{"text": "a"}]}
    assert message.model_dump(exclude_none=False)["name"] is None
    assert str(message) == "{'role': 'assistant', 'content': [{'text': 'a'}]}"
    assert json.loads(message.model_dump_json()) == message.model_dump()


def test_equality_is_structural_and_copies_are_independent():
    message = Message("user", [ContentItem(text="a")], extra={"k": [1]})
    copied = copy.deepcopy(message)
    assert copied == message == pickle.loads(pickle.dumps(message))
    copied.content[0].text = "b"
    copied.extra["k"].append(2)
    assert message.content[0].text == "a" and message.extra == {"k": [1]}


def test_a_subclass_may_call_super_without_arguments():
    class Timed(Message):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.seconds = 3

    message = Timed("user", "hi")
    assert message.model_copy().seconds == 3 and message["role"] == "user"


def test_a_content_item_names_its_kind():
    assert ContentItem(text="").get_type_and_value() == ("text", "")
    assert ContentItem(file="a.pdf").type == "file"
    with pytest.raises(ValueError, match="exactly one"):
        ContentItem(image="")


def test_openai_content_parts_are_understood():
    message = Message(
        "user",
        [
            {"type": "text", "text": "look"},
            {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
            {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
        ],
    )
    assert [item.type for item in message.content] == ["text", "image", "audio"]


def test_openai_tool_calls_become_one_message_a_call_and_results_find_their_names():
    messages = messages_from(
        [
            {"role": "user", "content": "?"},
            {
                "role": "assistant",
                "content": "let me see",
                "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                    {"id": "b", "type": "function", "function": {"name": "g", "arguments": '{"x": 1}'}},
                ],
            },
            {"role": "tool", "tool_call_id": "b", "content": "2"},
            {"role": "tool", "tool_call_id": "a", "content": "1"},
        ]
    )
    assert [message.role for message in messages] == ["user", "assistant", "assistant", "assistant"] + ["function"] * 2
    assert [message.name for message in messages[-2:]] == ["g", "f"]
    assert messages[3].extra == {"function_id": "b"}


def test_the_place_of_a_wrong_message_is_named():
    with pytest.raises(ValueError, match=r"messages\[1\].*robot"):
        messages_from([{"role": "user", "content": "a"}, {"role": "robot", "content": "b"}])
    with pytest.raises(ValueError, match="list of messages"):
        messages_from("hello")


def test_pydantic_models_and_their_schema_take_messages():
    pydantic = pytest.importorskip("pydantic")

    class Body(pydantic.BaseModel):
        messages: list[Message]

    body = Body.model_validate({"messages": [{"role": "user", "content": "hi"}]})
    assert body.messages == [Message("user", "hi")]
    assert body.model_dump() == {"messages": [{"role": "user", "content": "hi"}]}
    assert "role" in json.dumps(Body.model_json_schema())
    with pytest.raises(pydantic.ValidationError):
        Body.model_validate({"messages": [{"role": "robot", "content": "hi"}]})


items = st.one_of(
    st.builds(lambda text: ContentItem(text=text), st.text()),
    st.builds(lambda name: ContentItem(file=name), st.text(min_size=1)),
)
messages = st.builds(
    Message,
    role=st.sampled_from(["system", "user", "assistant", "function", "tool"]),
    content=st.one_of(st.none(), st.text(), st.lists(items, max_size=3)),
    reasoning_content=st.none() | st.text(),
    name=st.none() | st.text(),
    function_call=st.none() | st.builds(FunctionCall, st.text(), st.text()),
    extra=st.none() | st.dictionaries(st.text(), st.integers()),
)


@given(messages)
def test_a_message_survives_its_dump(message):
    assert Message(**message.model_dump()) == message
    assert Message.model_validate(json.loads(message.model_dump_json())) == message
    assert Message(**{**message}) == message


@given(st.lists(messages))
def test_copied_conversations_are_equal_and_new(conversation):
    copied = messages_from(conversation)
    assert copied == conversation
    assert not {id(message) for message in copied} & {id(message) for message in conversation}
