"""`python -m qwen_agentkit.cli` is `qwen-agentkit`."""

from qwen_agentkit.cli import main

main()
