"""Imports of packages that a base install may lack."""

from __future__ import annotations

import importlib
from types import ModuleType

from qwen_agentkit.errors import MissingDependencyError


def need(module: str, extra: str | None = None, package: str | None = None) -> ModuleType:
    """Imports a module at first use, or says how to install it.

    Args:
        module: Dotted name, such as `sqlalchemy.orm`.
        extra: The extra of this project that brings it; None for a package that is installed by its own name.
        package: The name to install where it differs from the module's first part.

    Raises:
        MissingDependencyError: The package is absent; the text is the pip command.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        wanted = f"'qwen-agentkit[{extra}]'" if extra else (package or module.partition(".")[0])
        raise MissingDependencyError(
            f"{module} is needed here and cannot be imported ({error}). Install it with: pip install {wanted}",
            name=error.name,
        ) from error
