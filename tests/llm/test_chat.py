"""What `chat` does with every model: forms of input and output, marks, tools in the text, stop words."""

import copy
import pickle
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.llm.base import BaseChatModel, Delta
from qwen_agentkit.schema import ContentItem, FunctionCall, Message
from qwen_agentkit.testing import ScriptedChatModel, call, reply

WEATHER = {"name": "weather", "description": "Weather.", "parameters": {"type": "object", "properties": {}}}
HI = [{"role": "user", "content": "hi"}]


def last(snapshots):
    *_, one = snapshots
    return one


def plain(messages):
    """Messages without the marks that differ from call to call."""
    return [
        (one["role"], one["content"], one.get("reasoning_content"), (one.get("function_call") or {}).get("arguments"))
        for one in messages
    ]


def test_dicts_in_give_dicts_out():
    model = ScriptedChatModel(["a", "b"])
    assert all(type(one) is dict for one in last(model.chat(HI)))
    assert all(type(one) is dict for one in model.chat(HI, stream=False))


def test_messages_or_a_mixture_give_messages():
    model = ScriptedChatModel(["a", "b"])
    assert all(isinstance(one, Message) for one in last(model.chat([Message("user", "hi")])))
    mixed = [{"role": "system", "content": "s"}, Message("user", "hi")]
    assert all(isinstance(one, Message) for one in model.chat(mixed, stream=False))


def test_absent_fields_are_not_in_the_dicts():
    one = ScriptedChatModel(["a"]).chat(HI, stream=False)[0]
    assert "function_call" not in one
    assert "name" not in one


def test_no_message_is_an_error():
    with pytest.raises(ValueError, match="At least one message"):
        ScriptedChatModel(["a"]).chat([])


def test_a_stream_grows_and_its_lists_never_change():
    kept = list(ScriptedChatModel([reply("hello world", reasoning="hmm")], chunk_size=2).chat([Message("user", "x")]))
    frozen = [str(one) for one in kept]
    texts = ["".join(m.content for m in one) for one in kept]
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))
    assert texts[-1] == "hello world"
    assert [str(one) for one in kept] == frozen
    assert len({id(one) for one in kept}) == len(kept)


def test_thinking_text_and_calls_are_messages_of_their_own_in_this_order():
    model = ScriptedChatModel(
        [reply("I look.", call("weather", city="Oslo"), call("weather", city="Bergen"), reasoning="hm")]
    )
    thinking, text, first, second = model.chat([Message("user", "x")], functions=[WEATHER], stream=False)
    assert (thinking.reasoning_content, thinking.content) == ("hm", "")
    assert text.content == "I look."
    assert first.function_call.arguments == '{"city": "Oslo"}'
    assert second.function_call.arguments == '{"city": "Bergen"}'
    assert first.extra["function_id"] != second.extra["function_id"]


pieces = st.text("abc <>/think\n好", max_size=12)


@settings(max_examples=60, deadline=None)
@given(pieces, pieces, st.lists(st.sampled_from(["{}", '{"a": 1}', '{"a": "x']), max_size=3), st.integers(1, 5))
def test_stream_and_non_stream_give_the_same_messages(text, reasoning, arguments, size):
    scripted = reply(text, *(call("weather", one) for one in arguments), reasoning=reasoning)
    model = ScriptedChatModel([scripted, scripted], chunk_size=size)
    streamed = last(model.chat(HI, functions=[WEATHER]))
    whole = model.chat(HI, functions=[WEATHER], stream=False)
    assert plain(streamed) == plain(whole)


@settings(max_examples=60, deadline=None)
@given(pieces, pieces, st.integers(1, 5))
def test_the_sum_of_deltas_is_the_answer(text, reasoning, size):
    scripted = reply(text, reasoning=reasoning)
    model = ScriptedChatModel([scripted, scripted], chunk_size=size)
    steps = list(model.chat(HI, delta_stream=True))
    whole = model.chat(HI, stream=False)
    assert "".join(one["content"] for step in steps for one in step) == "".join(one["content"] for one in whole)
    assert "".join(one.get("reasoning_content", "") for step in steps for one in step) == "".join(
        one.get("reasoning_content", "") for one in whole
    )


