"""A router over a weather and a calculator worker: by rule, by model, both, and a request that needs both workers.

python examples/team_router.py                    # scripted replies, no key
python examples/team_router.py --model qwen-max   # a real model
"""

from __future__ import annotations

from typing import Any

from model_from_flags import model_from_flags

from qwen_agentkit import tool
from qwen_agentkit.agents import FnCallAgent
from qwen_agentkit.agents.router import Router
from qwen_agentkit.testing import ScriptedChatModel, call

RULES = {"weather": ["weather", "rain"], "calculator": ["sum", "times"]}
BOTH = '{"parts": [{"worker": "weather", "task": "Weather in Oslo?"}, {"worker": "calculator", "task": "6 times 7?"}]}'


@tool
def weather_in(city: str) -> str:
    """The weather in a city today.

    Args:
        city: Name of the city.
    """
    return f"{city}: rain, 8 degrees"


@tool
def multiply(a: float, b: float) -> float:
    """Multiplies two numbers.

    Args:
        a: The one.
        b: The other.
    """
    return a * b


def scripted() -> dict[str, ScriptedChatModel]:
    """What the models might say: the router is asked twice, each worker as often as it gets work."""
    rain = [call("weather_in", city="Oslo"), "It rains in Oslo at 8 degrees."]
    return {
        "router": ScriptedChatModel(
            [
                '{"worker": "calculator", "confidence": 0.9, "reason": "a product"}',
                BOTH,
                "It rains in Oslo at 8 degrees, and 6 times 7 is 42.",
            ]
        ),
        "weather": ScriptedChatModel(rain, repeat=True),
        "calculator": ScriptedChatModel([call("multiply", a=6, b=7), "42"], repeat=True),
    }


def build(models: Any, routing: str) -> Router:
    """The router; one more worker is one more item in `agents`."""
    models = models if isinstance(models, dict) and "router" in models else dict.fromkeys(scripted(), models)
    return Router(
        name="desk",
        llm=models["router"],
        agents=[
            FnCallAgent([weather_in], models["weather"], name="weather", description="tells the weather of a city"),
            FnCallAgent([multiply], models["calculator"], name="calculator", description="calculates with numbers"),
        ],
        routing=routing,
        rules=None if routing == "model" else RULES,
        default="weather",
        split=routing == "hybrid",
    )


def main(llm: Any = None) -> list[str]:
    """Asks three questions, each routed in another way, and returns the answers."""
    models = llm or scripted()
    questions = {
        "rule": "Will there be rain in Oslo?",
        "model": "What are six sevens?",
        "hybrid": "What is the weather in Oslo, and what is 6 times 7?",
    }
    answers = []
    for routing, question in questions.items():
        *_, response = build(models, routing).run([{"role": "user", "content": question}])
        answers.append(response[-1]["content"])
        print(f"{routing}: {response[-1]['name']}: {response[-1]['content']}")
    return answers


if __name__ == "__main__":
    main(model_from_flags("A router over two workers."))
