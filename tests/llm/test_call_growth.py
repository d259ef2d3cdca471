"""The arguments of a tool call are told of while the model writes them, to those who listen."""

import json

import pytest

from qwen_agentkit.agents import FnCallAgent
from qwen_agentkit.events import ToolCallDelta, ToolCallStarted
from qwen_agentkit.llm.reply import Reply
from qwen_agentkit.run_context import RunContext
from qwen_agentkit.testing import ScriptedChatModel, call, reply
from qwen_agentkit.tools import tool
from tests.servers.model_server import Answer

SAVE = {
    "name": "save",
    "description": "Saves.",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}, "text": {"type": "string"}}},
}
HI = [{"role": "user", "content": "hi"}]
ARGUMENTS = {"path": "a.txt", "text": 'a } brace, a "quote" and </tool_call>'}


def heard(model, messages=HI, functions=(SAVE,)):
    """The deltas of a chat, and its last list of messages."""
    events = []
    run = RunContext(sink=events.append)
    *_, last = run.enter().run(lambda: list(model.chat(messages, functions=list(functions))))
    return [one for one in events if isinstance(one, ToolCallDelta)], last


def joined(deltas):
    """call id -> its arguments, each delta in its place."""
    texts = {}
    for one in deltas:
        assert one.offset == len(texts.get(one.call_id, "")) or one.offset == 0
        texts[one.call_id] = (texts.get(one.call_id, "") if one.offset else "") + one.arguments
    return texts


def test_native_arguments_are_told_of_as_they_grow():
    model = ScriptedChatModel([["Saving.", call("save", ARGUMENTS), call("save", {"path": "b"})]], chunk_size=5)
    deltas, (_, first, second) = heard(model)
    assert len(deltas) > 8
    assert {one.name for one in deltas} == {"save"}
    for message in (first, second):
        assert joined(deltas)[message["extra"]["function_id"]] == message["function_call"]["arguments"]


@pytest.mark.parametrize("dialect", ["nous", "qwen", "react", "fenced"])
def test_arguments_in_the_text_are_told_of_as_they_grow(dialect):
    cfg = {"generate_cfg": {"fncall_prompt_type": dialect}}
    deltas, last = heard(ScriptedChatModel([call("save", ARGUMENTS)], chunk_size=4, cfg=cfg))
    assert len(deltas) > 8
    assert json.loads(last[-1]["function_call"]["arguments"]) == ARGUMENTS
    ((call_id, text),) = joined(deltas).items()
    assert json.loads(text) == ARGUMENTS
    assert call_id == last[-1]["extra"]["function_id"]


def test_arguments_in_xml_are_told_of_in_its_markup():
    cfg = {"generate_cfg": {"fncall_prompt_type": "xml"}}
    deltas, last = heard(ScriptedChatModel([call("save", ARGUMENTS)], chunk_size=4, cfg=cfg))
    ((call_id, text),) = joined(deltas).items()
    assert "<parameter=path>" in text and "a.txt" in text
    assert call_id == last[-1]["extra"]["function_id"]


@pytest.mark.parametrize(
    "scripted",
    [
        reply("fine", reasoning='<tool_call>{"name": "save", "arguments": {"path": "a"}}</tool_call>'),
        '<tool_call>{"name": "unknown", "arguments": {"path": "a"}}</tool_call>',
        '```json\n{"colour": "red", "size": {"height": 2}}\n```',
        "no call at all",
    ],
)
def test_what_is_no_call_of_an_offered_tool_is_not_told_of(scripted):
    cfg = {"generate_cfg": {"fncall_prompt_type": "nous"}}
    assert heard(ScriptedChatModel([scripted], chunk_size=3, cfg=cfg))[0] == []


def test_a_call_that_is_written_anew_after_a_break_begins_at_0_again(oai_server):
    from qwen_agentkit.llm import get_chat_model

    whole = Answer(calls=[("save", '{"path": "abcdefgh"}')], chunk=4)
    oai_server.script = [Answer(calls=[("save", '{"path": "abcdefgh"}')], chunk=4, drop_after=5), whole]
    cfg = {"model": "m", "model_server": oai_server.url, "generate_cfg": {"retry_wait": 0.01}}
    deltas, last = heard(get_chat_model(cfg))
    assert [one.offset for one in deltas].count(0) == 2
    assert joined(deltas)[last[-1]["extra"]["function_id"]] == '{"path": "abcdefgh"}'


def test_nothing_is_followed_when_nobody_listens(monkeypatch):
    def followed(self):
        raise AssertionError("nobody listens")

    monkeypatch.setattr(Reply, "watch_calls", followed)
    monkeypatch.setattr(Reply, "new_arguments", followed)
    model = ScriptedChatModel([call("save", ARGUMENTS)] * 2, chunk_size=4)
    list(model.chat(HI, functions=[SAVE]))
    RunContext().enter().run(lambda: list(model.chat(HI, functions=[SAVE])))


def test_readers_of_an_agents_events_see_a_call_grow_before_it_starts():
    @tool
    def save(path: str) -> str:
        """Saves.

        Args:
            path: Where.
        """
        return f"saved {path}"

    model = ScriptedChatModel([call("save", path="some/long/path.txt"), "Done."], chunk_size=4)
    events = list(FnCallAgent(llm=model, function_list=[save]).run_events(HI))
    growing = [one for one in events if isinstance(one, ToolCallDelta)]
    (started,) = [one for one in events if isinstance(one, ToolCallStarted)]
    assert len(growing) > 3
    assert {one.call_id for one in growing} == {started.call_id}
    assert growing[-1].seq < started.seq
    assert growing[0].to_dict()["type"] == "tool_call_delta"
