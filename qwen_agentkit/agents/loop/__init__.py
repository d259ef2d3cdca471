"""The tool loop's parts: each policy is a small object beside the loop, which is in `agents/fncall_agent.py`."""
