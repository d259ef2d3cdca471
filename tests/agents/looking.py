"""A tool that members of teams call in tests."""

from qwen_agentkit.tools.base import BaseTool


class Look(BaseTool):
    """Sees.

    Args:
        seen: What it gives.
    """

    name = "look"
    description = "Looks."
    parameters = {"type": "object", "properties": {}}

    def __init__(self, seen="seen"):
        super().__init__()
        self.seen = seen

    def call(self, params, **kwargs):
        return self.seen
