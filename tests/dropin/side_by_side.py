"""The same programs in both frameworks: lines, seconds, and what comes of them when something goes wrong.

    QWEN_AGENTKIT_PEER_PYTHON=python-with-qwen-agent python -m tests.dropin.side_by_side [--only WORD ...] [--verbose]

Each is run in each framework against a model server on loopback: as it should go (the best time of three, the start of
Python included), and once with its fault. `right`: it ended and printed what it had to. Where only one text stands,
both run the same one, but for the name that is imported.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.dropin.speaker import Speaker
from tests.servers.model_server import Answer
from tests.servers.oai_server import OAIServer

ROOT = Path(__file__).resolve().parents[2]
PEER = "QWEN_AGENTKIT_PEER_PYTHON"
RUNS = 3

Spoil = Callable[[int, Answer], Answer]

HEAD = """
import os
from PACKAGE.agents import Assistant
llm = {"model": "m", "model_server": os.environ["SERVER"], "api_key": "EMPTY", "generate_cfg": {"max_retries": 2}}
"""
TOOL_CLASS = """
import json5
from PACKAGE.tools.base import BaseTool, register_tool

@register_tool("weather")
class Weather(BaseTool):
    description = "Today's weather in a city."
    parameters = [{"name": "city", "type": "string", "description": "the city", "required": True}]

    def call(self, params, **kwargs):
        city = json5.loads(params)["city"]
        BODY
"""
TOOL_FUNCTION = """
from PACKAGE import tool

@tool
def weather(city: str):
    '''Today's weather in a city.'''
    BODY
"""
ASK = """
*_, last = bot.run([{"role": "user", "content": "How warm is it in Oslo?"}])
print(last[-1]["content"])
"""


def with_tool(tool: str, body: str, agent: str = "Assistant", name: str = '"weather"') -> str:
    head = HEAD.replace("Assistant", agent) + tool.replace("BODY", body)
    return f"{head}\nbot = {agent}(llm=llm, function_list=[{name}])\n{ASK}"


@dataclass(frozen=True)
class Comparison:
    """One program.

    Args:
        name: What it does.
        fault: What goes wrong in the second round of runs.
        text: The program for both; `PACKAGE` is the framework.
        prints: A pattern that the output must hold.
        speaker: Makes the model.
        spoil: Changes the answers, by their number from 0, when the fault is on. Where the fault is in the program
            itself, it reads FAULT from its environment.
        ours: The program as one would write it here, where that differs.
    """

    name: str
    fault: str
    text: str
    prints: str
    speaker: Callable[[], Speaker]
    spoil: Spoil = lambda number, answer: answer
    ours: str = ""


def at(number: int, change: Callable[[Answer], Answer]) -> Spoil:
    """Changes one answer."""
    return lambda position, answer: change(answer) if position == number else answer


def without_last_brace(answer: Answer) -> Answer:
    """A call whose JSON lacks its end, as models leave it."""
    calls = [(name, arguments.removesuffix("}")) for name, arguments in answer.calls]
    return replace(answer, calls=calls, text=re.sub(r"\}\s*</tool_call>", "\n</tool_call>", answer.text))


def tool_speaker(*cities: str, answer: str = "It is 21 degrees.") -> Callable[[], Speaker]:
    return lambda: Speaker([[[("weather", {"city": city}) for city in cities]]], answer=answer)


SHRINKS = """
bot = Assistant(llm=llm)
before = ""
for response in bot.run([{"role": "user", "content": "Tell me a story."}]):
    text = response[-1]["content"] if response else ""
    if not text.startswith(before):
        raise SystemExit("the text was taken back")
    before = text
