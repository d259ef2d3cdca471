import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qwen_agentkit.rag.builder import DocumentBuilder
from qwen_agentkit.rag.parsers.delimited import add_delimited, sniff_delimiter
from tests.rag.packages import read_document

CELL = st.text(st.characters(categories=["L", "N", "Zs", "P"], exclude_characters="|"), min_size=1, max_size=12)


def read(tmp_path, data, name="a.csv"):
    (tmp_path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    return read_document(tmp_path / name)


def test_values_stay_as_they_are_written(tmp_path):
    document = read(tmp_path, "id,amount,note\n00123,1047924.38,NA\n7,1e5,null\n")
    assert document.text == (
        "| id | amount | note |\n| --- | --- | --- |\n| 00123 | 1047924.38 | NA |\n| 7 | 1e5 | null |"
    )
    assert document.blocks[0].rows == (1, 3)


@pytest.mark.parametrize("delimiter", ["\t", ";", "|", ","])
def test_the_delimiter_is_found(delimiter):
    lines = [["name", "price", "remark"], ["a", "1.5", "x, y"], ["b", "2.5", "z"]]
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(lines)
    assert sniff_delimiter(out.getvalue()) == delimiter


def test_decimal_commas_do_not_hide_semicolons():
    assert sniff_delimiter("a;b\n1,5;2,5\n3,5;4,5\n") == ";"
    assert sniff_delimiter("1,5;2,5\n3,5;4,5\n") == ";"


def test_excels_directive_names_the_delimiter(tmp_path):
    assert read(tmp_path, "sep=;\r\na;b\r\n1;2\r\n").text == "| a | b |\n| --- | --- |\n| 1 | 2 |"


def test_cells_with_delimiters_quotes_and_lines_keep_their_text(tmp_path):
    document = read(tmp_path, 'a,b\n"x, y","say ""hi""\nthere"\n')
    assert document.text == '| a | b |\n| --- | --- |\n| x, y | say "hi" there |'


def test_a_quote_mark_that_is_never_closed_does_not_swallow_the_file(tmp_path):
    document = read(tmp_path, 'a,b\n1,5" pipe\n2,"broken\n' + "".join(f"{n},row{n}\n" for n in range(300)))
    assert "| 299 | row299 |" in document.text
    assert any("never closed" in warning for warning in document.warnings)


@pytest.mark.parametrize("encoding", ["gb18030", "big5", "cp932", "cp1251", "utf-16", "utf-8-sig"])
def test_files_in_other_encodings_are_read(tmp_path, encoding):
    text = {
        "gb18030": "编号,区域,金额\n1,华东地区,五百元\n",
        "big5": "編號,區域,金額\n1,臺灣北部,五百元\n",
        "cp932": "番号,名前,金額\n1,やまだたろう,五百円です\n",
        "cp1251": "номер,город,сумма\n1,Москва,пятьсот рублей\n",
    }.get(encoding, "name,alter\nZoë,30\n李雷,25\n")
    document = read(tmp_path, text.encode(encoding))
    for word in text.replace("\n", ",").split(","):
        assert word in document.text


def test_tabs_in_a_file_named_tsv(tmp_path):
    assert read(tmp_path, "a\tb\n1,5\t2\n", "a.tsv").text == "| a | b |\n| --- | --- |\n| 1,5 | 2 |"


def test_blank_records_end_a_table_and_ragged_rows_lose_nothing(tmp_path):
    document = read(tmp_path, "a,b\n1\n2,3,4\n\n\nx,y\n")
    assert [(block.text, block.rows) for block in document.blocks] == [
        ("| a | b |  |\n| --- | --- | --- |\n| 1 |  |  |\n| 2 | 3 | 4 |", (1, 3)),
        ("| x | y |", (6, 6)),
    ]


@settings(deadline=None)
@given(st.lists(st.lists(CELL, min_size=2, max_size=4), min_size=1, max_size=6), st.sampled_from(";,\t"))
def test_whatever_the_csv_module_writes_is_found_again(rows, delimiter):
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows(rows)
    builder = DocumentBuilder("x.csv", "csv")
    add_delimited(out.getvalue(), builder)
    text = "\n".join(block.text for block in builder.blocks)
    for row in rows:
        for cell in row:
            assert "".join(cell.split()) in "".join(text.split()).replace("|", "") or not cell.strip()
