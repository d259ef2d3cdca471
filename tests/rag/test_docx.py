import docx as python_docx
import pytest

from qwen_agentkit.errors import DamagedFile, LimitExceededInFile, PasswordRequired
from qwen_agentkit.rag.limits import ReadLimits
from tests.rag.packages import W, docx, kinds, para, read_document, rels, texts, write_zip

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 20


def test_text_tables_and_headings_stand_in_their_order(tmp_path):
    made = python_docx.Document()
    made.add_heading("Pump manual", 1)
    made.add_paragraph("Before the table.")
    table = made.add_table(rows=2, cols=2)
    for cell, text in zip(table._cells, ["Part", "Torque", "Bolt | M8", "25 Nm"], strict=True):
        cell.text = text
    made.add_paragraph("After the table.")
    made.add_heading("Care", 2)
    made.add_paragraph("Oil it.")
    made.save(tmp_path / "a.docx")
    document = read_document(tmp_path / "a.docx")
    assert kinds(document) == [
        ("heading", "Pump manual"),
        ("text", "Before the table."),
        ("table", "| Part | Torque |\n| --- | --- |\n| Bolt \\| M8 | 25 Nm |"),
        ("text", "After the table."),
        ("heading", "Care"),
        ("text", "Oil it."),
    ]
    assert document.sections()[-1] == "Pump manual > Care"


def test_insertions_are_read_and_deletions_are_not(tmp_path):
    body = (
        "<w:p><w:r><w:t>Due in </w:t></w:r><w:del><w:r><w:delText>March</w:delText></w:r></w:del>"
        "<w:ins><w:r><w:t>October</w:t></w:r></w:ins><w:moveFrom><w:r><w:t> gone</w:t></w:r></w:moveFrom></w:p>"
        "<w:ins><w:p><w:r><w:t>A new clause</w:t></w:r></w:p></w:ins>"
        "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>kept</w:t></w:r></w:p></w:tc><w:tc><w:p/></w:tc></w:tr>"
        "<w:tr><w:trPr><w:del/></w:trPr><w:tc><w:p><w:r><w:t>removed</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
    )
    document = read_document(docx(tmp_path / "a.docx", body))
    assert document.text == "Due in October\n\nA new clause\n\n| kept |"


def test_a_text_box_is_read_once_although_its_fallback_repeats_it(tmp_path):
    box = f"<w:txbxContent>{para('In the box')}</w:txbxContent>"
    body = (
        "<w:p><w:r><w:t>Before</w:t></w:r><w:r><mc:AlternateContent><mc:Choice><w:drawing><wp:inline>"
        f"{box}</wp:inline></w:drawing></mc:Choice><mc:Fallback><w:pict><v:shape>{box}</v:shape></w:pict></mc:Fallback>"
        "</mc:AlternateContent></w:r><w:r><w:t> after</w:t></w:r></w:p>"
    )
    assert texts(read_document(docx(tmp_path / "a.docx", body))) == ["Before after", "In the box"]


def test_content_controls_smart_tags_and_hyperlinks_keep_their_text(tmp_path):
    body = (
        "<w:sdt><w:sdtPr><w:alias w:val='no'/></w:sdtPr><w:sdtContent>" + para("Control") + "</w:sdtContent></w:sdt>"
        "<w:p><w:smartTag><w:r><w:t>Ann </w:t></w:r></w:smartTag><w:hyperlink><w:r><w:t>link </w:t></w:r></w:hyperlink>"
        "<w:fldSimple><w:r><w:t>field </w:t></w:r></w:fldSimple><w:sdt><w:sdtContent><w:r><w:t>inline</w:t></w:r>"
        "</w:sdtContent></w:sdt><w:r><w:instrText>PAGE</w:instrText></w:r></w:p>"
    )
    assert texts(read_document(docx(tmp_path / "a.docx", body))) == ["Control", "Ann link field inline"]


def test_headers_and_footers_come_once_and_notes_follow_their_paragraph(tmp_path):
    body = (
        "<w:p><w:r><w:t>Claim</w:t><w:footnoteReference w:id='2'/><w:endnoteReference w:id='3'/>"
        "<w:commentReference w:id='0'/></w:r></w:p>" + para("Next")
    )
    links = {
        "r1": ("header", "header1.xml"),
        "r2": ("header", "header2.xml"),
        "r3": ("footer", "footer1.xml"),
        "r4": ("footnotes", "footnotes.xml"),
        "r5": ("comments", "comments.xml"),
        "r6": ("endnotes", "endnotes.xml"),
    }
    cell = "<w:tc><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>"
    document = read_document(
        docx(
            tmp_path / "a.docx",
            body,
            links,
            header1_xml=f"<w:hdr>{para('HX-1')}<w:tbl><w:tr>{cell.format('No.')}{cell.format('QA-1')}</w:tr></w:tbl></w:hdr>",
            header2_xml=f"<w:hdr>{para('Even pages')}</w:hdr>",
            footer1_xml=f"<w:ftr>{para('Page foot')}</w:ftr>",
            footnotes_xml=f"<w:footnotes><w:footnote w:id='2'>{para('See law.')}</w:footnote></w:footnotes>",
            endnotes_xml=f"<w:endnotes><w:endnote w:id='3'>{para('The end.')}</w:endnote></w:endnotes>",
            comments_xml=f"<w:comments><w:comment w:id='0' w:author='Ann'>{para('Really?')}</w:comment></w:comments>",
        )
    )
    assert kinds(document) == [
        ("note", "Header: HX-1\n| No. | QA-1 |"),
        ("note", "Header: Even pages"),
        ("note", "Footer: Page foot"),
        ("text", "Claim"),
        ("note", "Footnote 1: See law."),
        ("note", "Endnote 1: The end."),
        ("note", "Comment by Ann: Really?"),
        ("text", "Next"),
    ]


