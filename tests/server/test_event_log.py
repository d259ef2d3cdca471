"""The log of a run: order, resumption, gaps, back-pressure."""

import asyncio
import threading
import time

from hypothesis import given
from hypothesis import strategies as st

from qwen_agentkit.server.event_log import AHEAD, EventLog


def read_all(log, after=0):
    async def read():
        reader, seen = log.reader(after), []
        while not reader.at_end:
            seen += await reader.batch(5)
        reader.close()
        return seen

    return asyncio.run(read())


@given(st.integers(0, 40), st.integers(0, 60))
def test_a_reader_gets_what_came_after_its_number(count, after):
    log = EventLog()
    for number in range(count):
        log.append("delta", {"n": number + 1})
    log.end("done", {})
    seen = read_all(log, after)
    assert [entry.number for entry in seen] == list(range(min(after, count + 1) + 1, count + 2))


def test_readers_at_once_get_the_same():
    log = EventLog()

    async def read(reader):
        seen = []
        while not reader.at_end:
            seen += await reader.batch(5)
        return seen

    async def all_of_them():
        readers = [log.reader() for _ in range(5)]
        threading.Thread(target=write).start()
        return await asyncio.gather(*map(read, readers))

    def write():
        for number in range(2000):
            log.append("delta", {"n": number})
        log.end("done", {})

    results = asyncio.run(all_of_them())
    assert all(result == results[0] for result in results) and len(results[0]) == 2001


def test_a_run_waits_for_its_fastest_reader_and_is_released():
    log = EventLog()
    wrote = threading.Event()

    def write():
        for number in range(AHEAD + 10):
            log.append("delta", {"n": number})
        wrote.set()

    threading.Thread(target=write, daemon=True).start()
    assert not wrote.wait(0.2) and log.last == AHEAD
    log.release()
    assert wrote.wait(5)


def test_a_run_that_waits_too_long_is_told_once():
    told = []
    log = EventLog(stalled=lambda: told.append(1), stalled_seconds=0.05)
    for number in range(AHEAD + 50):
        log.append("delta", {"n": number})
    assert told == [1]


def test_nothing_comes_after_the_end():
    log = EventLog()
    log.end("done", {})
    log.append("delta", {})
    log.end("error", {})
    assert [entry.type for entry in read_all(log)] == ["done"]


def test_a_silent_log_gives_an_empty_batch_in_time():
    async def read():
        began = time.monotonic()
        batch = await EventLog().reader().batch(0.05)
        return batch, time.monotonic() - began

    batch, seconds = asyncio.run(read())
    assert batch == [] and seconds < 2
