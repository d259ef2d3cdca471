"""Runs the examples and tests of a Qwen-Agent checkout under this project's name, offline: `python -m tests.dropin`."""
