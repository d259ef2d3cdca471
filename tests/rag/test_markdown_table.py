import re

from hypothesis import given
from hypothesis import strategies as st

from qwen_agentkit.rag.markdown_table import markdown_table, without_blank_edges


def cells_of(line: str) -> list[str]:
    """Cells of a table line by the rule of GFM: `|` splits unless a backslash stands before it."""
    return [cell.strip(" ").replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_the_first_row_is_the_header_and_short_rows_are_filled():
    assert markdown_table([["a", "b"], ["1"], [None, "2"]]) == "| a | b |\n| --- | --- |\n| 1 |  |\n|  | 2 |"


def test_bars_and_line_breaks_inside_a_cell_do_not_break_the_table():
    assert markdown_table([["x|y"], ["one\n two\r\nthree"]]) == "| x\\|y |\n| --- |\n| one two three |"


def test_no_rows_and_no_columns_give_nothing():
    assert markdown_table([]) == ""
    assert markdown_table([[], []]) == ""


def test_blank_edges_go_and_inner_blank_columns_stay():
    rows = [["", "", ""], ["", "a", None, "b", " "], [], ["", "1", "", "2"]]
    assert without_blank_edges(rows) == [["a", "", "b"], ["1", "", "2"]]
    assert without_blank_edges([["", " "], [None]]) == []


@given(st.lists(st.lists(st.text(max_size=8), min_size=1, max_size=4), min_size=1, max_size=4))
def test_every_row_is_one_line_with_the_same_number_of_cells_and_no_text_is_lost(rows):
    lines = markdown_table(rows).split("\n")
    width = max(map(len, rows))
    if len(rows) == 1:
        lines.append("a single row has no rule line")
    assert len(lines) == len(rows) + 1
    for row, line in zip(rows, lines[:1] + lines[2:], strict=True):
        assert not re.search(r"[\r\v\f\x85\u2028\u2029]", line)
        for given_cell, read in zip(row + [""] * (width - len(row)), cells_of(line), strict=True):
            if not given_cell.strip().endswith("\\"):
                assert "".join(given_cell.split()) == "".join(read.split())
