"""`qwen-agentkit index`, and `ask` and `chat` over an index."""

import json
import shutil
from pathlib import Path

import pytest

from tests.rag.test_pdf_engines import locked

QUESTION = "How long is the motor guaranteed?"
SENTENCE = "The motor is guaranteed for 27 months from the date of purchase."


@pytest.fixture
def papers(shell):
    """A shell in whose folder `papers/` is indexed."""
    Path("papers").mkdir()
    Path("papers/motor.txt").write_text(f"Of motors. {SENTENCE} It weighs 3 kg.")
    Path("papers/lamp.txt").write_text("The lamp of model KX-41 burns for 900 hours.")
    done = shell("index", "add", "papers")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 added, 0 updated, 0 unchanged, 0 removed: ")
    return shell


def test_adding_again_reconciles_the_folder(papers):
    Path("papers/lamp.txt").unlink()
    Path("papers/new.txt").write_text("A new paper.")
    Path("papers/broken.pdf").write_bytes(b"%PDF-1.7 and then nothing of the kind")
    done = papers("index", "add", "papers", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    here = str(Path("papers").resolve())
    assert (report["added"], report["removed"]) == ([f"{here}/new.txt"], [f"{here}/lamp.txt"])
    assert report["unchanged"] == [f"{here}/motor.txt"]
    assert [problem["source"] for problem in report["problems"]] == [f"{here}/broken.pdf"]
    assert done.stderr.startswith(f"{here}/broken.pdf: ")
    said = papers("index", "stats").stdout.splitlines()[-1]
    assert said.startswith(f"cannot be read: {here}/broken.pdf: ") and said.count("broken.pdf") == 1
    (unread,) = json.loads(papers("index", "stats", "--json").stdout)["unread"]
    assert unread["source"] == f"{here}/broken.pdf" and unread["kind"] and said.endswith(unread["reason"])


def test_nothing_readable_is_status_2(shell):
    done = shell("index", "add", "gone.pdf")
    assert done.returncode == 2
    assert "gone.pdf: " in done.stderr


@pytest.mark.parametrize("command", ["add", "remove"])
def test_an_empty_name_is_status_2_and_not_the_current_folder(papers, command):
    done = papers("index", command, "")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1) and "is empty" in done.stderr
    assert json.loads(papers("index", "stats", "--json").stdout)["documents"] == 2


def test_a_locked_file_is_added_with_its_password(papers):
    Path("papers/locked.pdf").write_bytes(locked("s3cret"))
    assert "it needs a password" in papers("index", "add", "papers").stderr
    done = papers("index", "add", "papers", "--password", "s3cret")
    assert done.stdout.startswith("1 added, 0 updated, 2 unchanged, 0 removed: ") and not done.stderr
    assert "KILO" in papers("index", "search", "KILO").stdout


def test_list_and_stats_say_what_is_held(papers):
    assert [Path(line.split()[0]).name for line in papers("index", "list").stdout.splitlines()[1:]] == [
        "lamp.txt",
        "motor.txt",
    ]
    assert len(json.loads(papers("index", "list", "--json").stdout)) == 2
    stats = json.loads(papers("index", "stats", "--json").stdout)
    assert (stats["documents"], stats["unread"]) == (2, [])


def test_search_gives_the_place_and_the_telling_sentence(papers):
    done = papers("index", "search", "guarantee of the motor")
    where, sentence, *_ = done.stdout.splitlines()
    assert where.endswith("/papers/motor.txt")
    assert sentence == SENTENCE
    assert papers("index", "search", "KX-41", "--in", "papers/motor.txt").stdout == ""
    assert "lamp.txt" in papers("index", "search", "KX-41", "--in", "papers").stdout


def test_an_explanation_names_the_terms(papers):
    done = papers("index", "search", "KX-41 ladder", "--explain")
    assert "idf" in done.stdout
    assert "not here: ladder" in done.stdout
    (hit,) = json.loads(papers("index", "search", "KX-41 ladder", "--explain", "--json", "--top", "1").stdout)
    assert hit["explanation"]["missing"] == ["ladder"]
    assert hit["why"]["searcher"] == "keyword"


def test_removing_takes_documents_out_and_leaves_the_files(papers):
    assert papers("index", "remove", "papers/lamp.txt").returncode == 0
    assert papers("index", "search", "KX-41").stdout == ""
    assert Path("papers/lamp.txt").exists()
    again = papers("index", "remove", "papers/lamp.txt")
    assert again.returncode == 2
    assert "None of these" in again.stderr


def test_cleaning_erases_old_copies_and_keeps_the_answers(papers):
    kept = json.loads(papers("index", "clean", "--older-than", "1d", "--json").stdout)
    assert kept["copies_bytes"] == 0
    assert json.loads(papers("index", "clean", "--older-than", "0", "--json").stdout)["copies_bytes"] > 0
    assert SENTENCE in papers("index", "search", "guarantee of the motor").stdout
    assert papers("index", "clean", "--older-than", "soon").returncode == 2


def test_a_question_is_answered_from_an_index_alone(papers):
    shutil.rmtree("papers")
    done = papers("ask", "--index", "workspace/index", QUESTION, "--json", "--explain")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["answer"].startswith(SENTENCE)
    assert said["citations"][0]["file"].endswith("/papers/motor.txt")
    assert said["explanations"][0]["source"].endswith("/papers/motor.txt")


def test_a_conversation_goes_over_an_index(papers):
    done = papers("chat", "--index", "workspace/index", typed=f"{QUESTION}\n/files\n")
    assert done.returncode == 0, done.stderr
    assert SENTENCE in done.stdout
    assert "lamp.txt" in done.stderr


def test_explaining_works_for_files_too(papers):
    done = papers("ask", "papers/motor.txt", QUESTION, "--explain")
    assert done.returncode == 0, done.stderr
    assert "guarante: 1 times here" in done.stdout


def test_wrong_use_is_one_line_and_status_2(papers):
    for arguments, told in [
        (["ask", "--index", "nowhere", QUESTION], "there is no index in nowhere"),
        (["ask", "--index", "workspace/index", "papers", QUESTION], "files or an index, not both"),
        (["chat", "papers", "--index", "workspace/index"], "files or an index, not both"),
        (["index", "list", "--index", "nowhere"], "qwen-agentkit index add"),
        (["index", "search", "  "], "the query is empty"),
    ]:
        done = papers(*arguments)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert told in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert not Path("nowhere").exists()
