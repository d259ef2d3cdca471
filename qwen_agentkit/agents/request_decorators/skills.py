"""`Skills`: instructions for kinds of work, told by name and read when needed.

A skill is a folder with a `SKILL.md` whose front matter has `name` and `description`
(the Agent Skills format, https://agentskills.io).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qwen_agentkit.agents.request_decorators.base import RequestDecorator
from qwen_agentkit.errors import ToolArgumentsError
from qwen_agentkit.log import logger
from qwen_agentkit.schema import Message
from qwen_agentkit.system_message import appended
from qwen_agentkit.tools.base import BaseTool

READ_SKILL = "read_skill"

_HEADS = {
    "en": "# Skills\n\nInstructions for these kinds of work are at hand. When one fits the task, read it first with "
    f"the tool {READ_SKILL}.",
    "zh": f"# 技能\n\n以下各类工作有现成的说明。如果其中一项适合当前任务，请先用工具 {READ_SKILL} 阅读。",
}
_FRONT_MATTER = re.compile(r"\A---[^\S\n]*\n(?P<fields>.*?)\n---[^\S\n]*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^(?P<key>[A-Za-z_-]+)[^\S\n]*:[^\S\n]*(?P<value>.*(?:\n[^\S\n]+\S.*)*)$", re.MULTILINE)
_MAX_BYTES = 200_000


@dataclass(frozen=True)
class Skill:
    """One skill: its name, what it is for, and its instructions."""

    name: str
    description: str
    body: str


class Skills(RequestDecorator):
    """Tells the model which skills there are; the tool `read_skill` gives their text.

    Args:
        folder: A folder of skill folders. It is looked at again each turn.
    """

    order = 20

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        if not self._folder.is_dir():
            raise ValueError(f"The folder of skills {os.fspath(folder)!r} does not exist")

    def decorate(self, messages: list[Message], llm: Any, lang: str) -> list[Message]:
        skills = self.skills()
        if not skills:
            return messages
        lines = [f"- {skill.name}: {skill.description}" for skill in skills.values()]
        return appended(messages, "\n".join([_HEADS["zh" if lang == "zh" else "en"], "", *lines]))

    def tools(self) -> list[BaseTool]:
        return [_ReadSkill(self)]

    def skills(self) -> dict[str, Skill]:
        """The skills that are there now, by name. One that cannot be read is left out, with a warning in the log."""
        found: dict[str, Skill] = {}
        for path in sorted(self._folder.glob("*/SKILL.md")):
            try:
                skill = read_skill(path)
            except (OSError, ValueError) as error:
                logger.warning("The skill %s is left out: %s", path, error)
                continue
            found[skill.name] = skill
        return found


def read_skill(path: Path) -> Skill:
    """Reads a `SKILL.md`.

    Raises:
        ValueError: It is too large, or has no front matter with a description.
    """
    if path.stat().st_size > _MAX_BYTES:
        raise ValueError(f"it is over {_MAX_BYTES:,} bytes")
    text = path.read_text("utf-8")
    head = _FRONT_MATTER.match(text)
    fields = {}
    for field in _FIELD.finditer(head["fields"] if head else ""):
        fields[field["key"].lower()] = " ".join(field["value"].split()).strip("\"'")
    if head is None or not fields.get("description"):
        raise ValueError("it has no front matter with a description")
    return Skill(fields.get("name") or path.parent.name, fields["description"], text[head.end() :].strip())


class _ReadSkill(BaseTool):
    untrusted = False
    name = READ_SKILL
    description = "Gives the instructions of a skill."
    parameters = {
        "type": "object",
        "properties": {"name": {"type": "string", "description": "Name of the skill."}},
        "required": ["name"],
    }

    def __init__(self, skills: Skills) -> None:
        super().__init__()
        self._skills = skills

    def call(self, params: str | dict[str, Any], **kwargs: Any) -> str:
        name = self._verify_json_format_args(params)["name"]
        skills = self._skills.skills()
        if name not in skills:
            raise ToolArgumentsError(f"There is no skill {name!r}; there are {', '.join(skills) or 'none'}")
        return skills[name].body
