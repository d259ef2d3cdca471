"""What is added to a request, and that none of it stays in the history."""

import datetime

import pytest

from qwen_agentkit import Message, tool
from qwen_agentkit.agents import FnCallAgent
from qwen_agentkit.agents.loop.tool_search import SEARCH_TOOL, ToolSearch
from qwen_agentkit.agents.request_decorators import Attachments, Captions, Persona, Quote, Reminders, Skills
from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.schema import ContentItem
from qwen_agentkit.testing import ScriptedChatModel, call

USER = [{"role": "user", "content": "What now?"}]


def sent(decorators, messages=USER, script=("ok",), **kwargs):
    agent = FnCallAgent(llm=ScriptedChatModel(script), decorators=decorators, **kwargs)
    response = agent.run_nonstream(messages)
    return agent.llm.requests[0].messages, response


def test_they_act_in_a_fixed_order_and_leave_no_trace_in_the_response():
    noon = datetime.datetime(2030, 1, 2, 12, 30)
    messages, response = sent(
        [Reminders(user="Ada", group="lab", time=lambda: noon), Quote("see above", "Bob"), Persona("You are Mia.")]
    )
    assert messages[0].content == "You are Mia."
    text = messages[1].content
    assert (
        text.index("> see above")
        < text.index("What now?")
        < text.index("User: Ada; Group: lab; Time: 2030-01-02 12:30")
    )
    assert [message["content"] for message in response] == ["ok"]


def test_they_speak_the_conversations_language():
    messages, _ = sent([Quote("上文"), Reminders(user="小明", time=False)], [{"role": "user", "content": "怎么办？"}])
    assert "用户引用了以下消息" in messages[0].content and "用户: 小明" in messages[0].content


def test_the_personas_text_stands_for_an_answer_that_failed():
    error = ModelServiceError(code="400", message="down")
    _, response = sent([Persona("Mia", error_text="I cannot think right now.")], script=[error])
    assert response[-1]["content"] == "I cannot think right now." and response[-1]["extra"]["end"] == "error"
    with pytest.raises(ModelServiceError):
        sent([Persona("Mia")], script=[error])


def test_skills_are_told_by_name_and_read_by_a_tool(tmp_path):
    for name, text in {
        "tables": "---\nname: tables\ndescription: Making tables.\n---\n# Tables\nUse pipes.",
        "broken": "no front matter",
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "SKILL.md").write_text(text)
    agent = FnCallAgent(
        llm=ScriptedChatModel([call("read_skill", name="tables"), call("read_skill", name="../x"), "ok"]),
        decorators=[Skills(tmp_path)],
    )
    response = agent.run_nonstream(USER)
    assert "tables: Making tables." in agent.llm.requests[0].messages[0].content
    assert "Use pipes." not in agent.llm.requests[0].messages[0].content
    assert response[1]["content"] == "# Tables\nUse pipes." and "no skill" in response[3]["content"]
    with pytest.raises(ValueError, match="does not exist"):
        Skills(tmp_path / "nowhere")


def test_images_become_captions_for_a_model_that_cannot_see():
    eyes = ScriptedChatModel(["A red door."])
    question = [Message("user", [ContentItem(text="What is this?"), ContentItem(image="door.png")])]
    captions = Captions(eyes)
    messages, _ = sent([captions], question)
    assert "[Picture: A red door.]" in str(messages[0].content) and "door.png" not in str(messages[0].content)
    sent([captions], question)
    eyes.assert_complete()


