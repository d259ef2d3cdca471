"""`qwen-agentkit ask`; as a process of its own where that matters."""

import json
import shutil
import signal

from tests.servers.model_server import Answer

QUESTION = "How long is the motor guaranteed?"
SENTENCE = "The motor is guaranteed for 27 months from the date of purchase."
CITATION_KEYS = {
    "n", "source", "file", "page", "page_end", "sheet", "rows", "section", "quote", "start", "end", "score",
}  # fmt: skip


def test_an_answer_is_a_quoted_sentence_with_file_and_page(cli):
    done = cli("ask", "resources/handbook.pdf", QUESTION)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        f"{SENTENCE} [1]\n"
        "A motor that is changed under the warranty keeps the time that was left of the old one, but never less than "
        "6 months. [2]\n"
        "\n"
        '[1] resources/handbook.pdf, page 7, "Warranty"\n'
        '[2] resources/handbook.pdf, page 7, "Warranty"\n'
        "Quoted from the documents: no model is configured (qwen-agentkit ask --help shows how).\n"
    )


def test_a_chinese_question_is_answered_from_a_chinese_file(shell):
    done = shell("ask", "resources/handbook_zh.pdf", "电机的保修期有多长？")
    assert done.returncode == 0, done.stderr
    assert "电机的保修期为五年，自购买之日起计算。" in done.stdout
    assert "resources/handbook_zh.pdf, page 6" in done.stdout


