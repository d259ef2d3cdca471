"""A photo is checked against the weather service: two agents look at the same time, a third compares.

python examples/team_photo_check.py                                # scripted replies, no key
python examples/team_photo_check.py --model qwen-vl-max            # a real model that sees
"""

from __future__ import annotations

from typing import Any

from model_from_flags import model_from_flags

from qwen_agentkit import tool
from qwen_agentkit.agents import BasicAgent, FnCallAgent
from qwen_agentkit.agents.graph import Graph
from qwen_agentkit.testing import ScriptedChatModel, call

PHOTO = "https://example.com/oslo-this-morning.jpg"
CLAIM = "This photo was taken in Oslo this morning."


@tool
def weather_in(city: str) -> str:
    """The weather in a city this morning.

    Args:
        city: Name of the city.
    """
    return f"{city}: heavy rain since 5 o'clock"


def scripted() -> dict[str, ScriptedChatModel]:
    """What the models might say."""
    return {
        "eyes": ScriptedChatModel(["A dry street under a blue sky."], cfg={"multimodal": True}),
        "weather": ScriptedChatModel([call("weather_in", city="Oslo"), "Heavy rain since 5 o'clock."]),
        "judge": ScriptedChatModel(["They do not fit: the photo is dry, and it has rained in Oslo since 5 o'clock."]),
    }


def build(models: Any) -> Graph:
    """Eyes and weather work at the same time; the judge waits for both."""
    models = models if isinstance(models, dict) and "eyes" in models else dict.fromkeys(scripted(), models)
    return Graph(
        [
            BasicAgent(llm=models["eyes"], name="eyes", system_message="Say in one sentence what weather you see."),
            FnCallAgent([weather_in], models["weather"], "Say what the weather was in the place named.", "weather"),
            BasicAgent(llm=models["judge"], name="judge", system_message="Say whether photo and weather fit."),
        ],
        edges=[("eyes", "judge"), ("weather", "judge")],
    )


def main(llm: Any = None) -> list[dict]:
    """Checks one photo and returns what was said."""
    claim = {"role": "user", "content": [{"text": CLAIM}, {"image": PHOTO}]}
    *_, response = build(llm or scripted()).run([claim])
    for message in response:
        if message["content"]:
            print(f"{message['name']}: {message['content']}")
    return response


if __name__ == "__main__":
    main(model_from_flags("A photo against the weather."))
