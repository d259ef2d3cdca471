"""`DocumentIndex`: adding, searching, and what it says about itself."""

import copy
import os
import pickle
import time
from datetime import datetime

import pytest

from qwen_agentkit.rag.cache import DocumentCache
from qwen_agentkit.rag.index import DocumentIndex
from qwen_agentkit.rag.limits import ReadLimits
from tests.rag.test_pdf_engines import locked

WARRANTY = "# Warranty\n\nThe motor is guaranteed for 27 months from the date of purchase.\n"
CLEANING = "# Cleaning\n\nClean the filter every two weeks. Use no alcohol.\n"
CHINESE = "# 保修\n\n电动机自购买之日起保修27个月。\n"


@pytest.fixture(autouse=True)
def workspace(tmp_path, monkeypatch):
    monkeypatch.setenv("QWEN_AGENTKIT_DEFAULT_WORKSPACE", str(tmp_path / "workspace"))


@pytest.fixture
def docs(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, text in (("warranty.md", WARRANTY), ("cleaning.md", CLEANING), ("保修.md", CHINESE)):
        put(folder / name, text)
    return folder


def put(path, text):
    """Writes a file whose time stamp is old enough to be trusted."""
    path.write_text(text, encoding="utf-8")
    old = time.time() - 60 + put.age
    put.age += 0.01
    os.utime(path, (old, old))


put.age = 0.0


def names(sources):
    return sorted(os.path.basename(source) for source in sources)


@pytest.mark.parametrize("store", ["tantivy", "memory"])
@pytest.mark.parametrize("on_disk", [True, False])
def test_what_was_added_is_found_in_either_language(docs, tmp_path, store, on_disk):
    with DocumentIndex(tmp_path / "index" if on_disk else None, store=store) as index:
        report = index.add(docs)
        assert names(report.added) == ["cleaning.md", "warranty.md", "保修.md"] and not report.problems
        hit = index.search("How long is the motor guaranteed?", top_k=1)[0]
        assert hit.source == str(docs / "warranty.md") and hit.section == "Warranty"
        assert "27 months" in hit.text and 0 < hit.score <= 1
        assert hit.why["searcher"] == "keyword" and hit.why["rank"] == 1 and "motor" in hit.why["terms"]
        assert index.search("電動機保修")[0].source == str(docs / "保修.md")
        assert index.search("garanteed moter")[0].source == str(docs / "warranty.md")
        assert index.search("zebra crossing") == []


def test_a_second_add_reads_nothing_again(docs, tmp_path, monkeypatch):
    monkeypatch.setattr("qwen_agentkit.rag.catalog_rows._RACY_NS", 0)  # every stamp is trusted at once
    with DocumentIndex(tmp_path / "index") as index:
        index.add(docs)

        def never(*args, **kwargs):
            raise AssertionError("a file was read again")

        monkeypatch.setattr("qwen_agentkit.rag.adding.content_hash", never)
        monkeypatch.setattr(
            "qwen_agentkit.rag.adding.read_files", lambda paths, *a, **k: never() if paths else iter(())
        )
        report = index.add(docs)
        assert len(report.unchanged) == 3 and not report.changed


def test_a_folder_is_reconciled_and_other_sources_stay(docs, tmp_path):
    other = tmp_path / "other.md"
    put(other, "The pump is blue and stands alone.")
    with DocumentIndex(tmp_path / "index") as index:
        index.add([docs, other])
        (docs / "cleaning.md").unlink()
        put(docs / "warranty.md", WARRANTY.replace("27", "36"))
        put(docs / "new.txt", "A new page about the hose.")
        report = index.add(docs)
        assert names(report.added) == ["new.txt"]
        assert names(report.updated) == ["warranty.md"]
        assert names(report.removed) == ["cleaning.md"]
        assert "36 months" in index.search("motor guaranteed")[0].text
        assert index.search("alcohol filter") == []
        assert index.search("blue pump")[0].source == str(other)


def test_a_renamed_file_is_not_read_again(docs, tmp_path, monkeypatch):
    with DocumentIndex(tmp_path / "index") as index:
        index.add(docs)
        (docs / "warranty.md").rename(docs / "guarantee.md")
        monkeypatch.setattr(
            "qwen_agentkit.rag.adding.read_files", lambda paths, *a, **k: iter(()) if not paths else 1 / 0
        )
        report = index.add(docs)
        assert names(report.added) == ["guarantee.md"] and names(report.removed) == ["warranty.md"]
        assert index.search("motor")[0].source == str(docs / "guarantee.md")


def test_a_named_file_that_is_gone_is_removed_and_one_never_seen_is_a_problem(docs, tmp_path):
    with DocumentIndex() as index:
        index.add(docs / "warranty.md")
        (docs / "warranty.md").unlink()
        assert names(index.add(docs / "warranty.md").removed) == ["warranty.md"]
        report = index.add([docs / "never.md", docs / "cleaning.md"])
        assert [problem.kind for problem in report.problems] == ["FileNotFoundError"]
        assert names(report.added) == ["cleaning.md"]


def test_an_edit_within_the_same_time_stamp_is_noticed(docs, tmp_path):
    with DocumentIndex(tmp_path / "index") as index:
        path = docs / "warranty.md"
        path.write_text(WARRANTY)  # just now: its stamp cannot be trusted
        stamps = path.stat()
        index.add(path)
        path.write_text(WARRANTY.replace("27", "99"))
        os.utime(path, ns=(stamps.st_atime_ns, stamps.st_mtime_ns))
        assert names(index.add(path).updated) == ["warranty.md"]


def test_an_edit_whose_time_of_change_was_set_back_is_noticed(docs, tmp_path, monkeypatch):
    monkeypatch.setattr("qwen_agentkit.rag.catalog_rows._RACY_NS", 0)  # every stamp is trusted at once
    path = docs / "warranty.md"
    with DocumentIndex(tmp_path / "index") as index:
        index.add(path)
        stamps = path.stat()
        path.write_text(WARRANTY.replace("27", "99"))  # of the same size, as files of two releases are
        os.utime(path, ns=(stamps.st_atime_ns, stamps.st_mtime_ns))
        assert names(index.add(path).updated) == ["warranty.md"]
        assert names(index.add(path).unchanged) == ["warranty.md"]


def test_what_cannot_be_read_is_a_problem_each_time_and_the_rest_goes_on(docs, tmp_path):
    (docs / "broken.docx").write_bytes(b"PK\x03\x04 nothing of a zip")
    with DocumentIndex(tmp_path / "index") as index:
        for report in (index.add(docs), index.add(docs)):
            assert names(problem.source for problem in report.problems) == ["broken.docx"]
            assert report.problems[0].reason
        assert index.stats["failed"] == 1 and index.stats["documents"] == 3
        # A file that becomes unreadable is no longer answered from.
        put(docs / "warranty.md", "%PDF-1.4 and nothing more of it")
        report = index.add(docs)
        assert names(report.removed) == ["warranty.md"] and len(report.problems) == 2
        assert index.search("motor") == []
        put(docs / "cleaning.md", "")  # an empty file is nothing to complain about, but it holds no text either
        assert names(index.add(docs).removed) == ["cleaning.md"]


def test_patterns_and_hidden_files(docs):
    put(docs / ".hidden.md", "secret motor")
    (docs / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    with DocumentIndex() as index:
        assert len(index.add(docs).added) == 3
        assert not index.add(str(docs / "*.md")).added
        (docs / "cleaning.md").unlink()
        assert names(index.add(str(docs / "*.md")).removed) == ["cleaning.md"]


def test_folders_that_fit_a_pattern_are_walked_and_reconciled(docs, tmp_path):
    with DocumentIndex() as index:
        assert names(index.add(str(tmp_path / "do*")).added) == ["cleaning.md", "warranty.md", "保修.md"]
        (docs / "cleaning.md").unlink()
        assert names(index.add(str(tmp_path / "do*")).removed) == ["cleaning.md"]
        assert names(index.add(str(tmp_path / "**" / "*.md")).unchanged) == ["warranty.md", "保修.md"]


@pytest.mark.parametrize("wrong", [None, 3, b"docs", [3], "", "a\x00b"])
def test_what_is_no_path_is_refused(wrong):
    with DocumentIndex() as index, pytest.raises(ValueError, match="wanted, "):
        index.add(wrong)


def test_removing_erases_every_trace_of_the_text(docs, tmp_path):
    put(docs / "secret.md", "# Code\n\nThe xylophonic password is quokkabandicoot.\n")
    with DocumentIndex(tmp_path / "index") as index:
        index.add(docs)
        assert index.search("quokkabandicoot")
        assert names(index.remove(docs / "secret.md")) == ["secret.md"]
        assert index.search("quokkabandicoot") == [] and index.search("motor")
        assert index.remove(docs / "secret.md") == []
    DocumentCache().close()
    for folder in (tmp_path / "index", tmp_path / "workspace"):
        for path in folder.rglob("*"):
            if path.is_file():
                data = path.read_bytes()
                assert b"quokka" not in data, path


def test_a_folder_is_removed_with_all_below_it(docs):
    with DocumentIndex() as index:
        index.add(docs)
        assert len(index.remove(docs)) == 3 and index.stats["documents"] == 0


def test_texts_replace_those_of_the_same_id():
    with DocumentIndex() as index:
        assert index.add_texts([("a", "The motor is red."), ("b", "The pump is green.", "Pumps")]).added == ["a", "b"]
        assert index.add_texts([("a", "The motor is red.")]).unchanged == ["a"]
        assert index.add_texts([("a", "The motor is yellow.")]).updated == ["a"]
        assert [hit.text for hit in index.search("motor colour")] == ["The motor is yellow."]
        assert index.add_texts([("c", "one"), ("c", "two")]).updated == ["c"]
        assert [hit.text for hit in index.chunks("c")] == ["two"]
        assert index.search("pumps")[0].title == "Pumps"
        with pytest.raises(ValueError, match="id, text"):
            index.add_texts(["text"])


def test_a_filter_narrows_the_search(docs):
    with DocumentIndex() as index:
        index.add(docs)
        index.add_texts([("note", "The motor of my neighbour.")])
        assert {hit.source for hit in index.search("motor")} == {str(docs / "warranty.md"), "note"}
        for one in (
            {"source": "note"},
            {"source": ["note", "x"]},
            {"file_type": "text"},
            lambda hit: hit.section is None,
        ):
            assert [hit.source for hit in index.search("motor", filter=one)] == ["note"]
        assert [hit.source for hit in index.search("motor", filter={"source": docs})] == [str(docs / "warranty.md")]
        assert [hit.section for hit in index.search("motor", filter={"section": "warr"})] == ["Warranty"]
        assert index.search("motor", filter={"source": "nothing"}) == []
        assert index.search("motor", filter={"page": (1, 3)}) == []
        with pytest.raises(ValueError, match="filter"):
            index.search("motor", filter={"colour": "red"})


def test_a_filter_looks_past_the_first_hits():
    with DocumentIndex() as index:
        index.add_texts([(f"t{n}", f"motor number {n}") for n in range(300)])
        found = index.search("motor", top_k=3, filter=lambda hit: hit.source in ("t7", "t150", "t299"))
        assert len(found) == 3


def test_neighbours_and_chunks_come_in_reading_order():
    text = "\n\n".join(f"Paragraph {n} tells of thing{n} at some length, so that it fills a line." for n in range(40))
    with DocumentIndex(chunk_tokens=64) as index:
        index.add_texts([("a", text)])
        chunks = index.chunks("a")
        assert len(chunks) > 5 and [chunk.number for chunk in chunks] == list(range(len(chunks)))
        hit = index.search("thing20")[0]
        around = index.neighbours(hit)
        assert [chunk.number for chunk in around] == [hit.number - 1, hit.number, hit.number + 1]
        assert text[hit.start : hit.end] == hit.text


def test_a_hit_is_explained():
    with DocumentIndex() as index:
        index.add_texts([("a", "The motor is guaranteed."), ("b", "The pump.")])
        explained = index.explain(index.search("motor guarantee price")[0])
        assert {part.term for part in explained.terms} == {"motor", "guarante"} and explained.missing == ["price"]
        assert "motor: 1 times here" in str(explained) and explained.to_json()["rank"] == 1


def test_changes_say_which_pages_and_which_citations(tmp_path):
    reportlab = pytest.importorskip("reportlab.pdfgen.canvas")

    def write(texts):
        canvas = reportlab.Canvas(str(tmp_path / "a.pdf"))
        for text in texts:
            canvas.drawString(72, 700, text)
            canvas.showPage()
        canvas.save()

    source = str(tmp_path / "a.pdf")
    cited = [{"source": source, "page": page, "quote": "x"} for page in (1, 2)]
    with DocumentIndex(tmp_path / "index") as index:
        write(["The motor lasts long.", "The pump is blue."])
        index.add(source)
        moment = datetime.now()
        write(["The motor lasts long.", "The pump is red now."])
        index.add(source)
        (change,) = index.changes(moment, cited)
        assert (change.kind, change.pages) == ("updated", [2])
        assert [citation["page"] for citation in change.citations] == [2]
        assert [change.kind for change in index.changes(0)] == ["added", "updated"]
        index.remove(source)
        assert len(index.changes(moment, cited)[-1].citations) == 2
        assert index.changes(time.time()) == []


def test_without_pages_a_citation_rests_on_a_change_when_its_quote_is_gone():
    with DocumentIndex() as index:
        index.add_texts([("a", "The motor lasts 27 months. The pump is blue.")])
        moment = time.time()
        index.add_texts([("a", "The motor lasts 36 months. The pump is blue.")])
        cited = [{"source": "a", "quote": "The motor lasts 27 months."}, {"source": "a", "quote": "The pump is blue."}]
        (change,) = index.changes(moment, cited)
        assert change.citations == cited[:1]


def test_it_says_what_it_holds(docs, tmp_path):
    with DocumentIndex(tmp_path / "index") as index:
        index.add(docs)
        assert [os.path.basename(entry["source"]) for entry in index.sources()] == [
            "cleaning.md",
            "warranty.md",
            "保修.md",
        ]
        stats = index.stats
        assert stats["documents"] == 3 and stats["chunks"] == 3 and stats["tokens"] > 10 and stats["bytes"] > 0
        assert stats["store"] == "tantivy" and stats["path"] == str(tmp_path / "index")


def test_two_indexes_do_not_mix(docs, tmp_path):
    with DocumentIndex(tmp_path / "one") as one, DocumentIndex(tmp_path / "two") as two:
        one.add(docs / "warranty.md")
        two.add(docs / "cleaning.md")
        assert two.search("motor") == [] and one.search("filter alcohol") == []


def test_after_close_every_call_raises(tmp_path):
    index = DocumentIndex(tmp_path / "index")
    index.close()
    index.close()
    for call in (
        lambda: index.search("x"),
        lambda: index.add(tmp_path),
        lambda: index.add_texts([]),
        lambda: index.remove("x"),
        lambda: index.stats,
        lambda: index.sources(),
        lambda: index.changes(),
        lambda: index.chunks("x"),
        lambda: index.clean(),
    ):
        with pytest.raises(ValueError, match="closed"):
            call()


def test_a_copy_of_an_index_on_disk_opens_it_itself(docs, tmp_path):
    with DocumentIndex(tmp_path / "index", chunk_tokens=100) as index:
        index.add(docs)
        for other in (copy.deepcopy(index), pickle.loads(pickle.dumps(index))):
            assert other.search("motor") and other.chunk_tokens == 100
            other.close()
        assert index.search("motor")
    with pytest.raises(TypeError, match="path"):
        pickle.dumps(DocumentIndex())


def test_mistakes_of_the_caller_are_named(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ValueError, match="folder"):
        DocumentIndex(tmp_path / "file")
    with pytest.raises(ValueError, match="store"):
        DocumentIndex(store="chroma")
    with pytest.raises(ValueError, match="chunk_tokens"):
        DocumentIndex(chunk_tokens=1)
    for reading in ({"pasword": "x"}, {"progress": print}, {"limits": 5}, {"ocr": lambda picture: ""}):
        with pytest.raises(ValueError, match=r"pasword|progress|ReadLimits|package\.module:function"):
            DocumentIndex(reading=reading)
    with DocumentIndex() as index:
        for call in (lambda: index.search(None), lambda: index.add([""]), lambda: index.remove([None])):
            with pytest.raises(ValueError):
                call()
        for top_k in (0, 2.5, "3", True):
            with pytest.raises(ValueError, match="top_k"):
                index.search("x", top_k=top_k)


def test_an_empty_name_does_not_remove_the_current_folder(docs, monkeypatch):
    monkeypatch.chdir(docs)
    with DocumentIndex() as index:
        index.add(docs)
        with pytest.raises(ValueError, match="path"):
            index.remove("")
        assert len(index.names()) == 3 and len(index.remove(".")) == 3


def test_another_chunk_size_cuts_anew(docs, tmp_path):
    with DocumentIndex(tmp_path / "index") as index:
        index.add(docs)
    with DocumentIndex(tmp_path / "index", chunk_tokens=64) as index:
        assert len(index.add(docs).updated) == 3


def test_limits_of_reading_hold_and_others_read_anew(docs, tmp_path):
    small = {"limits": ReadLimits(text_characters=20), "workers": 1}
    with DocumentIndex(tmp_path / "index", reading=small) as index:
        report = index.add(docs / "warranty.md")
        assert "20 characters" in report.warnings[str(docs / "warranty.md")][0]
        assert not index.search("guaranteed for 27 months")
    with DocumentIndex(tmp_path / "index", reading={**small, "workers": 2}) as index:
        assert index.add(docs / "warranty.md").unchanged
    with DocumentIndex(tmp_path / "index") as index:
        assert index.add(docs / "warranty.md").updated and index.search("guaranteed for 27 months")


@pytest.mark.parametrize("on_disk", [True, False])
@pytest.mark.parametrize("each", [True, False])
def test_a_file_opens_once_its_password_is_given(tmp_path, on_disk, each):
    path = tmp_path / "locked.pdf"
    path.write_bytes(locked("s3cret"))
    with DocumentIndex(tmp_path / "index" if on_disk else None) as index:
        assert index.add(path).problems[0].kind == "PasswordRequired"
    password = {str(path): "s3cret"} if each else "s3cret"
    with DocumentIndex(tmp_path / "index" if on_disk else None, reading={"password": password}) as index:
        assert not index.add(path).problems and "KILO" in index.search("KILO")[0].text
        assert index.add(path).unchanged
    if on_disk:
        with DocumentIndex(tmp_path / "index") as index:
            assert index.add(path).unchanged, "what was opened stays without the password"
