"""The import paths of Qwen-Agent for function-call prompts."""

from __future__ import annotations

import copy
import pickle

import pytest

from qwen_agentkit.llm.fncall_prompts.base_fncall_prompt import BaseFnCallPrompt
from qwen_agentkit.llm.fncall_prompts.nous_fncall_prompt import NousFnCallPrompt
from qwen_agentkit.llm.fncall_prompts.qwen_fncall_prompt import FN_STOP_WORDS, QwenFnCallPrompt
from qwen_agentkit.llm.function_calling import BaseFnCallModel, simulate_response_completion_with_chat
from qwen_agentkit.schema import ContentItem, FunctionCall, Message
from tests.llm.dialects.corpus import FUNCTIONS, nous, qwen

HISTORY = [
    {"role": "user", "content": [{"text": "天气？"}]},
    {"role": "assistant", "content": "", "function_call": {"name": "now", "arguments": "{}"}},
    {"role": "function", "name": "now", "content": "12:00"},
    {"role": "assistant", "content": "12:00."},
]


@pytest.mark.parametrize("prompt", [NousFnCallPrompt, QwenFnCallPrompt, NousFnCallPrompt()])
def test_messages_are_written_and_read(prompt):
    written = prompt.preprocess_fncall_messages(messages=HISTORY, functions=FUNCTIONS, lang="en")
    assert all(message.function_call is None and message.role != "function" for message in written)
    write = qwen if prompt is QwenFnCallPrompt else nous
    reply = [Message("assistant", "So:\n" + write("now", {}), name="bot")]
    read = prompt.postprocess_fncall_messages(messages=reply, parallel_function_calls=True, function_choice="auto")
    assert [(m.content, m.function_call and m.function_call.name, m.name) for m in read] == [
        ("So:", None, "bot"),
        ("", "now", "bot"),
    ]


def test_without_parallel_calls_the_first_one_counts():
    reply = [Message("assistant", nous("now", {}) + nous("get_weather", {}))]
    read = NousFnCallPrompt.postprocess_fncall_messages(reply, parallel_function_calls=False)
    assert [m.function_call.name for m in read] == ["now"]


def test_with_no_choice_nothing_is_read():
    reply = [Message("assistant", nous("now", {}))]
    assert NousFnCallPrompt.postprocess_fncall_messages(reply, function_choice="none")[0].content == nous("now", {})


def test_training_samples_are_plain_text_in_the_language_of_the_talk():
    samples = NousFnCallPrompt().format_plaintext_train_samples(messages=HISTORY, functions=FUNCTIONS)
    assert all(isinstance(message.content, str) for message in samples)
    assert "工具" in samples[0].content and samples[1].content == "天气？"
    assert "<tool_response>\n12:00\n</tool_response>" in samples[3].content


def test_parallel_calls_in_a_sample_have_to_be_allowed():
    calls = [Message("assistant", "", function_call=FunctionCall("now", "{}"))] * 2
    with pytest.raises(ValueError, match="parallel_function_calls"):
        QwenFnCallPrompt.format_plaintext_train_samples(
            [Message("user", "q"), *calls], FUNCTIONS, parallel_function_calls=False
        )


def test_the_qwen_tokens():
    assert FN_STOP_WORDS == ["✿RESULT✿", "✿RETURN✿"]


@pytest.mark.parametrize("name", ["nous", "qwen", "react", "xml", "fenced", None])
def test_a_model_class_written_against_qwen_agent_gets_its_prompt(name):
    class Mine(BaseFnCallModel):
        pass

    model = Mine({"model": "m", "generate_cfg": {"fncall_prompt_type": name} if name else {}})
    assert isinstance(model.fncall_prompt, BaseFnCallPrompt)
    assert model.fncall_prompt.dialect_name == (name or "nous")
    assert copy.deepcopy(model.fncall_prompt).dialect_name == (name or "nous")
    assert pickle.loads(pickle.dumps(model.fncall_prompt)).dialect_name == (name or "nous")


def test_an_unknown_prompt_is_named():
    with pytest.raises(ValueError, match="'hermes'"):
        BaseFnCallModel({"model": "m", "generate_cfg": {"fncall_prompt_type": "hermes"}})


def test_a_beginning_is_put_behind_the_users_message():
    messages = [{"role": "user", "content": "Go on."}, {"role": "assistant", "content": "Once"}]
    assert [m.content for m in simulate_response_completion_with_chat(messages)] == ["Go on.\n\nOnce"]
    same = [Message("assistant", "x"), Message("user", [ContentItem(text="q")])]
    assert simulate_response_completion_with_chat(same) == same
