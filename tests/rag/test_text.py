import json

from hypothesis import given
from hypothesis import strategies as st

from qwen_agentkit.rag.builder import DocumentBuilder
from qwen_agentkit.rag.parsers.markdown import add_markdown
from qwen_agentkit.rag.parsers.text import add_json
from tests.rag.packages import kinds, read_document, texts


def read(tmp_path, name, text):
    (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return read_document(tmp_path / name)


def markdown(text):
    builder = DocumentBuilder("x.md", "md")
    add_markdown(text, builder)
    return builder.document("x")


def test_code_is_kept_character_for_character(tmp_path):
    digest = "3f786850e387550fdab836ed7e6dc881de23001b"
    source = f'def f(x):\n        if x:\n                return "abc"\n\n\n# {digest}\n# -----\n'
    document = read(tmp_path, "a.py", source)
    assert kinds(document) == [("code", source.rstrip("\n"))]


def test_plain_text_is_divided_at_blank_lines_and_indents_stay(tmp_path):
    document = read(tmp_path, "a.txt", "  First line\n  second.\r\n\r\n\r\nNext   one.\n")
    assert kinds(document) == [("text", "  First line\n  second."), ("text", "Next   one.")]
    assert document.page_count is None


def test_form_feeds_divide_pages(tmp_path):
    document = read(tmp_path, "a.txt", "page one\fpage two\n\nmore\f")
    assert [(block.page, block.text) for block in document.blocks] == [(1, "page one"), (2, "page two"), (2, "more")]
    assert document.page_count == 2


def test_markdown_blocks_are_kept_as_they_are_written():
    document = markdown(
        "# One #\npara *x*\nmore\n\nSetext\n------\n- a\n  cont\n- b\n   - c\n\n1. x\n\n```py\ndef f():\n\n    "
        "return 1\n```\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n    indented\n\n<div>html</div>\n***\nend"
    )
    assert kinds(document) == [
        ("heading", "One"),
        ("text", "para *x*\nmore"),
        ("heading", "Setext"),
        ("list_item", "- a\n  cont"),
        ("list_item", "- b"),
        ("list_item", "   - c"),
        ("list_item", "1. x"),
        ("code", "```py\ndef f():\n\n    return 1\n```"),
        ("table", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("code", "    indented"),
        ("text", "<div>html</div>"),
        ("text", "end"),
    ]
    assert document.title == "One"
    assert document.blocks[2].level == 2


def test_front_matter_gives_the_title():
    document = markdown("---\ntitle: 'The handbook'\ntags: [a]\n---\n# Other\ntext")
    assert document.title == "The handbook"
    assert texts(document)[1:] == ["Other", "text"]


def test_an_unclosed_fence_ends_with_the_file():
    assert kinds(markdown("```\ncode # no heading\n")) == [("code", "```\ncode # no heading")]


@given(st.text(max_size=200))
def test_markdown_loses_no_word(text):
    text = text.replace("\r", "\n").replace("\x0b", " ").replace("\x0c", " ")
    document = markdown(text)
    found = "".join("".join(block.text.split()) for block in document.blocks)
    for word in text.split():
        if word.isalnum():
            assert word in found


def test_json_keeps_numbers_and_is_broken_into_lines_when_pressed_into_one():
    data = {
        "rows": [{"id": n, "price": 1.50, "name": 'a "quoted", {name}'} for n in range(200)],
        "empty": [],
        "none": {},
    }
    pressed = json.dumps(data).replace("1.5", "1.500")
    builder = DocumentBuilder("x.json", "json")
    add_json(pressed, builder)
    text = builder.blocks[0].text
    assert json.loads(text) == data
    assert '"price": 1.500' in text
    assert max(map(len, text.split("\n"))) < 100


def test_json_lines_stay_lines(tmp_path):
    assert read(tmp_path, "a.jsonl", '{"a": 1}\n{"a": 2}\n').text == '{"a": 1}\n{"a": 2}'


def test_xml_becomes_an_outline(tmp_path):
    document = read(
        tmp_path,
        "a.xml",
        '<?xml version="1.0" encoding="utf-8"?><order id="5"><item code="KX-41">Bolt &amp; nut</item>'
        "<note>Very <b>urgent</b> one</note><empty/></order>",
    )
    assert document.text == 'order id="5"\n  item code="KX-41": Bolt & nut\n  note: Very urgent one\n  empty'


def test_entities_and_children_side_by_side_in_xml_keep_their_words(tmp_path):
    document = read(
        tmp_path,
        "a.xml",
        '<!DOCTYPE a [<!ENTITY co "ACME">]><a><maker>&co;</maker><note>See <p>pump</p><p>valve</p> of &co;</note></a>',
    )
    assert document.text == "a\n  maker: &co;\n  note: See pump valve of &co;"


def test_broken_xml_is_kept_as_it_is(tmp_path):
    assert read(tmp_path, "a.xml", "<?xml version='1.0'?><a><b>text</a>").text == "<?xml version='1.0'?><a><b>text</a>"


def test_an_entity_bomb_is_not_resolved(tmp_path):
    bomb = (
        "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY x 'lol'>"
        + "".join(
            f"<!ENTITY x{n} '{'&x' + (str(n - 1) if n else '') + ';'}{'&x' + (str(n - 1) if n else '') + ';'}'>"
            for n in range(40)
        )
        + "]><a>&x39;</a>"
    )
    assert len(read(tmp_path, "a.xml", bomb).text) < 10_000
