from email.message import EmailMessage

import pytest

from tests.rag.packages import kinds, read_document, texts


def read(tmp_path, message, **options):
    data = message if isinstance(message, bytes) else message.as_bytes()
    (tmp_path / "a.eml").write_bytes(data)
    return read_document(tmp_path / "a.eml", **options)


def test_headers_are_decoded_and_the_plain_form_is_read(tmp_path):
    message = EmailMessage()
    message["Subject"] = "会议纪要 – été"
    message["From"] = "Zoë <z@example.org>"
    message["To"] = "b@example.org"
    message.set_content("Please send the report.\n\nBye")
    message.add_alternative("<p>The same as HTML</p>", subtype="html")
    document = read(tmp_path, message)
    assert document.title == "会议纪要 – été"
    assert kinds(document) == [
        ("heading", "会议纪要 – été"),
        ("text", "From: Zoë <z@example.org>\nTo: b@example.org"),
        ("text", "Please send the report."),
        ("text", "Bye"),
    ]


def test_an_html_body_is_decoded_by_its_charset(tmp_path):
    raw = b"Subject: x\r\nContent-Type: text/html; charset=gb2312\r\nContent-Transfer-Encoding: 8bit\r\n\r\n" + (
        "<p>请于周五前提交报告。</p><table><tr><td>甲</td><td>乙</td></tr><tr><td>1</td><td>2</td></tr></table>".encode(
            "gb18030"
        )
    )
    assert texts(read(tmp_path, raw))[1:] == ["请于周五前提交报告。", "| 甲 | 乙 |\n| --- | --- |\n| 1 | 2 |"]


def test_attachments_are_named_and_attached_texts_are_read(tmp_path):
    message = EmailMessage()
    message["Subject"] = "Files"
    message.set_content("See attached.")
    message.add_attachment("a,b\n1,2\n", subtype="csv", filename="数据.csv")
    message.add_attachment(b"\x00\x01", maintype="application", subtype="octet-stream", filename="../x.bin")
    document = read(tmp_path, message)
    assert texts(document)[1:] == [
        "See attached.",
        "Attachment: 数据.csv (text/csv, 8 bytes)",
        "| a | b |\n| --- | --- |\n| 1 | 2 |",
        "Attachment: x.bin (application/octet-stream, 2 bytes)",
    ]


def test_attached_messages_are_read_under_their_subject(tmp_path):
    inner = EmailMessage()
    inner["Subject"] = "Inner"
    inner.set_content("Inner words")
    message = EmailMessage()
    message["Subject"] = "Outer"
    message.set_content("Outer words")
    message.add_attachment(inner)
    document = read(tmp_path, message)
    assert document.sections()[-1] == "Outer > Inner"
    assert "Inner words" in document.text


def test_raw_bytes_in_headers_and_unknown_charsets_are_read(tmp_path):
    raw = (
        b"From: a\r\nSubject: "
        + "放假通知".encode("gb18030")
        + b"\r\nContent-Type: text/plain; charset=x-unknown\r\n\r\n"
    )
    document = read(tmp_path, raw + "déjà vu".encode("cp1252"))
    assert document.title == "放假通知"
    assert texts(document)[-1] == "déjà vu"


def test_attached_pictures_are_kept_when_asked_for(tmp_path):
    message = EmailMessage()
    message["Subject"] = "Picture"
    message.set_content("Look")
    message.add_attachment(b"\x89PNG\r\n\x1a\n123", maintype="image", subtype="png", filename="p.png")
    assert read(tmp_path, message, keep_images=True).images[0].name == "p.png"
    assert read(tmp_path, message).images == []


@pytest.mark.parametrize("nested", [3, 60])
def test_messages_in_messages_end_somewhere(tmp_path, nested):
    message = EmailMessage()
    message["Subject"] = "0"
    message.set_content("bottom")
    for level in range(nested):
        outer = EmailMessage()
        outer["Subject"] = str(level + 1)
        outer.add_attachment(message)
        message = outer
    document = read(tmp_path, message)
    assert ("bottom" in document.text) == (nested < 10)
    assert document.title == str(nested)
