"""Every example runs as a user runs it: from a shell, and with a model of one's own."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from qwen_agentkit.testing import ScriptedChatModel
from qwen_agentkit.utils.knowledge import read_knowledge

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"

PRINTED = {
    "assistant_add_custom_tool.py": ["There are 88 chargers in stock.", "No, bells are out of stock."],
    "document_question.py": ["27 months from the date of purchase", "handbook.pdf, page 7"],
    "group_chat_script.py": ["Mia: Riders lose the map", "Ken: Storing maps", "Ada: Then we build it"],
    "team_debate.py": ["Contra: Nobody repairs well at night.", "CLOSED"],
    "team_photo_check.py": ["eyes: A dry street", "judge: They do not fit"],
    "team_research.py": ["reader: The motor is guaranteed", "Ada: A year ago.", "lead: The guarantee of 27 months"],
    "team_router.py": ["rule: weather:", "model: calculator: 42", "hybrid: desk:"],
    "team_support_desk.py": ["front: transfer_to_billing", "billing: You get your 55 euros back"],
    "team_two_players.py": ["X WINS", "Xaver: I take 9."],
    "team_writer_critic.py": ["critic: REVISE", "editor: One ring"],
}


@pytest.fixture
def example(monkeypatch, tmp_path):
    """Loads an example as a module, with its folder on the path as Python puts it there for a script."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.chdir(tmp_path)

    def load(name: str):
        spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def test_every_example_is_run_here():
    scripts = {path.name for path in EXAMPLES.glob("*.py") if "__main__" in path.read_text("utf-8")}
    assert scripts == set(PRINTED)


@pytest.mark.parametrize("name", sorted(PRINTED))
def test_the_example_runs_from_a_shell_without_a_key(name, tmp_path):
    environment = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY")}
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)],
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for text in PRINTED[name]:
        assert text in done.stdout


def test_the_tool_of_the_example_gives_its_result_to_the_model(example):
    module = example("assistant_add_custom_tool")
    model = module.scripted()
    messages = module.main(model)
    model.assert_complete()
    results = [message["content"] for message in messages if message["role"] == "function"]
    assert ['"in_stock": 88' in results[0], '"in_stock": 0' in results[1]] == [True, True]


def test_a_model_that_cites_a_passage_gets_its_page(example):
    def reply(request):
        sentence = "The motor is guaranteed for 27 months from the date of purchase."
        passages = [passage for message in request.messages for passage in read_knowledge(message.content)]
        if not passages:
            return "motor guarantee"  # the memory asks for words to search by
        cited = next(passage for passage in passages if "27 months" in passage.text)
        return f"{sentence} [{cited.n}]"

    answer = example("document_question").main(ScriptedChatModel([reply], repeat=True))
    (citation,) = answer["extra"]["citations"]
    assert citation["page"] == 7


def test_the_group_speaks_in_turn(example):
    said = example("group_chat_script").main(ScriptedChatModel(["one", "two", "three"]))
    assert [(message["name"], message["content"]) for message in said] == [
        ("Mia", "one"),
        ("Ken", "two"),
        ("Ada", "three"),
    ]