def test_attachments_are_listed_with_their_size(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("12345")
    messages, _ = sent([Attachments()], [Message("user", [ContentItem(text="see"), ContentItem(file=str(path))])])
    assert "a.txt (5 bytes)" in str(messages[0].content)


def test_something_else_is_no_decorator():
    with pytest.raises(ValueError, match="RequestDecorator"):
        FnCallAgent(llm=None, decorators=["Persona"])


# ---- light schemas and tool search


@tool
def weather(city: str) -> str:
    """Weather in a city."""
    return f"21 in {city}"


@tool
def stock(symbol: str) -> str:
    """Price of a share."""
    return f"{symbol} 7"


def light(script, **kwargs):
    return FnCallAgent(
        function_list=[weather, stock],
        llm=ScriptedChatModel(script),
        tool_schema_mode="light",
        honesty_rule=False,
        **kwargs,
    )


def test_light_schemas_send_parameters_only_of_the_chosen_tools():
    agent = light([["Let me see.", call("weather")], call("weather", city="Oslo"), "21 degrees."])
    response = agent.run_nonstream(USER)
    first, second, _ = agent.llm.requests
    assert [function["parameters"]["properties"] for function in first.functions] == [{}, {}]
    assert all(function["description"] for function in first.functions)
    assert second.function_names == ["weather"] and "description" not in second.functions[0]
    assert second.functions[0]["parameters"]["properties"]["city"]
    assert "weather" in second.messages[0].content
    contents = [message["content"] for message in response]
    assert contents == ["Let me see.", "", "21 in Oslo", "21 degrees."]


def test_a_light_answer_without_calls_is_the_answer():
    agent = light(["Hello."])
    assert agent.run_nonstream(USER)[-1]["content"] == "Hello." and len(agent.llm.requests) == 1


def test_an_empty_second_stage_is_repaired_once():
    agent = light([call("weather"), "", call("weather", city="Oslo"), "ok"])
    assert agent.run_nonstream(USER)[1]["content"] == "21 in Oslo"


def test_text_in_the_second_stage_is_the_answer():
    agent = light([call("weather"), "I need no tool."])
    assert agent.run_nonstream(USER)[-1]["content"] == "I need no tool."


def test_with_very_many_tools_the_model_searches_for_them():
    def made(number):
        @tool(name=f"tool_{number}")
        def one() -> str:
            """Does nothing of note."""
            return str(number)

        return one

    agent = FnCallAgent(
        function_list=[weather, *map(made, range(10))],
        llm=ScriptedChatModel([call(SEARCH_TOOL, query="weather in a city"), call("weather", city="Oslo"), "ok"]),
        tool_search=ToolSearch(over=5, results=2),
    )
    response = agent.run_nonstream(USER)
    assert agent.llm.requests[0].function_names == [SEARCH_TOOL]
    assert "weather" in agent.llm.requests[1].function_names and len(agent.llm.requests[1].function_names) <= 3
    assert response[3]["content"] == "21 in Oslo"


# ---- an agent as a tool


def test_an_agent_as_a_tool_shares_budget_and_events():
    from qwen_agentkit import RunLimits
    from qwen_agentkit.events import TextDelta

    worker = FnCallAgent(llm=ScriptedChatModel(["42"], repeat=True), name="worker", description="Works.")
    boss = FnCallAgent(
        function_list=[worker], llm=ScriptedChatModel([call("worker", request="?"), "done"]), name="boss"
    )
    deltas = [(event.agent, event.text) for event in boss.run_events(USER) if isinstance(event, TextDelta)]
    assert deltas == [("worker", "42"), ("boss", "done")]
    boss = FnCallAgent(
        function_list=[worker.as_tool()], llm=ScriptedChatModel([call("worker", request="?")], repeat=True)
    )
    last = boss.run_nonstream(USER, limits=RunLimits(model_calls=3))
    assert last[-1]["extra"]["end"] == "limit:model_calls"


def test_two_calls_of_one_agent_at_once_do_not_share_state():
    worker = FnCallAgent(
        llm=ScriptedChatModel([lambda request: f"did {request.messages[-1].content}"], repeat=True), name="worker"
    )
    boss = FnCallAgent(
        function_list=[worker],
        llm=ScriptedChatModel([[call("worker", request="a"), call("worker", request="b")], "done"]),
    )
    assert [message["content"] for message in boss.run_nonstream(USER)][2:4] == ["did a", "did b"]


def test_an_agent_without_a_name_cannot_be_a_tool():
    with pytest.raises(ValueError, match="needs a name"):
        FnCallAgent(llm=None).as_tool()
