"""doc_parser, simple_doc_parser, retrieval and extract_doc_vocabulary over real files."""

import json
import os
import time
from pathlib import Path

import pytest

from qwen_agentkit import settings
from qwen_agentkit.errors import DocParserError, ToolArgumentsError
from qwen_agentkit.tools import DocParser, ExtractDocVocabulary, Retrieval, SimpleDocParser
from qwen_agentkit.tools.documents import find_sources, load_records
from qwen_agentkit.tools.extract_doc_vocabulary import vocabulary
from qwen_agentkit.tools.simple_doc_parser import get_plain_doc, parse_csv, parse_excel, parse_pdf
from qwen_agentkit.utils.tokenization_qwen import count_tokens

RESOURCES = Path(__file__).parents[2] / "resources"
HANDBOOK = str(RESOURCES / "handbook.pdf")


@pytest.fixture(autouse=True)
def workspace(tmp_path, monkeypatch):
    monkeypatch.setitem(vars(settings), "DEFAULT_WORKSPACE", str(tmp_path / "workspace"))
    return tmp_path / "workspace"


# ---- doc_parser


def test_a_document_becomes_a_record_of_chunks():
    record = DocParser({"max_ref_token": 100, "parser_page_size": 200}).call({"url": HANDBOOK})
    assert record["url"] == HANDBOOK
    assert record["title"]
    assert len(record["raw"]) > 10
    assert [chunk["metadata"]["chunk_id"] for chunk in record["raw"]] == list(range(len(record["raw"])))
    assert all(chunk["token"] <= 200 and chunk["metadata"]["source"] == HANDBOOK for chunk in record["raw"])
    guaranteed = next(chunk for chunk in record["raw"] if "27 months" in chunk["content"])
    assert guaranteed["metadata"]["page"] == 7
    json.dumps(record)


def test_a_document_that_fits_stays_whole_whatever_was_asked_before():
    parser = DocParser()
    few = parser.call({"url": HANDBOOK}, max_ref_token=100)
    whole = parser.call({"url": HANDBOOK}, max_ref_token=50_000)
    again = parser.call({"url": HANDBOOK}, max_ref_token=100)
    assert len(whole["raw"]) == 1 < len(few["raw"]) == len(again["raw"])


