"""Files read by an executor: what it does not see, loses or breaks is read here, and the index is the same."""

import os
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from qwen_agentkit.errors import DocParserError, MissingDependencyError
from qwen_agentkit.rag import DocumentIndex, spread


@pytest.fixture(autouse=True)
def workspace(tmp_path, monkeypatch):
    monkeypatch.setenv("QWEN_AGENTKIT_DEFAULT_WORKSPACE", str(tmp_path / "workspace"))


@pytest.fixture
def docs(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(20):
        (folder / f"part{number}.md").write_text(f"# Part {number}\n\nThe pump number {number} weighs {number} kg.\n")
    (folder / "damaged.pdf").write_bytes(b"%PDF-1.7 nothing")
    return folder


class Elsewhere:
    """An executor that does each task at once and keeps what it was asked."""

    cores = 1

    def __init__(self, change=lambda results: results):
        self.tasks = []
        self.change = change

    def submit(self, function, /, *arguments):
        self.tasks.append(arguments)
        task = Future()
        try:
            task.set_result(self.change(function(*arguments)))
        except OSError as error:
            task.set_exception(error)
        return task


def content(index):
    return sorted((hit.source, hit.number, hit.text, hit.start) for _, hit in index._catalog.every_chunk())


def test_an_executor_makes_the_same_index_as_this_machine(tmp_path, docs):
    seen = []
    with DocumentIndex(tmp_path / "one") as one, DocumentIndex(tmp_path / "two") as two:
        here = one.add(docs)
        with ThreadPoolExecutor(2) as pool:
            there = two.add(docs, executor=pool, progress=seen.append)
        assert sorted(here.added) == sorted(there.added) and len(there.added) == 20
        assert [problem.kind for problem in there.problems] == [problem.kind for problem in here.problems]
        assert content(one) == content(two)
        assert [step.files_done for step in seen] == list(range(1, 22)) and seen[0].files == 21
        assert two.add(docs, executor=Elsewhere()).unchanged == sorted(there.added)


def test_files_go_out_in_handfuls_and_unchanged_ones_not_at_all(docs):
    with DocumentIndex() as index:
        elsewhere = Elsewhere()
        index.add(docs, executor=elsewhere)
        assert [len(task[0]) for task in elsewhere.tasks] == [8, 8, 5]
        (docs / "part3.md").write_text("# Part 3\n\nIt is another pump now, of bronze.\n")
        elsewhere = Elsewhere()
        assert len(index.add(docs, executor=elsewhere).updated) == 1
        changed = [path for task in elsewhere.tasks for path, _ in task[0]]
        assert str(docs / "part3.md") in changed
        assert index.search("bronze")[0].source == str(docs / "part3.md")


def test_what_a_machine_does_not_see_is_read_here(docs, caplog):
    def blind(results):
        return [(path, None if path.endswith("part7.md") else result) for path, result in results]

    with DocumentIndex() as index:
        assert len(index.add(docs, executor=Elsewhere(blind)).added) == 20
        assert index.search("pump number 7")[0].source.endswith("part7.md")
    assert "not visible" in caplog.text


def test_a_task_that_fails_costs_time_only(docs, caplog):
    def broken(results):
        raise OSError("the machine has gone")

    with DocumentIndex() as index:
        assert len(index.add(docs, executor=Elsewhere(broken)).added) == 20
    assert "the machine has gone" in caplog.text


def test_the_task_leaves_out_files_that_are_not_there_or_of_another_size(docs):
    path = str(docs / "part1.md")
    size = os.path.getsize(path)
    results = dict(spread.read_part([(path, size), (f"{path}x", 3), (str(docs / "part2.md"), 1)], 500, None, {}))
    assert results[f"{path}x"] is None and results[str(docs / "part2.md")] is None
    entry, rows = results[path]
    assert entry.chunks == len(rows) == 1 and "pump number 1" in rows[0].text
    (broken,) = spread.read_part([(str(docs / "damaged.pdf"), 16)], 500, None, {})
    assert isinstance(broken[1], DocParserError)


def test_a_cancelled_call_leaves_the_rest(docs):
    elsewhere = Elsewhere()
    with DocumentIndex() as index:
        report = index.add(docs, executor=elsewhere, cancelled=lambda: bool(elsewhere.tasks))
        assert len(elsewhere.tasks) == 4 * elsewhere.cores or len(report.added) < 21
        assert len(index.sources()) == len(report.added)


@pytest.mark.parametrize("wrong", ["dask", 3, object()])
def test_what_is_no_executor_is_refused(wrong, docs):
    with DocumentIndex() as index, pytest.raises(ValueError, match="submit"):
        index.add(docs, executor=wrong)


def test_without_ray_the_extra_is_named(monkeypatch):
    def absent(name):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr("qwen_agentkit.utils.optional.importlib.import_module", absent)
    with pytest.raises(MissingDependencyError, match=r"qwen-agentkit\[ray\]"):
        spread.get_executor("ray")
