from hypothesis import given
from hypothesis import strategies as st

from qwen_agentkit.rag.grid import Cell, lay_out


def test_spans_are_filled_down_and_across_the_columns_that_they_head():
    rows = [[Cell("a", 1, 2), Cell("b", 2)], [Cell("c"), Cell("d")]]
    assert lay_out(rows) == [["a", "b", "b"], ["a", "c", "d"]]


def test_a_wide_field_of_a_form_is_written_once():
    rows = [[Cell("Name:"), Cell("Ann Miller", 2)], [Cell("Place:"), Cell("Oslo", 2)]]
    assert lay_out(rows) == [["Name:", "Ann Miller", ""], ["Place:", "Oslo", ""]]


def test_a_cell_as_wide_as_the_table_is_a_title_and_stands_once():
    assert lay_out([[Cell("title", 3)], [Cell("x"), Cell("y"), Cell("z")]]) == [["title", "", ""], ["x", "y", "z"]]


def test_a_span_into_missing_cells_keeps_its_column():
    assert lay_out([[Cell("a"), Cell("b", 1, 2)], [Cell("c")], [Cell("d")]]) == [["a", "b"], ["c", "b"], ["d", ""]]


def test_absurd_spans_do_not_fill_the_memory():
    grid = lay_out([[Cell("x", 10**9, 10**9)] for _ in range(20_000)], max_cells=100_000)
    assert sum(map(len, grid)) < 200_000


@given(
    st.lists(
        st.lists(st.builds(Cell, st.text(min_size=1, max_size=3), st.integers(-1, 4), st.integers(-1, 4)), max_size=4),
        max_size=5,
    )
)
def test_the_grid_is_a_rectangle_and_no_text_is_lost(rows):
    grid = lay_out(rows)
    assert len(grid) == len(rows)
    assert len({len(line) for line in grid}) <= 1
    for row, line in zip(rows, grid, strict=True):
        for cell in row:
            assert cell.text in line
