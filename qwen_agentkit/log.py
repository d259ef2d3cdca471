"""The package's logger. It is silent until a program (or the command line) calls `setup_logger`."""

from __future__ import annotations

import logging

from qwen_agentkit import settings

LOGGER_NAME = "qwen_agentkit_logger"

logger = logging.getLogger(LOGGER_NAME)
logger.addHandler(logging.NullHandler())


def setup_logger(level: int | str | None = None) -> logging.Logger:
    """Writes the package's log to standard error.

    Args:
        level: A level of `logging`; None is INFO, or DEBUG when `QWEN_AGENTKIT_DEBUG` is true.

    Returns:
        The logger. Calling again changes the level and adds no second handler.
    """
    if level is None:
        level = logging.DEBUG if settings.DEBUG else logging.INFO
    logger.setLevel(level)
    if not any(type(handler) is logging.StreamHandler for handler in logger.handlers):
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s - %(filename)s - %(lineno)d - %(levelname)s - %(message)s"))
        logger.addHandler(handler)
    return logger
