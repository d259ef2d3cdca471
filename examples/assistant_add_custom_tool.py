"""An assistant with a tool of one's own, over two turns of a conversation.

python examples/assistant_add_custom_tool.py                    # scripted replies, no key
python examples/assistant_add_custom_tool.py --model qwen-max   # a real model
"""

from __future__ import annotations

import json
from typing import Any

from model_from_flags import model_from_flags

from qwen_agentkit.agents import Assistant
from qwen_agentkit.testing import ScriptedChatModel, call
from qwen_agentkit.tools.base import BaseTool, register_tool

STOCK = {"charger": 88, "rain cover": 55, "brake pads": 940}


@register_tool("stock_of_part", allow_overwrite=True)
class StockOfPart(BaseTool):
    """Looks up how many pieces of a part lie in the store."""

    description = "Tells how many pieces of a spare part are in stock."
    parameters = {
        "type": "object",
        "properties": {"part": {"type": "string", "description": "Name of the part, in the singular, in English."}},
        "required": ["part"],
    }

    def call(self, params: str | dict, **kwargs: Any) -> str:
        part = self._verify_json_format_args(params)["part"].lower()
        return json.dumps({"part": part, "in_stock": STOCK.get(part, 0)})


def scripted() -> ScriptedChatModel:
    """What a model might say, so that the example runs anywhere."""
    return ScriptedChatModel(
        [
            call("stock_of_part", part="charger"),
            "There are 88 chargers in stock.",
            call("stock_of_part", part="bell"),
            "No, bells are out of stock.",
        ]
    )


def main(llm: Any = None) -> list[dict]:
    """Asks two questions and returns the whole conversation."""
    bot = Assistant(
        llm=llm or scripted(),
        function_list=["stock_of_part"],
        system_message="You answer for the parts store. Look every number up.",
    )
    messages: list[dict] = []
    for question in ["How many chargers do you have?", "And bells?"]:
        messages.append({"role": "user", "content": question})
        # Each step of `run` gives the whole response so far; the last one is the answer.
        *_, response = bot.run(messages)
        messages.extend(response)
        print(f"{question}\n  {response[-1]['content']}")
    return messages


if __name__ == "__main__":
    main(model_from_flags("An assistant with a tool of its own."))