def test_a_comment_in_a_header_does_not_hide_those_of_the_body(tmp_path):
    body = "<w:p><w:r><w:t>Body</w:t><w:commentReference w:id='0'/></w:r></w:p>"
    header = "<w:hdr><w:p><w:r><w:t>Head</w:t><w:commentReference w:id='9'/></w:r></w:p></w:hdr>"
    document = read_document(
        docx(
            tmp_path / "a.docx",
            body,
            {"r1": ("header", "header1.xml"), "r2": ("comments", "comments.xml")},
            header1_xml=header,
            comments_xml=f"<w:comments><w:comment w:id='0' w:author='Ann'>{para('Really?')}</w:comment></w:comments>",
        )
    )
    assert texts(document) == ["Header: Head", "Body", "Comment by Ann: Really?"]


def test_merged_cells_stand_in_every_row_and_column_but_a_title_stands_once(tmp_path):
    def span(columns):
        return f"<w:gridSpan w:val='{columns}'/>"

    restart = "<w:vMerge w:val='restart'/>"

    def cell(text, properties=""):
        return f"<w:tc><w:tcPr>{properties}</w:tcPr><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>"

    body = (
        f"<w:tbl><w:tr>{cell('Title', span(3))}</w:tr>"
        f"<w:tr>{cell('Region')}{cell('Year', span(2))}</w:tr>"
        f"<w:tr>{cell('West', restart)}{cell('same')}{cell('same')}</w:tr>"
        f"<w:tr>{cell('', '<w:vMerge/>')}{cell('3')}{cell('4')}</w:tr></w:tbl>"
    )
    assert texts(read_document(docx(tmp_path / "a.docx", body))) == [
        "| Title |  |  |\n| --- | --- | --- |\n| Region | Year | Year |\n| West | same | same |\n| West | 3 | 4 |"
    ]


def test_lists_have_the_markers_that_word_shows(tmp_path):
    def item(text, number, level=0):
        return para(text, f"<w:numPr><w:ilvl w:val='{level}'/><w:numId w:val='{number}'/></w:numPr>")

    numbering = (
        "<w:numbering><w:abstractNum w:abstractNumId='0'>"
        "<w:lvl w:ilvl='0'><w:start w:val='1'/><w:numFmt w:val='decimal'/><w:lvlText w:val='%1.'/></w:lvl>"
        "<w:lvl w:ilvl='1'><w:numFmt w:val='lowerLetter'/><w:lvlText w:val='%1.%2)'/></w:lvl></w:abstractNum>"
        "<w:abstractNum w:abstractNumId='1'><w:lvl w:ilvl='0'><w:numFmt w:val='bullet'/><w:lvlText w:val='x'/></w:lvl>"
        "</w:abstractNum><w:num w:numId='5'><w:abstractNumId w:val='0'/></w:num>"
        "<w:num w:numId='6'><w:abstractNumId w:val='1'/></w:num></w:numbering>"
    )
    body = item("one", 5) + item("deep", 5, 1) + item("deeper", 5, 1) + item("two", 5) + item("dot", 6)
    document = read_document(
        docx(tmp_path / "a.docx", body, {"r": ("numbering", "numbering.xml")}, numbering_xml=numbering)
    )
    assert texts(document) == ["1. one", "  1.a) deep", "  1.b) deeper", "2. two", "- dot"]
    assert {block.kind for block in document.blocks} == {"list_item"}


def test_headings_are_known_by_style_name_outline_level_and_inheritance(tmp_path):
    styles = (
        "<w:styles><w:style w:type='paragraph' w:styleId='berschrift2'><w:name w:val='heading 2'/></w:style>"
        "<w:style w:type='paragraph' w:styleId='Own'><w:name w:val='Own'/><w:basedOn w:val='berschrift2'/></w:style>"
        "<w:style w:type='paragraph' w:styleId='T'><w:name w:val='Title'/></w:style></w:styles>"
    )
    body = (
        para("The title", "<w:pStyle w:val='T'/>")
        + para("By name", "<w:pStyle w:val='berschrift2'/>")
        + para("Inherited", "<w:pStyle w:val='Own'/>")
        + para("By outline", "<w:outlineLvl w:val='2'/>")
    )
    document = read_document(docx(tmp_path / "a.docx", body, {"r": ("styles", "styles.xml")}, styles_xml=styles))
    assert [(block.kind, block.level) for block in document.blocks] == [("heading", level) for level in (1, 2, 2, 3)]
    assert document.title == "The title"


