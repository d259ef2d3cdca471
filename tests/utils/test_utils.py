import base64
import json
import os
import signal
import subprocess
import sys
import wave

import pytest

from qwen_agentkit.schema import ContentItem, Message
from qwen_agentkit.utils import utils
from qwen_agentkit.utils.utils import *  # noqa: F403 (the drop-in form)


def test_every_name_of_the_drop_in_is_there():
    for name in utils.__all__:
        assert callable(getattr(utils, name))


def test_importing_it_loads_nothing_heavy_and_touches_no_signal():
    program = (
        "import signal, sys; before = [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)]\n"
        "import qwen_agentkit.utils.utils\n"
        "assert before == [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)]\n"
        "print([m for m in ('numpy', 'soundfile', 'PIL', 'pydantic', 'requests', 'openai') if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "[]"


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("/mnt/a/b/c", "c"),
        ("https://github.com/here?k=v", "here"),
        ("https://github.com/", "github.com"),
        ("https://host/a/b%20c.pdf#x", "b c.pdf"),
        ("C:\\a\\b\\c", "c"),
        ("a.txt", "a.txt"),
    ],
)
def test_the_name_in_a_path_or_address(given, name):
    assert utils.get_basename_from_url(given) == name


def test_a_file_in_the_work_dir_is_not_destroyed_by_being_saved_there(tmp_path):
    data = tmp_path / "my.csv"
    data.write_text("precious")
    assert utils.save_url_to_local_work_dir(str(data), str(tmp_path)) == str(data)
    assert data.read_text() == "precious"


def test_a_file_is_copied_and_may_get_another_name(tmp_path):
    (tmp_path / "a.csv").write_text("1")
    saved = utils.save_url_to_local_work_dir(str(tmp_path / "a.csv"), str(tmp_path / "w"), "b.csv")
    assert saved == str(tmp_path / "w" / "b.csv")
    saved = utils.save_url_to_local_work_dir(str(tmp_path / "a.csv"), str(tmp_path / "w"), "../../evil.csv")
    assert os.path.dirname(saved) == str(tmp_path / "w")
    with pytest.raises(FileNotFoundError):
        utils.save_url_to_local_work_dir(str(tmp_path / "none.csv"), str(tmp_path / "w"))


def test_an_address_is_fetched_by_the_guarded_client(site, tmp_path, monkeypatch):
    site.routes["/d%20e.txt"] = (200, {}, b"content")
    with pytest.raises(Exception, match="not a public address"):
        utils.save_url_to_local_work_dir(f"{site.url}/d%20e.txt", str(tmp_path))
    from qwen_agentkit import settings

    monkeypatch.setitem(vars(settings), "WEB_ALLOWED_HOSTS", ["127.0.0.1"])
    saved = utils.save_url_to_local_work_dir(f"{site.url}/d%20e.txt", str(tmp_path))
    assert saved == str(tmp_path / "d e.txt")
    assert open(saved).read() == "content"  # noqa: SIM115


def test_file_addresses_are_paths(tmp_path):
    (tmp_path / "a b.txt").write_text("x")
    assert utils.sanitize_chrome_file_path((tmp_path / "a b.txt").as_uri()) == str(tmp_path / "a b.txt")
    assert utils.sanitize_chrome_file_path("plain/none.txt") == "plain/none.txt"


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.PDF", b"", "pdf"),
        ("a.xlsx", b"", "xlsx"),
        ("page", b"<html><body><p>x</p></body></html>", "html"),
        ("notes.md", b"# T\n<div>kept</div>", "txt"),
        ("plain", b"a < b, c > d", "txt"),
        ("binary", b"\x00\x01\x02", "unk"),
    ],
)
def test_the_kind_of_a_file(tmp_path, name, content, kind):
    (tmp_path / name).write_bytes(content)
    assert utils.get_file_type(str(tmp_path / name)) == kind


def test_the_kind_of_an_address_and_of_nothing(site, loopback_allowed):
    site.routes["/paper"] = (200, {"Content-Type": "application/pdf"}, b"")
    site.routes["/page"] = (200, {"Content-Type": "text/html"}, b"")
    assert utils.get_file_type(f"{site.url}/paper") == "pdf"
    assert utils.get_file_type(f"{site.url}/page") == "html"
    assert utils.get_file_type("/nowhere/at all") == "unk"


def test_text_files_of_other_encodings_are_read(tmp_path):
    text = "这是一个用来测试编码的中文文件，里面有足够多的汉字可以判断。"
    (tmp_path / "a.txt").write_bytes(text.encode("gb18030"))
    assert utils.read_text_from_file(str(tmp_path / "a.txt")) == text
    utils.save_text_to_file(str(tmp_path / "b.txt"), text)
    assert utils.read_text_from_file(str(tmp_path / "b.txt")) == text


def test_urls_and_code_are_found():
    assert utils.extract_urls("see https://a.b/c and http://d") == ["https://a.b/c", "http://d"]
    assert utils.extract_markdown_urls("![x](a.png) and [y](http://b)") == ["a.png", "http://b"]
    assert utils.extract_code("text\n```py\nprint(1)\n```") == "print(1)\n"
    assert utils.extract_code("{'code': 'x = 1'}") == "x = 1"
    assert utils.extract_code("x = 1") == "x = 1"
    assert utils.extract_code('["code"]') == '["code"]'


