"""The official OpenAI client against a real server."""

import openai
import pytest

from qwen_agentkit import tool
from qwen_agentkit.agents import Assistant, BasicAgent, GroupChat
from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.limits import Usage
from qwen_agentkit.testing import ScriptedChatModel, call, reply
from tests.server.conftest import wait_until


@tool
def weather(city: str) -> str:
    """Today's weather in a city."""
    return f"21 degrees in {city}"


def assistant(*script, name="helper", **settings):
    return Assistant(llm=ScriptedChatModel(list(script), chunk_size=4), name=name, **settings)


def client_of(served, key="none"):
    return openai.OpenAI(base_url=f"{served.url}/v1", api_key=key, max_retries=0, timeout=20)


ASK = [{"role": "user", "content": "Oslo?"}]


def test_models_are_the_agents(serve):
    served = serve([assistant("a", name="one", description="First."), assistant("b", name="two")])
    models = client_of(served).models.list().data
    assert [model.id for model in models] == ["one", "two"]
    assert client_of(served).models.retrieve("two").id == "two"
    with pytest.raises(openai.NotFoundError) as caught:
        client_of(served).models.retrieve("three")
    assert caught.value.code == "model_not_found"


def test_a_whole_answer_has_text_usage_and_reason(serve):
    served = serve(assistant(reply("It is warm.", reasoning="Let me see.", usage=Usage(11, 7, cached_tokens=3))))
    answer = client_of(served).chat.completions.create(model="helper", messages=ASK)
    choice = answer.choices[0]
    assert choice.message.content == "It is warm."
    assert choice.message.reasoning_content == "Let me see."
    assert choice.finish_reason == "stop"
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens) == (11, 7, 18)
    assert answer.usage.prompt_tokens_details.cached_tokens == 3
    assert answer.model == "helper" and answer.id.startswith("chatcmpl-")


def test_a_stream_joins_to_the_whole_answer(serve):
    served = serve(assistant(reply("It is warm in Oslo.", reasoning="Hm.", usage=Usage(5, 6)), name="helper"))
    stream = client_of(served).chat.completions.create(
        model="helper", messages=ASK, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert "".join(delta.content or "" for delta in deltas) == "It is warm in Oslo."
    assert "".join(getattr(delta, "reasoning_content", None) or "" for delta in deltas) == "Hm."
    assert deltas[0].role == "assistant"
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].choices == [] and chunks[-1].usage.total_tokens == 11
    assert all(chunk.usage is None for chunk in chunks[:-1])


def test_tool_calls_are_told_beside_the_text_and_never_as_the_clients_own(serve):
    served = serve(assistant(["Let me look. ", call("weather", city="Oslo")], "21 degrees.", function_list=[weather]))
    chunks = list(client_of(served).chat.completions.create(model="helper", messages=ASK, stream=True))
    deltas = [chunk.choices[0].delta for chunk in chunks]
    assert "".join(delta.content or "" for delta in deltas) == "Let me look. \n\n21 degrees."
    assert all(not delta.tool_calls for delta in deltas)
    told = [
        chunk.qwen_agentkit["event"]
        for chunk in chunks
        if "event" in (chunk.model_extra or {}).get("qwen_agentkit", {})
    ]
    assert [event["type"] for event in told if event["type"].startswith("tool_")] == [
        "tool_call_started",
        "tool_call_finished",
    ]
    assert told[-1]["result"] == "21 degrees in Oslo"


def test_streamed_and_whole_answers_are_the_same(serve):
    script = ["First. ", call("weather", city="Oslo")], "Last."
    served = serve(assistant(*script, *script, function_list=[weather]))
    client = client_of(served)
    whole = client.chat.completions.create(model="helper", messages=ASK).choices[0].message.content
    streamed = client.chat.completions.create(model="helper", messages=ASK, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in streamed) == whole == "First. \n\nLast."


def test_a_team_says_who_speaks(serve):
    team = GroupChat(
        [assistant("Yes.", name="Mia"), assistant("No.", name="Ken")], "round_robin", max_round=2, name="team"
    )
    served = serve(team)
    answer = client_of(served).chat.completions.create(model="team", messages=ASK)
    assert answer.choices[0].message.content == "Mia: Yes.\n\nKen: No."


def test_an_answer_can_be_asked_for_in_a_form(serve):
    served = serve(assistant('{"city": "Oslo"}'))
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    answer = client_of(served).chat.completions.create(
        model="helper",
        messages=ASK,
        response_format={"type": "json_schema", "json_schema": {"name": "Place", "schema": schema}},
    )
    assert answer.choices[0].message.content == '{"city": "Oslo"}'


def test_a_session_is_continued_with_what_is_new(serve):
    model = ScriptedChatModel(["Hello Ada.", "You are Ada."])
    served = serve(BasicAgent(llm=model, name="helper"))
    client = client_of(served)
    for text in ("I am Ada.", "Who am I?"):
        client.chat.completions.create(
            model="helper", messages=[{"role": "user", "content": text}], extra_body={"session_id": "s1"}
        )
    assert [message.content for message in model.requests[1].messages] == ["I am Ada.", "Hello Ada.", "Who am I?"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_model_that_fails_at_once_is_an_error_with_its_status(serve, stream):
    failure = ModelServiceError(code="429", message="too many requests", extra={"kind": "rate_limit"})
    served = serve(BasicAgent(llm=ScriptedChatModel([failure], repeat=True), name="h"))
    with pytest.raises(openai.RateLimitError) as caught:
        list(client_of(served).chat.completions.create(model="h", messages=ASK, stream=stream))
    assert "too many requests" in str(caught.value)


def test_a_model_that_fails_in_the_middle_is_an_error_of_the_stream(serve):
    broken = reply("It is warm in Oslo today.", fail_after=3, error=ModelServiceError(message="cut off"))
    served = serve(BasicAgent(llm=ScriptedChatModel([broken], chunk_size=4, cfg={"generate_cfg": {"max_retries": 0}})))
    seen = []
    with pytest.raises(openai.APIError, match="cut off"):
        for chunk in client_of(served).chat.completions.create(model="agent", messages=ASK, stream=True):
            seen.append(chunk.choices[0].delta.content)
    assert seen


def test_what_no_agent_could_do_is_refused_by_name(serve):
    client = client_of(serve(assistant("a")))
    for extra, param in (({"n": 2}, "n"), ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools")):
        with pytest.raises(openai.BadRequestError) as caught:
            client.chat.completions.create(model="helper", messages=ASK, **extra)
        assert caught.value.param == param
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(model="helper", messages=[])
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(model="nobody", messages=ASK)


def test_a_client_that_leaves_cancels_its_run(serve):
    served = serve(assistant(reply("word " * 200, delay=0.05)))
    stream = client_of(served).chat.completions.create(model="helper", messages=ASK, stream=True)
    next(iter(stream))
    (run,) = served.service.board.of_user("local")
    stream.close()
    wait_until(lambda: run.status == "cancelled")
    assert run.reason == "the client left"


def test_a_client_that_leaves_while_nothing_comes_cancels_its_run(serve):
    served = serve(assistant(reply("never", hang_after=0)))
    impatient = openai.OpenAI(base_url=f"{served.url}/v1", api_key="x", max_retries=0, timeout=0.5)
    with pytest.raises(openai.APITimeoutError):
        impatient.chat.completions.create(model="helper", messages=ASK)
    (run,) = served.service.board.of_user("local")
    wait_until(lambda: run.status == "cancelled")
