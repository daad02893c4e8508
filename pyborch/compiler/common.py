"""Common subexpressions: what has been computed already, from the same values in the same state, is not computed again."""
from __future__ import annotations

from .graph import Graph


def shared(graph: Graph) -> Graph:
    """The graph with equal nodes made one: later readers take the first one's results."""
    seen: dict = {}
    live = []
    for node in graph.nodes:
        key = _key(graph, node)
        first = seen.setdefault(key, node) if key is not None else node
        if first is node:
            live.append(node)
            continue
        for mine, theirs in zip(node.writes, first.writes):
            for reader in graph.readers.get((mine.value, 1), ()):
                reader.redirect(mine.value, theirs.value)
    graph.nodes = live
    graph.number()
    return graph


def _key(graph, node):
    """What equal nodes have in common; None for a node whose results are changed later, were there before, or outlive the step."""
    for a in node.writes:
        if a.value in graph.kept or graph.last[a.value] != 1 or not _whole(graph, node, a):
            return None
    reads = tuple((a.value, a.state, a.meta) for a in node.reads)
    scalars = tuple((type(s), s) if isinstance(s, (int, float)) else id(s) for s in node.scalars)
    return node.kind, _what(node), reads, tuple(a.meta for a in node.writes), scalars


def _whole(graph, node, a):
    """Whether the node alone makes the value: opaque steps may leave some of it to others, but these would be further states."""
    return a.meta is not None and a.meta.contiguous and a.meta.numel == graph.sizes[a.value]


def _what(node):
    if node.kind == "pointwise":
        plan, op, kinds, params = node.detail
        return op, kinds, tuple(params.items()), plan.layout, plan.numbers
    if node.kind == "reduce":
        return node.detail
    return tuple(map(id, node.steps))