print(before)
"""
DOCUMENT = """
files = ["manual.txt", "other.docx"] if os.environ["FAULT"] else ["manual.txt"]
bot = Assistant(llm=llm, files=files)
*_, last = bot.run([{"role": "user", "content": "How long is the motor guaranteed?"}])
print(last[-1]["content"])
"""
GROUP = """
from PACKAGE.agents import GroupChat
members = [Assistant(llm=llm, name=name, description=name) for name in ("Mia", "Ken", "Ada")]
chat = GroupChat(agents=members, agent_selection_method="round_robin", llm=llm)
history = [{"role": "user", "name": "Bob", "content": "Begin."}]
if os.environ["FAULT"]:
    for number in "12":
        call = {"name": "look", "arguments": "{}"}
        history.append({"role": "assistant", "name": "Mia", "content": "", "function_call": call})
    for number in "12":
        history.append({"role": "function", "name": "look", "content": number})
    history.append({"role": "assistant", "name": "Mia", "content": "I have looked."})
    history.append({"role": "user", "name": "Bob", "content": "Go on."})
*_, last = chat.run(history, max_round=3)
print(len(last), last[-1]["content"])
"""
ROUTER = """
from PACKAGE.agents import Router
worker = Assistant(llm=llm, name="cook", description="knows recipes")
bot = Router(llm=llm, agents=[worker])
*_, last = bot.run([{"role": "user", "content": "Write down how I can reach you."}])
print(last[-1]["content"])
"""
HISTORY = """
bot = Assistant(llm=llm)
messages = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Hello."}]
if os.environ["FAULT"]:
    messages.insert(1, {"role": "system", "content": "Be kind."})
