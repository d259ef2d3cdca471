import json
import os

import pytest

from qwen_agentkit import settings
from qwen_agentkit.agents import Assistant
from qwen_agentkit.errors import ToolArgumentsError
from qwen_agentkit.schema import FunctionCall, Message
from qwen_agentkit.session import SessionStore
from qwen_agentkit.testing import ScriptedChatModel
from qwen_agentkit.tools import ListFiles, ReadFile, WriteFile


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "work" / "deep").mkdir(parents=True)
    (tmp_path / "work" / "a.txt").write_text("one\ntwo\nthree\n")
    (tmp_path / "work" / "deep" / "b.txt").write_text("x")
    (tmp_path / "secret.txt").write_text("secret")
    return {"work_dir": str(tmp_path / "work")}


def test_files_are_listed_read_and_written(folder):
    assert ListFiles(folder).call("{}") == "a.txt  14\ndeep/"
    assert "deep/b.txt  1" in ListFiles(folder).call({"recursive": True})
    assert ReadFile(folder).call({"path": "a.txt"}) == "one\ntwo\nthree"
    assert WriteFile(folder).call({"path": "new/c.txt", "content": "é"}) == "Wrote new/c.txt, 2 bytes."
    assert ReadFile(folder).call({"path": "new/c.txt"}) == "é"


@pytest.mark.parametrize("path", ["../secret.txt", "/etc/passwd", "deep/../../secret.txt", "link", "a\x00b"])
def test_no_tool_leaves_the_work_folder(folder, tmp_path, path):
    os.symlink(tmp_path / "secret.txt", tmp_path / "work" / "link")
    for tool, arguments in (
        (ReadFile(folder), {"path": path}),
        (ListFiles(folder), {"path": path}),
        (WriteFile(folder), {"path": path, "content": "x", "mode": "overwrite"}),
    ):
        with pytest.raises(ToolArgumentsError) as caught:
            tool.call(json.dumps(arguments))
        assert "\n" not in str(caught.value)
    assert (tmp_path / "secret.txt").read_text() == "secret"


def test_a_file_is_replaced_only_when_that_is_said(folder):
    tool = WriteFile(folder)
    with pytest.raises(ToolArgumentsError, match="exists"):
        tool.call({"path": "a.txt", "content": "new"})
    tool.call({"path": "a.txt", "content": "four\n", "mode": "append"})
    assert ReadFile(folder).call({"path": "a.txt"}).endswith("three\nfour")
    tool.call({"path": "a.txt", "content": "new", "mode": "overwrite"})
    assert ReadFile(folder).call({"path": "a.txt"}) == "new"
    assert tool.side_effects


def test_arguments_that_were_cut_off_write_nothing(folder):
    with pytest.raises(ToolArgumentsError, match="end in the middle"):
        WriteFile(folder).call('{"path": "half.txt", "content": "half of')
    assert "half.txt" not in ListFiles(folder).call({})


def test_a_long_file_is_read_page_by_page(folder, tmp_path):
    lines = [f"line {n} " + "x" * 30 for n in range(5000)]
    (tmp_path / "work" / "long.txt").write_text("\n".join(lines))
    whole: list[str] = []
    offset = 0
    while True:
        page = ReadFile(folder).call({"path": "long.txt", "offset": offset, "limit": 2000}).split("\n")
        if not page[-1].startswith("[lines"):
            whole += page
            break
        whole += page[:-1]
        offset = int(page[-1].rpartition("=")[2].rstrip("]"))
    assert whole == lines
    assert "has 5000 lines" in ReadFile(folder).call({"path": "long.txt", "offset": 9000})


def test_one_endless_line_and_binaries_are_bounded(folder, tmp_path):
    (tmp_path / "work" / "line.txt").write_text("y" * 1_000_000)
    assert len(ReadFile(folder).call({"path": "line.txt"})) < 5000
    (tmp_path / "work" / "b.bin").write_bytes(b"\x00\x01")
    with pytest.raises(ToolArgumentsError, match="no text"):
        ReadFile(folder).call({"path": "b.bin"})
    with pytest.raises(ToolArgumentsError, match="no file"):
        ReadFile(folder).call({"path": "none.txt"})
    (tmp_path / "work" / "empty.txt").touch()
    assert "empty" in ReadFile(folder).call({"path": "empty.txt"})


