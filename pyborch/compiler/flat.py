"""The same in-place update of many tensors (an optimizer's step) as one dispatch: their memory is gathered into arenas of one layout."""
from __future__ import annotations

from .. import devices
from ..devices.memory import size_class
from ..kernels import Operand, Plan
from .graph import Graph, Node


def flattened(graph: Graph, device) -> Graph:
    """The graph with alike updates of whole tensors joined, each where the last of them was."""
    limit_bytes = device.limits["maxStorageBufferBindingSize"]
    found: dict = {}
    for node in graph.nodes:
        key = _key(graph, node)
        if key is not None:
            found.setdefault(key, []).append(node)
    for nodes in found.values():
        for part in _within(_free(graph, nodes), limit_bytes):
            if len(part) > 1 and all(device.can_gather(storages) for storages in _columns(graph, part)):
                _join(graph, part)
    graph.number()
    return graph


def _key(graph, node):
    """What alike updates have in common; None where the node is none."""
    if node.kind != "pointwise" or not node.writes or node.detail[0] is not node.plan:
        return None
    plan, op, kinds, params = node.detail
    accesses = [*node.reads, *node.writes]
    numel = node.writes[0].meta.numel
    common = tuple((a.value, a.state) if _common(node, a) else None for a in accesses)
    own = [a for a, same in zip(accesses, common) if same is None]
    for a in own:
        whole = a.meta.contiguous and not a.meta.offset and a.meta.numel == numel == graph.sizes[a.value]
        if not whole or a.meta.dtype.wgsl == "f16" or a.value >= graph.recorded:
            return None
    if any(graph.kinds[a.value] == "internal" and a.value not in graph.kept for a in own if a in node.reads):
        return None
    read = {a.value for a in node.reads}
    if any(a.value not in read or graph.kinds[a.value] == "internal" or graph.last[a.value] != a.state for a in node.writes):
        return None
    scalars = tuple(s if isinstance(s, (int, float)) else id(s) for s in node.scalars)
    return op, kinds, tuple(params.items()), plan.layout, scalars, tuple(a.meta.dtype for a in accesses), _pattern(own), common


def _common(node, a):
    """Whether a read is of one element for all of the result: it may be common to alike updates and stays where it is."""
    return a.meta.numel == 1 and not a.meta.shape and node.writes[0].meta.shape != () and not any(a.value == w.value for w in node.writes)


def _pattern(accesses):
    """Which accesses are of the same value."""
    order: dict = {}
    return tuple(order.setdefault(a.value, len(order)) for a in accesses)


def _free(graph, nodes):
    """Those that may run as late as the last one."""
    last = nodes[-1].index
    mine, used, written, found = set(nodes), set(), set(), []
    for node in reversed(nodes):
        reads, writes = {a.value for a in node.reads}, {a.value for a in node.writes}
        between = (n for n in graph.nodes[node.index + 1:last] if n not in mine)
        blocked = any(a.value in writes for n in between for a in (*n.reads, *n.writes)) or any(
            a.value in reads for n in graph.nodes[node.index + 1:last] if n not in mine for a in n.writes)
        if not blocked and not writes & used and not reads & written:
            found.append(node)
            used |= reads | writes
            written |= writes
    return found[::-1]


def _within(nodes, limit_bytes):
    """Parts whose arenas stay within one binding."""
    part: list = []
    total = 0
    for node in nodes:
        size = size_class(node.writes[0].meta.numel * 4)
        if part and total + size > limit_bytes:
            yield part
            part, total = [], 0
        part.append(node)
        total += size
    yield part


def _columns(graph, nodes):
    """The storages that would be gathered, as far as they were there before the step."""
    for accesses in zip(*[(*n.reads, *n.writes) for n in nodes]):
        if not _common(nodes[0], accesses[0]) and all(a.value in graph.storages for a in accesses):
            yield [graph.storages[a.value] for a in accesses]


def _join(graph, nodes):
    node = Node("flat", nodes[0].plan, [], nodes, nodes[0].slots, nodes[0].scalars)
    for n in nodes:
        node.reads += n.reads
        node.writes += n.writes
        graph.kept.update(a.value for a in n.reads if not _common(n, a))
    gone = set(nodes[:-1])
    graph.nodes = [node if n is nodes[-1] else n for n in graph.nodes if n not in gone]


def lowered(node):
    """(Step, columns of values, scalars): each column is an arena."""
    members, plan = node.detail, node.plan
    total = sum(size_class(n.writes[0].meta.numel * 4) for n in members) // 4
    alone = [_common(members[0], a) for a in (*members[0].reads, *members[0].writes)]
    metas = [m if one else devices.meta((total,), m.dtype, m.device) for m, one in zip((*plan.inputs, *plan.outputs), alone)]
    split = len(plan.inputs)
    whole = Plan(plan.op, tuple(metas[:split]), tuple(metas[split:]), plan.layout, plan.scalar_names, plan.params, plan.numbers, plan.aliases)
    plan.op.run(whole, *[Operand(m, i) for i, m in enumerate(metas)], **plan.params)
    step = whole.steps[0]
    columns = [node.slots[s] if alone[s] else tuple(n.slots[s] for n in members) for s in range(plan.bound)]
    return step, [columns[s] for s in step.slots], node.scalars
