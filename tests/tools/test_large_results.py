import copy
import pickle
import random
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qwen_agentkit.errors import ToolArgumentsError
from qwen_agentkit.schema import ContentItem, Message
from qwen_agentkit.tools.large_results import LargeResults
from qwen_agentkit.utils.tokenization_qwen import count_tokens

WORDS = ["alpha", "beta", "价格", "合同条款", "KX-41", "\n\n", "  ", "naïve", "👩‍👩‍👧", "e\u0301", "1234567"]


def long_text(tokens, seed=1):
    chosen = random.Random(seed)
    return " ".join(chosen.choice(WORDS) for _ in range(tokens // 2))


def name_in(text):
    return re.search(r'result="([^"]+)"', text)[1]


def read_all(tool, name, limit):
    whole, offset = "", 0
    while True:
        page = tool.call({"result": name, "offset": offset, "limit": limit})
        text, _, notice = page.rpartition("\n\n[")
        whole += text
        if notice.startswith("end of the result"):
            return whole
        offset = int(re.search(r"offset=(\d+)", notice)[1])


def test_a_result_that_fits_is_left_alone(tmp_path):
    store = LargeResults(tmp_path)
    items = [ContentItem(text="x"), ContentItem(image="a.png")]
    assert store.fit("short") == "short"
    assert store.fit(items) == items
    assert not list(tmp_path.iterdir())


def test_300k_tokens_are_put_together_again_exactly(tmp_path):
    text = long_text(300_000)
    assert count_tokens(text) > 300_000
    store = LargeResults(tmp_path)
    start = time.monotonic()
    shown = store.fit(text, call_id="call_9f")
    assert time.monotonic() - start < 5
    assert count_tokens(shown) < 7_200
    name = name_in(shown)
    assert name.startswith("call_9f_")
    assert read_all(store.tool(), name, 20_000) == text


def test_the_preview_and_the_first_page_join_without_a_gap(tmp_path):
    text = long_text(40_000)
    store = LargeResults(tmp_path)
    shown = store.fit(text)
    preview = shown.partition("\n\n[This result has about")[0]
    offset = int(re.search(r"offset=(\d+)", shown)[1])
    assert text.startswith(preview)
    following, _, _ = store.read(name_in(shown), offset, 500)
    assert text.startswith(preview + following)
    assert 0.9 * 7000 < count_tokens(preview) < 1.1 * 7000


@settings(max_examples=30, deadline=None)
@given(
    text=st.text(alphabet=st.characters() | st.sampled_from(" \n\t中👍"), min_size=1, max_size=400),
    limit=st.integers(1, 30),
)
def test_pages_of_any_size_tile_any_text(tmp_path_factory, text, limit):
    store = LargeResults(tmp_path_factory.mktemp("store"), limit=1, preview=0)
    shown = store.fit(text)
    if "result=" not in shown:
        return
    whole, offset, total = "", 0, 1
    while offset < total:
        page, following, total = store.read(name_in(shown), offset, limit)
        assert following > offset
        whole, offset = whole + page, following
    assert whole == text


def test_one_endless_line_and_endless_spaces_are_paged_too(tmp_path):
    store = LargeResults(tmp_path, limit=100, preview=10)
    for text in ("x7" * 30_000, " " * 60_000 + "end", "汉" * 20_000):
        shown = store.fit(text)
        assert len(shown) < 2_000
        assert read_all(store.tool(), name_in(shown), 90) == text


def test_the_tool_reads_nothing_but_kept_results(tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    store = LargeResults(tmp_path / "store", limit=10, preview=5)
    kept = name_in(store.fit("word " * 100))
    (tmp_path / "store" / f"link_{'0' * 32}.txt").symlink_to(tmp_path / "secret.txt")
    tool = store.tool()
    for name in ("../secret", "secret", "/etc/passwd", f"{kept}/../../secret", f"link_{'0' * 32}", f"x_{'a' * 32}", ""):
        with pytest.raises(ToolArgumentsError) as caught:
            tool.call({"result": name})
        assert "\n" not in str(caught.value)
    assert "word" in tool.call({"result": kept})


def test_a_store_of_another_conversation_does_not_find_it(tmp_path):
    kept = name_in(LargeResults(tmp_path / "a", limit=10, preview=5).fit("word " * 100))
    with pytest.raises(ToolArgumentsError):
        LargeResults(tmp_path / "b").read(kept)


def test_another_process_of_the_conversation_reads_on(tmp_path):
    text = "word " * 1000
    kept = name_in(LargeResults(tmp_path, limit=10, preview=5).fit(text))
    again = pickle.loads(pickle.dumps(LargeResults(tmp_path, limit=500, preview=5)))
    assert read_all(again.tool(), kept, 100) == text
    assert read_all(copy.deepcopy(again).tool(), kept, 100) == text


def test_a_write_failure_gives_the_preview_and_the_reason(tmp_path):
    (tmp_path / "store").write_text("a file where the folder should be")
    text = LargeResults(tmp_path / "store", limit=100, preview=10).fit("word " * 1000)
    assert text.startswith("word word")
    assert "could not be kept" in text
    assert len(text) < 500


def test_the_notice_is_in_the_language_of_the_run_and_pictures_stay(tmp_path):
    store = LargeResults(tmp_path, limit=100, preview=10)
    items = store.fit([ContentItem(text="词 " * 1000), ContentItem(image="a.png")], lang="zh")
    assert "全文已保存" in items[0].text
    assert items[1].image == "a.png"


def test_a_page_is_bounded_whatever_the_model_asks_for(tmp_path):
    store = LargeResults(tmp_path)
    kept = name_in(store.fit(long_text(100_000)))
    assert count_tokens(store.tool().call({"result": kept, "limit": 10**9})) < 21_000
    for bad in ({"offset": -1}, {"limit": 0}):
        with pytest.raises(ToolArgumentsError):
            store.tool().call({"result": kept, **bad})


def test_whether_a_conversation_needs_the_tool_is_seen_in_its_texts(tmp_path):
    shown = LargeResults(tmp_path, limit=10, preview=5).fit("word " * 100)
    assert LargeResults.is_needed([Message("user", "q"), Message("function", shown, name="t")])
    assert LargeResults.is_needed([Message("system", f"Summary: {shown}")])
    assert not LargeResults.is_needed([Message("user", "q")])


def test_a_limit_that_makes_no_sense_is_told(tmp_path):
    with pytest.raises(ValueError, match="preview=20"):
        LargeResults(tmp_path, limit=10, preview=20)
