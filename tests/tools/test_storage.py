import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwen_agentkit import settings
from qwen_agentkit.errors import KeyNotExistsError, ToolArgumentsError
from qwen_agentkit.tools import Storage


@pytest.fixture
def storage(tmp_path):
    return Storage({"storage_root_path": str(tmp_path / "store")})


def test_what_is_put_can_be_got_scanned_and_deleted(storage):
    assert storage.call({"operate": "put", "key": "/345/456/11", "value": "hello"}) == "Successfully saved /345/456/11."
    assert storage.call('{"operate": "put", "key": "345/456/12", "value": "你好"}') == "Successfully saved 345/456/12."
    assert storage.call({"operate": "scan", "key": "345"}) == "/456/11: hello\n/456/12: 你好"
    assert storage.call({"operate": "scan"}) == "/345/456/11: hello\n/345/456/12: 你好"
    assert storage.call({"operate": "get", "key": "345/456/11"}) == "hello"
    assert storage.call({"operate": "delete", "key": "345/456/11"}) == "Successfully deleted 345/456/11"
    assert storage.call({"operate": "delete", "key": "345/456/11"}) == "Delete Failed: 345/456/11 does not exist"
    with pytest.raises(KeyNotExistsError):
        storage.call({"operate": "get", "key": "345/456/11"})


def test_a_key_may_hold_a_value_and_have_keys_below_it(storage):
    storage.put("a", "1")
    storage.put("a/b", "2")
    storage.put("a/b/c", "3")
    assert [storage.get(key) for key in ("a", "a/b", "a/b/c")] == ["1", "2", "3"]
    assert storage.scan("/") == "/a: 1\n/a/b: 2\n/a/b/c: 3"


@pytest.mark.parametrize("key", ["../secret.txt", "a/../../secret.txt", "..", "/../secret.txt", "./x"])
def test_a_key_cannot_leave_the_store(storage, tmp_path, key):
    (tmp_path / "secret.txt").write_text("secret")
    for operate in ("get", "put", "delete", "scan"):
        with pytest.raises(ValueError, match=r"'\.\.' parts"):
            storage.call({"operate": operate, "key": key, "value": "x"})
    assert (tmp_path / "secret.txt").read_text() == "secret"


def test_an_absolute_key_means_a_key_of_the_store(storage, tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    with pytest.raises(KeyNotExistsError):
        storage.get(f"/{tmp_path}/secret.txt")
    with pytest.raises(KeyNotExistsError):
        storage.get("//etc/hostname")


def test_a_link_out_of_the_store_is_not_followed(storage, tmp_path):
    (tmp_path / "store").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x").write_text("secret")
    (tmp_path / "store" / "link").symlink_to(tmp_path / "outside")
    for operate, key in (("get", "link/x"), ("put", "link/x"), ("scan", "link"), ("delete", "link/x")):
        with pytest.raises(ValueError, match="leads outside"):
            storage.call({"operate": operate, "key": key, "value": "v"})
    assert (tmp_path / "outside" / "x").read_text() == "secret"


def test_an_unknown_operation_is_an_error_and_not_a_scan(storage):
    with pytest.raises(ValueError, match=r"put.*get.*delete.*scan"):
        storage.call({"operate": "update", "key": "a"})
    with pytest.raises(ValueError, match="'value'"):
        storage.call({"operate": "put", "key": "a"})


def test_values_in_the_old_layout_are_read_listed_replaced_and_deleted(storage, tmp_path):
    (tmp_path / "store" / "notes").mkdir(parents=True)
    (tmp_path / "store" / "notes" / "今天").write_text("旧")
    assert storage.get("notes/今天") == "旧"
    assert storage.scan("/") == "/notes/今天: 旧"
    storage.put("notes/今天", "新")
    assert storage.get("notes/今天") == "新"
    assert storage.scan("/") == "/notes/今天: 新"


def test_one_value_cannot_be_scanned(storage):
    storage.put("a", "1")
    assert "holds one value" in storage.scan("a")
    assert "does not exist" in storage.scan("b")


@given(
    key=st.lists(st.text(min_size=1, max_size=12).filter(lambda p: "/" not in p and p not in (".", "..")), min_size=1)
)
def test_any_key_gives_its_value_back(tmp_path_factory, key):
    storage = Storage({"storage_root_path": str(tmp_path_factory.mktemp("store"))})
    name = "/".join(key)
    storage.put(name, "value\r\nkept")
    assert storage.get(name) == "value\r\nkept"
    assert storage.scan("/") == f"/{name}: value\r\nkept"


def test_readers_never_see_half_a_value(storage):
    storage.put("k", "a" * 200_000)
    seen = set()

    def read():
        for _ in range(100):
            seen.add(storage.get("k"))

    reader = threading.Thread(target=read)
    reader.start()
    for n in range(100):
        storage.put("k", "ab"[n % 2] * 200_000)
    reader.join()
    assert seen <= {"a" * 200_000, "b" * 200_000}


def test_two_processes_lose_no_value(storage, tmp_path):
    program = (
        "import sys; from qwen_agentkit.tools import Storage\n"
        "s = Storage({'storage_root_path': sys.argv[1]})\n"
        "for n in range(100): s.put(f'deep/{n}/{sys.argv[2]}', sys.argv[2] * 50)\n"
    )
    folder = str(tmp_path / "store")
    running = [subprocess.Popen([sys.executable, "-c", program, folder, name]) for name in "ab"]
    assert [process.wait(30) for process in running] == [0, 0]
    assert all(storage.get(f"deep/{n}/{name}") == name * 50 for n in range(100) for name in "ab")
    assert not list((tmp_path / "store").rglob("*.tmp"))


def test_a_store_laid_over_the_workspace_does_not_open_the_frameworks_own_files(tmp_path, monkeypatch):
    monkeypatch.setitem(vars(settings), "DEFAULT_WORKSPACE", str(tmp_path))
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "fact.txt").write_text("Ada is 36.")
    (tmp_path / "sessions.sqlite").write_text("kept")
    storage = Storage({"storage_root_path": str(tmp_path)})
    storage.put("/note", "mine")
    assert storage.scan("/") == "/note: mine"
    for key in ("/memory/fact.txt", "/sessions.sqlite"):
        with pytest.raises(ToolArgumentsError):
            storage.get(key)
        with pytest.raises(ToolArgumentsError):
            storage.delete(key)
