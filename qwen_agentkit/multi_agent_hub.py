"""`MultiAgentHub` under the path that Qwen-Agent programs import it from."""

from qwen_agentkit.agents.multi_agent_hub import MultiAgentHub

__all__ = ["MultiAgentHub"]
