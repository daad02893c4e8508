"""From the graph to dispatches: dead nodes dropped, nodes fused, kernels made."""
from __future__ import annotations

from . import flat
from .epilogue import product
from .fuse import Fuser
from .generate import points
from .graph import Graph
from .rows import rows


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


def lower(graph, device) -> list:
    """[(Step, values bound, scalars), ...] in order."""
    work: list = []
    flat.flattened(graph, device.limits["maxStorageBufferBindingSize"])
    for group in Fuser(graph, device).run():
        if len(group.nodes) == 1:
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
