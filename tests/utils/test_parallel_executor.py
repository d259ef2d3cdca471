import contextvars
import time

import pytest

from qwen_agentkit.utils.parallel_executor import parallel_exec, serial_exec


def test_calls_run_at_once_and_results_come_as_they_end():
    def work(n):
        time.sleep(n / 20)
        return n

    start = time.monotonic()
    assert parallel_exec(work, [{"n": 4}, {"n": 2}, {"n": 0}]) == [0, 2, 4]
    assert time.monotonic() - start < 0.35
    assert serial_exec(work, [{"n": 1}, {"n": 0}]) == [1, 0]
    assert parallel_exec(work, []) == []


def test_the_number_at_once_is_bounded():
    running, most = [], []

    def work(n):
        running.append(n)
        most.append(len(running))
        time.sleep(0.01)
        running.remove(n)

    parallel_exec(work, [{"n": n} for n in range(20)], max_workers=3, jitter=0.001)
    assert max(most) <= 3
    with pytest.raises(ValueError, match="at least 1"):
        parallel_exec(work, [], max_workers=0)


def test_a_failure_is_raised_and_the_callers_context_is_seen():
    place = contextvars.ContextVar("place", default="none")
    place.set("here")
    assert parallel_exec(lambda: place.get(), [{}]) == ["here"]
    with pytest.raises(ZeroDivisionError):
        parallel_exec(lambda n: 1 / n, [{"n": 0}, {"n": 1}])
