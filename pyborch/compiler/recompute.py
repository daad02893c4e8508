"""Memory for time: large results that are needed again much later are computed anew then, where what they are made of is there anyway."""
from __future__ import annotations

from .graph import Access, Graph, Node

DEPTH = 8


def recomputed(graph: Graph, least: int) -> Graph:
    """The graph in which late readers of elementwise results of ``least`` elements read fresh copies of them (Chen et al. 2016, for the
    cheap ones only)."""
    chosen: set = set()
    far = max(24, len(graph.nodes) // 8)
    inserted: dict = {}
    for node in list(graph.nodes):
        for a in node.writes:
            late = _late_readers(graph, node, a, far) if graph.sizes[a.value] >= least else []
            if late and _available(graph, node, late[0].index, chosen, DEPTH):
                chosen.add(a.value)
                clones: list = []
                fresh = _clone(graph, node, late[0].index, clones, chosen)
                inserted.setdefault(late[0].index, []).extend(clones)
                for reader in late:
                    reader.redirect(a.value, fresh)
    graph.nodes = [n for i, node in enumerate(graph.nodes) for n in (*inserted.get(i, ()), node)]
    graph.number()
    return graph


def _recomputable(graph, node):
    """Elementwise, into one fresh value of its own."""
    return node.kind == "pointwise" and len(node.writes) == 1 and graph.last.get(node.writes[0].value) == 1 and node.writes[0].value not in graph.kept \
        and graph.overwrites(node, node.writes[0])


def _late_readers(graph, node, a, far):
    """Who reads a large result only after a long while."""
    if not _recomputable(graph, node):
        return []
    readers = sorted(graph.readers.get((a.value, 1), ()), key=lambda n: n.index)
    at = node.index
    for k, reader in enumerate(readers):
        if reader.index - at > far:
            return [r for r in readers[k:] if r.kind in ("pointwise", "reduce", "product", "opaque")]
        at = reader.index
    return []


def _available(graph, node, when, chosen, depth):
    """Whether the node's inputs are still there ``when`` (an index), or can be had in turn."""
    return all(_is_there(graph, a, graph.sizes[node.writes[0].value], when, chosen) or
               depth > 0 and (maker := graph.makers.get((a.value, a.state))) is not None and _recomputable(graph, maker)
               and _available(graph, maker, when, chosen, depth - 1) for a in node.reads)


def _is_there(graph, a, size, when, chosen):
    if any(state > a.state and index < when for state, index in graph.written.get(a.value, ())):
        return False
    small = graph.sizes[a.value] * 32 <= size
    return a.value in graph.kept or small or a.value not in chosen and max((n.index for n in graph.readers.get((a.value, a.state), ())), default=-1) >= when


def _clone(graph, node, when, clones, chosen):
    """Append the node anew, and what it needs before it; returns its value."""
    size = graph.sizes[node.writes[0].value]
    copy = Node(node.kind, node.plan, node.steps, node.detail, list(node.slots), node.scalars)
    copy.again = True
    for a in node.reads:
        value = a.value
        if not _is_there(graph, a, size, when, chosen):
            value = _clone(graph, graph.makers[(a.value, a.state)], when, clones, chosen)
            copy.slots = [value if v == a.value else v for v in copy.slots]
        copy.reads.append(Access(value, 0, a.meta))
    a = node.writes[0]
    fresh = graph.temp(a.meta)
    copy.slots = [fresh if v == a.value else v for v in copy.slots]
    copy.writes, copy.temps = [Access(fresh, 0, a.meta)], []
    clones.append(copy)
    return fresh

