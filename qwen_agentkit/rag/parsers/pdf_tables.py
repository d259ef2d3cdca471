"""Tables on a PDF page: from ruling lines, and from columns of short texts that keep their places."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from qwen_agentkit.rag.parsers.pdf_lines import Row, Segment, TableBox, join_lines, rows_of, segments_of
from qwen_agentkit.rag.parsers.pdf_page import PageContent, Rule, Word

# Points within which lines count as the same, and as touching.
SNAP = 2.5
TOUCH = 3.5
# A grid beyond this is a drawing.
MAX_COLUMNS = 120
MAX_ROWS = 1_500
# Columns that are not ruled are parted by at least this many font sizes.
MIN_GAP = 0.6
# Dots that lead from a title to its page number; such a list is no table.
_LEADERS = re.compile(r"\.{4,}|(?:\. ){4,}|…{2,}")
_NUMBER = re.compile(r"[-+(]?[$€£¥]?\s?\d[\d,.\s]*%?\)?|[-–—]|n/?a", re.IGNORECASE)


def take_ruled_tables(content: PageContent) -> list[TableBox]:
    """Finds the tables that are ruled and takes their words out of `content.words`."""
    if len(content.level_rules) < 2 or not content.upright_rules:
        return []
    level = _merge(content.level_rules)
    upright = _merge(content.upright_rules)
    tables: list[TableBox] = []
    for rows, columns in _grids(level, upright):
        table = _fill_grid(content, rows, columns)
        if table is not None:
            tables.append(table)
    return tables


def _merge(rules: Sequence[Rule]) -> list[Rule]:
    """Rules in one line that touch or overlap become one."""
    groups: list[list[Rule]] = []
    for rule in sorted(rules, key=lambda item: item.at):
        if groups and rule.at - groups[-1][0].at <= SNAP:
            groups[-1].append(rule)
        else:
            groups.append([rule])
    merged: list[Rule] = []
    for group in groups:
        at = sum(rule.at for rule in group) / len(group)
        current: Rule | None = None
        for rule in sorted(group, key=lambda item: item.start):
            if current is not None and rule.start <= current.end + TOUCH:
                current.end = max(current.end, rule.end)
            else:
                current = Rule(at, rule.start, rule.end)
                merged.append(current)
    return merged


def _grids(level: list[Rule], upright: list[Rule]) -> list[tuple[list[Rule], list[Rule]]]:
    """Sets of rules that hang together."""
    if len(level) * len(upright) > 400_000:
        return []
    parent = list(range(len(level) + len(upright)))

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    for i, row in enumerate(level):
        for j, column in enumerate(upright):
            if (
                row.start - TOUCH <= column.at <= row.end + TOUCH
                and column.start - TOUCH <= row.at <= column.end + TOUCH
            ):
                parent[root(i)] = root(len(level) + j)
    groups: dict[int, tuple[list[Rule], list[Rule]]] = {}
    for i, row in enumerate(level):
        groups.setdefault(root(i), ([], []))[0].append(row)
    for j, column in enumerate(upright):
        groups.setdefault(root(len(level) + j), ([], []))[1].append(column)
    return [group for group in groups.values() if len(group[0]) >= 2 and group[1]]


def _positions(values: list[float]) -> list[float]:
    result: list[float] = []
    for value in sorted(values):
        if not result or value - result[-1] > TOUCH:
            result.append(value)
    return result


def _fill_grid(content: PageContent, level: list[Rule], upright: list[Rule]) -> TableBox | None:
    xs = _with_open_ends(_positions([rule.at for rule in upright]), level)
    ys = _with_open_ends(_positions([rule.at for rule in level]), upright)
    if len(ys) < 2 or len(xs) < 2 or len(xs) > MAX_COLUMNS or len(ys) > MAX_ROWS:
        return None
    inside = [word for word in content.words if _is_inside(word, xs[0], ys[0], xs[-1], ys[-1])]
    if not inside:
        return None
    owners = _owners(xs, ys, level, upright)
    cells: list[list[list[Word]]] = [[[] for _ in xs[1:]] for _ in ys[1:]]
    for word in inside:
        i = min(max(bisect_right(ys, (word.y0 + word.y1) / 2) - 1, 0), len(ys) - 2)
        j = min(max(bisect_right(xs, (word.x0 + word.x1) / 2) - 1, 0), len(xs) - 2)
        i, j = owners[i][j]
        cells[i][j].append(word)
    if len(xs) == 2:
        rows = _cells_by_gaps([word for row in cells for word in row[0]])
    elif len(ys) <= 3 and (lines := _unruled_rows(cells)):
        rows = lines
    else:
        places = {owner for row in owners for owner in row}
        if sum(1 for i, j in places if cells[i][j]) * 2 < len(places):
            return None  # a drawing with figures beside it
        rows = [[_cell_text(words) for words in row] for row in cells]
        _repeat_merged(rows, owners)
        rows = [line for row, words in zip(rows, cells, strict=True) for line in _lines_of_band(row, words)]
    rows = _without_blanks(rows)
    if not is_table(rows):
        return None
    taken = {id(word) for word in inside}
    content.words = [word for word in content.words if id(word) not in taken]
    return TableBox(rows, xs[0], ys[0], xs[-1], ys[-1])


def _with_open_ends(positions: list[float], crossing: Sequence[Rule]) -> list[float]:
    """Adds the outer sides of a table that are not drawn: the ends of the lines that cross."""
    low, high = min(rule.start for rule in crossing), max(rule.end for rule in crossing)
    result = list(positions)
    if low < result[0] - 3 * TOUCH:
        result.insert(0, low)
    if high > result[-1] + 3 * TOUCH:
        result.append(high)
    return result


def _is_inside(word: Word, x0: float, y0: float, x1: float, y1: float) -> bool:
    middle_x, middle_y = (word.x0 + word.x1) / 2, (word.y0 + word.y1) / 2
    return x0 - 1 <= middle_x <= x1 + 1 and y0 - 1 <= middle_y <= y1 + 1


def _owners(
    xs: Sequence[float], ys: Sequence[float], level: Sequence[Rule], upright: Sequence[Rule]
) -> list[list[tuple[int, int]]]:
    """For each place of the grid the place whose cell it belongs to; places without a line between are one cell."""
    columns, rows = len(xs) - 1, len(ys) - 1
    owners = [[(i, j) for j in range(columns)] for i in range(rows)]
    for j in range(1, columns):
        lines = [rule for rule in upright if abs(rule.at - xs[j]) <= TOUCH]
        for i in range(rows):
            middle = (ys[i] + ys[i + 1]) / 2
            if not any(rule.start - 1 <= middle <= rule.end + 1 for rule in lines):
                owners[i][j] = owners[i][j - 1]
    for i in range(1, rows):
        lines = [rule for rule in level if abs(rule.at - ys[i]) <= TOUCH]
        for j in range(columns):
            middle = (xs[j] + xs[j + 1]) / 2
            if any(rule.start - 1 <= middle <= rule.end + 1 for rule in lines):
                continue
            above, own = owners[i - 1][j], owners[i][j]
            # Cells one above the other merge only when they are equally wide.
            if above[1] == own[1] and above != own and _width(owners[i - 1], above) == _width(owners[i], own):
                for k in range(columns):
                    if owners[i][k] == own:
                        owners[i][k] = above
    return owners


def _width(row: Sequence[tuple[int, int]], owner: tuple[int, int]) -> int:
    return sum(1 for place in row if place == owner)


def _repeat_merged(rows: list[list[str]], owners: Sequence[Sequence[tuple[int, int]]]) -> None:
    """A label that spans rows or columns is written in each, as in all tables of this package (see `rag.grid`).

    A title across the whole table is written once; so is longer text, which a missing line may have merged.
    """
    for i, row in enumerate(rows):
        if len(set(owners[i])) == 1:
            continue
        for j in range(len(row)):
            above, left = owners[i][j]
            if (above, left) != (i, j) and len(rows[above][left]) <= 80:
                row[j] = rows[above][left]


def _cell_text(words: Sequence[Word]) -> str:
    if not words:
        return ""
    return join_lines([row.text for row in rows_of(segments_of(words))])


def _cells_by_gaps(words: Sequence[Word]) -> list[list[str]]:
    """Cells of a table whose rows are ruled and whose columns are not."""
    rows = rows_of(segments_of(words))
    columns = _column_spans(rows)
    return [_cells_of_row(row, columns) for row in rows] if len(columns) >= 2 else []


def _unruled_rows(cells: Sequence[Sequence[Sequence[Word]]]) -> list[list[str]] | None:
    """Rows of a table whose columns are ruled and whose rows are not: the lines of text, where they agree."""
    result: list[list[str]] = []
    split = False
    for row in cells:
        words = [word for cell in row for word in cell]
        lines = rows_of(segments_of(words))
        place = {id(word): j for j, cell in enumerate(row) for word in cell}
        table: list[list[list[Word]]] = []
        for line in lines:
            entry: list[list[Word]] = [[] for _ in row]
            for segment in line.segments:
                for word in segment.words:
                    entry[place[id(word)]].append(word)
            table.append(entry)
        full = sum(1 for entry in table if entry[0] and sum(1 for cell in entry if cell) * 2 > len(row))
        if len(table) >= 3 and full >= 0.7 * len(table):
            split = True
            result.extend([_cell_text(cell) for cell in entry] for entry in table)
        else:
            result.append([_cell_text(cell) for cell in row])
    return result if split else None


def _lines_of_band(row: list[str], cells: Sequence[Sequence[Word]]) -> list[list[str]]:
    """The rows in a band between two rules: several, when the lines of the cells stand on the same heights.

    Wrapped text leaves other cells without a line beside it: each line of the first column must have one in most
    columns, and with two columns only figures are proof enough.
    """
    columns = [rows_of(segments_of(words)) for words in cells]
    anchors = columns[0]
    filled = sum(1 for lines in columns if lines)
    if len(anchors) < 2 or filled < 2:
        return [row]
    if filled == 2 and not all(_NUMBER.fullmatch(line.text.strip()) for lines in columns[1:] for line in lines):
        return [row]
    result = [[""] * len(columns) for _ in anchors]
    for j, lines in enumerate(columns):
        for line in lines:
            distances = [abs(anchor.y1 - line.y1) for anchor in anchors]
            at = distances.index(min(distances))
            if abs(anchors[at].y1 - line.y1) > 0.4 * line.size or result[at][j]:
                return [row]
            result[at][j] = line.text
    if any(sum(1 for cell in line if cell) * 2 <= filled for line in result):
        return [row]
    return result


def _without_blanks(rows: list[list[str]]) -> list[list[str]]:
    """Without the rows and columns that hold nothing."""
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    if not rows:
        return []
    kept = [j for j in range(len(rows[0])) if any(row[j].strip() for row in rows)]
    return [[row[j] for j in kept] for row in rows]


def is_table(rows: Sequence[Sequence[str]]) -> bool:
    """At least two rows and columns, mostly filled, and cells that are no columns of prose."""
    if len(rows) < 2 or len(rows[0]) < 2:
        return False
    filled = [cell for row in rows for cell in row if cell.strip()]
    if len(filled) < 0.4 * len(rows) * len(rows[0]) or len(filled) < 3:
        return False
    return sum(map(len, filled)) / len(filled) <= 300 and max(map(len, filled)) <= 3_000


# --- tables without rules


def with_aligned_tables(rows: Sequence[Row]) -> list[Row | TableBox]:
    """Replaces runs of rows whose short texts stand in the same columns by tables."""
    result: list[Row | TableBox] = []
    position = 0
    while position < len(rows):
        end = position
        while end < len(rows) and _is_cells(rows[end]) and (end == position or _is_near(rows[end - 1], rows[end])):
            end += 1
        table = _aligned_table(rows[position:end]) if end - position >= 3 else None
        if table is not None:
            result.append(table)
            position = end
        else:
            result.extend(rows[position : max(end, position + 1)])
            position = max(end, position + 1)
    return result


def has_leaders(text: str) -> bool:
    """The line is an entry of a table of contents, with dots that lead to the page number."""
    return _LEADERS.search(text) is not None


def _is_cells(row: Row) -> bool:
    return len(row.segments) >= 2 and not row.mono and not has_leaders(row.text)


def _is_near(above: Row, below: Row) -> bool:
    return below.y0 - above.y1 <= 1.5 * max(above.y1 - above.y0, below.y1 - below.y0)


def _aligned_table(rows: Sequence[Row]) -> TableBox | None:
    columns = _column_spans(rows)
    if len(columns) < 2:
        return None
    cells = [_cells_of_row(row, columns) for row in rows]
    if len(columns) == 2:
        # Two columns are a table when the second is figures; else they may be labels and prose.
        figures = sum(1 for row in cells if _NUMBER.fullmatch(row[1].strip()))
        if figures < 0.6 * len(cells):
            return None
    filled = [cell for row in cells for cell in row if cell]
    if len(filled) < 0.6 * len(cells) * len(columns) or sum(map(len, filled)) / len(filled) > 40:
        return None
    return TableBox(
        cells,
        min(row.x0 for row in rows),
        min(row.y0 for row in rows),
        max(row.x1 for row in rows),
        max(row.y1 for row in rows),
    )


def _column_spans(rows: Sequence[Row]) -> list[tuple[float, float]]:
    """Extents that the segments cover, parted by gaps that no row crosses."""
    spans: list[tuple[float, float]] = []
    size = max((row.size for row in rows), default=10.0)
    for x0, x1 in sorted((segment.x0, segment.x1) for row in rows for segment in row.segments):
        if spans and x0 <= spans[-1][1] + MIN_GAP * size:
            spans[-1] = (spans[-1][0], max(spans[-1][1], x1))
        else:
            spans.append((x0, x1))
    return spans


def _cells_of_row(row: Row, columns: Sequence[tuple[float, float]]) -> list[str]:
    cells: list[list[Segment]] = [[] for _ in columns]
    for segment in row.segments:
        middle = (segment.x0 + segment.x1) / 2
        for j, (x0, x1) in enumerate(columns):
            if x0 - 1 <= middle <= x1 + 1:
                cells[j].append(segment)
                break
    return [" ".join(segment.text for segment in cell) for cell in cells]
