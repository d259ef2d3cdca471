"""An assistant over the files of the command line, with everything read before the first question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from qwen_agentkit.agents import Assistant
from qwen_agentkit.cli.model_options import is_extractive
from qwen_agentkit.cli.progress import reading
from qwen_agentkit.cli.sources import Problem, Sources, find_sources
from qwen_agentkit.cli.status import WrongUse
from qwen_agentkit.cli.terminal import say


@dataclass
class Opened:
    """An assistant and what it reads.

    Args:
        agent: The assistant.
        sources: The files.
    """

    agent: Assistant
    sources: Sources

    @property
    def problems(self) -> list[Problem]:
        """What could not be read, named as the user named it."""
        return [*self.sources.problems, *_shown(self.agent.mem.problems, self.sources)]


def open_assistant(given: Sequence[str], config: dict[str, Any]) -> Opened:
    """Makes an assistant over files, and reads them; files that cannot be read are said on standard error.

    Args:
        given: Files, folders and addresses, as the user wrote them; none is fine.
        config: The model's configuration.

    Raises:
        WrongUse: The configuration names no usable model, or files were given and none can be read.
    """
    sources = find_sources(given)
    for problem in sources.problems:
        _say_problem(problem)
    if given and not sources.files:
        raise WrongUse("there is no file to read")
    try:
        agent = Assistant(llm=config, files=sources.files)
    except ValueError as error:
        if is_extractive(config) or config.get("model_server"):
            raise WrongUse(str(error)) from error
        raise WrongUse(
            f"the model {config['model']} is not known by its name alone; name its server with --model-server. {error}"
        ) from error
    opened = Opened(agent, sources)
    if sources.files:
        _read(opened)
    return opened


def _read(opened: Opened) -> None:
    files = opened.sources.files
    with reading(len(files)) as progress:
        problems = opened.agent.mem.function_map["retrieval"].prepare(files, progress=progress)
    for problem in _shown(problems, opened.sources):
        _say_problem(problem)
    if len({problem["file"] for problem in problems}) == len(files):
        raise WrongUse("none of the files can be read")


def _shown(problems: Sequence[Problem], sources: Sources) -> list[Problem]:
    return [{"file": sources.show(problem["file"]), "reason": problem["reason"]} for problem in problems]


def _say_problem(problem: Problem) -> None:
    say(f"{problem['file']}: {problem['reason']}")
