import datetime as dt
import struct

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl.comments import Comment

from qwen_agentkit.errors import DamagedFile, DocParserError, LimitExceededInFile, PasswordRequired
from qwen_agentkit.rag.limits import ReadLimits
from qwen_agentkit.rag.parsers.cells import column_name, number_text, serial_text
from qwen_agentkit.rag.parsers.rows import first_row_is_header
from qwen_agentkit.rag.parsers.xlsb import scan_xlsb
from qwen_agentkit.rag.parsers.xlsx_stream import column_number
from tests.rag.packages import OFFICE, S, read_document, rels, texts, write_zip


def workbook(path, **sheets):
    """A workbook written by openpyxl; rows by sheet name."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def raw_workbook(path, sheet, strings="", styles="", namespace=S, name="Sheet1"):
    """A workbook of one sheet whose XML is given."""
    return write_zip(
        path,
        {
            "_rels/.rels": rels(r1=("officeDocument", "xl/workbook.xml")),
            "xl/workbook.xml": f'<workbook xmlns="{namespace}" xmlns:r="{OFFICE}"><sheets>'
            f'<sheet name="{name}" sheetId="1" r:id="s1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": rels(
                s1=("worksheet", "worksheets/sheet1.xml"),
                s2=("sharedStrings", "sharedStrings.xml"),
                s3=("styles", "styles.xml"),
            ),
            "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{namespace}">{sheet}</worksheet>',
            "xl/sharedStrings.xml": f'<sst xmlns="{namespace}">{strings}</sst>',
            "xl/styles.xml": f'<styleSheet xmlns="{namespace}">{styles}</styleSheet>',
        },
    )


def test_cells_are_text_without_exponents_lost_zeros_or_invented_words(tmp_path):
    rows = [
        ["amount", "id", "when", "at", "ok"],
        [1047924.38, "00471", dt.date(2024, 2, 29), dt.datetime(2024, 3, 1, 14, 30), True],
        [123456789012345, "NA", None, dt.time(9, 5), False],
        [0.1 + 0.2, "1e5", None, None, None],
    ]
    document = read_document(workbook(tmp_path / "a.xlsx", Numbers=rows))
    assert document.blocks[1].text == (
        "| amount | id | when | at | ok |\n| --- | --- | --- | --- | --- |\n"
        "| 1047924.38 | 00471 | 2024-02-29 | 2024-03-01 14:30:00 | TRUE |\n"
        "| 123456789012345 | NA |  | 09:05:00 | FALSE |\n| 0.3 | 1e5 |  |  |  |"
    )
    assert document.blocks[1].sheet == "Numbers"
    assert document.blocks[1].rows == (1, 4)


def test_blank_rows_end_a_table_and_rows_keep_their_numbers(tmp_path):
    rows = [["PROGRESS"], [], ["Task", "Owner"], ["Plan", "Ana"], [], [], ["Later", 5]]
    document = read_document(workbook(tmp_path / "a.xlsx", Plan=rows))
    assert [(block.text, block.rows) for block in document.blocks[1:]] == [
        ("PROGRESS", (1, 1)),
        ("| Task | Owner |\n| --- | --- |\n| Plan | Ana |", (3, 4)),
        ("| Later | 5 |", (7, 7)),
    ]


def test_merged_ranges_are_filled_and_a_merged_title_is_written_once(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    for row in [["Sales", None, None], ["Region", "Year", None], ["West", 1, 2], [None, 3, 4]]:
        sheet.append(row)
    for merged in ("A1:C1", "B2:C2", "A3:A4"):
        sheet.merge_cells(merged)
    book.save(tmp_path / "a.xlsx")
    assert read_document(tmp_path / "a.xlsx").blocks[1].text == (
        "| Sales |  |  |\n| Region | Year | Year |\n| West | 1 | 2 |\n| West | 3 | 4 |"
    )


def test_a_cell_in_the_last_corner_costs_nothing(tmp_path):
    sheet = (
        "<sheetData><row r='1'><c r='A1'><v>1</v></c></row><row r='1048576'><c r='XFD1048576' t='inlineStr'><is>"
        "<t>corner</t></is></c></row></sheetData>"
    )
    document = read_document(raw_workbook(tmp_path / "a.xlsx", sheet))
    assert [(block.text, block.rows) for block in document.blocks[1:]] == [
        ("1", (1, 1)),
        ("corner", (1048576, 1048576)),
    ]


def test_a_wide_sheet_with_little_in_it_is_written_cell_by_cell(tmp_path):
    cells = "".join(
        f"<row r='{row}'><c r='{column_name(row * 40)}{row}'><v>{row}</v></c></row>" for row in range(1, 30)
    )
    for name in ("a.xlsx", "b.xlsx"):
        document = read_document(raw_workbook(tmp_path / name, f"<sheetData>{cells}</sheetData>"))
        assert document.blocks[1].text.split("\n")[:2] == ["AO1: 1", "CC2: 2"]


def test_error_cells_and_long_numbers_are_kept(tmp_path):
    sheet = (
        "<sheetData><row r='1'><c r='A1' t='s'><v>0</v></c><c r='B1' t='e'><f>1/0</f><v>#DIV/0!</v></c></row>"
        "<row r='2'><c r='A2'><v>12345678901234567890</v></c><c r='B2' t='e'><v>#N/A</v></c></row></sheetData>"
    )
    document = read_document(raw_workbook(tmp_path / "a.xlsx", sheet, strings="<si><t>ratio</t></si>"))
    assert (
        document.blocks[1].text.replace("| --- | --- |\n", "") == "| ratio | #DIV/0! |\n| 12345678901234567890 | #N/A |"
    )


def test_a_strict_workbook_is_read(tmp_path):
    sheet = "<sheetData><row r='1'><c r='A1' t='inlineStr'><is><t>strict</t></is></c></row></sheetData>"
    path = raw_workbook(tmp_path / "a.xlsx", sheet, namespace="http://purl.oclc.org/ooxml/spreadsheetml/main")
    assert "strict" in texts(read_document(path))


def test_streamed_cells_say_the_same_as_the_fast_ones(tmp_path):
    strings = (
        "<si><t>name</t></si><si><r><t xml:space='preserve'>rich </t></r><r><t>text</t></r><rPh sb='0' eb='1'>"
        "<t>phonetic</t></rPh></si>"
    )
    styles = (
        "<numFmts count='1'><numFmt numFmtId='165' formatCode='yyyy\\-mm\\-dd\\ hh:mm'/></numFmts>"
        "<cellXfs><xf numFmtId='0'/><xf numFmtId='14'/><xf numFmtId='165'/><xf numFmtId='46'/>"
        "<xf numFmtId='20'/></cellXfs>"
    )
    cells = (
        "<row r='1'><c r='A1' t='s'><v>0</v></c><c r='B1' t='s'><v>1</v></c><c r='C1' t='str'><f>x</f>"
        "<v>made</v></c></row>"
        "<row r='2'><c r='A2' s='1'><v>45351</v></c><c r='B2' s='2'><v>45351.5</v></c><c r='C2' s='3'><v>1.5</v>"
        "</c></row>"
        "<row r='3'><c r='A3' t='b'><v>1</v></c><c r='B3'><v>1E-3</v></c><c r='C3' s='4'><v>0.5</v></c></row>"
    )
    far = "<row r='1048576'><c r='XFD1048576'><v>9</v></c></row>"
    fast = read_document(raw_workbook(tmp_path / "a.xlsx", f"<sheetData>{cells}</sheetData>", strings, styles))
    streamed = read_document(raw_workbook(tmp_path / "b.xlsx", f"<sheetData>{cells}{far}</sheetData>", strings, styles))
    assert fast.blocks[1].text == streamed.blocks[1].text
    assert fast.blocks[1].text == (
        "| name | rich text | made |\n| --- | --- | --- |\n"
        "| 2024-02-29 | 2024-02-29 12:00:00 | 36:00:00 |\n| TRUE | 0.001 | 12:00:00 |"
    )


def test_comments_name_their_cell(tmp_path):
    book = openpyxl.Workbook()
    book.active["B2"] = 5
    book.active["B2"].comment = Comment("check this", "Ann")
    book.save(tmp_path / "a.xlsx")
    note = read_document(tmp_path / "a.xlsx").blocks[-1]
    assert (note.kind, note.rows) == ("note", (2, 2))
    assert note.text.startswith("Comment at B2:") and "check this" in note.text


def test_percentages_are_written_as_they_are_shown(tmp_path):
    book = openpyxl.Workbook()
    for row in [["name", "share", "plain"], ["a", 0.256, 0.256], ["b", "=1/4", 1.5], ["c", 0.07, None]]:
        book.active.append(row)
    for row, form in ((2, "0%"), (3, "0.00%"), (4, '0.0" %"')):
        book.active.cell(row, 2).number_format = form
    book.save(tmp_path / "a.xlsx")
    assert read_document(tmp_path / "a.xlsx").blocks[1].text == (
        "| name | share | plain |\n| --- | --- | --- |\n| a | 25.6% | 0.256 |\n| b |  | 1.5 |\n| c | 0.07 |  |"
    )


def test_a_missing_sheet_costs_itself_and_a_warning(tmp_path):
    path = write_zip(
        tmp_path / "a.xlsx",
        {
            "_rels/.rels": rels(r1=("officeDocument", "xl/workbook.xml")),
            "xl/workbook.xml": f'<workbook xmlns="{S}" xmlns:r="{OFFICE}"><sheets><sheet name="Gone" r:id="s1"/>'
            '<sheet name="Here" r:id="s2"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": rels(s1=("worksheet", "w/x.xml"), s2=("worksheet", "w/y.xml")),
            "xl/w/y.xml": f'<worksheet xmlns="{S}"><sheetData><row r="1"><c r="A1"><v>7</v></c></row></sheetData>'
            "</worksheet>",
        },
    )
    document = read_document(path)
    assert texts(document) == ["Here", "7"]
    assert document.warnings == ["sheet 'Gone' is missing from the file"]


def test_cells_beyond_the_limit_end_the_reading_with_a_warning_and_what_was_read(tmp_path):
    path = workbook(tmp_path / "a.xlsx", Many=[[f"r{row}", row] for row in range(50)])
    document = read_document(path, limits=ReadLimits(cells=20))
    assert "r9" in document.text and "r10" not in document.text
    assert any("more than 20 cells" in warning for warning in document.warnings)


def test_a_bomb_is_stopped(tmp_path):
    sheet = "<sheetData>" + "<row r='1'><c r='A1'><v>1</v></c></row>" * 200_000 + "</sheetData>"
    with pytest.raises(LimitExceededInFile, match="expands too much"):
        read_document(raw_workbook(tmp_path / "a.xlsx", sheet), limits=ReadLimits(inflated_bytes=2_000_000))


def test_encrypted_and_damaged_workbooks_are_named_as_such(tmp_path):
    encrypted = tmp_path / "a.xlsx"
    encrypted.write_bytes(
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + "EncryptedPackage".encode("utf-16-le") + bytes(9)
    )
    with pytest.raises(PasswordRequired):
        read_document(encrypted)
    damaged = tmp_path / "b.xlsx"
    damaged.write_bytes(workbook(tmp_path / "c.xlsx", A=[[1]]).read_bytes()[:600])
    with pytest.raises(DamagedFile):
        read_document(damaged)


def biff4(*records):
    """A worksheet of Excel 4, which is its records alone: number, then row, column and what follows."""
    data = struct.pack("<HHHHH", 0x0409, 6, 0x0400, 0x0010, 0)
    for number, *place, rest in records:
        body = struct.pack("<HHH", *place, 0) + rest if place else rest
        data += struct.pack("<HH", number, len(body)) + body
    return data + struct.pack("<HH", 0x000A, 0)


def test_an_old_workbook_gives_text_numbers_and_errors(tmp_path):
    path = tmp_path / "a.xls"
    path.write_bytes(
        biff4(
            (0x0204, 0, 0, struct.pack("<H", 2) + b"id"),
            (0x0204, 0, 1, struct.pack("<H", 5) + b"ratio"),
            (0x0204, 1, 0, struct.pack("<H", 3) + b"007"),
            (0x0203, 1, 1, struct.pack("<d", 1047924.38)),
            (0x0205, 2, 1, b"\x07\x01"),
            (0x0205, 2, 0, b"\x01\x00"),
        )
    )
    assert read_document(path).blocks[1].text == (
        "| id | ratio |\n| --- | --- |\n| 007 | 1047924.38 |\n| TRUE | #DIV/0! |"
    )


def test_a_cell_in_the_last_corner_of_an_old_workbook_costs_nothing(tmp_path):
    path = tmp_path / "a.xls"
    path.write_bytes(biff4((0x0203, 0, 0, struct.pack("<d", 1)), (0x0203, 16383, 255, struct.pack("<d", 2))))
    assert [block.rows for block in read_document(path).blocks[1:]] == [(1, 1), (16384, 16384)]


def test_an_old_workbook_with_a_password_says_so(tmp_path):
    path = tmp_path / "a.xls"
    path.write_bytes(biff4((0x002F, b"\x12\x34\x56\x78"), (0x0203, 0, 0, struct.pack("<d", 1))))
    with pytest.raises(PasswordRequired):
        read_document(path)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_any_records_of_an_old_workbook_are_read_or_refused(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("xls") / "a.xls"
    path.write_bytes(biff4((0x0203, 0, 0, struct.pack("<d", 1)))[:-4] + data)
    try:
        read_document(path)
    except DocParserError:
        pass  # refused by name


def test_the_size_of_a_binary_sheet_is_known_before_it_is_read():
    def record(kind, body):
        return bytes([kind, len(body)]) + body

    sheet = b"".join(
        record(0, struct.pack("<I", row) + bytes(4)) + record(2, struct.pack("<I", column) + bytes(8))
        for row, column in [(0, 0), (1_048_575, 16_383)]
    )
    extent = scan_xlsb(sheet)
    assert (extent.rows, extent.columns, extent.cells) == (1_048_576, 16_384, 2)


def test_a_binary_workbook_whose_grid_would_fill_the_memory_is_refused(tmp_path):
    corner = b"\x00\x08" + struct.pack("<II", 1_048_575, 0) + b"\x02\x0c" + struct.pack("<I", 16_383) + bytes(8)
    path = write_zip(tmp_path / "a.xlsb", {"xl/workbook.bin": b"", "xl/worksheets/sheet1.bin": corner})
    with pytest.raises(LimitExceededInFile, match=r"column 16,384"):
        read_document(path)


@pytest.mark.parametrize(
    ("value", "text"),
    [(5.0, "5"), (-0.5, "-0.5"), (1e21, "1000000000000000000000"), (1e-7, "0.0000001"), (1047924.38, "1047924.38")],
)
def test_numbers_are_written_plainly(value, text):
    assert number_text(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_has_no_exponent_and_keeps_fifteen_digits(value):
    text = number_text(value)
    assert "e" not in text.lower()
    assert float(text) == pytest.approx(value, rel=1e-14)


@given(st.integers(0, 16_383))
def test_column_letters_and_numbers_agree(number):
    assert column_number(column_name(number)) == number


def test_days_are_counted_from_1900_and_1904_with_the_day_that_never_was():
    assert serial_text(1, "yyyy") == "1900-01-01"
    assert serial_text(61, "yyyy") == "1900-03-01"
    assert serial_text(1, "yyyy", is_1904=True) == "1904-01-02"
    assert serial_text(0.75, "h:mm") == "18:00:00"
    assert serial_text(1e12, "yyyy") == "1000000000000"


def test_a_header_is_told_from_a_row_of_values():
    assert first_row_is_header([["Task", "Owner"], ["Plan", "Ana"]])
    assert first_row_is_header([["Region", "2023", "2024"], ["West", "5.5", "7"]])
    assert not first_row_is_header([["West", "5.5"], ["East", "7"]])
    assert not first_row_is_header([["2024-01-01", "x"], ["2024-01-02", "y"]])
    assert not first_row_is_header([["alone"]])
