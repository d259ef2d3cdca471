"""What an answer used."""

import pytest

from qwen_agentkit.errors import RunLimitExceeded
from qwen_agentkit.limits import RunLimits, Usage
from qwen_agentkit.llm.usage import cost_of, usage_of
from qwen_agentkit.run_context import RunContext
from qwen_agentkit.testing import ScriptedChatModel, reply

HI = [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    ("counts", "wanted"),
    [
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 4},
                "completion_tokens_details": {"reasoning_tokens": 2},
            },
            Usage(10, 5, 4, 2),
        ),
        (
            {"input_tokens": 10, "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 2}},
            Usage(10, 5, 0, 2),
        ),
        ({"prompt_tokens": 10, "completion_tokens": 5, "prompt_cache_hit_tokens": 3}, Usage(10, 5, 3, 0)),
        ({"prompt_tokens": 10, "completion_tokens": None, "prompt_tokens_details": None}, Usage(10, 0)),
        ({}, None),
        (None, None),
    ],
)
def test_the_words_of_each_service_are_understood(counts, wanted):
    assert usage_of(counts) == wanted


def test_cost_counts_cached_tokens_at_their_own_price():
    usage = Usage(1_000_000, 500_000, 400_000)
    assert cost_of(usage, {"input": 2.0, "cached": 0.5, "output": 8.0}) == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 4.0)
    assert cost_of(usage, {"input": 2.0}) == pytest.approx(2.0)
    assert cost_of(usage, None) == 0.0


def test_the_answer_and_the_run_get_the_same_numbers():
    cfg = {"generate_cfg": {"price": {"input": 2.0, "output": 8.0}}}
    model = ScriptedChatModel([reply("a", usage=Usage(1000, 500, 0, 100))] * 2, cfg=cfg)
    events = []
    run = RunContext(sink=events.append)
    answer = run.enter().run(lambda: model.chat(HI, stream=False))
    used = answer[-1]["extra"]["usage"]
    assert (used["prompt_tokens"], used["completion_tokens"], used["total_tokens"]) == (1000, 500, 1500)
    assert used["cost"] == pytest.approx(0.006)
    assert used["latency"] >= used["time_to_first_token"] >= 0
    assert used["finish_reason"] == "stop"
    assert (run.usage.model_calls, run.usage.total_tokens, run.usage.cost) == (1, 1500, pytest.approx(0.006))
    assert [event.type for event in events] == ["usage_reported"]
    run.enter().run(lambda: model.chat(HI, stream=False))
    assert run.usage.total_tokens == 3000


def test_a_service_that_does_not_count_is_estimated():
    used = ScriptedChatModel(["four words of text"]).chat(HI, stream=False)[-1]["extra"]["usage"]
    assert used["estimated"] is True
    assert used["prompt_tokens"] > 0
    assert used["completion_tokens"] > 0


def test_an_estimate_leaves_past_thinking_out_and_counts_the_tools():
    def prompt_tokens(messages, functions=None):
        answer = ScriptedChatModel(["fine"]).chat(messages, functions=functions, stream=False)
        return answer[-1]["extra"]["usage"]["prompt_tokens"]

    thought = {"role": "assistant", "content": "yes", "reasoning_content": "word " * 300}
    told = {"role": "assistant", "content": "yes"}
    assert prompt_tokens([*HI, thought, *HI]) == prompt_tokens([*HI, told, *HI])
    tool = {"name": "f", "description": "word " * 100, "parameters": {"type": "object", "properties": {}}}
    assert prompt_tokens(HI, [tool]) > prompt_tokens(HI) + 100


def test_a_limit_of_model_calls_is_kept_before_the_call():
    model = ScriptedChatModel(["a", "b"])
    run = RunContext(limits=RunLimits(model_calls=1))
    run.enter().run(lambda: model.chat(HI, stream=False))
    with pytest.raises(RunLimitExceeded):
        run.enter().run(lambda: model.chat(HI, stream=False))
    assert len(model.requests) == 1


def test_answers_from_the_cache_use_nothing(tmp_path):
    model = ScriptedChatModel([reply("a", usage=Usage(10, 5))], cfg={"cache_dir": str(tmp_path)})
    model.chat(HI, stream=False)
    run = RunContext()
    run.enter().run(lambda: model.chat(HI, stream=False))
    assert run.usage.total_tokens == 0
    assert run.usage.model_calls == 0