def test_writing_is_bounded(folder):
    with pytest.raises(ToolArgumentsError, match="at most"):
        WriteFile(folder).call({"path": "big.txt", "content": "x" * 10_000_001})
    with pytest.raises(ToolArgumentsError, match="full"):
        WriteFile({**folder, "max_folder_bytes": 20}).call({"path": "b.txt", "content": "x" * 20})


def test_a_file_too_large_to_append_to_is_not_read(folder, tmp_path):
    # Sparse: no machine of a test could hold it in memory.
    with open(tmp_path / "work" / "large.txt", "wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(ToolArgumentsError, match="at most"):
        WriteFile(folder).call({"path": "large.txt", "content": "x", "mode": "append"})


def test_many_files_are_not_all_listed(folder, tmp_path):
    for n in range(600):
        (tmp_path / "work" / f"f{n:03}").touch()
    listed = ListFiles(folder).call({}).split("\n")
    assert len(listed) == 501
    assert listed[-1].startswith("[102 more")


def test_the_folder_need_not_exist(tmp_path, monkeypatch):
    monkeypatch.setitem(vars(settings), "DEFAULT_WORKSPACE", str(tmp_path / "ws"))
    assert ListFiles().call({}) == "(empty)"
    WriteFile().call({"path": "a.txt", "content": "x"})
    assert ListFiles().call({}) == "a.txt  1"


def test_a_work_folder_around_the_workspace_does_not_open_the_frameworks_stores(tmp_path, monkeypatch):
    monkeypatch.setitem(vars(settings), "DEFAULT_WORKSPACE", str(tmp_path / "workspace"))
    mark = "0123456789abcdef01234567"
    kept = ("sessions.sqlite", "web/ada/letter.txt", "tools/storage/a.value", f"tools/code_interpreter/{mark}/x.txt")
    for name in (*kept, "notes.txt"):
        path = tmp_path / "workspace" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("kept")
    config = {"work_dir": str(tmp_path)}
    listed = ListFiles(config).call({"path": "workspace", "recursive": True})
    assert listed.split("\n") == ["notes.txt  4", "tools/", "tools/code_interpreter/"]
    assert ReadFile(config).call({"path": "workspace/notes.txt"}) == "kept"
    for name in kept[:3]:
        with pytest.raises(ToolArgumentsError, match="kept by the program"):
            ReadFile(config).call({"path": f"workspace/{name}"})
        with pytest.raises(ToolArgumentsError, match="kept by the program"):
            WriteFile(config).call({"path": f"workspace/{name}", "content": "x", "mode": "overwrite"})
        assert (tmp_path / "workspace" / name).read_text() == "kept"


def test_users_of_stored_sessions_have_folders_of_their_own_which_go_with_them(tmp_path, monkeypatch):
    monkeypatch.setitem(vars(settings), "DEFAULT_WORKSPACE", str(tmp_path / "workspace"))
    store = SessionStore(f"sqlite:///{tmp_path / 'sessions.sqlite'}")

    def results(user, *calls):
        script = [Message("assistant", "", function_call=FunctionCall(name, json.dumps(a))) for name, a in calls]
        agent = Assistant(function_list=["write_file", "list_files", "storage"], llm=ScriptedChatModel([*script, "ok"]))
        response = agent.run_nonstream([Message("user", "go")], session=store.session("s", user))
        return "\n".join(str(message.content) for message in response if message.role == "function")

    write = ("write_file", {"path": "plan.txt", "content": "x"})
    put = ("storage", {"operate": "put", "key": "/pin", "value": "4711"})
    look = [("list_files", {"recursive": True}), ("storage", {"operate": "scan"})]
    results("ada", write, put)
    assert "plan.txt" in results("ada", *look) and "4711" in results("ada", *look)
    for other in ("bob", "local"):
        seen = results(other, *look)
        assert "plan" not in seen and "4711" not in seen
    store.delete_user("ada")
    assert not [path for path in (tmp_path / "workspace" / "tools").rglob("*") if path.is_file()]