def test_think_tags_become_reasoning():
    thinking, text = ScriptedChatModel(["<think>a</think>b"]).chat([Message("user", "x")], stream=False)
    assert (thinking.reasoning_content, text.content) == ("a", "b")


def test_a_dialect_puts_tools_into_the_text_and_reads_calls_from_it():
    model = ScriptedChatModel([call("weather", city="Oslo")], cfg={"generate_cfg": {"fncall_prompt_type": "nous"}})
    (one,) = model.chat([Message("user", "x")], functions=[WEATHER], stream=False)
    assert one.function_call == FunctionCall("weather", '{"city": "Oslo"}')
    assert "<tools>" in model.requests[0].messages[0].content
    assert model.requests[0].functions == []


@pytest.mark.parametrize("dialect", ["nous", "qwen", "react", "xml", "fenced"])
def test_every_dialect_makes_the_round_of_a_call(dialect):
    model = ScriptedChatModel(
        [call("weather", city="Oslo"), "fine"], cfg={"generate_cfg": {"fncall_prompt_type": dialect}}
    )
    asked = [Message("user", "x")]
    answer = model.chat(asked, functions=[WEATHER], stream=False)
    assert answer[-1].function_call.name == "weather"
    result = Message("function", "21", name="weather", extra={"function_id": answer[-1].extra["function_id"]})
    (text,) = model.chat([*asked, *answer, result], functions=[WEATHER], stream=False)
    assert text.content == "fine"
    assert all(one.role in ("system", "user", "assistant") for one in model.requests[1].messages)


def test_calls_left_in_the_text_by_a_server_are_read_in_native_mode_too():
    text = 'Sure. <tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
    said, one = ScriptedChatModel([text]).chat([Message("user", "x")], functions=[WEATHER], stream=False)
    assert said.content.strip() == "Sure."
    assert one.function_call.name == "weather"


def test_native_calls_are_passed_over_when_no_tools_were_offered():
    (one,) = ScriptedChatModel([reply("text", call("weather"))]).chat([Message("user", "x")], stream=False)
    assert one.content == "text"
    assert one.function_call is None


def test_function_choice_none_offers_no_tools():
    model = ScriptedChatModel(["text"])
    model.chat(HI, functions=[WEATHER], extra_generate_cfg={"function_choice": "none"}, stream=False)
    assert model.requests[0].functions == []


def called(name="weather"):
    extra = {"function_id": "call_1"}
    call_message = {"role": "assistant", "content": "", "function_call": {"name": name, "arguments": "{}"}}
    return [*HI, {**call_message, "extra": extra}, {"role": "function", "name": name, "content": "21", "extra": extra}]


@pytest.mark.parametrize("asked", [{}, {"functions": [WEATHER], "extra_generate_cfg": {"function_choice": "none"}}])
def test_past_calls_are_told_in_words_when_no_tools_are_offered_natively(asked):
    model = ScriptedChatModel(["text", "text"])
    model.chat([*called(), *HI], **asked, stream=False)
    sent = model.requests[0].messages
    assert {one.role for one in sent} <= {"user", "assistant"}
    assert all(one.function_call is None for one in sent)
    assert "21" in sent[0].content
    model.chat([*called(), *HI], functions=[WEATHER], stream=False)
    assert [one.role for one in model.requests[1].messages] == ["user", "assistant", "function", "user"]


def test_a_model_without_tools_by_its_profile_gets_neither_tools_nor_calls(caplog):
    model = ScriptedChatModel(["text", "text"], cfg={"profile": {"tools": False}})
    for _ in range(2):
        choice = {"function_choice": "weather"}
        assert last(model.chat([*called(), *HI], functions=[WEATHER], extra_generate_cfg=choice))[-1]["content"]
    for seen in model.requests:
        assert seen.functions == [] and "Weather." not in str(seen.messages)
        assert all(one.role in ("user", "assistant") and one.function_call is None for one in seen.messages)
    assert sum("takes no tools" in one.message for one in caplog.records) == 1


def test_function_choice_must_be_a_tool():
    with pytest.raises(ValueError, match="weather"):
        ScriptedChatModel(["x"]).chat(HI, functions=[WEATHER], extra_generate_cfg={"function_choice": "nope"})


