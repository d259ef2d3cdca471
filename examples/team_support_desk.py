"""A support desk: the front passes a customer on to billing or technics, who may pass on too.

python examples/team_support_desk.py                    # scripted replies, no key
python examples/team_support_desk.py --model qwen-max   # a real model
"""

from __future__ import annotations

from typing import Any

from model_from_flags import model_from_flags

from qwen_agentkit import tool
from qwen_agentkit.agents import FnCallAgent, GroupChat
from qwen_agentkit.agents.handoff import Handoff
from qwen_agentkit.testing import ScriptedChatModel, call


@tool
def refund(order: str) -> str:
    """Pays an order back.

    Args:
        order: Its number.
    """
    return f"Order {order}: 55 euros were paid back."


def scripted() -> dict[str, ScriptedChatModel]:
    """What the models might say."""
    return {
        "front": ScriptedChatModel([call("transfer_to_billing")]),
        "billing": ScriptedChatModel([call("refund", order="7"), "You get your 55 euros back in three days."]),
        "technics": ScriptedChatModel([]),
    }


def build(models: Any) -> GroupChat:
    """The desk. Technics may pass on only when a tool of theirs has failed."""
    models = models if isinstance(models, dict) and "front" in models else dict.fromkeys(scripted(), models)
    desk = {"handoff_mode": "return"}
    return GroupChat(
        [
            FnCallAgent(
                llm=models["front"], name="front", system_message="You pass customers on.",
                handoffs=["billing", "technics"], **desk,
            ),
            FnCallAgent([refund], models["billing"], "You settle bills.", "billing", handoffs=["technics"], **desk),
            FnCallAgent(
                llm=models["technics"], name="technics", system_message="You mend things.",
                handoffs=[Handoff("billing", rule="only_on_failure")], **desk,
            ),
        ],
        "handoff",
    )  # fmt: skip


def main(llm: Any = None) -> list[dict]:
    """Serves one customer and returns what was said."""
    request = {"role": "user", "name": "Tom", "content": "The rain cover of order 7 leaks. I want my money back."}
    *_, response = build(llm or scripted()).run([request])
    for message in response:
        print(f"{message['name']}: {message['content'] or message['function_call']['name']}")
    return response


if __name__ == "__main__":
    main(model_from_flags("A support desk."))
