"""From the graph to dispatches: dead nodes dropped, nodes fused, kernels made."""
from __future__ import annotations

from . import flat, wide
from .epilogue import product
from .fuse import Fuser
from .generate import points
from .graph import Graph
from .recompute import recomputed
from .rows import rows

MUCH = 1 << 28       # bytes of results kept for later from which on memory is worth more than time
LARGE = 1 << 16      # elements of a result that is then worth computing anew


def simplified(graph: Graph) -> Graph:
    """The graph without nodes whose results no one reads."""
    needed, live = set(graph.kept), []
    for node in reversed(graph.nodes):
        if any(a.value in needed for a in node.writes):
            needed.update(a.value for a in node.reads)
            live.append(node)
    graph.nodes = live[::-1]
    graph.number()
    return graph


def held_bytes(graph) -> int:
    """The most bytes of internal values alive at once, one for each element's word."""
    change = [0] * (len(graph.nodes) + 1)
    for value, size in enumerate(graph.sizes):
        if value not in graph.kept and value in graph.written:
            uses = [n.index for state in range(graph.last[value] + 1) for n in graph.readers.get((value, state), ())]
            change[graph.written[value][0][1]] += 4 * size
            change[max([*uses, graph.written[value][-1][1]]) + 1] -= 4 * size
    most = now = 0
    for c in change:
        now += c
        most = max(most, now)
    return most


def lower(graph, device, recompute=None) -> list:
    """[(Step, values bound, scalars), ...] in order. ``recompute``: see :func:`pyborch.compile`."""
    work: list = []
    if recompute or recompute is None and held_bytes(graph) > MUCH:
        recomputed(graph, 256 if recompute else LARGE)
    flat.flattened(graph, device)
    for group in Fuser(graph, device).run():
        if wide.fits(graph, group, device):
            work.append(wide.wide(graph, group))
        elif len(group.nodes) == 1:
            node = group.nodes[0]
            if node.kind == "flat":
                work.append(flat.lowered(node))
                continue
            work += [(step, [node.slots[s] for s in step.slots], node.scalars) for step in node.steps]
        elif group.kind == "points":
            work.append(points(graph, group))
        elif group.kind == "rows":
            work.append(rows(graph, group, device))
        else:
            work.append(product(graph, group))
    return work
