"""A writer and a critic go round until the critic is content; an editor then prints the text.

python examples/team_writer_critic.py                    # scripted replies, no key
python examples/team_writer_critic.py --model qwen-max   # a real model
"""

from __future__ import annotations

from typing import Any

from model_from_flags import model_from_flags

from qwen_agentkit.agents import BasicAgent
from qwen_agentkit.agents.graph import Graph
from qwen_agentkit.agents.group import Edge
from qwen_agentkit.testing import ScriptedChatModel

TASKS = {
    "writer": "Write one sentence of advertising for what you are given, and better it as the critic says.",
    "critic": "Judge the last sentence. Begin with REVISE and say what to better, or with FINE.",
    "editor": "Give the last version of the sentence, and nothing else.",
}


def scripted() -> ScriptedChatModel:
    """What the model might say."""
    return ScriptedChatModel(
        [
            "Our bell is very loud and very good.",
            "REVISE: say what it does for the rider.",
            "One ring, and the road is yours.",
            "FINE",
            "One ring, and the road is yours.",
        ]
    )


def build(llm: Any) -> Graph:
    """The loop as a graph, of nine steps at most."""
    return Graph(
        [BasicAgent(llm=llm, name=name, system_message=task) for name, task in TASKS.items()],
        edges=[("writer", "critic"), Edge("critic", "writer", "REVISE"), Edge("critic", "editor", otherwise=True)],
        start="writer",
        max_steps=9,
    )


def main(llm: Any = None) -> list[dict]:
    """Writes one sentence and returns all that was said."""
    *_, response = build(llm or scripted()).run([{"role": "user", "content": "A bicycle bell"}])
    for message in response:
        print(f"{message['name']}: {message['content']}")
    return response


if __name__ == "__main__":
    main(model_from_flags("A writer and a critic."))