def test_json_is_read_with_tolerance_and_written_plainly():
    assert utils.json_loads("```json\n{'a': 1,}\n```") == {"a": 1}
    with pytest.raises(json.JSONDecodeError):
        utils.json_loads("no")
    message = Message("user", "你好")
    assert utils.json_dumps_compact([message]) == '[{"role": "user", "content": "你好"}]'
    assert "\n  " in utils.json_dumps_pretty({"a": 1})


def test_chinese_is_noticed_where_asked():
    assert utils.has_chinese_chars(["好"])
    assert not utils.has_chinese_chars("ok")
    talk = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "你好"}]
    assert not utils.has_chinese_messages(talk)
    assert utils.has_chinese_messages(talk, check_roles=("assistant",))


MIXED = Message("user", [ContentItem(text="look"), ContentItem(image="/x/a.png"), ContentItem(file="http://h/b.pdf")])


def test_uploads_are_announced_once():
    copied = utils.format_as_multimodal_message(MIXED, True, True, False)
    assert [item.type for item in copied.content] == ["text", "text", "image"]
    assert copied.content[0].text == "(Uploaded ![image](a.png) [file](b.pdf)) "
    again = utils.format_as_multimodal_message(copied, True, False, False)
    assert [item.type for item in again.content] == ["text", "text", "image"]
    assert utils.format_as_text_message(MIXED, True, lang="zh").content == "（上传了 ![图片](a.png) [文件](b.pdf)）look"
    assert utils.extract_text_from_message(MIXED, add_upload_info=False) == "look"
    assert MIXED.content[0].text == "look"


def test_files_and_images_of_messages():
    assert utils.extract_files_from_messages([MIXED, MIXED], include_images=False) == ["http://h/b.pdf"]
    assert utils.extract_files_from_messages([MIXED], include_images=True) == ["/x/a.png", "http://h/b.pdf"]
    assert utils.extract_images_from_messages([MIXED]) == ["/x/a.png"]


def test_the_last_user_message_is_found():
    talk = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    assert utils.get_last_usr_msg_idx(talk) == 0
    with pytest.raises(ValueError, match="None of the 0"):
        utils.get_last_usr_msg_idx([])


def test_an_empty_system_message_is_removed():
    talk = [Message("system", ""), Message("user", "a")]
    assert utils.rm_default_system(talk) == talk[1:]
    assert utils.rm_default_system([Message("system", "x"), talk[1]])[0].content == "x"


def test_settings_are_merged_and_stop_words_united():
    base = {"stop": ["a"], "top_p": 0.5}
    assert utils.merge_generate_cfgs(base_generate_cfg=base, new_generate_cfg=None) == base
    assert utils.merge_generate_cfgs(base, {"stop": ["b", "a"], "top_p": 0.9}) == {"stop": ["a", "b"], "top_p": 0.9}
    assert base["stop"] == ["a"]


def test_a_completion_prompt_is_open_for_the_assistant():
    prompt = utils.build_text_completion_prompt([Message("system", "S"), Message("user", "U")])
    assert prompt == "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n"
    call = Message("assistant", "", function_call={"name": "f", "arguments": '{"a": 1}'})
    with pytest.raises(ValueError, match="allow_special"):
        utils.build_text_completion_prompt([Message("user", "U"), call])
    assert '"name": "f"' in utils.build_text_completion_prompt([Message("user", "U"), call], allow_special=True)


def test_pictures_go_to_base64_and_back(tmp_path):
    from PIL import Image

    path = tmp_path / "a.png"
    Image.new("RGBA", (200, 100), "red").save(path)
    encoded = utils.encode_image_as_base64(str(path), max_short_side_length=50)
    assert utils.load_image_from_base64(encoded).size == (100, 50)
    assert utils.load_image_from_base64(encoded.partition(",")[2].encode()).size == (100, 50)
    assert utils.resize_image(Image.new("RGB", (10, 400)), 5).size == (5, 200)


def test_speech_is_written_as_wav_and_files_as_data_addresses(tmp_path):
    samples = b"\x01\x00" * 2400
    path = str(tmp_path / "a.wav")
    utils.save_audio_to_file(base64.b64encode(samples).decode(), path)
    with wave.open(path) as sound:
        assert (sound.getframerate(), sound.getnchannels(), sound.readframes(9999)) == (24000, 1, samples)
    assert utils.encode_audio_as_base64(path).startswith("data:;base64,UklGR")
    assert utils.encode_video_as_base64(path) == utils.encode_audio_as_base64(path)


def test_a_signal_handler_is_added_and_the_old_one_still_runs():
    seen = []
    original = signal.getsignal(signal.SIGUSR1)
    try:
        signal.signal(signal.SIGUSR1, lambda *_: seen.append("old"))
        utils.append_signal_handler(signal.SIGUSR1, lambda *_: seen.append("new"))
        os.kill(os.getpid(), signal.SIGUSR1)
        assert seen == ["new", "old"]
    finally:
        signal.signal(signal.SIGUSR1, original)


def test_hashes_tracebacks_and_addresses(caplog):
    assert utils.hash_sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    try:
        raise RuntimeError("seen")
    except RuntimeError:
        utils.print_traceback()
    assert "RuntimeError: seen" in caplog.text
    assert utils.get_local_ip().count(".") == 3
    assert utils.is_image("https://x/a.JPG?q=1")
    assert not utils.is_image("a.txt")
