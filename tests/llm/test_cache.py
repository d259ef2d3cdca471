"""Answers kept on disk."""

import multiprocessing

import pytest

from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.testing import ScriptedChatModel, call, reply

HI = [{"role": "user", "content": "hi"}]
WEATHER = {"name": "weather", "description": "Weather.", "parameters": {"type": "object", "properties": {}}}


def model(script, folder, **cfg):
    return ScriptedChatModel(script, cfg={"cache_dir": str(folder), **cfg})


def last(snapshots):
    *_, one = snapshots
    return one


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("second", [True, False])
def test_a_second_question_is_answered_from_the_folder(tmp_path, first, second):
    asked = model(["a"], tmp_path)
    answer = asked.chat(HI, stream=first)
    answer = last(answer) if first else answer
    again = asked.chat(HI, stream=second)
    again = last(again) if second else again
    assert again[-1]["content"] == answer[-1]["content"] == "a"
    assert again[-1]["extra"]["usage"]["from_cache"] is True
    assert len(asked.requests) == 1


def test_calls_come_back_whole(tmp_path):
    asked = model([reply("x", call("weather", city="Oslo"), reasoning="hm")], tmp_path)
    answer = asked.chat(HI, functions=[WEATHER], stream=False)
    again = asked.chat(HI, functions=[WEATHER], stream=False)
    assert [one["content"] for one in again] == [one["content"] for one in answer]
    assert again[-1]["function_call"] == answer[-1]["function_call"]
    assert again[-1]["extra"]["function_id"] == answer[-1]["extra"]["function_id"]


def ask_with(change, tmp_path):
    cfg, messages, functions, extra = {}, HI, None, {}
    if change == "model":
        cfg = {"model": "another"}
    elif change == "generate_cfg":
        cfg = {"generate_cfg": {"top_p": 0.1}}
    elif change == "messages":
        messages = [{"role": "user", "content": "hello"}]
    elif change == "functions":
        functions = [WEATHER]
    elif change == "call":
        extra = {"seed": 7}
    asked = model(["new"], tmp_path, **cfg)
    return asked.chat(messages, functions=functions, extra_generate_cfg=extra, stream=False)[-1]["content"]


@pytest.mark.parametrize("change", ["model", "generate_cfg", "messages", "functions", "call"])
def test_whatever_changes_the_answer_is_in_the_key(tmp_path, change):
    model(["old"], tmp_path).chat(HI, stream=False)
    assert ask_with(None, tmp_path) == "old"
    assert ask_with(change, tmp_path) == "new"


def test_settings_that_do_not_change_the_answer_are_not(tmp_path):
    model(["old"], tmp_path).chat(HI, stream=False)
    extra = {"max_retries": 4, "request_timeout": 7}
    assert model([], tmp_path).chat(HI, stream=False, extra_generate_cfg=extra)[-1]["content"] == "old"


def test_a_cut_answer_is_not_kept(tmp_path):
    asked = model([reply("half", finish_reason="length"), "whole"], tmp_path)
    assert asked.chat(HI, stream=False)[-1]["content"] == "half"
    assert asked.chat(HI, stream=False)[-1]["content"] == "whole"


def test_a_failed_answer_is_not_kept(tmp_path):
    asked = model([reply("hello", fail_after=1), "whole"], tmp_path)
    with pytest.raises(ModelServiceError):
        last(asked.chat(HI))
    assert asked.chat(HI, stream=False)[-1]["content"] == "whole"


def test_an_answer_whose_reader_left_is_not_kept(tmp_path):
    asked = ScriptedChatModel(["abcdef", "whole"], chunk_size=1, cfg={"cache_dir": str(tmp_path)})
    stream = asked.chat(HI)
    next(stream)
    stream.close()
    assert asked.chat(HI, stream=False)[-1]["content"] == "whole"


def test_an_empty_answer_is_not_kept(tmp_path):
    asked = model(["", "whole"], tmp_path)
    asked.chat(HI, stream=False)
    assert asked.chat(HI, stream=False)[-1]["content"] == "whole"


def test_a_fallbacks_answer_is_not_kept_as_the_models_own(tmp_path):
    down = ModelServiceError(code="503", message="down", extra={"kind": "server_error"})
    other = ScriptedChatModel(["other"], cfg={"model": "second"})
    asked = model([down, "own"], tmp_path, fallback=[other], generate_cfg={"transport_retries": 0})
    assert asked.chat(HI, stream=False)[-1]["content"] == "other"
    assert asked.chat(HI, stream=False)[-1]["content"] == "own"


def test_cache_dir_in_generate_cfg_works_as_well(tmp_path):
    asked = ScriptedChatModel(["a"], cfg={"generate_cfg": {"cache_dir": str(tmp_path)}})
    asked.chat(HI, stream=False)
    assert asked.chat(HI, stream=False)[-1]["content"] == "a"


def test_nothing_is_pickled(tmp_path):
    model(["a"], tmp_path).chat(HI, stream=False)
    import sqlite3

    rows = sqlite3.connect(tmp_path / "cache.db").execute("SELECT key, mode FROM Cache").fetchall()
    assert rows
    assert all(mode != 4 for _, mode in rows)  # 4 is diskcache's mark of a pickle


def test_a_damaged_cache_is_passed_over(tmp_path):
    (tmp_path / "cache.db").write_bytes(b"this is no database" * 100)
    assert model(["a"], tmp_path).chat(HI, stream=False)[-1]["content"] == "a"


def _ask_in_process(folder, number, answers):
    asked = ScriptedChatModel([f"a{number}"], repeat=True, cfg={"cache_dir": folder})
    answers.put([asked.chat([{"role": "user", "content": f"q{n}"}], stream=False)[-1]["content"] for n in range(10)])


def test_two_processes_share_a_folder(tmp_path):
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    workers = [context.Process(target=_ask_in_process, args=(str(tmp_path), number, answers)) for number in range(2)]
    for worker in workers:
        worker.start()
    first, second = answers.get(timeout=60), answers.get(timeout=60)
    for worker in workers:
        worker.join(30)
    kept = model([], tmp_path)
    for n in range(10):
        stored = kept.chat([{"role": "user", "content": f"q{n}"}], stream=False)[-1]["content"]
        assert stored in (first[n], second[n])
