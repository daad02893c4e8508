"""The graph of a recorded step: nodes over numbered values, with every read and write made explicit."""
from __future__ import annotations

from ..kernels import Operand, Part, Plan
from .capture import INTERNAL


class Access:
    """A read or a write: which value, its state (the count of writes before; for a write, after), through which Meta."""
    __slots__ = ("value", "state", "meta")

    def __init__(self, value, state, meta):
        self.value, self.state, self.meta = value, state, meta

    def __repr__(self):
        m = self.meta
        how = "" if m is None else f":{m.dtype.name}{list(m.shape)}" + ("" if m.contiguous else f" strides {list(m.strides)}") + (
            f" from {m.offset}" if m.offset else "")
        return f"%{self.value}{chr(39) * (self.state if self.state < 3 else 3)}{how}"


class Node:
    """One part of an op call. ``kind`` is the part's, or "opaque" for steps that are run as they are.

    ``slots`` maps the plan's buffer slots to values; ``temps`` are values that only this node's own steps use; ``again``: computed anew to
    save memory, so it stays where it is.
    """
    __slots__ = ("kind", "plan", "steps", "detail", "reads", "writes", "temps", "slots", "scalars", "index", "again")

    def __init__(self, kind, plan, steps, detail, slots, scalars):
        self.kind, self.plan, self.steps, self.detail, self.slots, self.scalars = kind, plan, steps, detail, slots, scalars
        self.reads, self.writes, self.temps, self.index, self.again = [], [], [], -1, False

    @property
    def name(self):
        return self.detail[1].name if self.kind == "pointwise" else self.plan.op.name

    def redirect(self, old, new) -> None:
        """Read value ``new`` in place of ``old``."""
        for a in self.reads:
            if a.value == old:
                a.value = new
        self.slots = [new if v == old else v for v in self.slots]

    def __repr__(self):
        what = self.name if self.kind in ("pointwise", "opaque") else f"{self.name}.{self.kind}"
        return f"{', '.join(map(repr, self.writes))} = {what}({', '.join(map(repr, self.reads))})"


class Graph:
    """``nodes`` in order; ``readers`` of each state of a value (also who overwrites only a part of it); per value ``dtypes``, ``sizes``
    (elements) and ``kinds``; ``kept`` values outlive the step. ``makers`` of each state;
    ``written`` says when: [(state, index)] per value; ``storages`` of values that were there before. ``dynamic``: kernels take
    sizes as parameters."""

    def __init__(self, recorder, calls, kept, dynamic=False):
        self.dynamic = dynamic
        self.kinds = [v.kind for v in recorder.values]
        self.dtypes = [v.dtype for v in recorder.values]
        self.sizes = [v.numel for v in recorder.values]
        self.storages = {n: v.storage for n, v in enumerate(recorder.values) if v.kind != INTERNAL}
        self.recorded = len(self.sizes)      # later numbers are temporaries of op calls
        self.kept = set(kept) | {n for n, kind in enumerate(self.kinds) if kind != INTERNAL}
        self.nodes: list = []
        for call in calls:
            self._add_call(call)
        self.number()

    def temp(self, meta) -> int:
        """The number of a new internal value."""
        self.kinds.append(INTERNAL)
        self.dtypes.append(meta.dtype)
        self.sizes.append(meta.numel)
        return len(self.kinds) - 1

    def _add_call(self, call):
        plan = decomposed(call.plan)
        slots = [*call.inputs, *call.outputs, *[self.temp(m) for m in plan.temps]]
        part_of = {id(step): part for part in plan.parts for step in part.steps}
        done = set()
        for step in plan.steps:
            part = part_of.get(id(step))
            if part is None:
                self._add(Part("opaque", [step], [], [], None), plan, slots, call.scalars)
            elif id(part) not in done:
                done.add(id(part))
                self._add(part, plan, slots, call.scalars)

    def _add(self, part, plan, slots, scalars):
        node = Node(part.kind, plan, part.steps, part.detail, slots, scalars)
        if part.kind == "opaque":
            step = part.steps[0]
            metas = [*plan.inputs, *plan.outputs, *plan.temps]
            pairs = [(Operand(metas[s], s), way) for s, way in zip(step.slots, step.kernel.access)]
            reads, writes = [o for o, way in pairs if way == "r"], [o for o, way in pairs if way == "w"]
        else:
            reads, writes = part.inputs, part.outputs
        node.reads = [Access(slots[o.slot], 0, o.meta) for o in reads]
        node.writes = [Access(slots[o.slot], 0, o.meta) for o in writes]
        named = {a.value for a in (*node.reads, *node.writes)}
        node.temps = sorted({slots[s] for step in part.steps for s in step.slots} - named)
        self.nodes.append(node)

    def number(self) -> None:
        """Number nodes and the states of values anew after nodes were dropped or changed."""
        states: dict = {}
        self.readers: dict = {}
        self.makers: dict = {}
        self.written: dict = {}
        for i, node in enumerate(self.nodes):
            node.index = i
            for a in node.reads:
                a.state = states.get(a.value, 0)
                self.readers.setdefault((a.value, a.state), []).append(node)
            for a in node.writes:
                before = states.get(a.value, 0)
                if not self.overwrites(node, a):
                    self.readers.setdefault((a.value, before), []).append(node)
                a.state = states[a.value] = before + 1
                self.makers[(a.value, a.state)] = node
                self.written.setdefault(a.value, []).append((a.state, i))
        self.last = states

    def overwrites(self, node, a) -> bool:
        """Whether a write leaves nothing of what was there."""
        return node.kind != "opaque" and a.meta.contiguous and a.meta.numel == self.sizes[a.value]

    def __repr__(self):
        return "\n".join(repr(node) for node in self.nodes)


def decomposed(plan) -> Plan:
    """The plan of a call as the compiler wants it: of parts, where its op says how it is made of them."""
    if plan.op.parts is None:
        return plan
    found = plan.decomposed
    if found is None:
        found = plan.decomposed = Plan(plan.op, plan.inputs, plan.outputs, plan.layout, plan.scalar_names, plan.params, plan.numbers, plan.aliases)
        plan.op.parts(found, *found.operands(), **plan.params)
    return found
