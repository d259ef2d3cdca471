"""The `oai` backend with the real SDK against a server on loopback."""

import base64
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.llm import get_chat_model
from qwen_agentkit.schema import ContentItem, FunctionCall, Message
from tests.servers.model_server import Answer

WEATHER = {"name": "weather", "description": "Weather.", "parameters": {"type": "object", "properties": {}}}
HI = [{"role": "user", "content": "hi"}]


@pytest.fixture
def model(oai_server):
    return model_for(oai_server)


def model_for(server, **cfg):
    generate_cfg = {"retry_wait": 0.01, **cfg.pop("generate_cfg", {})}
    return get_chat_model({"model": "m", "model_server": server.url, "generate_cfg": generate_cfg, **cfg})


def last(snapshots):
    *_, one = snapshots
    return one


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_with_everything(oai_server, model, stream):
    calls = [("weather", '{"city":"海淀区"}'), ("weather", "")]
    oai_server.script = [Answer("I look.", reasoning="hm", calls=calls)]
    answer = model.chat(HI, functions=[WEATHER], stream=stream)
    thinking, text, first, second = last(answer) if stream else answer
    assert thinking["reasoning_content"] == "hm"
    assert text["content"] == "I look."
    assert first["function_call"] == {"name": "weather", "arguments": '{"city": "海淀区"}'}
    assert first["extra"]["function_id"] == "call_0"
    assert second["function_call"]["arguments"] == "{}"
    usage = second["extra"]["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["cached_tokens"]) == (11, 7, 3)
    assert usage["finish_reason"] == "tool_calls"
    assert "estimated" not in usage
    assert second["extra"]["model_service_info"]["request_id"] == "chatcmpl-1"


def test_the_request_is_openais(oai_server, model):
    oai_server.script = ["fine"]
    history = [
        Message("system", "s"),
        Message("user", "x"),
        Message("assistant", "", reasoning_content="hm"),
        Message("assistant", "I look."),
        Message("assistant", "", function_call=FunctionCall("weather", '{"a": 1}'), extra={"function_id": "c1"}),
        Message("assistant", "", function_call=FunctionCall("weather", "not json"), extra={"function_id": "c2"}),
        Message("function", "21", name="weather", extra={"function_id": "c1"}),
        Message("function", "22", name="weather", extra={"function_id": "c2", "own": "stays here"}),
        Message("user", "and?", name="Ada"),
    ]
    last(model.chat(history, functions=[WEATHER], extra_generate_cfg={"top_p": 0.5, "top_k": 3, "stop": ["END"]}))
    body = oai_server.last
    assert body["messages"] == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "x"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"a": 1}'}},
                {
                    "id": "c2",
                    "type": "function",
                    "function": {"name": "weather", "arguments": '{"not_json": "not json"}'},
                },
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "21"},
        {"role": "tool", "tool_call_id": "c2", "content": "22"},
        {"role": "user", "content": "and?"},
    ]
    assert body["tools"] == [{"type": "function", "function": WEATHER}]
    assert (body["top_p"], body["top_k"], body["stop"]) == (0.5, 3, ["END"])
    assert "seed" not in body
    assert "tool_choice" not in body


def test_raw_chat_gives_tools_in_the_services_own_way(oai_server):
    model = model_for(oai_server, generate_cfg={"fncall_prompt_type": "nous"})
    oai_server.script = [Answer("", calls=[("weather", "{}")])]
    assert last(model.raw_chat(HI, [WEATHER]))[-1]["function_call"]["name"] == "weather"
    assert oai_server.last["tools"][0]["function"]["name"] == "weather"


def test_quick_chat_oai_reports_the_tokens_that_were_counted(oai_server, model):
    oai_server.script = [Answer("Hello.", usage=(11, 7))]
    usage = last(model.quick_chat_oai(HI))["usage"]
    assert usage == {"completion_tokens": 7, "prompt_tokens": 11, "total_tokens": 18}


