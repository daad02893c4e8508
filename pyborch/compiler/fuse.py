"""Which nodes become one kernel. A group is nodes that walk one space: elements, or rows with reductions, or a product's results."""
from __future__ import annotations

from ..ops.variants import Tiles
from .space import Rows, terms_of

SHORT = 128          # reductions up to this length may be loops inside a thread
NEAR = 200           # how far back a group that merely reads the same values may lie


class Group:
    """``kind``: "opaque", "points", "rows" or "product". ``numel`` of the space, ``rows`` its Rows. ``bits``: the group in bit sets, of which
    ``before`` holds all that must run first."""
    __slots__ = ("kind", "nodes", "numel", "rows", "index", "bits", "before", "writers", "readers", "levels", "shorts")

    def __init__(self, kind, node, numel, rows=None):
        self.kind, self.nodes, self.numel, self.rows, self.index, self.bits, self.before = kind, [node], numel, rows, -1, 0, 0
        self.writers, self.readers = {}, {}
        self.levels = {node: "row" if kind == "rows" and node.kind == "reduce" else "full"}
        self.shorts = set()


def shape_of(node):
    """The shape of the space that a node walks: a reduction's input, else its output."""
    return tuple((node.reads if node.kind == "reduce" else node.writes)[0].meta.shape)


def numel_of(shape):
    total = 1
    for n in shape:
        total *= n
    return total