def test_an_edited_file_is_read_again(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("The old text.")
    parser = DocParser()
    assert "old" in parser.call({"url": str(file)})["raw"][0]["content"]
    file.write_text("The new text.")
    assert "new" in parser.call({"url": str(file)})["raw"][0]["content"]


def test_what_cannot_be_read_is_one_error(tmp_path):
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 broken")
    (tmp_path / "folder").mkdir()
    for name in ("broken.pdf", "missing.pdf", "folder"):
        with pytest.raises(DocParserError) as caught:
            DocParser().call({"url": str(tmp_path / name)})
        assert name in caught.value.message


# ---- simple_doc_parser


def test_pages_have_their_numbers_tables_and_title():
    pages = SimpleDocParser({"structured_doc": True}).call({"url": HANDBOOK})
    assert [page["page_num"] for page in pages] == list(range(1, 11))
    assert "title" in pages[0]
    assert any("table" in part for page in pages for part in page["content"])
    assert all(part["token"] > 0 for page in pages for part in page["content"])
    assert SimpleDocParser().call({"url": HANDBOOK}) == get_plain_doc(pages)
    assert parse_pdf(HANDBOOK) == pages


def test_sheets_are_pages():
    pages = parse_excel(str(RESOURCES / "prices.xlsx"))
    assert [page["page_num"] for page in pages] == list(range(1, len(pages) + 1))
    assert all(page["sheet"] for page in pages)


def test_an_empty_csv_says_what_it_is(tmp_path):
    (tmp_path / "e.csv").write_text("")
    with pytest.raises(DocParserError):
        parse_csv(str(tmp_path / "e.csv"))
    (tmp_path / "a.csv").write_text("name,n\nx,007\n")
    assert "007" in parse_csv(str(tmp_path / "a.csv"))[0]["content"][0]["table"]


# ---- retrieval


def test_the_passage_is_found_with_its_page():
    found = Retrieval({"max_ref_token": 800}).call({"query": "How long is the motor guaranteed?", "files": [HANDBOOK]})
    assert found[0]["url"] == os.path.realpath(HANDBOOK)
    places = dict(zip(found[0]["text"], found[0]["passages"], strict=True))
    text = next(text for text in places if "27 months" in text)
    assert places[text]["page"] == 7
    assert json.loads(json.dumps(found)) == found


def test_what_was_found_says_by_what_search_and_what_only_stands_beside_it_has_no_score(tmp_path):
    file = tmp_path / "long.txt"
    file.write_text("\n\n".join(f"Paragraph {n} speaks of item{n} and its number {n * 7}." for n in range(2000)))
    found = Retrieval({"max_ref_token": 400, "parser_page_size": 40}).call({"query": "item77", "files": [str(file)]})
    places = dict(zip(found[0]["text"], found[0]["passages"], strict=True))
    best = next(places[text] for text in places if "item77 " in text)
    assert best["searcher"] == "keyword" and 0.0 < best["score"] <= 1.0
    beside = [place for place in places.values() if place["searcher"] is None]
    assert beside and all(place["score"] is None for place in beside)


def test_several_files_folders_and_patterns_are_searched_together():
    for files in ([str(RESOURCES)], [str(RESOURCES / "*")], [HANDBOOK, str(RESOURCES / "handbook_zh.pdf")]):
        found = Retrieval({"max_ref_token": 1500}).call({"query": "motor guaranteed 27 months", "files": files})
        assert any("27 months" in text for entry in found for text in entry["text"])
        assert found.problems == []
    assert Retrieval().call({"query": "x", "files": []}) == []


@pytest.mark.parametrize("budget", [0, 40, 60, 100, 200, 400])
def test_the_best_passage_is_there_whatever_the_budget_and_cut_to_fit(budget):
    found = Retrieval({"max_ref_token": budget}).call(
        {"query": "How long is the motor guaranteed?", "files": [HANDBOOK]}
    )
    if not budget:
        assert found == []
        return
    texts, places = found[0]["text"], found[0]["passages"]
    assert sum(map(count_tokens, texts)) <= budget
    best = max(range(len(places)), key=lambda at: places[at]["score"] or 0.0)
    assert places[best]["page"] == 7 and texts[best].startswith("Warranty")
    assert places[best]["end"] - places[best]["start"] == len(texts[best])


def test_the_second_question_reads_nothing_and_an_edit_is_seen(tmp_path):
    file = tmp_path / "long.txt"
    file.write_text("\n\n".join(f"Paragraph {n} speaks of item{n} and its number {n * 7}." for n in range(20_000)))
    tool = Retrieval({"max_ref_token": 300})
    tool.call({"query": "item77", "files": [str(file)]})
    start = time.perf_counter()
    found = tool.call({"query": "item19999", "files": [str(file)]})
    assert time.perf_counter() - start < 0.2
    assert "item19999" in found[0]["text"][-1]
    file.write_text(file.read_text() + "\n\nAt last there is a zebra.")
    assert "zebra" in tool.call({"query": "zebra", "files": [str(file)]})[0]["text"][-1]


def test_a_file_that_cannot_be_read_costs_only_itself(tmp_path):
    (tmp_path / "broken.docx").write_bytes(b"PK\x03\x04 broken")
    files = [str(tmp_path / "broken.docx"), HANDBOOK, "/nowhere/x.pdf"]
    found = Retrieval({"max_ref_token": 800}).call({"query": "motor guaranteed", "files": files})
    assert len(found) == 1
    assert {os.path.basename(problem["file"]) for problem in found.problems} == {"broken.docx", "x.pdf"}


def test_a_model_may_name_the_agents_files_and_no_others(tmp_path):
    tool = Retrieval({"max_ref_token": 800})
    assert tool.file_access
    for files in ([HANDBOOK], ["handbook.pdf"]):
        found = tool.call(json.dumps({"query": "motor", "files": files}), files=[HANDBOOK])
        assert found[0]["url"] == os.path.realpath(HANDBOOK)
    assert tool.call('{"query": "motor"}', files=[HANDBOOK])[0]["text"]
    (tmp_path / "secret.txt").write_text("secret")
    for file in ("/etc/passwd", str(tmp_path / "secret.txt"), f"{RESOURCES}/../setup.py"):
        with pytest.raises(ToolArgumentsError):
            tool.call(json.dumps({"query": "x", "files": [file]}), files=[HANDBOOK])
        for parser in (DocParser(), SimpleDocParser()):
            with pytest.raises(ToolArgumentsError):
                parser.call(json.dumps({"url": file}), files=[HANDBOOK])


def test_a_model_is_told_of_files_that_could_not_be_read(tmp_path):
    (tmp_path / "empty.txt").write_text("")
    found = Retrieval().call('{"query": "x"}', files=[str(tmp_path / "empty.txt")])
    assert found[0]["text"] == []
    assert found[0]["problem"]


def test_the_question_may_come_with_a_models_keywords():
    query = json.dumps({"keywords": ["guarantee"], "keywords_en": ["motor"], "text": "garantie"})
    found = Retrieval({"max_ref_token": 800}).call({"query": query, "files": json.dumps([HANDBOOK])})
    assert any("27 months" in text for text in found[0]["text"])


def test_one_searcher_may_be_chosen_and_an_unknown_one_is_told():
    tool = Retrieval({"rag_searchers": ["keyword_search"], "max_ref_token": 300})
    found = tool.call({"query": "guaranteed for 27 months", "files": [HANDBOOK]})
    assert any("27 months" in text for text in found[0]["text"])
    with pytest.raises(ValueError, match="searchers"):
        Retrieval({"rag_searchers": ["tarot"]})


def test_reading_ahead_gives_the_problems():
    assert Retrieval().prepare([HANDBOOK, "/nowhere/x.pdf"]) == [
        {"file": "/nowhere/x.pdf", "reason": "there is no such file"}
    ]


def test_a_document_of_the_web_is_fetched_guarded_and_named_by_its_address(site, monkeypatch):
    url = f"{site.url}/docs/warranty%20terms.txt"
    site.routes["/docs/warranty%20terms.txt"] = (200, {"Content-Type": "text/plain"}, b"Guaranteed for 12 months.")
    found = Retrieval().call({"query": "guaranteed", "files": [url]})
    assert "not a public address" in found.problems[0]["reason"]
    monkeypatch.setitem(vars(settings), "WEB_ALLOWED_HOSTS", ["127.0.0.1"])
    found = Retrieval().call({"query": "guaranteed", "files": [url]})
    assert (found[0]["url"], found[0]["text"]) == (url, ["Guaranteed for 12 months."])
    assert DocParser().call({"url": url})["title"] == "warranty terms.txt"


def test_a_file_named_twice_is_one_document(tmp_path):
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "link.txt").symlink_to(tmp_path / "a.txt")
    (tmp_path / ".hidden.txt").write_text("h")
    (tmp_path / "picture.png").write_bytes(b"")
    sources = find_sources([str(tmp_path / "a.txt"), str(tmp_path / "link.txt"), str(tmp_path)])
    assert list(sources.paths) == [os.path.realpath(tmp_path / "a.txt")]
    records = load_records(sources, 500)
    assert load_records(sources, 500)[0] is records[0]


