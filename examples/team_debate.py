"""A debate: two sides in turn, until the chair has heard enough.

python examples/team_debate.py                    # scripted replies, no key
python examples/team_debate.py --model qwen-max   # a real model
"""

from __future__ import annotations

from typing import Any

from model_from_flags import model_from_flags

from qwen_agentkit.agents import Assistant, GroupChat
from qwen_agentkit.agents.group import MaxRounds, TextMention
from qwen_agentkit.testing import ScriptedChatModel

SIDES = {
    "Pro": "You argue for the motion, in two sentences, and answer what was said before.",
    "Contra": "You argue against the motion, in two sentences, and answer what was said before.",
    "Chair": "You chair the debate. While an argument is open, name it. When all is said, sum up and end with CLOSED.",
}


def scripted() -> ScriptedChatModel:
    """What the model might say."""
    return ScriptedChatModel(
        [
            "People ride safely when the shop is open late. Late opening pays for itself in repairs.",
            "Nobody repairs well at night. The staff would leave.",
            "Open: who would work the late shift?",
            "Two of us offered to, for the bonus.",
            "Then my objection falls, for the two of them.",
            "Late opening with the two volunteers, on trial. CLOSED",
        ]
    )


def build(llm: Any) -> GroupChat:
    """The debate as a team."""
    return GroupChat(
        [Assistant(llm=llm, name=name, system_message=task) for name, task in SIDES.items()],
        "round_robin",
        llm=llm,
        termination=TextMention("CLOSED", sources="Chair") | MaxRounds(12),
    )


def main(llm: Any = None) -> list[dict]:
    """Debates one motion and returns what was said."""
    *_, response = build(llm or scripted()).run([{"role": "user", "content": "Should the bike shop open until ten?"}])
    for message in response:
        print(f"{message['name']}: {message['content']}")
    return response


if __name__ == "__main__":
    main(model_from_flags("A debate."))