class Fuser:
    """Walks the nodes once; each joins a group that it can, or starts one."""

    def __init__(self, graph, device):
        self.graph, self.software = graph, device.software
        self.limit = device.limits["maxStorageBuffersPerShaderStage"]
        self.groups: list = []
        self.count = 0
        self.last_write: dict = {}
        self.last_reads: dict = {}

    def run(self):
        """The groups in an order that can be executed."""
        for node in self.graph.nodes:
            self._place(node)
        return self._sorted()

    # dependencies
    def _needs(self, node):
        """Groups that must run before the node: who wrote what it reads, and who used what it overwrites."""
        found = set()
        for a in node.reads:
            if a.value in self.last_write:
                found.add(self.last_write[a.value])
        for a in node.writes:
            if a.value in self.last_write:
                found.add(self.last_write[a.value])
            found.update(self.last_reads.get(a.value, ()))
        for value in node.temps:
            if value in self.last_write:
                found.add(self.last_write[value])
        return found

    def _place(self, node):
        needs = self._needs(node)
        group = None
        if node.kind in ("pointwise", "reduce"):
            needs = self._merged(node, needs)
            for candidate in self._candidates(node, needs):
                if self._order_allows(candidate, needs) and self._join(candidate, node):
                    group = candidate
                    break
        if group is None:
            group = self._start(node)
            group.index, group.bits = self.count, 1 << self.count
            self.count += 1
            self.groups.append(group)
        self._after(group, needs)
        for a in node.reads:
            self.last_reads.setdefault(a.value, set()).add(group)
            group.readers.setdefault(a.value, []).append(a)
        for a in node.writes:
            self.last_write[a.value] = group
            self.last_reads.pop(a.value, None)
            group.writers[(a.value, a.state)] = (node, a)
        for value in node.temps:
            self.last_write[value] = group

    def _candidates(self, node, needs):
        producers = sorted((g for g in needs if g.kind != "opaque"), key=lambda g: -g.index)
        if node.again:
            return [g for g in producers if g.nodes[-1].again]
        others = {g for a in node.reads for g in self.last_reads.get(a.value, ()) if g.kind in ("points", "rows") and g not in needs}
        return producers + sorted((g for g in others if self.count - g.index < NEAR), key=lambda g: -g.index)

    def _order_allows(self, group, needs):
        """No cycle: nothing that the node needs may itself need the group."""
        return not any(other is not group and other.before & group.bits for other in needs)

    def _after(self, group, needs):
        added = 0
        for other in needs:
            if other is not group:
                added |= other.before | other.bits
        if added & ~group.before:
            group.before |= added
            self._spread(group)

    def _spread(self, group):
        for g in self.groups:
            if g.before & group.bits:
                g.before |= group.before | group.bits

    # merging
    def _merged(self, node, needs):
        """The needed groups after independent ones that only this node brings together were made one."""
        points = sorted((g for g in needs if g.kind == "points" and g.numel == numel_of(shape_of(node)) and g.nodes[-1].again == node.again
                         and self.count - g.index < NEAR), key=lambda g: g.index)
        for other in points[1:]:
            first = points[0]
            both = [*first.nodes, *other.nodes]    # with the node, and without it, should it not join them
            if not (first.before & other.bits or other.before & first.bits) and max(
                    len(bindings(self.graph, both)), len(bindings(self.graph, [*both, node]))) <= self.limit:
                self._merge(first, other)
                needs = needs - {other}
        return needs

    def _merge(self, group, other):
        group.nodes = sorted([*group.nodes, *other.nodes], key=lambda n: n.index)
        group.bits |= other.bits
        group.before |= other.before
        for table in ("writers", "levels"):
            getattr(group, table).update(getattr(other, table))
        for value, found in other.readers.items():
            group.readers.setdefault(value, []).extend(found)
        group.shorts |= other.shorts
        self.groups.remove(other)
        for value, writer in self.last_write.items():
            if writer is other:
                self.last_write[value] = group
        for found in self.last_reads.values():
            if other in found:
                found.discard(other)
                found.add(group)
        self._spread(group)

    # joining
    def _start(self, node):
        if node.kind == "pointwise" and self._plain(node):
            return Group("points", node, numel_of(shape_of(node)))
        if node.kind == "reduce" and self._plain(node):
            rows = self._rows(node)
            leading = rows is not None and rows.reduced[0][1] == rows.outputs
            if rows is not None and self._rows_pay(rows) and not (leading and rows.count <= SHORT):
                return Group("rows", node, rows.numel, rows)
            if rows is not None and rows.count <= SHORT:
                group = Group("points", node, rows.outputs)
                group.shorts.add(node)
                return group
        if node.kind == "product":
            return Group("product", node, node.writes[0].meta.numel)
        return Group("opaque", node, 0)

    @staticmethod
    def _plain(node):
        """Whether every result is row-major."""
        return all(a.meta.contiguous for a in node.writes)

    @staticmethod
    def _rows(node):
        dims = node.detail[0]
        found = Rows(shape_of(node), dims)
        return found if found.count > 1 and found.outputs and len(found.reduced) <= 2 else None

    def _rows_pay(self, rows):
        """Whether a row for each thread or workgroup keeps the device busy."""
        if self.software:
            return rows.count <= 4096 or rows.outputs >= 8
        return rows.count <= 16384 or rows.outputs >= 32 and rows.count <= 1 << 18

    def _join(self, group, node):
        """Take the node into the group if it fits; the group is unchanged if not."""
        if group.kind == "opaque" or not self._plain(node):
            return False
        for level, rows in self._levels(group, node):
            if self._fits(group, node, level, rows):
                group.nodes.append(node)
                group.levels[node] = "row" if level == "reduce" else level
                if level == "short":
                    group.levels[node] = "full"
                    group.shorts.add(node)
                if rows is not None:
                    group.kind, group.rows = "rows", rows
                return True
        return False

    def _levels(self, group, node):
        """[(level, rows)] in which the node could take part: "full", "row", "reduce" or "short"."""
        numel = numel_of(shape_of(node))
        if node.kind == "pointwise":
            if numel == group.numel:
                return [("full", None)]
            if group.kind == "product" and self._makes_words(group, node):
                return [("words", None)]
            return [("row", None)] if group.kind == "rows" and numel == group.rows.outputs else []
        rows = self._rows(node)
        if rows is None or group.kind == "product":
            return []
        found = []
        if numel == group.numel and self._rows_pay(rows):
            if group.kind == "points":
                found.append(("reduce", rows))
            elif group.rows.key() == rows.key():
                found.append(("reduce", None))
        if rows.outputs == group.numel and rows.count <= SHORT:
            found.append(("short", None))
        return found

    @staticmethod
    def _makes_words(group, node):
        """Whether each result is a word of four neighbouring channels of one value that a convolution's group makes."""
        variant, size, _, _, result = group.nodes[0].detail
        if node.detail[1].name != "_quantize" or not isinstance(variant, Tiles) or not result.plane or size.rows % 4:
            return False
        written = {group.writers.get((a.value, a.state)) for a in node.reads}
        if len(written) > 1 or None in written or any(group.levels[maker] != "full" or a.meta.offset for maker, a in written):
            return False
        plane, shape = result.plane, shape_of(node)
        found = [terms_of(a.meta, shape) for a in node.reads]
        return all(t.offset == k * plane and t.terms == ((1, plane, 1), (plane, t.numel // plane, 4 * plane)) for k, t in enumerate(found))

    def _fits(self, group, node, level, rows):
        rows = rows or group.rows
        for a in node.reads if level != "words" else ():
            made = group.writers.get((a.value, a.state))
            if made is None:
                continue
            if level == "short" or not self._flows(group, rows, node, level, made, a):
                return False
        return self._writes_fit(group, node, level, rows) and self._bindings_fit(group, node)

    def _flows(self, group, rows, node, level, made, a):
        """Whether the value that a node of the group has just made reaches the reader in the same thread or row."""
        maker, written = made
        terms = terms_of(a.meta, shape_of(node)) if level != "reduce" or a in node.reads[:node.detail[2]] else None
        if a.meta.dtype is not written.meta.dtype:
            return False
        if terms is None:                                    # a per-output operand of a reduction
            return group.levels[maker] == "row" and a.meta.contiguous and a.meta.offset == written.meta.offset
        if level == "row":
            return group.levels[maker] == "row" and terms.linear and terms.offset == written.meta.offset
        if group.levels[maker] == "full":
            return terms.linear and terms.offset == written.meta.offset
        along = rows.row_terms(terms)
        return along is not None and along.linear and along.offset == written.meta.offset

    def _writes_fit(self, group, node, level, rows):
        """In-place results: everything in the group that touches the memory must do so at the same element in the same thread."""
        for a in node.writes:
            if group.kind == "product" and any(b.value == a.value for b in group.nodes[0].reads):
                return False
            if level == "reduce" and (a.value in group.readers or any(v == a.value for v, _ in group.writers)):
                return False
            mine = [b for b in node.reads if b.value == a.value]
            for b in [*group.readers.get(a.value, ()), *mine, *[w for (v, _), (_, w) in group.writers.items() if v == a.value]]:
                if not (b.meta.contiguous and b.meta.offset == a.meta.offset and b.meta.numel == a.meta.numel):
                    return False
            if level == "row" and any(group.levels[n] == "full" for n in group.nodes for b in n.reads if b.value == a.value):
                return False
        return not any(v == a.value and state != a.state for a in node.reads for v, state in group.writers)

    def _bindings_fit(self, group, node):
        again = 2 if group.kind == "product" else 0     # its two sides may be one value, and be bound by elements too
        return len(bindings(self.graph, [*group.nodes, node])) + again <= self.limit

    # order
    def _sorted(self):
        done, order = 0, []
        waiting = list(self.groups)
        while waiting:
            ready = [g for g in waiting if not g.before & ~done]
            group = min(ready, key=lambda g: g.nodes[0].index)
            order.append(group)
            done |= group.bits
            waiting.remove(group)
        return order


def bindings(graph, nodes):
    """The values that a kernel of ``nodes`` binds: read from outside, or written for others."""
    inside = set(nodes)
    made = dict.fromkeys((a.value, a.state) for node in nodes for a in node.writes)
    found = dict.fromkeys(a.value for node in nodes for a in node.reads if (a.value, a.state) not in made)
    found.update(dict.fromkeys(key[0] for key in made if escapes(graph, key, inside)))
    return list(found)


def escapes(graph, key, inside):
    """Whether someone outside reads this state of a value, or it outlives the step."""
    value, state = key
    if value in graph.kept and graph.last.get(value) == state:
        return True
    return any(n not in inside for n in graph.readers.get(key, ()))