def test_a_forced_tool_and_parallel_calls_are_asked_for(oai_server, model):
    oai_server.script = [Answer(calls=[("weather", "{}")])]
    cfg = {"function_choice": "weather", "parallel_function_calls": False}
    last(model.chat(HI, functions=[WEATHER], extra_generate_cfg=cfg))
    assert oai_server.last["tool_choice"] == {"type": "function", "function": {"name": "weather"}}
    assert oai_server.last["parallel_tool_calls"] is False


def test_interleaved_calls_by_index(oai_server, model):
    def piece(index, arguments, **more):
        return {"tool_calls": [{"index": index, "function": {"arguments": arguments, **more}}]}

    pieces = [
        {"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": None}}]},
        {"tool_calls": [{"index": 1, "id": "b", "type": "function", "function": {"name": "f", "arguments": None}}]},
        piece(0, '{"a"'),
        piece(1, '{"a"'),
        piece(0, ": 1}", name="f"),
        piece(1, ": 2}"),
    ]
    oai_server.script = [Answer(pieces=pieces, finish_reason="tool_calls")]
    first, second = last(model.chat(HI, functions=[{**WEATHER, "name": "f"}]))
    assert first["function_call"]["arguments"] == '{"a": 1}'
    assert second["function_call"]["arguments"] == '{"a": 2}'


def test_text_arrives_while_the_server_still_writes(oai_server, model):
    oai_server.script = [Answer("abcdefgh", chunk=1, delay=0.03)]
    kept = ["".join(one["content"] for one in snapshot) for snapshot in model.chat(HI)]
    assert len(kept) > 5
    assert kept[0] == "a"


def test_events_that_came_together_are_one_step(oai_server, model):
    oai_server.script = [Answer("x" * 400, chunk=1, one_block=True)]
    kept = list(model.chat(HI))
    assert len(kept) < 10
    assert kept[-1][-1]["content"] == "x" * 400


def test_one_connection_serves_all_requests_of_a_model(oai_server, model):
    oai_server.script = ["a"]
    for _ in range(3):
        last(model.chat(HI))
        model.chat(HI, stream=False)
    assert len({seen.connection for seen in oai_server.seen}) == 1


def test_keys_headers_and_timeouts_are_of_the_model(oai_server):
    oai_server.script = ["a"]
    model_for(oai_server, api_key="k1", headers={"X-Team": "blue"}).chat(HI, stream=False)
    model_for(oai_server, api_key="k2").chat(HI, stream=False)
    first, second = oai_server.seen
    assert (first.headers["Authorization"], first.headers["X-Team"]) == ("Bearer k1", "blue")
    assert second.headers["Authorization"] == "Bearer k2"
    assert "X-Team" not in second.headers


def test_extra_body_headers_and_query_go_where_the_sdk_puts_them(oai_server, model):
    oai_server.script = ["a"]
    cfg = {"extra_body": {"mine": 1}, "extra_headers": {"X-A": "b"}, "extra_query": {"q": "1"}, "request_timeout": 5}
    model.chat(HI, stream=False, extra_generate_cfg=cfg)
    seen = oai_server.seen[0]
    assert seen.body["mine"] == 1
    assert seen.headers["X-A"] == "b"
    assert seen.path.endswith("?q=1")
    assert "request_timeout" not in seen.body


