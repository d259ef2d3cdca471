import io
import zipfile

import pptx as python_pptx
import pytest
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from qwen_agentkit.errors import DamagedFile
from tests.rag.packages import OFFICE, A, P, kinds, read_document, rels, texts, write_zip

DIAGRAM = "http://schemas.openxmlformats.org/drawingml/2006/diagram"


def saved(presentation, path):
    presentation.save(str(path))
    return path


def slide_xml(shapes):
    return (
        f'<p:sld xmlns:p="{P}" xmlns:a="{A}" xmlns:r="{OFFICE}" xmlns:dgm="{DIAGRAM}"><p:cSld><p:spTree>'
        f"{shapes}</p:spTree></p:cSld></p:sld>"
    )


def shape(text, placeholder=""):
    return (
        f"<p:sp><p:nvSpPr><p:cNvPr id='2' name='x'/><p:cNvSpPr/><p:nvPr>{placeholder}</p:nvPr></p:nvSpPr>"
        f"<p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
    )


def package(path, *slides, extra=None, links=None):
    parts = {
        "_rels/.rels": rels(r1=("officeDocument", "ppt/presentation.xml")),
        "ppt/presentation.xml": f'<p:presentation xmlns:p="{P}" xmlns:r="{OFFICE}"><p:sldIdLst>'
        + "".join(f'<p:sldId id="{256 + n}" r:id="s{n}"/>' for n in range(len(slides)))
        + "</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": rels(
            **{f"s{n}": ("slide", f"slides/slide{n}.xml") for n in range(len(slides))}
        ),
    }
    parts |= {f"ppt/slides/slide{n}.xml": xml for n, xml in enumerate(slides) if xml is not None}
    if links:
        parts["ppt/slides/_rels/slide0.xml.rels"] = rels(**links)
    return write_zip(path, parts | (extra or {}))


def test_titles_bullets_tables_notes_and_slide_numbers(tmp_path):
    made = python_pptx.Presentation()
    slide = made.slides.add_slide(made.slide_layouts[1])
    slide.shapes.title.text = "Plan"
    body = slide.placeholders[1].text_frame
    body.text = "First point"
    paragraph = body.add_paragraph()
    paragraph.text, paragraph.level = "Detail", 1
    table = slide.shapes.add_table(2, 2, Inches(1), Inches(3), Inches(4), Inches(1)).table
    for place, text in zip([(0, 0), (0, 1), (1, 0), (1, 1)], ["Team", "Seats", "A|B", "25"], strict=True):
        table.cell(*place).text = text
    slide.notes_slide.notes_text_frame.text = "Mention D5."
    second = made.slides.add_slide(made.slide_layouts[6])
    second.shapes.add_textbox(0, 0, Inches(1), Inches(1)).text_frame.text = "Only here"
    document = read_document(saved(made, tmp_path / "a.pptx"))
    assert [(block.page, block.kind, block.text) for block in document.blocks] == [
        (1, "heading", "Plan"),
        (1, "list_item", "- First point"),
        (1, "list_item", "  - Detail"),
        (1, "table", "| Team | Seats |\n| --- | --- |\n| A\\|B | 25 |"),
        (1, "note", "Speaker notes: Mention D5."),
        (2, "heading", "Slide 2"),
        (2, "text", "Only here"),
    ]
    assert (document.page_count, document.title) == (2, "Plan")


def test_groups_in_groups_and_charts_are_read(tmp_path):
    made = python_pptx.Presentation()
    slide = made.slides.add_slide(made.slide_layouts[6])
    outer = slide.shapes.add_group_shape()
    outer.shapes.add_textbox(0, 0, 10, 10).text_frame.text = "Valve V-12"
    outer.shapes.add_group_shape().shapes.add_textbox(0, 0, 10, 10).text_frame.text = "Sensor S-9"
    data = CategoryChartData()
    data.categories = ["Q1", "Q2"]
    data.add_series("North", (1.5, 2))
    data.add_series("South", (3, 4))
    chart = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, Inches(3), Inches(3), data).chart
    chart.has_title = True
    chart.chart_title.text_frame.text = "Sales"
    found = texts(read_document(saved(made, tmp_path / "a.pptx")))
    assert found[1:] == [
        "Valve V-12",
        "Sensor S-9",
        "Sales",
        "|  | North | South |\n| --- | --- | --- |\n| Q1 | 1.5 | 3 |\n| Q2 | 2 | 4 |",
    ]