*_, last = bot.run(messages)
print(last[-1]["content"])
"""
DEGREES = 'return f"21 degrees in {city}"'
SLOW = 'import time; time.sleep(0.5); return f"21 degrees in {city}"'
FAILING = 'import os; return "21 degrees" if city == "Oslo" or not os.environ["FAULT"] else city.no_such_thing'
A_SET = 'import os; return {21} if os.environ["FAULT"] else "21"'

COMPARISONS = (
    Comparison(
        "a chat",
        "the server is busy once",
        HEAD + "bot = Assistant(llm=llm)" + ASK,
        "It is 21",
        lambda: Speaker(answer="It is 21 degrees."),
        at(0, lambda _: Answer(status=503, headers={"Retry-After": "0"})),
    ),
    Comparison(
        "a streamed answer",
        "the connection breaks in the middle",
        HEAD + SHRINKS,
        "Once.*end",
        lambda: Speaker(answer="Once upon a time there was a cat, and that is the end."),
        at(0, lambda answer: replace(answer, drop_after=6)),
    ),
    Comparison(
        "a tool of one's own",
        "the call's JSON lacks its end",
        with_tool(TOOL_CLASS, DEGREES),
        "It is 21",
        tool_speaker("Oslo"),
        at(0, without_last_brace),
        with_tool(TOOL_FUNCTION, DEGREES, name="weather"),
    ),
    Comparison(
        "four slow tools at once",
        "the reply ends in words behind the calls",
        with_tool(TOOL_CLASS, SLOW),
        "It is 21",
        tool_speaker("Oslo", "Rome", "Bonn", "Lima"),
        at(0, lambda answer: replace(answer, text=answer.text and answer.text + "\nLet me see.")),
        with_tool(TOOL_FUNCTION, SLOW, name="weather"),
    ),
    Comparison(
        "tools that fail",
        "one of two raises; its traceback must not reach the model",
        with_tool(TOOL_CLASS, FAILING),
        "It is 21",
        lambda: Speaker(
            [[[("weather", {"city": "Oslo"}), ("weather", {"city": "Rome"})]]],
            [("program.py", "A traceback came.")],
            "It is 21 degrees.",
        ),
        ours=with_tool(TOOL_FUNCTION, FAILING, name="weather"),
    ),
    Comparison(
        "a question to a document",
        "a second file cannot be read",
        HEAD + DOCUMENT,
        "27 months",
        lambda: Speaker(says=[("27 months", "27 months.")], answer='{"keywords_en": ["motor"], "keywords_zh": []}'),
    ),
    Comparison(
        "a group chat",
        "the history holds parallel tool calls",
        HEAD + GROUP,
        "3 I agree",
        lambda: Speaker(answer="I agree."),
    ),
    Comparison(
        "a router",
        'its own answer holds the word "Call:"',
        HEAD + ROUTER,
        "555|reach",
        lambda: Speaker(says=[("cook", "You can reach me here.")], answer="The cook speaks."),
        at(0, lambda _: Answer("You can reach me by phone. Call: 555.")),
    ),
    Comparison(
        "a ReAct agent",
        "the model's first reply is empty",
        with_tool(TOOL_CLASS, DEGREES, "ReActChat"),
        "Thought",
        tool_speaker("Oslo", answer="Final Answer: It is 21 degrees."),
        at(0, lambda _: Answer("")),
    ),
    Comparison(
        "a tool's own result",
        "it is a set, which JSON has not",
        with_tool(TOOL_CLASS, A_SET),
        "It is 21",
        tool_speaker("Oslo"),
        ours=with_tool(TOOL_FUNCTION, A_SET, name="weather"),
    ),
    Comparison(
        "a history from elsewhere",
        "it has two system messages",
        HEAD + HISTORY,
        "Hello",
        lambda: Speaker(answer="Hello."),
    ),
)


def run(text: str, comparison: Comparison, python: str, fault: bool, verbose: bool) -> tuple[str, float]:
    """What came of it, and its seconds."""
    server, speaker = OAIServer(), comparison.speaker()
    answered = [0]

    def answer(body: dict[str, Any]) -> Answer:
        said = speaker(body)
        number, answered[0] = answered[0], answered[0] + 1
        return comparison.spoil(number, said) if fault else said

    server.script = [answer]
    with tempfile.TemporaryDirectory() as folder:
        filler = "The blade is sharpened with a wet stone. " * 20
        (Path(folder) / "manual.txt").write_text(f"{filler}\nThe motor is guaranteed for 27 months.\n{filler}")
        (Path(folder) / "other.docx").write_text("this is no document")
        (Path(folder) / "program.py").write_text(text)
        begun = time.monotonic()
        try:
            done = subprocess.run(
                [python, "program.py"],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(ROOT), "SERVER": server.url, "FAULT": "1" if fault else ""},
                capture_output=True,
                text=True,
                timeout=90,
            )
        except subprocess.TimeoutExpired:
            return "no end", 90.0
        finally:
            server.close()
    seconds = time.monotonic() - begun
    if verbose:
        print(done.stdout + done.stderr[-1500:], file=sys.stderr)
    if done.returncode:
        errors = re.findall(r"^([\w.]*\w(?:Error|Exception))(?::|$)", done.stderr, re.MULTILINE)
        said = done.stderr.strip().splitlines() or ["ended early"]
        return errors[-1].rpartition(".")[2] if errors else said[-1][:40], seconds
    return ("right" if re.search(comparison.prints, done.stdout, re.DOTALL) else "wrong answer"), seconds


def lines_of(text: str) -> int:
    return sum(bool(line.strip()) for line in text.splitlines())


def measured(comparison: Comparison, python: str, package: str, verbose: bool) -> tuple[int, float, str, str]:
    """Lines, the best seconds, the outcome as it should go, the outcome with the fault."""
    own = comparison.ours if package == "qwen_agentkit" and comparison.ours else comparison.text
    text = textwrap.dedent(own).replace("PACKAGE", package).strip() + "\n"
    good = [run(text, comparison, python, False, verbose) for _ in range(RUNS)]
    outcome, _ = run(text, comparison, python, True, verbose)
    return lines_of(text), min(seconds for _, seconds in good), good[0][0], outcome


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="The same programs in both frameworks.")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args(arguments)
    pythons = {"qwen_agentkit": sys.executable}
    if os.environ.get(PEER):
        pythons["qwen_agent"] = os.environ[PEER]
    else:
        print(f"Qwen-Agent is left out: {PEER} names no Python that has it.")
    print(f"{'program':<28}{'framework':<15}{'lines':>6}{'s':>7}  {'as it should go':<18}{'fault':<60}outcome")
    for comparison in COMPARISONS:
        if given.only and not any(word in comparison.name for word in given.only):
            continue
        for package, python in pythons.items():
            lines, seconds, outcome, faulty = measured(comparison, python, package, given.verbose)
            print(
                f"{comparison.name:<28}{package:<15}{lines:>6}{seconds:>7.2f}  {outcome:<18}"
                f"{comparison.fault:<60}{faulty}",
                flush=True,
            )


if __name__ == "__main__":
    main()