def test_a_proxy_of_the_environment_is_not_used_for_this_machine(oai_server, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    oai_server.script = ["a"]
    assert model_for(oai_server).chat(HI, stream=False)[0]["content"] == "a"


def test_a_proxy_of_the_configuration_is_used(oai_server):
    oai_server.script = ["by proxy"]
    cfg = {"model": "m", "model_server": "http://model.invalid/v1", "proxy": oai_server.root}
    assert get_chat_model(cfg).chat(HI, stream=False)[0]["content"] == "by proxy"
    assert oai_server.seen[0].path == "http://model.invalid/v1/chat/completions"


def test_a_clients_own_http_client_is_used(oai_server):
    import openai

    held = openai.DefaultHttpxClient(headers={"X-Own": "1"})
    oai_server.script = ["a"]
    model_for(oai_server, http_client=held).chat(HI, stream=False)
    assert oai_server.seen[0].headers["X-Own"] == "1"
    assert not held.is_closed


def test_max_response_tokens_of_agent_and_call(oai_server):
    oai_server.script = ["a"]
    model = model_for(oai_server, generate_cfg={"max_response_tokens": 50})
    model.chat(HI, stream=False)
    model.chat(HI, stream=False, extra_generate_cfg={"max_response_tokens": 9})
    assert [seen.body["max_tokens"] for seen in oai_server.seen] == [50, 9]


def test_openais_own_address_gets_the_newer_name():
    model = get_chat_model({"model": "gpt-4o", "model_type": "oai", "generate_cfg": {"max_response_tokens": 5}})
    assert model._token_limit_name() == "max_completion_tokens"


def test_opaque_fields_go_back_to_the_same_service_only(oai_server):
    model = model_for(oai_server)
    details = [{"type": "reasoning.encrypted", "index": 0, "data": "xyz"}]
    call = {
        "index": 0,
        "id": "c1",
        "type": "function",
        "function": {"name": "weather", "arguments": "{}"},
        "extra_content": {"signature": "s"},
    }
    oai_server.script = [Answer("t", calls=[call], fields={"reasoning_details": details}), "fine"]
    asked = [Message("user", "x")]
    answer = last(model.chat(asked, functions=[WEATHER]))
    result = Message("function", "21", extra={"function_id": "c1"})
    last(model.chat([*asked, *answer, result], functions=[WEATHER]))
    sent = oai_server.last["messages"][1]
    assert sent["reasoning_details"] == details
    assert sent["tool_calls"][0]["extra_content"] == {"signature": "s"}
    other = get_chat_model({"model": "other", "model_server": oai_server.url})
    last(other.chat([*asked, *answer, result], functions=[WEATHER]))
    sent = oai_server.last["messages"][1]
    assert "reasoning_details" not in sent
    assert "extra_content" not in sent["tool_calls"][0]


def test_an_assistant_message_that_says_nothing_is_not_sent(oai_server, model):
    oai_server.script = ["fine"]
    thought = {"role": "assistant", "content": "", "reasoning_content": "hm"}
    last(model.chat([*HI, thought, {"role": "assistant", "content": ""}, *HI]))
    assert [one["role"] for one in oai_server.last["messages"]] == ["user", "user"]


@pytest.mark.parametrize("status", [400, 404, 422])
def test_a_server_without_tools_gets_them_in_the_text_from_then_on(oai_server, model, status):
    refusal = Answer(
        status=status, error={"error": {"message": '"auto" tool choice requires --enable-auto-tool-choice'}}
    )
    text = '<tool_call>\n{"name": "weather", "arguments": {}}\n</tool_call>'
    oai_server.script = [refusal, text, "fine"]
    (one,) = last(model.chat(HI, functions=[WEATHER]))
    assert one["function_call"]["name"] == "weather"
    last(model_for(oai_server).chat(HI, functions=[WEATHER]))
    assert ["tools" in seen.body for seen in oai_server.seen] == [True, False, False]


def test_a_refused_history_is_not_taken_for_a_server_without_tools(oai_server, model):
    said = "messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
    oai_server.script = [Answer(status=400, error={"error": {"message": said}})]
    with pytest.raises(ModelServiceError):
        last(model.chat(HI, functions=[WEATHER]))
    assert len(oai_server.seen) == 1


def test_a_dialect_or_use_raw_api_false_puts_tools_into_the_text(oai_server):
    oai_server.script = ["a"]
    for cfg in ({"fncall_prompt_type": "qwen"}, {"use_raw_api": False}):
        last(model_for(oai_server, generate_cfg=cfg).chat(HI, functions=[WEATHER]))
        assert "tools" not in oai_server.last
        assert "weather" in str(oai_server.last["messages"])


def test_a_server_without_stream_options_is_asked_once_only(oai_server, model):
    refusal = Answer(status=400, error={"error": {"message": "Unrecognized request argument: stream_options"}})
    oai_server.script = [refusal, Answer("a", usage=None), Answer("b", usage=None)]
    one = last(model.chat(HI))[-1]
    assert one["content"] == "a"
    assert one["extra"]["usage"]["estimated"] is True
    last(model.chat(HI))
    assert ["stream_options" in seen.body for seen in oai_server.seen] == [True, False, False]


def test_an_answer_begun_is_put_into_the_users_message(oai_server, model):
    oai_server.script = ["b"]
    last(model.chat([*HI, {"role": "assistant", "content": "The answer is"}]))
    assert oai_server.last["messages"] == [{"role": "user", "content": "hi\n\nThe answer is"}]


@pytest.mark.parametrize(
    ("way", "mark"), [("partial", {"partial": True}), ("prefix", {"prefix": True})], ids=["partial", "prefix"]
)
def test_a_service_that_goes_on_from_a_beginning_is_given_it(oai_server, way, mark):
    oai_server.script = ["b"]
    begun = {"role": "assistant", "content": "The answer is"}
    last(model_for(oai_server, continuation=way).chat([*HI, begun]))
    assert oai_server.last["messages"] == [*HI, {**begun, **mark}]


def test_vllms_way_of_going_on(oai_server):
    oai_server.script = ["b"]
    last(model_for(oai_server, continuation="vllm").chat([*HI, {"role": "assistant", "content": "The answer is"}]))
    assert oai_server.last["continue_final_message"] is True
    assert oai_server.last["add_generation_prompt"] is False


def test_a_whole_answer_to_a_streamed_request_is_read(oai_server, model):
    oai_server.script = [
        Answer(raw=b'{"choices": [{"message": {"content": "whole"}, "finish_reason": "stop"}], "usage": null}')
    ]
    assert last(model.chat(HI))[-1]["content"] == "whole"


def test_a_stream_without_its_closing_event_is_whole_when_a_reason_came(oai_server, model):
    oai_server.script = [Answer("abc", done=False)]
    assert last(model.chat(HI))[-1]["content"] == "abc"


def test_an_error_in_the_stream_is_raised(oai_server, model):
    stream = (
        b'data: {"choices": [{"index": 0, "delta": {"content": "ab"}}]}\n\ndata: {"error": {"message": "CUDA out"}}\n\n'
    )
    oai_server.script = [Answer(raw=stream, content_type="text/event-stream")]
    with pytest.raises(ModelServiceError, match="CUDA out"):
        last(model.chat(HI))


def test_a_refusal_is_the_text(oai_server, model):
    oai_server.script = [Answer(pieces=[{"refusal": "I will not."}])]
    assert last(model.chat(HI))[-1]["content"] == "I will not."


def test_reasoning_under_its_other_name(oai_server, model):
    oai_server.script = [Answer(pieces=[{"reasoning": "hm"}, {"content": "a"}])]
    assert [one.get("reasoning_content", one["content"]) for one in last(model.chat(HI))] == ["hm", "a"]


def test_images_are_sent_by_a_vision_model_and_announced_by_a_text_model(oai_server, tmp_path):
    picture = tmp_path / "p.png"
    picture.write_bytes(b"\x89PNG")
    content = [ContentItem(text="What is it?"), ContentItem(image=str(picture)), ContentItem(image="http://h/q.jpg")]
    oai_server.script = ["a"]
    model_for(oai_server, model_type="qwenvl_oai").chat([Message("user", content)], stream=False)
    encoded = base64.b64encode(b"\x89PNG").decode()
    assert oai_server.last["messages"][0]["content"] == [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{encoded}"}},
        {"type": "image_url", "image_url": {"url": "http://h/q.jpg"}},
    ]
    model_for(oai_server).chat([Message("user", content)], stream=False)
    said = "(Uploaded [image](p.png) [image](http://h/q.jpg)) What is it?"
    assert oai_server.last["messages"][0]["content"] == said


def test_an_image_in_a_tool_result_follows_in_a_users_message(oai_server):
    oai_server.script = ["a"]
    history = [
        Message("user", "x"),
        Message("assistant", "", function_call=FunctionCall("weather", "{}"), extra={"function_id": "c1"}),
        Message(
            "function", [ContentItem(text="see"), ContentItem(image="http://h/q.jpg")], extra={"function_id": "c1"}
        ),
    ]
    model_for(oai_server, model_type="qwenvl_oai").chat(history, functions=[WEATHER], stream=False)
    *_, result, picture = oai_server.last["messages"]
    assert result["role"] == "tool"
    assert result["content"].endswith("see")
    assert picture == {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://h/q.jpg"}}]}


def test_a_file_that_cannot_be_read_is_named(oai_server):
    with pytest.raises(ValueError, match=r"nope\.png"):
        model_for(oai_server, model_type="qwenvl_oai").chat(
            [Message("user", [ContentItem(image="/no/such/nope.png")])], stream=False
        )


def test_speech_of_an_omni_model_is_kept_when_the_setting_says_so(oai_server, tmp_path, monkeypatch):
    from qwen_agentkit import settings as package_settings

    monkeypatch.setitem(vars(package_settings), "OMNI_RESPONSE_SAVE_AUDIO", True)
    monkeypatch.setitem(vars(package_settings), "DEFAULT_WORKSPACE", str(tmp_path))
    sound = base64.b64encode(b"\0\1" * 60).decode()
    oai_server.script = [Answer(pieces=[{"content": "hello"}, {"audio": {"data": sound}}, {"audio": {"data": sound}}])]
    model = model_for(oai_server, model_type="qwenomni_oai")
    (one,) = last(model.chat([Message("user", [ContentItem(audio="http://h/a.wav")])]))
    assert [item.type for item in one.content] == ["text", "audio"]
    with open(one.content[1].audio, "rb") as file:
        assert file.read(4) == b"RIFF"
    audio = oai_server.last["messages"][0]["content"][0]["input_audio"]
    assert audio == {"data": "http://h/a.wav", "format": "wav"}


def test_threads_share_one_model(oai_server, model):
    oai_server.script = [lambda body: body["messages"][0]["content"]]
    answers = {}

    def ask(number):
        answers[number] = last(model.chat([{"role": "user", "content": f"n{number}"}]))[-1]["content"]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert answers == {number: f"n{number}" for number in range(8)}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=40), st.text(max_size=20), st.integers(1, 7))