def test_functions_with_openais_wrapper_are_unwrapped():
    model = ScriptedChatModel(["x"])
    model.chat(HI, functions=[{"type": "function", "function": WEATHER}], stream=False)
    assert model.requests[0].functions == [WEATHER]


def test_a_function_without_a_name_is_an_error():
    with pytest.raises(ValueError, match=r"functions\[0\]"):
        ScriptedChatModel(["x"]).chat(HI, functions=[{"description": "x"}])


def test_stop_words_of_model_and_call_are_united_and_cut_the_text():
    model = ScriptedChatModel(["HELLO END world", "one STOP two"], cfg={"generate_cfg": {"stop": "END"}}, chunk_size=1)
    assert last(model.chat(HI, extra_generate_cfg={"stop": ["STOP"]}))[-1]["content"] == "HELLO "
    assert model.requests[0].request.options.stop == ["END", "STOP"]
    assert last(model.chat(HI, extra_generate_cfg={"stop": ["STOP"]}))[-1]["content"] == "one "


def test_the_seed_goes_out_only_when_given():
    model = ScriptedChatModel(["a", "b"])
    model.chat(HI, stream=False)
    model.chat(HI, stream=False, extra_generate_cfg={"seed": 7})
    assert "seed" not in model.requests[0].generate_cfg
    assert model.requests[1].generate_cfg["seed"] == 7


def test_framework_keys_do_not_reach_the_service():
    model = ScriptedChatModel(["a"])
    keys = {"function_choice": "auto", "parallel_function_calls": True, "thought_in_content": False, "lang": "en"}
    model.chat(HI, stream=False, extra_generate_cfg={**keys, "max_input_tokens": 5000, "top_p": 0.3})
    assert model.requests[0].generate_cfg == {"top_p": 0.3}


def test_two_system_messages_become_one():
    model = ScriptedChatModel(["a"])
    model.chat([Message("system", "A"), Message("user", "x"), Message("system", "B")], stream=False)
    assert [(one.role, one.content) for one in model.requests[0].messages] == [("system", "A\n\nB"), ("user", "x")]


def test_a_broken_history_is_repaired_on_the_copy_that_is_sent():
    history = [
        Message("user", "x"),
        Message("assistant", "", function_call=FunctionCall("weather", "{}"), extra={"function_id": "1"}),
    ]
    before = copy.deepcopy(history)
    model = ScriptedChatModel(["a"])
    model.chat(history, functions=[WEATHER], stream=False)
    sent = model.requests[0].messages
    assert [one.role for one in sent] == ["user", "assistant", "function"]
    assert sent[1].extra["function_id"] == sent[2].extra["function_id"] != "1"
    assert history == before


def test_documents_are_announced_and_not_sent():
    model = ScriptedChatModel(["a", "b"])
    content = [ContentItem(file="/data/report.pdf"), ContentItem(text="What is it?")]
    model.chat([Message("user", content)], stream=False)
    model.chat([Message("user", [*content, ContentItem(image="p.png")]), Message("user", "这是什么？")], stream=False)
    assert model.requests[0].messages[0].content == "(Uploaded [file](report.pdf)) What is it?"
    assert model.requests[1].messages[0].content == "（上传了 [文件](report.pdf) [图片](p.png)）What is it?"


def test_an_answer_that_the_token_limit_cut_is_marked():
    model = ScriptedChatModel([reply("half an ans", finish_reason="length")])
    (one,) = model.chat([Message("user", "x")], stream=False)
    assert one.extra["truncated"] is True
    assert one.extra["usage"]["finish_reason"] == "length"


def test_a_call_that_the_token_limit_cut_is_marked():
    model = ScriptedChatModel([reply("", call("weather", '{"city": "Os'), finish_reason="length")])
    (one,) = model.chat([Message("user", "x")], functions=[WEATHER], stream=False)
    assert one.extra["truncated"] is True


def test_arguments_that_were_mended_say_so():
    (one,) = ScriptedChatModel([call("weather", "{'city': 'Oslo',}")]).chat(
        [Message("user", "x")], functions=[WEATHER], stream=False
    )
    assert one.function_call.arguments == '{"city": "Oslo"}'
    assert one.extra["repaired"]


