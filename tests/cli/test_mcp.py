from pathlib import Path

import pytest

pytest.importorskip("mcp")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "--files or --agent"),
        (("--files", "resources", "--agent", "a:b"), "--files or --agent"),
        (("--files", "gone.pdf"), "no file to read"),
        (("--agent", "nothing"), "module:agent"),
        (("--agent", "no_such_module:bot"), "no_such_module"),
        (("--agent", "my_bots:gone"), "no gone"),
        (("--agent", "my_bots:number"), "no agent but int"),
        (("--agent", "my_bots:number", "--model", "qwen-max"), "its own model"),
    ],
)
def test_wrong_use_is_said_in_one_line_before_anything_is_served(shell, arguments, told):
    Path("my_bots.py").write_text("number = 1\n")
    done = shell("mcp", *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_a_client_that_leaves_ends_the_command(cli):
    done = cli("mcp", "--files", "resources/meeting_notes.md")
    assert (done.returncode, done.stdout) == (0, "")