def test_any_text_arrives_whole(oai_server, text, reasoning, chunk):
    model = model_for(oai_server, generate_cfg={"empty_reply": "accept"})
    oai_server.script = [Answer(text, reasoning=reasoning, chunk=chunk)]
    streamed = last(model.chat(HI))
    whole = model.chat(HI, stream=False)
    assert [one["content"] for one in streamed] == [one["content"] for one in whole]
    assert [one.get("reasoning_content") for one in streamed] == [one.get("reasoning_content") for one in whole]


def test_azure_speaks_to_its_deployment(oai_server):
    oai_server.script = ["a"]
    cfg = {"model": "dep", "azure_endpoint": oai_server.root, "api_key": "k", "api_version": "2024-10-21"}
    model = get_chat_model(cfg)
    assert last(model.chat(HI))[-1]["content"] == "a"
    seen = oai_server.seen[0]
    assert seen.path == "/openai/deployments/dep/chat/completions?api-version=2024-10-21"
    assert seen.headers["api-key"] == "k"


def test_a_model_on_azure_needs_its_endpoint():
    with pytest.raises(ValueError, match="azure_endpoint"):
        get_chat_model({"model": "dep", "model_type": "azure"})


def test_an_answer_in_a_form(oai_server, model):
    from dataclasses import dataclass

    @dataclass
    class Invoice:
        number: str
        total: float

    oai_server.script = ['{"number": "7", "total": "much"}', '{"number": "7", "total": 2.5}']
    answer = model.chat(HI, response_format=Invoice, stream=False)
    assert answer[-1]["extra"]["parsed"] == {"number": "7", "total": 2.5}
    assert oai_server.last["response_format"]["json_schema"]["name"] == "Invoice"
    assert len(oai_server.seen) == 2