def test_the_words_of_smart_art_are_a_list_with_its_levels(tmp_path):
    def point(key, text, kind="node"):
        return f"<dgm:pt modelId='{key}' type='{kind}'><dgm:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t></dgm:pt>"

    def link(source, target, place):
        return f"<dgm:cxn modelId='c{source}{target}' srcId='{source}' destId='{target}' srcOrd='{place}'/>"

    data = (
        f"<dgm:dataModel xmlns:dgm='{DIAGRAM}' xmlns:a='{A}'><dgm:ptLst>{point(0, '', 'doc')}{point(1, 'Boss')}"
        f"{point(3, 'Second')}{point(2, 'First')}{point(9, 'layout', 'pres')}</dgm:ptLst><dgm:cxnLst>"
        f"{link(0, 1, 0)}{link(1, 2, 0)}{link(1, 3, 1)}</dgm:cxnLst></dgm:dataModel>"
    )
    frame = (
        "<p:graphicFrame><p:nvGraphicFramePr/><a:graphic><a:graphicData><dgm:relIds r:dm='d'/></a:graphicData>"
        "</a:graphic></p:graphicFrame>"
    )
    path = package(
        tmp_path / "a.pptx",
        slide_xml(frame),
        extra={"ppt/diagrams/data1.xml": data},
        links={"d": ("diagramData", "../diagrams/data1.xml")},
    )
    assert texts(read_document(path))[1:] == ["- Boss", "  - First", "  - Second"]


def test_a_broken_or_missing_slide_costs_itself_and_a_warning(tmp_path):
    path = package(tmp_path / "a.pptx", slide_xml(shape("One")), None, slide_xml(shape("Three")))
    document = read_document(path)
    assert [(block.page, block.text) for block in document.blocks if block.kind == "text"] == [(1, "One"), (3, "Three")]
    assert document.warnings == ["slide 2 is missing or cannot be read"]


def test_a_slide_with_bad_data_costs_itself_only(tmp_path):
    path = package(tmp_path / "a.pptx", slide_xml(shape("One")), slide_xml(shape("Two")))
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as opened:
        info = opened.getinfo("ppt/slides/slide1.xml")
    at = info.header_offset + 30 + len(info.filename)
    data[at + 5 : at + 25] = bytes(20)
    path.write_bytes(bytes(data))
    document = read_document(path)
    assert "One" in document.text
    assert any("slide 2" in warning for warning in document.warnings)


def test_merged_table_cells_stand_in_each_row(tmp_path):
    cell = "<a:tc {}><a:txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p></a:txBody></a:tc>"
    table = (
        "<p:graphicFrame><p:nvGraphicFramePr/><a:graphic><a:graphicData><a:tbl>"
        f"<a:tr>{cell.format('', 'Region')}{cell.format('', 'City')}</a:tr>"
        f"<a:tr>{cell.format('rowSpan=' + chr(34) + '2' + chr(34), 'West')}{cell.format('', 'Porto')}</a:tr>"
        f"<a:tr>{cell.format('vMerge=' + chr(34) + '1' + chr(34), '')}{cell.format('', 'Faro')}</a:tr>"
        "</a:tbl></a:graphicData></a:graphic></p:graphicFrame>"
    )
    document = read_document(package(tmp_path / "a.pptx", slide_xml(table)))
    assert texts(document)[1] == "| Region | City |\n| --- | --- |\n| West | Porto |\n| West | Faro |"


def test_a_footer_repeated_on_every_slide_is_written_once_and_slide_numbers_never(tmp_path):
    shapes = shape("Confidential", "<p:ph type='ftr'/>") + shape("7", "<p:ph type='sldNum'/>")
    document = read_document(package(tmp_path / "a.pptx", slide_xml(shapes), slide_xml(shapes)))
    assert kinds(document) == [("heading", "Slide 1"), ("note", "Footer: Confidential")]


def test_pictures_are_kept_with_their_slide(tmp_path):
    from PIL import Image

    picture = io.BytesIO()
    Image.new("RGB", (4, 4)).save(picture, "PNG")
    made = python_pptx.Presentation()
    made.slides.add_slide(made.slide_layouts[6])
    slide = made.slides.add_slide(made.slide_layouts[6])
    slide.shapes.add_picture(io.BytesIO(picture.getvalue()), 0, 0)
    path = saved(made, tmp_path / "a.pptx")
    (image,) = read_document(path, keep_images=True).images
    assert (image.page, image.media_type) == (2, "image/png")
    document = read_document(path)
    assert document.images == []
    assert document.warnings == ["slides without text but with pictures (OCR is needed to read them): 2"]


def test_a_presentation_without_its_main_part_is_damaged(tmp_path):
    with pytest.raises(DamagedFile):
        read_document(write_zip(tmp_path / "a.pptx", {"ppt/x.xml": "<x/>"}))
