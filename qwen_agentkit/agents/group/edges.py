"""The shape of a graph: edges, their conditions, and the checks before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qwen_agentkit.agents.group.views import is_reply, text_of
from qwen_agentkit.schema import Message

JOINS = ("all", "any")


@dataclass(frozen=True)
class Edge:
    """That one node gives way to another.

    Args:
        source: The node that has run.
        target: The node that may run then.
        when: The edge is taken when this text stands in the source's reply, or this function of the reply's
            messages is true. None: always.
        otherwise: The edge is taken when no other edge of its source is.
    """

    source: str
    target: str
    when: str | Callable[[list[Message]], bool] | None = None
    otherwise: bool = False

    def __post_init__(self) -> None:
        if self.when is not None and not isinstance(self.when, str) and not callable(self.when):
            raise ValueError(f"Edge.when is a text, a function or None, not {self.when!r}")
        if self.otherwise and self.when is not None:
            raise ValueError(f"The edge {self} is taken otherwise and has a condition; one of the two")

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}"

    @property
    def conditional(self) -> bool:
        return self.when is not None or self.otherwise

    def holds(self, reply: Sequence[Message]) -> bool:
        """Whether the condition is met by the source's reply."""
        if self.when is None:
            return not self.otherwise
        if isinstance(self.when, str):
            words = [text_of(message) for message in reply if is_reply(message)]
            return bool(words) and self.when in words[-1]
        return bool(self.when(list(reply)))


def edges_from(edges: Iterable[Any], names: Sequence[str]) -> list[Edge]:
    """The edges of a graph: `Edge`s, or tuples of two (source, target) or three (and a condition).

    Sources and targets are agents or their names.

    Raises:
        ValueError: One is no edge, or goes from or to somebody who is no node.
    """
    made: list[Edge] = []
    for given in edges:
        if not isinstance(given, Edge):
            if not isinstance(given, tuple) or len(given) not in (2, 3):
                raise ValueError(f"An edge is an Edge, (source, target) or (source, target, condition), not {given!r}")
            ends = [end if isinstance(end, str) else getattr(end, "name", None) for end in given[:2]]
            given = Edge(str(ends[0]), str(ends[1]), *given[2:])
        for end in (given.source, given.target):
            if end not in names:
                raise ValueError(f"The edge {given} names {end!r}; the nodes are: {', '.join(names)}")
        if any(other.source == given.source and other.target == given.target for other in made):
            raise ValueError(f"The edge {given} is there twice; join its conditions in one function")
        made.append(given)
    return made


@dataclass(frozen=True)
class Shape:
    """Nodes and edges that have passed the checks.

    Args:
        names: The nodes, in order.
        edges: The edges, in order.
        starts: The nodes that run first.
        joins: How a node with several ways in waits: `all` for every one that is still to come, `any` for none.
    """

    names: tuple[str, ...]
    edges: tuple[Edge, ...]
    starts: tuple[str, ...]
    joins: Mapping[str, str]

    def out_of(self, name: str) -> list[Edge]:
        return [edge for edge in self.edges if edge.source == name]

    def into(self, name: str) -> list[Edge]:
        return [edge for edge in self.edges if edge.target == name]

    def taken(self, name: str, reply: Sequence[Message]) -> list[Edge]:
        """The edges that a node's reply takes."""
        edges = self.out_of(name)
        taken = [edge for edge in edges if edge.holds(reply)]
        return taken or [edge for edge in edges if edge.otherwise]

    def reachable(self, starts: Iterable[str], without: str | None = None) -> set[str]:
        """The nodes that can be come to from some nodes, those included, not passing through `without`."""
        seen: set[str] = set()
        waiting = [name for name in starts if name != without]
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += [edge.target for edge in self.out_of(name) if edge.target != without]
        return seen

    def cycle_of(self, name: str) -> bool:
        """Whether the node can come to itself again."""
        return name in self.reachable(edge.target for edge in self.out_of(name))


def shape_of(
    names: Sequence[str],
    edges: Sequence[Edge],
    starts: Sequence[str] | None,
    joins: Mapping[str, str],
    bounded: bool,
) -> Shape:
    """Checks a graph.

    Args:
        names: The nodes.
        edges: The edges.
        starts: Where it begins; None is every node that no other one leads to.
        joins: By node.
        bounded: Whether something ends the run, however the members answer.

    Raises:
        ValueError: There is no start or no end, a node cannot be reached, a node mixes edges with and without
            conditions, a cycle has no condition or no bound, a join is unknown.
    """
    for name, join in joins.items():
        if name not in names or join not in JOINS:
            raise ValueError(f"joins: {name!r}: {join!r} is wrong; nodes are {', '.join(names)}, joins all and any")
    led_to = {edge.target for edge in edges if edge.source != edge.target}
    begins = [name for name in names if name not in led_to] if starts is None else list(starts)
    unknown = [name for name in begins if name not in names]
    if unknown:
        raise ValueError(f"The start {unknown[0]!r} is no node; the nodes are: {', '.join(names)}")
    if not begins:
        raise ValueError("Every node is led to by another: say with start= where the graph begins")
    shape = Shape(tuple(names), tuple(edges), tuple(begins), {name: joins.get(name, "all") for name in names})
    lost = [name for name in names if name not in shape.reachable(begins)]
    if lost:
        raise ValueError(f"No way leads to {', '.join(lost)}")
    for name in names:
        out = shape.out_of(name)
        if len({edge.conditional for edge in out}) > 1:
            raise ValueError(f"Edges out of {name} all have a condition or none has (otherwise=True counts as one)")
    if not any(_may_end(shape, name) for name in names):
        raise ValueError("The graph has no end: some node must have no edge, or only edges that need not be taken")
    _check_cycles(shape, bounded)
    return shape


def _may_end(shape: Shape, name: str) -> bool:
    out = shape.out_of(name)
    return all(edge.when is not None for edge in out)


def _check_cycles(shape: Shape, bounded: bool) -> None:
    free = Shape(shape.names, tuple(e for e in shape.edges if not e.conditional), shape.starts, shape.joins)
    endless = [name for name in shape.names if free.cycle_of(name)]
    if endless:
        raise ValueError(f"The cycle through {', '.join(endless)} has no condition and can never be left")
    cyclic = [name for name in shape.names if shape.cycle_of(name)]
    if cyclic and not bounded:
        raise ValueError(
            f"The graph has a cycle ({', '.join(cyclic)}): give a termination or max_steps, so that it ends for sure"
        )