def test_json_is_all_that_standard_output_carries(shell):
    done = shell("ask", "resources/handbook.pdf", "missing.pdf", QUESTION, "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert set(said) == {"answer", "answered", "citations", "problems", "model"}
    assert said["answer"].startswith(SENTENCE)
    assert said["answered"] is True
    assert said["model"] == "extractive"
    assert said["problems"] == [{"file": "missing.pdf", "reason": "there is no such file"}]
    citation = said["citations"][0]
    assert set(citation) == CITATION_KEYS
    assert citation["file"] == citation["source"]
    assert citation["source"].endswith("/resources/handbook.pdf")
    assert (citation["n"], citation["page"], citation["quote"]) == (1, 7, SENTENCE)
    assert "missing.pdf: there is no such file" in done.stderr


def test_what_the_files_do_not_say_is_declined_with_status_0(shell):
    done = shell("ask", "resources/handbook.pdf", "Who composed the opera about the lighthouse keeper?", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["answered"] is False
    assert said["citations"] == []
    assert said["answer"]


def test_a_folder_is_walked(shell, tmp_path):
    inner = tmp_path / "papers" / "inner"
    inner.mkdir(parents=True)
    shutil.copy(tmp_path / "resources/handbook.pdf", inner / "book.pdf")
    (inner / "ignored.bin").write_bytes(b"\0\1\2")
    (inner / ".hidden.txt").write_text("The motor is guaranteed for 99 years.")
    done = shell("ask", "papers", QUESTION)
    assert done.returncode == 0, done.stderr
    assert '[1] papers/inner/book.pdf, page 7, "Warranty"' in done.stdout
    assert "ignored.bin" not in done.stderr


def test_an_unreadable_file_is_named_and_the_rest_goes_on(shell, tmp_path):
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 and then nothing of the kind")
    done = shell("ask", "broken.pdf", "resources/handbook.pdf", QUESTION)
    assert done.returncode == 0, done.stderr
    assert SENTENCE in done.stdout
    assert "broken.pdf: " in done.stderr
    assert "Traceback" not in done.stderr


def test_no_readable_file_is_status_2(shell, tmp_path):
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 and then nothing of the kind")
    for arguments in (["broken.pdf"], ["missing.pdf"], ["broken.pdf", "missing.pdf"]):
        done = shell("ask", *arguments, QUESTION)
        assert done.returncode == 2, done.stderr
        assert done.stdout == ""
        for name in arguments:
            assert f"{name}: " in done.stderr


def test_wrong_use_is_one_line_and_status_2(shell):
    for arguments, said in [
        ([], "no file and no question"),
        (["resources/handbook.pdf"], "no question"),
        ([QUESTION], "no file"),
        (["resources/handbook.pdf", "  "], "the question is empty"),
        (["resources/handbook.pdf", QUESTION, "--model", "no-such-model"], "no-such-model"),
        (["resources/handbook.pdf", QUESTION, "--model-server", "http://127.0.0.1:9/v1"], "--model"),
    ]:
        done = shell("ask", *arguments)
        assert done.returncode == 2, (arguments, done.stderr)
        assert done.stdout == ""
        assert said in done.stderr
        assert len(done.stderr.splitlines()) == 1, done.stderr


def test_a_model_on_a_server_writes_the_answer(shell, chat_server):
    chat_server.script = [f"It is 27 months. {SENTENCE} [1]"]
    done = shell(
        "ask", "resources/handbook.pdf", QUESTION, "--model", "qwen3", "--model-server", chat_server.url, "--json"
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["answer"] == f"It is 27 months. {SENTENCE} [1]"
    assert said["model"] == "qwen3"
    assert chat_server.last["model"] == "qwen3"
    assert SENTENCE in json.dumps(chat_server.last, ensure_ascii=False)


def test_the_remark_that_no_model_is_configured_is_not_made_of_a_models_answer(shell, chat_server):
    chat_server.script = ["27 months."]
    done = shell("ask", "resources/handbook.pdf", QUESTION, "--model", "qwen3", "--model-server", chat_server.url)
    assert done.stdout.startswith("27 months.\n")
    assert "no model is configured" not in done.stdout


def test_a_failing_model_is_one_line_and_status_1(cli, chat_server):
    chat_server.script = [Answer(status=400)]
    done = cli("ask", "resources/handbook.pdf", QUESTION, "--model", "qwen3", "--model-server", chat_server.url)
    assert done.returncode == 1, done.stderr
    assert "qwen3" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_model_that_the_server_does_not_know_is_status_2(shell, chat_server):
    chat_server.script = [Answer(status=404)]
    done = shell("ask", "resources/handbook.pdf", QUESTION, "--model", "qwen3", "--model-server", chat_server.url)
    assert done.returncode == 2, done.stderr
    assert "qwen3" in done.stderr


def test_a_key_in_the_environment_sends_nothing_away(shell, chat_server):
    done = shell(
        "ask",
        "resources/handbook.pdf",
        QUESTION,
        OPENAI_API_KEY="sk-test",
        DASHSCOPE_API_KEY="sk-test",
        QWEN_AGENTKIT_MODEL_SERVER=chat_server.url,
    )
    assert SENTENCE in done.stdout
    assert chat_server.seen == []


def test_the_model_may_be_named_in_the_environment(shell, chat_server):
    chat_server.script = ["27 months."]
    done = shell(
        "ask",
        "resources/handbook.pdf",
        QUESTION,
        "--json",
        QWEN_AGENTKIT_MODEL="qwen3",
        QWEN_AGENTKIT_MODEL_SERVER=chat_server.url,
    )
    assert json.loads(done.stdout)["model"] == "qwen3"
    assert len(chat_server.seen) == 1


def test_ctrl_c_stops_with_status_130(cli, chat_server):
    chat_server.script = [Answer(pieces=[{"content": "It is"}], hang_after=1)]
    process = cli.start(
        "ask", "resources/handbook.pdf", QUESTION, "--model", "qwen3", "--model-server", chat_server.url
    )
    assert process.stdout.read(len("It is")) == "It is", process.communicate()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    assert "Traceback" not in err


def test_text_from_a_document_cannot_steer_the_terminal(shell, tmp_path):
    (tmp_path / "evil.txt").write_text("The password of the lamp is \x1b]0;owned\x07 tangerine \x1b[31mred.")
    done = shell("ask", "evil.txt", "What is the password of the lamp?")
    assert "tangerine" in done.stdout
    assert "\x1b" not in done.stdout


def test_a_reader_that_leaves_early_is_no_failure(cli):
    process = cli.start("ask", "resources/handbook.pdf", QUESTION)
    process.stdout.close()
    err = process.stderr.read()
    assert process.wait(60) == 0
    assert err == ""