@pytest.mark.parametrize("empty", ["", "null"])
def test_empty_arguments_are_an_empty_object(empty):
    (one,) = ScriptedChatModel([call("weather", empty)]).chat([Message("user", "x")], functions=[WEATHER], stream=False)
    assert one.function_call.arguments == "{}"


def test_two_calls_with_one_id_get_ids_of_their_own():
    scripted = reply("", call("weather", {}, id="c"), call("weather", {}, id="c"))
    first, second = ScriptedChatModel([scripted]).chat([Message("user", "x")], functions=[WEATHER], stream=False)
    assert first.extra["function_id"] == "c" != second.extra["function_id"]


def test_an_empty_reply_is_one_empty_message():
    (one,) = ScriptedChatModel([""]).chat([Message("user", "x")], stream=False)
    assert one.content == ""


def test_empty_replies_are_asked_for_again_with_a_hint_and_then_taken():
    model = ScriptedChatModel(["", "", ""], cfg={"generate_cfg": {"empty_reply": "retry", "empty_retries": 2}})
    (one,) = model.chat([Message("user", "x")], stream=False)
    assert one.content == ""
    model.assert_complete()
    assert [len(seen.messages) for seen in model.requests] == [1, 2, 2]


def test_a_reply_of_thinking_alone_is_asked_for_again_and_its_thinking_stays():
    model = ScriptedChatModel([reply("", reasoning="hm"), "answer"], cfg={"generate_cfg": {"empty_reply": "retry"}})
    snapshots = list(model.chat([Message("user", "x")]))
    assert [one.content or one.reasoning_content.strip() for one in snapshots[-1]] == ["hm", "answer"]


def test_quick_chat_gives_the_text():
    assert ScriptedChatModel(["hello"]).quick_chat("x") == "hello"


def test_quick_chat_oai_speaks_openais_form():
    model = ScriptedChatModel([reply("I look.", call("weather", {"city": "Oslo"}, id="c1"))])
    tools = [{"type": "function", "function": WEATHER}]
    answer = last(model.quick_chat_oai(HI, tools))
    message = answer["choices"][0]["message"]
    assert sorted(answer["usage"]) == ["completion_tokens", "prompt_tokens", "total_tokens"]
    assert message["content"] == "I look."
    assert message["tool_calls"][0]["function"] == {"name": "weather", "arguments": '{"city": "Oslo"}'}


def test_a_backend_is_one_method():
    class Echo(BaseChatModel):
        model = "echo"

        def _deltas(self, request):
            for letter in request.messages[-1].content:
                yield Delta(text=letter)

    model = Echo()
    assert last(model.chat(HI))[-1]["content"] == "hi"
    assert model.chat(HI, stream=False)[-1]["content"] == "hi"


def test_a_class_without_any_hook_says_what_it_lacks():
    class Nothing(BaseChatModel):
        pass

    with pytest.raises(TypeError, match="_deltas"):
        Nothing().chat(HI, stream=False)


def test_an_error_of_ones_own_model_passes_unchanged():
    with pytest.raises(ZeroDivisionError):
        ScriptedChatModel([ZeroDivisionError()], cfg={"generate_cfg": {"max_retries": 3}}).chat(HI, stream=False)


def test_models_deepcopy_and_pickle_without_live_handles():
    from qwen_agentkit.llm import get_chat_model

    model = get_chat_model({"model": "m", "model_server": "http://127.0.0.1:9/v1", "fallback": [{"model": "qwen-max"}]})
    model._client()
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert twin.address == model.address
        assert twin._client() is not model._client()


def test_consumers_that_leave_early_leave_nothing_behind():
    model = ScriptedChatModel(["abcdef", "next"], chunk_size=1)
    stream = model.chat(HI)
    next(stream)
    stream.close()
    assert last(model.chat(HI))[-1]["content"] == "next"


def test_service_errors_of_the_script_are_raised():
    model = ScriptedChatModel([ModelServiceError(code="400", message="bad")])
    with pytest.raises(ModelServiceError) as caught:
        model.chat(HI, stream=False)
    assert caught.value.code == "400"
