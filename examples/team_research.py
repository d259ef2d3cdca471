"""A research team over documents: an orchestrator plans, a reader looks things up, a human decides.

python examples/team_research.py                    # scripted replies, no key
python examples/team_research.py --model qwen-max   # a real model, and you are asked
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from model_from_flags import model_from_flags

from qwen_agentkit.agents import Assistant, UserAgent
from qwen_agentkit.agents.orchestrator import Orchestrator
from qwen_agentkit.testing import ScriptedChatModel

HANDBOOK = Path(__file__).resolve().parents[1] / "resources" / "handbook.pdf"


def _ledger(speaker: str, instruction: str, done: bool = False) -> str:
    answers = {
        "is_request_satisfied": done,
        "is_in_loop": False,
        "is_progress_being_made": True,
        "next_speaker": speaker,
        "instruction_or_question": instruction,
    }
    return json.dumps({name: {"reason": "as planned", "answer": answer} for name, answer in answers.items()})


def scripted() -> dict[str, ScriptedChatModel]:
    """What the models might say."""
    return {
        "lead": ScriptedChatModel(
            [
                "To be looked up: how long the motor is guaranteed.",
                "- reader: find the guarantee\n- Ada: say when it was bought",
                _ledger("reader", "How long is the motor guaranteed?"),
                _ledger("Ada", "When did you buy the bicycle?"),
                _ledger("Ada", "", done=True),
                "The guarantee of 27 months has not run out: you bought the bicycle a year ago.",
            ]
        ),
        "reader": ScriptedChatModel(
            [
                '{"keywords_zh": [], "keywords_en": ["motor", "guarantee"]}',
                "The motor is guaranteed for 27 months from the date of purchase.",
            ]
        ),
    }


def build(models: Any, ask: Any = None) -> Orchestrator:
    """The team.

    Args:
        models: A model, or one for `lead` and one for `reader`.
        ask: Called with the conversation when it is Ada's turn; None asks at the keyboard.
    """
    models = models if isinstance(models, dict) and "lead" in models else dict.fromkeys(scripted(), models)

    def at_the_keyboard(messages: list) -> str:
        return input(f"{messages[-1]['content']}")

    return Orchestrator(
        [
            Assistant(llm=models["reader"], name="reader", description="reads the handbook", files=[str(HANDBOOK)]),
            UserAgent(
                name="Ada", description="the customer, who knows her own bicycle", input_func=ask or at_the_keyboard
            ),
        ],
        llm=models["lead"],
        name="lead",
    )


def main(llm: Any = None) -> list[dict]:
    """Answers one question and returns all that was said."""
    team = build(llm or scripted(), ask=None if llm else lambda messages: "A year ago.")
    *_, response = team.run([{"role": "user", "content": "Is my motor still under guarantee?"}])
    for message in response[1:]:
        print(f"{message['name']}: {message['content']}")
    return response


if __name__ == "__main__":
    main(model_from_flags("A research team."))
