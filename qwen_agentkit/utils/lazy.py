"""Names and registries that import what they name only when it is used."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple


def lazy_exports(package: str, where: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package that hands names on.

    Args:
        package: The package's `__name__`.
        where: Exported name -> module that defines it. A leading dot means inside the package.

    Returns:
        Two functions, to be bound to `__getattr__` and `__dir__` of the package.
    """

    def get(name: str) -> Any:
        module = where.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(module, package), name)
        importlib.import_module(package).__dict__[name] = value
        return value

    def names() -> list[str]:
        return sorted({*importlib.import_module(package).__dict__, *where})

    return get, names


class _Unloaded(NamedTuple):
    module: str
    attribute: str

    def load(self) -> Any:
        return getattr(importlib.import_module(self.module), self.attribute)


class LazyRegistry(dict[str, Any]):
    """A dict of classes by name that lists every name from the start and imports a class at first access.

    Every way of reading a value (`[]`, `get`, `values`, `items`, `pop`, `copy`, `{**registry}`, `|`) gives the
    class itself.

    Args:
        unloaded: Name -> `"package.module:Class"`.
    """

    def __init__(self, unloaded: Mapping[str, str]) -> None:
        super().__init__()
        for name, target in unloaded.items():
            module, _, attribute = target.partition(":")
            super().__setitem__(name, _Unloaded(module, attribute))

    def origin(self, name: str) -> tuple[str, str] | None:
        """Module and qualified name of what is registered, without importing it; None when nothing is."""
        held = super().get(name)
        if held is None:
            return None
        if isinstance(held, _Unloaded):
            return held.module, held.attribute
        return held.__module__, held.__qualname__

    def __getitem__(self, name: str) -> Any:
        held = super().__getitem__(name)
        if isinstance(held, _Unloaded):
            loaded = held.load()
            # Importing the module usually registered the class already; a user's own entry made meanwhile stays.
            if isinstance(super().get(name), _Unloaded):
                super().__setitem__(name, loaded)
            return super().__getitem__(name)
        return held

    def __iter__(self) -> Iterator[str]:
        # Not inherited: with dict's own iterator, `dict(registry)` would copy the unloaded entries.
        return iter(list(super().keys()))

    def get(self, name: str, default: Any = None) -> Any:
        if name not in self:
            return default
        return self[name]

    def values(self) -> list[Any]:  # type: ignore[override]
        return [self[name] for name in self]

    def items(self) -> list[tuple[str, Any]]:  # type: ignore[override]
        return [(name, self[name]) for name in self]

    def pop(self, name: str, *default: Any) -> Any:
        if name in self:
            value = self[name]
            del self[name]
            return value
        return super().pop(name, *default)

    def popitem(self) -> tuple[str, Any]:
        if not self:
            raise KeyError("the registry is empty")
        name = list(self)[-1]
        return name, self.pop(name)

    def setdefault(self, name: str, default: Any = None) -> Any:
        if name not in self:
            self[name] = default
        return self[name]

    def copy(self) -> dict[str, Any]:
        """A plain dict of the classes, all of them imported."""
        return dict(self.items())

    __copy__ = copy

    def __or__(self, other: Any) -> dict[str, Any]:  # type: ignore[override]
        return self.copy() | other

    def __ror__(self, other: Any) -> dict[str, Any]:  # type: ignore[override]
        return other | self.copy()

    def __eq__(self, other: object) -> bool:
        return self.copy() == (other.copy() if isinstance(other, LazyRegistry) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self):
        return dict, (self.copy(),)

    def __repr__(self) -> str:
        return f"<registry of {', '.join(self._names())}>"

    def _names(self) -> Iterable[str]:
        return sorted(super().keys())