def test_a_strict_file_is_read_like_a_transitional_one(tmp_path):
    strict = "http://purl.oclc.org/ooxml/wordprocessingml/main"
    path = write_zip(
        tmp_path / "a.docx",
        {
            "_rels/.rels": rels(r1=("officeDocument", "/word/document.xml")).replace(
                "http://schemas.openxmlformats.org/officeDocument/2006", "http://purl.oclc.org/ooxml/officeDocument"
            ),
            "word/document.xml": f'<w:document xmlns:w="{strict}"><w:body>{para("Strict words")}</w:body></w:document>',
        },
    )
    assert read_document(path).text == "Strict words"


def test_links_that_lead_nowhere_are_ignored(tmp_path):
    links = {"r1": ("image", "NULL"), "r2": ("header", "../NULL"), "r3": ("styles", "missing.xml")}
    assert read_document(docx(tmp_path / "a.docx", para("Readable"), links)).text == "Readable"


def test_a_frame_of_one_cell_is_text_and_a_table_in_a_cell_keeps_its_words(tmp_path):
    inner = f"<w:tbl><w:tr><w:tc>{para('x')}</w:tc><w:tc>{para('y')}</w:tc></w:tr></w:tbl>"
    frame = f"<w:tbl><w:tr><w:tc>{para('Framed')}{inner}</w:tc></w:tr></w:tbl>"
    table = (
        f"<w:tbl><w:tr><w:tc>{para('a')}</w:tc><w:tc>{inner}</w:tc></w:tr><w:tr><w:tc>{para('b')}</w:tc><w:tc>"
        f"<w:p/></w:tc></w:tr></w:tbl>"
    )
    document = read_document(docx(tmp_path / "a.docx", frame + table))
    assert texts(document) == ["Framed", "| x | y |", "| a | x, y |\n| --- | --- |\n| b |  |"]


def test_pictures_are_kept_when_asked_for_and_their_descriptions_always_read(tmp_path):
    body = (
        "<w:p><w:r><w:drawing><wp:inline><wp:docPr descr='A red pump'/><a:blip r:embed='p'/></wp:inline>"
        "</w:drawing></w:r></w:p>"
    )
    path = docx(tmp_path / "a.docx", body, {"p": ("image", "media.png")}, media_png=PNG)
    assert texts(read_document(path)) == ["Image: A red pump"]
    assert read_document(path).images == []
    (image,) = read_document(path, keep_images=True).images
    assert (image.media_type, image.name, image.data) == ("image/png", "A red pump", PNG)


def test_formulas_symbols_and_breaks_become_characters(tmp_path):
    body = (
        "<w:p><m:oMath><m:f><m:num><m:r><m:t>a+b</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f>"
        "</m:oMath>"
        "<w:r><w:tab/><w:sym w:font='Wingdings' w:char='F0FC'/><w:sym w:font='Symbol' w:char='F061'/><w:br/>"
        "<w:t>non</w:t><w:noBreakHyphen/><w:t>stop</w:t></w:r></w:p>"
    )
    assert read_document(docx(tmp_path / "a.docx", body)).text == "(a+b)/2\t✓α\nnon-stop"


def test_deep_nesting_loses_structure_but_no_text(tmp_path):
    body = "<w:sdt><w:sdtContent>" * 400 + para("At the bottom") + "</w:sdtContent></w:sdt>" * 400
    assert "At the bottom" in read_document(docx(tmp_path / "a.docx", body)).text


def test_an_encrypted_file_asks_for_a_password(tmp_path):
    path = tmp_path / "a.docx"
    path.write_bytes(
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + "EncryptedPackage".encode("utf-16-le") + bytes(40)
    )
    with pytest.raises(PasswordRequired, match=r"a\.docx"):
        read_document(path)


def test_a_bomb_is_stopped_by_what_really_comes_out(tmp_path):
    path = docx(tmp_path / "a.docx", para("A" * 3_000_000) * 10)
    with pytest.raises(LimitExceededInFile, match="expands too much"):
        read_document(path, limits=ReadLimits(inflated_bytes=1_000_000))


def test_what_stands_before_broken_xml_is_kept_with_a_warning(tmp_path):
    path = docx(tmp_path / "a.docx", para("First"))
    whole = f'<w:document xmlns:w="{W}"><w:body>{para("First")}{para("Second")}<w:p><w:r><w:t>Third'
    document = read_document(
        write_zip(path, {"_rels/.rels": rels(r1=("officeDocument", "word/document.xml")), "word/document.xml": whole})
    )
    assert texts(document)[:2] == ["First", "Second"]


def test_a_package_without_a_document_is_damaged(tmp_path):
    with pytest.raises(DamagedFile):
        read_document(write_zip(tmp_path / "a.docx", {"word/other.xml": "<x/>"}))
