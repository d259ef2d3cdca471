import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qwen_agentkit.rag.builder import DocumentBuilder
from qwen_agentkit.rag.parsers.html import add_html_text, declared_encoding
from tests.rag.packages import kinds, read_document, texts


def blocks(page):
    builder = DocumentBuilder("x.html", "html")
    add_html_text(page, builder)
    return builder.document("x")


def test_title_headings_paragraphs_lists_and_code():
    document = blocks(
        "<html><head><title>Manual &amp; more</title><style>p{color:red}</style></head><body><h1>Pump</h1>"
        "<p>Some <b>bold</b>\n text.<br>Next line.</p><ul><li>one<ul><li>deep</li></ul></li><li>two</li></ul>"
        "<ol start=3><li>three</li></ol><pre>  keep\n    this</pre><script>var a = 1;</script></body></html>"
    )
    assert document.title == "Manual & more"
    assert kinds(document) == [
        ("heading", "Pump"),
        ("text", "Some bold text.\nNext line."),
        ("list_item", "- one"),
        ("list_item", "  - deep"),
        ("list_item", "- two"),
        ("list_item", "3. three"),
        ("code", "  keep\n    this"),
    ]


def test_tables_with_spans_and_captions():
    document = blocks(
        "<table><caption>Sales</caption><tr><th rowspan=2>Region</th><th colspan=2>Year</th></tr>"
        "<tr><td>2023</td><td>2024</td></tr><tr><td>West|East</td><td>1</td><td>2</td></tr></table>"
    )
    assert kinds(document) == [
        ("caption", "Sales"),
        (
            "table",
            "| Region | Year | Year |\n| --- | --- | --- |\n| Region | 2023 | 2024 |\n| West\\|East | 1 | 2 |",
        ),
    ]


def test_a_table_that_only_places_things_is_no_table():
    document = blocks(
        "<table><tr><td><h2>Menu</h2><a>Home</a></td><td><p>Words</p><table><tr><td>a</td><td>b</td></tr>"
        "<tr><td>1</td><td>2</td></tr></table></td></tr></table>"
    )
    assert kinds(document) == [
        ("heading", "Menu"),
        ("text", "Home"),
        ("text", "Words"),
        ("table", "| a | b |\n| --- | --- |\n| 1 | 2 |"),
    ]


@pytest.mark.parametrize("depth", [300, 3_000, 20_000])
def test_deep_nesting_hides_no_text(depth):
    page = f"<title>T</title><p>first</p>{'<div>' * depth}BOTTOM{'</div>' * depth}<p>after</p>"
    document = blocks(page)
    assert texts(document) == ["first", "BOTTOM", "after"]
    assert document.title == "T"


def test_powers_do_not_run_into_their_numbers():
    assert blocks("<p>10<sup>6</sup> and H<sub>2</sub>O</p>").text == "10^6 and H2O"


def test_the_choices_of_a_form_are_one_block():
    page = "<p>Land:</p><select><option>Norway<option>Chile</option></select><p>End</p>"
    assert texts(blocks(page)) == ["Land:", "Norway\nChile", "End"]


def test_descriptions_of_pictures_are_kept():
    assert texts(blocks("<p>See <img src=x alt='The red pump'> here</p>")) == ["See here", "Image: The red pump"]


def test_the_declared_charset_is_used(tmp_path):
    page = (
        "<html><head><meta http-equiv='Content-Type' content='text/html; charset={}'></head><body><p>{}</p></body>"
        "</html>"
    )
    for charset, words in [
        ("gb2312", "放假通知"),
        ("shift_jis", "お知らせ"),
        ("windows-1256", "مرحبا"),
        ("utf-8", "Привет"),
    ]:
        (tmp_path / "a.html").write_bytes(page.format(charset, words).encode(charset))
        assert read_document(tmp_path / "a.html").text == words


def test_utf8_without_a_declaration_is_read_as_utf8(tmp_path):
    (tmp_path / "a.html").write_bytes("<h1>Отчёт</h1>".encode())
    assert read_document(tmp_path / "a.html").text == "Отчёт"


def test_an_xml_declaration_and_entities_do_no_harm():
    page = (
        '<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
        "<p>a &x; b &euro;</p>"
    )
    assert "root:" not in blocks(page).text
    assert "€" in blocks(page).text


def test_where_a_page_names_its_encoding():
    assert declared_encoding(b"<meta charset=gbk>") == "gbk"
    assert declared_encoding(b"<?xml version='1.0' encoding='big5'?><html>") == "big5"
    assert declared_encoding(b"<p>none</p>") is None


TAGS = st.sampled_from(
    [
        "p",
        "div",
        "table",
        "tr",
        "td",
        "th",
        "ul",
        "ol",
        "li",
        "h1",
        "h2",
        "pre",
        "br",
        "b",
        "script",
        "/script",
        "/p",
        "/div",
        "/table",
        "/tr",
        "/td",
        "/ul",
        "/li",
        "/h1",
        "/pre",
        "title",
        "/title",
    ]
)
PIECES = st.one_of(TAGS.map(lambda tag: f"<{tag}>"), st.text(st.characters(categories=["L", "N"]), max_size=6))


@settings(deadline=None, max_examples=150)
@given(st.lists(PIECES, max_size=30))
def test_any_soup_of_tags_is_read_without_a_failure(pieces):
    document = blocks("".join(pieces))
    assert all(block.text.strip() for block in document.blocks)
