"""`qwen-agentkit clean`, and ages and sizes as people write them."""

import json
import os

import pytest

from qwen_agentkit.cli.status import WrongUse
from qwen_agentkit.cli.units import columns, seconds_of, shortened, size_text


def kept(shell, *flags):
    report = json.loads(shell("clean", "--json", *flags).stdout)
    return {kind: report[kind]["bytes"] for kind in ("documents", "web", "knowledge")}


def test_what_was_not_used_for_a_time_goes_and_the_answers_stay(shell, tmp_path):
    question = ("ask", "resources/meeting_notes.md", "Who chaired the meeting?")
    answer = shell(*question).stdout
    assert kept(shell, "--older-than", "1h") == {"documents": 0, "web": 0, "knowledge": 0}
    would = kept(shell, "--older-than", "0", "--dry-run")
    assert would["documents"] > 0
    assert kept(shell, "--older-than", "0", "--dry-run") == would
    assert kept(shell, "--older-than", "0")["documents"] == would["documents"]
    assert kept(shell, "--older-than", "0")["documents"] == 0
    assert shell(*question).stdout == answer
    assert os.path.exists(tmp_path / "resources" / "meeting_notes.md")


def test_an_age_is_days_or_has_a_unit():
    assert [seconds_of(age) for age in ("2", "90m", "12h", "1.5d", "2w", "0")] == [
        172_800, 5_400, 43_200, 129_600, 1_209_600, 0,
    ]  # fmt: skip
    for age in ("", "soon", "-1", "1y"):
        with pytest.raises(WrongUse):
            seconds_of(age)


def test_sizes_are_read_by_people():
    assert [size_text(size) for size in (0, 999, 1_000, 999_949, 999_950, 2_500_000, 10**13)] == [
        "0 bytes", "999 bytes", "1.0 kB", "999.9 kB", "1.0 MB", "2.5 MB", "10000.0 GB",
    ]  # fmt: skip


def test_columns_stand_under_each_other_also_with_wide_characters():
    assert columns([["a", "b"], ["电机", "c"], ["x\ny", ""]]) == ["a     b", "电机  c", "x y"]
    assert shortened("one  two\nthree", 8) == "one two…"
