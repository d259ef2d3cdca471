import logging

from qwen_agentkit.utils.text import words_zh


def test_words_join_to_the_text_and_the_cache_is_private(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(words_zh, "_CUTTER", None)
    with caplog.at_level(logging.DEBUG):
        words = words_zh.cut_words("电动机的保修期")
    assert "".join(words) == "电动机的保修期" and "保修期" in words
    assert list((tmp_path / "qwen_agentkit" / "jieba").iterdir())
    assert not [record for record in caplog.records if record.name == "jieba"]
