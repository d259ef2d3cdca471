import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qwen_agentkit.errors import DamagedFile, DocParserError
from tests.rag.packages import kinds, read_document, texts


def read(tmp_path, text, **options):
    data = text if isinstance(text, bytes) else text.encode("latin-1")
    (tmp_path / "a.rtf").write_bytes(data)
    return read_document(tmp_path / "a.rtf", **options)


def test_characters_by_code_page_unicode_and_name(tmp_path):
    document = read(
        tmp_path, r"{\rtf1\ansi\ansicpg1252\uc1 Caf\'e9 \u26446?\u38647? \ldblquote x\rdblquote\~y\emdash z\{\}\\}"
    )
    assert document.text == "Café 李雷 “x”\u00a0y—z{}\\"


def test_east_asian_fonts_whose_second_byte_is_a_letter(tmp_path):
    words = "能登ソフト表示"
    escaped = "".join(
        chr(byte) if 0x40 <= byte < 0x7F and chr(byte) not in "\\{}" else f"\\'{byte:02x}"
        for byte in words.encode("cp932")
    )
    document = read(
        tmp_path,
        r"{\rtf1\ansi{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset128 Mincho;}}\f1 " + escaped + r"\f0  ok\'e9}",
    )
    assert document.text == f"{words} oké"


def test_astral_characters_and_skipped_replacements(tmp_path):
    assert read(tmp_path, r"{\rtf1\uc2 a\u-10179??\u-8704??b\uc0\u233 c}").text == "a😀béc"


def test_tables_keep_their_cells_apart_and_merged_cells_are_filled(tmp_path):
    row = r"\trowd\cellx1000\cellx2000\intbl {}\cell {}\cell\row"
    merged = (
        r"\trowd\clvmgf\cellx1000\cellx2000\intbl West\cell 1\cell\row\trowd\clvmrg\cellx1000\cellx2000\intbl \cell "
        r"2\cell\row"
    )
    text = r"{\rtf1 Before\par " + row.format("Key", "Val") + row.format("K|1", "77") + merged + r"\pard After\par}"
    assert kinds(read(tmp_path, text)) == [
        ("text", "Before"),
        ("table", "| Key | Val |\n| --- | --- |\n| K\\|1 | 77 |\n| West | 1 |\n| West | 2 |"),
        ("text", "After"),
    ]


def test_headings_lists_notes_and_headers(tmp_path):
    text = (
        r"{\rtf1{\stylesheet{\s0 Normal;}{\s1\outlinelevel0 heading 1;}{\s2 heading 2;}}{\info{\title My "
        r"doc}{\author Ann}}"
        r"{\header Page head\par}\pard\s1 Chapter\par\pard\s2 Part\par\pard{\listtext\'95\tab}item\par"
        r"\pard{\listtext 1.\tab}first\par\pard Claim{\footnote See law.} goes on"
        r"{\*\atnauthor Bob}{\*\annotation Really?}.\par}"
    )
    document = read(tmp_path, text)
    assert document.title == "My doc"
    assert kinds(document) == [
        ("note", "Header: Page head"),
        ("heading", "Chapter"),
        ("heading", "Part"),
        ("list_item", "- item"),
        ("list_item", "1. first"),
        ("text", "Claim goes on."),
        ("note", "Footnote: See law."),
        ("note", "Comment by Bob: Really?"),
    ]
    assert [block.level for block in document.blocks[1:3]] == [1, 2]


def test_settings_fields_deletions_and_unknown_groups_are_no_text(tmp_path):
    text = (
        r"{\rtf1{\fonttbl{\f0 Arial;}}{\colortbl;\red0;}{\*\generator Riched20;}{\*\unknown words}"
        r"a{\field{\*\fldinst HYPERLINK x}{\fldrslt link}}{\deleted gone}{\pict\pngblip 89504e47}\bin5 #####b}"
    )
    assert read(tmp_path, text).text == "alinkb"


def test_a_star_in_the_middle_of_a_group_hides_nothing(tmp_path):
    assert read(tmp_path, r"{\rtf1{\f2\fs24\*\cs7\cf0 The quick fox}}").text == "The quick fox"


def test_pictures_are_kept_when_asked_for(tmp_path):
    data = b"\x89PNG\r\n\x1a\n" + bytes(8)
    document = read(tmp_path, r"{\rtf1 x{\pict\pngblip\picw1 " + data.hex() + "}}", keep_images=True)
    assert document.images[0].data == data
    assert document.text == "x"


def test_a_file_that_is_no_rtf_is_damaged(tmp_path):
    from qwen_agentkit.rag.builder import DocumentBuilder
    from qwen_agentkit.rag.limits import ReadOptions
    from qwen_agentkit.rag.parsers.rtf import parse

    (tmp_path / "a.rtf").write_bytes(b"plain")
    with pytest.raises(DamagedFile):
        parse(tmp_path / "a.rtf", DocumentBuilder("a", "rtf"), ReadOptions())


def test_thousands_of_open_groups_do_no_harm(tmp_path):
    assert "deep" in texts(read(tmp_path, r"{\rtf1 " + "{" * 20_000 + "deep"))


WORDS = r"{ } \par \cell \row \trowd \intbl \pard \'e9 \u233? \uc9 {\footnote {\* {\header \f1 \bin3 \deff \s2 x é \ \'"


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(WORDS.split(" ")), max_size=30))
def test_any_order_of_words_is_read_without_a_failure(tmp_path_factory, words):
    path = tmp_path_factory.mktemp("rtf") / "a.rtf"
    path.write_bytes((r"{\rtf1 start " + " ".join(words)).encode("latin-1"))
    try:
        read_document(path)
    except DocParserError as error:
        pytest.fail(str(error))
