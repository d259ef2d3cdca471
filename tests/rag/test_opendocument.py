import pytest

from qwen_agentkit.errors import PasswordRequired
from tests.rag.packages import kinds, read_document, texts, write_zip

OASIS = "urn:oasis:names:tc:opendocument:xmlns"
NAMES = " ".join(
    [f'xmlns:{name}="{OASIS}:{name}:1.0"' for name in ("office", "text", "table", "style")]
    + [f'xmlns:draw="{OASIS}:drawing:1.0"', f'xmlns:svg="{OASIS}:svg-compatible:1.0"']
    + ['xmlns:dc="http://purl.org/dc/elements/1.1/"']
)


def part(root, inside, *wrappers):
    """An XML part: the inside in the given elements."""
    for name in reversed(wrappers):
        inside = f"<office:{name}>{inside}</office:{name}>"
    return f"<office:{root} {NAMES}>{inside}</office:{root}>"


def odt(path, body, styles="", extra=None):
    parts = {
        "mimetype": "application/vnd.oasis.opendocument.text",
        "content.xml": part("document-content", body, "body", "text"),
        "styles.xml": part("document-styles", styles),
        "meta.xml": part("document-meta", "<dc:title>The title</dc:title>", "meta"),
    }
    return write_zip(path, parts | (extra or {}))


def ods(path, *rows, name="S"):
    sheet = f"<table:table table:name='{name}'>{''.join(rows)}</table:table>"
    return write_zip(
        path,
        {
            "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
            "content.xml": part("document-content", sheet, "body", "spreadsheet"),
        },
    )


def row(*cells, attributes=""):
    return f"<table:table-row {attributes}>{''.join(cells)}</table:table-row>"


COVERED = "<table:covered-table-cell/>"


def cell(text, attributes=""):
    return f"<table:table-cell {attributes}><text:p>{text}</text:p></table:table-cell>"


def test_headings_text_lists_tables_and_notes_in_order(tmp_path):
    wide = cell("wide", "table:number-columns-spanned='2'")
    body = (
        "<text:tracked-changes><text:deletion><text:p>deleted words</text:p></text:deletion></text:tracked-changes>"
        "<text:h text:outline-level='1'>Chapter</text:h>"
        "<text:p>Two<text:s text:c='2'/>blanks<text:tab/>tab<text:line-break/>line <text:span>in "
        "<text:span>spans</text:span></text:span> end"
        "<text:note text:note-class='footnote'><text:note-citation>1</text:note-citation><text:note-body>"
        "<text:p>See law.</text:p></text:note-body></text:note>."
        "<office:annotation><dc:creator>Ann</dc:creator><text:p>Really?</text:p></office:annotation></text:p>"
        "<text:list><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>deep</text:p>"
        "</text:list-item></text:list></text:list-item></text:list>"
        f"<table:table>{row(cell('a'), cell('b'))}"
        f"{row(wide, COVERED)}"
        f"{row(cell('c'), cell('d'))}</table:table>"
        "<text:p><draw:frame><svg:desc>A pump</svg:desc><draw:text-box><text:p>Boxed</text:p></draw:text-box>"
        "</draw:frame></text:p>"
    )
    styles = "<style:master-page><style:header><text:p>Head line</text:p></style:header></style:master-page>"
    document = read_document(odt(tmp_path / "a.odt", body, styles))
    assert document.title == "The title"
    assert kinds(document) == [
        ("note", "Header: Head line"),
        ("heading", "Chapter"),
        ("text", "Two  blanks\ttab\nline in spans end."),
        ("note", "Footnote 1: See law."),
        ("note", "Comment by Ann: Really?"),
        ("list_item", "- one"),
        ("list_item", "  - deep"),
        ("table", "| a | b |\n| --- | --- |\n| wide |  |\n| c | d |"),
        ("text", "Boxed"),
        ("caption", "Image: A pump"),
    ]


def test_numbered_lists_have_numbers(tmp_path):
    body = (
        "<text:list text:style-name='L1'><text:list-item><text:p>a</text:p></text:list-item>"
        "<text:list-item><text:p>b</text:p></text:list-item></text:list>"
    )
    styles = (
        "<text:list-style style:name='L1'><text:list-level-style-number text:level='1' style:num-format='1'/>"
        "</text:list-style>"
    )
    assert texts(read_document(odt(tmp_path / "a.odt", body, styles))) == ["1. a", "2. b"]


def test_an_encrypted_document_asks_for_a_password(tmp_path):
    manifest = "<m:manifest xmlns:m='m'><m:file-entry><m:encryption-data/></m:file-entry></m:manifest>"
    with pytest.raises(PasswordRequired):
        read_document(odt(tmp_path / "a.odt", "", extra={"META-INF/manifest.xml": manifest}))


def test_sheets_give_values_dates_and_what_the_file_shows(tmp_path):
    def value(kind, given, shown):
        return cell(shown, f"office:value-type='{kind}' {given}")

    path = ods(
        tmp_path / "a.ods",
        row(cell("name"), cell("amount"), cell("day"), cell("share")),
        row(
            value("string", "", "00471"),
            value("float", "office:value='1047924.38'", "1.05E+06"),
            value("date", "office:date-value='2024-02-29'", "29.02.24"),
            value("percentage", "office:value='0.25'", "25 %"),
        ),
        row(
            "<table:table-cell table:number-columns-repeated='16384'/>",
            attributes="table:number-rows-repeated='1048000'",
        ),
        row(cell("#DIV/0!")),
        name="Numbers",
    )
    document = read_document(path)
    assert [(block.text, block.rows) for block in document.blocks[1:]] == [
        (
            "| name | amount | day | share |\n| --- | --- | --- | --- |\n| 00471 | 1047924.38 | 2024-02-29 | 25 % |",
            (1, 2),
        ),
        ("#DIV/0!", (1048003, 1048003)),
    ]
    assert {block.sheet for block in document.blocks} == {"Numbers"}


def test_merged_cells_of_a_sheet_are_filled(tmp_path):
    path = ods(
        tmp_path / "a.ods",
        row(cell("Region"), cell("City")),
        row(cell("West", "table:number-rows-spanned='2'"), cell("Porto")),
        row(COVERED, cell("Faro")),
        row(cell("East"), cell("Roma")),
    )
    assert read_document(path).blocks[1].text == (
        "| Region | City |\n| --- | --- |\n| West | Porto |\n| West | Faro |\n| East | Roma |"
    )


def test_a_row_repeated_a_million_times_does_not_fill_the_memory(tmp_path):
    repeated = row(cell("x", "table:number-columns-repeated='3'"), attributes="table:number-rows-repeated='1000000'")
    assert 1000 <= read_document(ods(tmp_path / "a.ods", repeated)).text.count("| x | x | x |") <= 2000
