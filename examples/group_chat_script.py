"""Three people of a made-up team discuss, each an agent of its own, in turn.

python examples/group_chat_script.py                                  # scripted replies, no key
python examples/group_chat_script.py --model qwen-max                 # a real model
"""

from __future__ import annotations

from typing import Any

from model_from_flags import model_from_flags

from qwen_agentkit.agents import Assistant, GroupChat
from qwen_agentkit.testing import ScriptedChatModel

TEAM = [
    ("Mia", "product manager", "You are Mia, a product manager. You speak for the customer, in two sentences at most."),
    ("Ken", "engineer", "You are Ken, an engineer. You name costs and risks, in two sentences at most."),
    ("Ada", "team lead", "You are Ada, the team lead. You weigh what was said and decide, in two sentences at most."),
]


def scripted() -> ScriptedChatModel:
    """What a model might say, so that the example runs anywhere."""
    return ScriptedChatModel(
        [
            "Riders lose the map in tunnels, and that is their first complaint. I want the offline mode this quarter.",
            "Storing maps costs three weeks and 200 MB a city. The risk is small if we start with one city.",
            "Then we build it for one city and ask the riders in March. Decided.",
        ]
    )


def main(llm: Any = None) -> list[dict]:
    """Runs one round and returns what was said."""
    llm = llm or scripted()
    chat = GroupChat(
        agents=[
            Assistant(llm=llm, name=name, description=description, system_message=instructions)
            for name, description, instructions in TEAM
        ],
        agent_selection_method="round_robin",
        llm=llm,
    )
    question = {"role": "user", "name": "Customer", "content": "Should we build the offline mode?"}
    *_, response = chat.run([question], max_round=len(TEAM))
    for message in response:
        print(f"{message['name']}: {message['content']}")
    return response


if __name__ == "__main__":
    main(model_from_flags("A group chat with scripted turns."))
