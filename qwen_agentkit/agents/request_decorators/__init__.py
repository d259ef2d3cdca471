"""Small objects that add to what the model is sent, each turn anew; nothing of it enters the history.

They act in a fixed order, whatever the order they are given in: persona, skills, captions, attachments, recall,
quote, reminders.
"""

from qwen_agentkit.agents.request_decorators.attachments import Attachments
from qwen_agentkit.agents.request_decorators.base import RequestDecorator, decorated, in_order
from qwen_agentkit.agents.request_decorators.captions import Captions
from qwen_agentkit.agents.request_decorators.persona import Persona
from qwen_agentkit.agents.request_decorators.quote import Quote
from qwen_agentkit.agents.request_decorators.recall import Recall
from qwen_agentkit.agents.request_decorators.reminders import Reminders
from qwen_agentkit.agents.request_decorators.skills import Skills

__all__ = [
    "Attachments",
    "Captions",
    "Persona",
    "Quote",
    "Recall",
    "Reminders",
    "RequestDecorator",
    "Skills",
    "decorated",
    "in_order",
]
