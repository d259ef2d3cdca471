"""Files, images, audio and video in messages."""

import pytest

from qwen_agentkit.llm.media import as_audio_part, as_file_url, as_image_url, as_video_part, fit_media
from qwen_agentkit.schema import ContentItem, Message


def fitted(content, accepts=(), role="user", **settings):
    return fit_media([Message(role, content)], accepts, **settings)[0].content


def test_plain_text_is_handed_on_as_it_is():
    message = Message("user", "hi")
    assert fit_media([message], [])[0] is message


def test_what_a_model_does_not_take_is_announced_by_its_name():
    content = [ContentItem(text="x"), ContentItem(image="/a/p.png"), ContentItem(audio="file:///b/a%20b.wav")]
    assert fitted(content) == "(Uploaded [image](p.png) [audio](a b.wav)) x"
    assert fitted(content, lang="zh") == "（上传了 [图片](p.png) [音频](a b.wav)）x"


def test_addresses_are_named_whole_and_data_is_not():
    content = [ContentItem(image="http://h/p.png"), ContentItem(image="data:image/png;base64,AAAA")]
    assert fitted(content) == "(Uploaded [image](http://h/p.png) [image](data)) "


def test_what_a_model_takes_stays_and_is_announced_only_for_tools():
    content = [ContentItem(image="http://h/p.png"), ContentItem(text="x")]
    assert [item.type for item in fitted(content, ["image"])] == ["image", "text"]
    announced = fitted(content, ["image"], announce=True)
    assert [item.type for item in announced] == ["text", "image", "text"]
    assert announced[0].text == "(Uploaded [image](http://h/p.png)) "


def test_an_assistants_own_media_is_left_out_in_silence():
    content = [ContentItem(text="Here: "), ContentItem(image="http://h/p.png")]
    assert fitted(content, role="assistant") == "Here: "


def test_local_files_become_data(tmp_path):
    path = tmp_path / "p.jpg"
    path.write_bytes(b"abc")
    assert as_image_url(str(path)) == as_image_url(f"file://{path}") == "data:image/jpeg;base64,YWJj"
    assert as_image_url("https://h/p.jpg") == "https://h/p.jpg"
    assert as_file_url(str(path)) == f"file://{path}"
    with pytest.raises(ValueError, match="gone"):
        as_image_url(str(tmp_path / "gone.jpg"))


def test_audio_and_video_parts(tmp_path):
    path = tmp_path / "a.mp3"
    path.write_bytes(b"abc")
    part = as_audio_part(str(path))["input_audio"]
    assert (part["format"], part["data"][:22]) == ("mp3", "data:audio/mpeg;base64")
    assert as_audio_part({"data": "x", "format": "wav"})["input_audio"] == {"data": "x", "format": "wav"}
    assert as_video_part("http://h/v.mp4") == {"type": "video_url", "video_url": {"url": "http://h/v.mp4"}}
    assert as_video_part(["http://h/1.png"]) == {"type": "video", "video": ["http://h/1.png"]}