def test_a_server_without_schemas_gets_the_form_in_the_text_from_then_on(oai_server, model):
    refusal = Answer(status=400, error={"error": {"message": "'response_format.type' must be 'text'"}})
    oai_server.script = [refusal, '{"a": 1}', '{"a": 2}']
    form = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    assert model.chat(HI, response_format=form, stream=False)[-1]["extra"]["parsed"] == {"a": 1}
    assert last(model.chat(HI, response_format=form))[-1]["extra"]["parsed"] == {"a": 2}
    assert ["response_format" in seen.body for seen in oai_server.seen] == [True, False, False]
    assert '"a"' in oai_server.last["messages"][0]["content"]


def test_a_form_is_given_as_a_tool_where_the_service_takes_tools_but_no_schemas(oai_server):
    model = model_for(oai_server, profile={"json": False})
    oai_server.script = [
        Answer(calls=[("give_answer", '{"a": "no"}')]),
        Answer(calls=[("give_answer", '{"a": 1}')]),
    ]
    form = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    (answer,) = model.chat(HI, response_format=form, stream=False)
    assert answer["extra"]["parsed"] == {"a": 1}
    assert "function_call" not in answer
    assert oai_server.last["tools"][0]["function"]["parameters"] == form
    assert oai_server.last["tool_choice"]["function"]["name"] == "give_answer"
    assert len(oai_server.seen) == 2


