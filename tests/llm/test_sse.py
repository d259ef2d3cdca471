"""Server-sent events, read by blocks."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwen_agentkit.llm.sse import EventDecoder, StreamNotJSON

objects = st.lists(st.dictionaries(st.text(max_size=3), st.text(max_size=8) | st.integers(), max_size=3), max_size=6)


def written(items, end="\n", ascii_only=True):
    events = "".join(f"data: {json.dumps(item, ensure_ascii=ascii_only)}{end}{end}" for item in items)
    return (events + f"data: [DONE]{end}{end}").encode("utf-8", "surrogatepass")


def cut(data, places):
    places = sorted({min(place, len(data)) for place in places})
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]


@given(objects, st.sampled_from(["\n", "\r\n", "\r"]), st.lists(st.integers(0, 400), max_size=8))
def test_any_cutting_gives_the_objects_in_order(items, end, places):
    decoder = EventDecoder()
    read = [one for block in cut(written(items, end), places) for one in decoder.feed(block)] + decoder.finish()
    assert read == items
    assert decoder.done


def test_comments_names_and_ids_are_passed_over():
    decoder = EventDecoder()
    read = decoder.feed(b': ping\n\nid: 7\nevent: message\ndata: {"a": 1}\n\n:\n\ndata:{"a": 2}\n\n')
    assert read == [{"a": 1}, {"a": 2}]


def test_data_over_several_lines_is_one_object():
    assert EventDecoder().feed(b'data: {"a":\ndata: 1}\n\n') == [{"a": 1}]


def test_a_last_event_without_an_empty_line_is_read_at_the_end():
    decoder = EventDecoder()
    assert decoder.feed(b'data: {"a": 1}') == []
    assert decoder.finish() == [{"a": 1}]


@pytest.mark.parametrize("wrong", [b"nonsense", b"[1]", b'{"a": 1}, {"b": 2}', b"7"])
def test_what_is_no_object_is_shown(wrong):
    with pytest.raises(StreamNotJSON) as caught:
        EventDecoder().feed(b'data: {"a": 1}\n\ndata: ' + wrong + b"\n\n")
    assert wrong.decode() in str(caught.value)


def test_nothing_after_the_closing_event_is_read():
    decoder = EventDecoder()
    assert decoder.feed(b'data: {"a": 1}\n\ndata: [DONE]\n\ndata: nonsense\n\n') == [{"a": 1}]