def test_files_are_never_changed(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("text")
    before = file.stat().st_mtime_ns
    Retrieval().call({"query": "text", "files": [str(file)]})
    assert (file.read_text(), file.stat().st_mtime_ns) == ("text", before)


# ---- extract_doc_vocabulary


def test_terms_come_by_weight_in_both_languages():
    terms = ExtractDocVocabulary().call({"files": [HANDBOOK, str(RESOURCES / "handbook_zh.pdf")]}).split(", ")
    assert "battery" in terms[:20]
    assert any("\u4e00" <= term[0] <= "\u9fff" for term in terms[:60])
    assert "the" not in terms
    assert vocabulary(["a rare word", "a word", "word word"], 2) == ["word", "rare"]
    assert vocabulary([]) == []


# ---- folders that a model names


@pytest.mark.parametrize("named", ["tools/files", "tools/files/l*.txt", "tools/*/l*"])
def test_a_link_in_a_folder_or_behind_a_pattern_leads_out_for_no_model(workspace, tmp_path, named):
    (tmp_path / "secret.txt").write_text("The code of the safe is 4711.")
    (workspace / "tools" / "files").mkdir(parents=True)
    os.symlink(tmp_path / "secret.txt", workspace / "tools" / "files" / "link.txt")
    arguments = json.dumps({"query": "code of the safe", "files": [str(workspace / named)]})
    with pytest.raises(ToolArgumentsError, match="nothing that may be read"):
        Retrieval().call(arguments)
    with pytest.raises(ToolArgumentsError, match="nothing that may be read"):
        DocParser().call(json.dumps({"url": str(workspace / named)}))
    (workspace / "tools" / "files" / "list.txt").write_text("The code of the door is 1234.")
    assert [entry["text"] for entry in Retrieval().call(arguments)] == [["The code of the door is 1234."]]


def test_what_users_sent_is_found_by_no_other_users_model(workspace):
    letter = workspace / "web" / "ada" / "letter.txt"
    letter.parent.mkdir(parents=True)
    letter.write_text("The salary is 4711.")
    for named in ("", "web", "web/*/*", "web/ada/letter.txt"):
        with pytest.raises(ToolArgumentsError, match="read"):
            Retrieval().call(json.dumps({"query": "salary", "files": [str(workspace / named)]}))
    # Who sent it has it among the files of the conversation.
    assert "4711" in Retrieval().call(json.dumps({"query": "salary"}), files=[str(letter)])[0]["text"][0]
    assert "4711" in DocParser().call(json.dumps({"url": str(letter)}), files=[str(letter)])["raw"][0]["content"]