def test_a_call_without_a_name_gets_one_that_can_be_answered_and_sent_back(oai_server, model):
    oai_server.script = [Answer(calls=[("", '{"a": 1}')]), "fine"]
    (call_message,) = last(model.chat(HI, functions=[WEATHER]))
    assert call_message["function_call"] == {"name": "unnamed_tool", "arguments": '{"a": 1}'}
    last(model.chat([*HI, call_message], functions=[WEATHER]))
    assert oai_server.last["messages"][1]["tool_calls"][0]["function"]["name"] == "unnamed_tool"


@pytest.mark.parametrize("empty", [{"content": None, "tool_calls": []}, {"content": " \n"}, {"content": ""}])
def test_an_empty_list_of_calls_is_an_empty_reply(oai_server, model, empty):
    oai_server.script = [Answer(pieces=[{"role": "assistant", **empty}]), "fine"]
    assert last(model.chat(HI, functions=[WEATHER]))[-1]["content"] == "fine"
    assert len(oai_server.seen) == 2


def test_white_space_before_a_call_does_not_end_the_reply(oai_server, model):
    call = {"index": 0, "id": "a", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    oai_server.script = [Answer(pieces=[{"content": " "}, {"content": "\n"}, {"tool_calls": [call]}])]
    answer = last(model.chat(HI, functions=[WEATHER]))
    assert [one.get("function_call", {}).get("name") for one in answer] == ["weather"]


def test_a_call_that_the_service_could_not_read_is_asked_for_again(oai_server, model):
    refusal = {"error": {"message": "Failed to call a function.", "code": "tool_use_failed"}}
    oai_server.script = [Answer(status=400, error=refusal), "fine"]
    assert last(model.chat(HI, functions=[WEATHER]))[-1]["content"] == "fine"
    assert all("tools" in seen.body for seen in oai_server.seen)
