"""`python -m qwen_agentkit` is `qwen-agentkit`."""

from qwen_agentkit.cli import main

main()
