"""WGSL of a group with reductions: each row is walked once for every level of reductions that depend on one another.

Where a row is short enough, a thread keeps what it read and made of its elements in registers for the walks that follow.
"""
from __future__ import annotations

from ..ops.rows_plan import MOST_ALONE
from .generate import Body, Scope, main_of, step_of
from .space import Terms


MOST_KEPT = 16       # elements of a row that a thread keeps


class RowsBody(Body):
    """Values of elements live in the scope of a pass, values of rows in ``row``."""

    def __init__(self, graph, group):
        super().__init__(graph, group)
        self.row, self.rows = Scope("w", "o"), group.rows
        self.saved: dict = {}        # (node, output) -> stored earlier by this thread, so it may be read again
        self.depths: dict = {}
        self.passes: list = []       # their scopes
        self.slots = 0               # elements of a thread, where it keeps them
        self.kept: dict = {}         # (pass, text) -> the array that keeps it, with its type
        self.loaded: dict = {}       # (value, state, terms) -> (pass, text)

    def keep(self, scope, text, type):
        """The text, in later passes, of what ``text`` is in the pass of ``scope``."""
        found = self.kept.get((scope, text))
        if found is None:
            found = self.kept[(scope, text)] = f"k{len(self.kept)}", type
            scope.lines.append(f"{found[0]}[j] = {text};")
        return f"{found[0]}[j]"

    def is_row(self, node):
        return self.group.levels[node] == "row"

    def depth(self, node):
        """How many reductions, one after the other, a node's value waits for."""
        found = self.depths.get(node)
        if found is None:
            inputs = [self.maker[(a.value, a.state)][0] for a in node.reads if (a.value, a.state) in self.maker]
            found = max((self.depth(n) for n in inputs if n is not node), default=0) + (self.is_row(node) and node.kind == "reduce")
            self.depths[node] = found
        return found

    def output(self, scope, node, k):
        if self.is_row(node) and scope is not self.row and (scope.prefix != "z" or (node, k) in self.row.values):
            return super().output(self.row, node, k)
        if self.slots and scope in self.passes and (node, k) not in scope.values:
            made = next((p for p in self.passes if (node, k) in p.values), None)
            if made is not None:
                type = node.writes[k].meta.dtype.wgsl
                return scope.let(type, self.keep(made, made.values[(node, k)], type)).text
        if (node, k) in self.saved and scope.prefix != self.saved[(node, k)][0]:
            return scope.let(*self.saved[(node, k)][1:]).text
        return super().output(scope, node, k)

    def load(self, scope, a, terms, index="i"):
        in_pass, type = scope in self.passes, a.meta.dtype.wgsl
        along = self.rows.row_terms(terms) if terms.numel == self.rows.numel and scope.prefix[0] == "v" else None
        if along is not None:
            return self.row.let(type, f"{self.names[a.value]}[{self.address(self.row, along, 'o')}]").text
        key = (a.value, a.state, terms.offset, tuple(terms.terms))
        if self.slots and in_pass:
            first = self.loaded.get(key)
            if first is not None:
                return first[1] if first[0] is scope else scope.let(type, self.keep(*first, type)).text
        text = scope.let(type, f"{self.names[a.value]}[{self.address(scope, terms, 'o' if scope.prefix[0] in 'wz' else index)}]").text
        if in_pass:
            self.loaded[key] = scope, text
        return text

    def per_output(self, scope, node):
        texts = []
        for a in node.reads[node.detail[2]:]:
            made = self.maker.get((a.value, a.state))
            text = self.output(self.row, *made) if made else self.load(self.row, a, Terms(a.meta.offset, ((1, self.rows.outputs, 1),), self.rows.outputs))
            texts.append(f"f32({text})")
        return texts

    # passes
    def plan_stores(self, passes):
        """{pass: [(node, k, access)]} of results per element, and those per row. In-place results wait for the last pass."""
        touched = {a.value for n in self.group.nodes for a in n.reads if (a.value, a.state) not in self.maker}
        by_pass: dict = {}
        rows = []
        for node, k, a in self.escaping:
            if self.is_row(node):
                rows.append((node, k, a))
                continue
            at = passes if a.value in touched else self.depth(node) + 1
            by_pass.setdefault(at, []).append((node, k, a))
        return by_pass, rows

    def reductions(self, level):
        return [n for n in self.group.nodes if n.kind == "reduce" and self.is_row(n) and self.depth(n) == level]


def rows(graph, group, device):
    """(Step, values, scalars) of a group of rows."""
    body = RowsBody(graph, group)
    lanes, threads = _lanes(device, group.rows)
    body.slots = slots = _slots(graph, group.rows, lanes)
    passes = max(body.depth(n) + (not body.is_row(n)) for n in group.nodes if body.is_row(n) or any(n is e[0] for e in body.escaping))
    by_pass, row_stores = body.plan_stores(passes)
    lines: list = []
    for level in range(1, passes + 1):
        lines += _pass(body, level, by_pass.get(level, []), lanes)
    lines += body.row.lines
    body.row.lines = []
    lines += _row_stores(body, row_stores, lanes)
    o = "group_index(wid, nwg)" if lanes > 1 else f"group_index(wid, nwg) * {threads}u + lid"
    many = body.number(group.rows.outputs)
    text = [*body.header(), *_trees(body, passes, lanes), main_of(threads), f"  let o = {o};", f"  if (o >= {many}) {{ return; }}",
            f"  let lane = {'lid' if lanes > 1 else '0u'};", *(f"  var {name}: array<{type}, {slots}>;" for name, type in body.kept.values()),
            *("  " + line for line in _flat(lines)), "}"]
    return step_of(body, text, group.rows.outputs if lanes > 1 else -(-group.rows.outputs // threads))


def _lanes(device, rows):
    """(lanes for a row, threads of a workgroup)."""
    if device.software and rows.count <= MOST_ALONE or rows.count < 32:
        return 1, 64 if not device.software or rows.outputs >= 1024 else 4
    most = min(1024, device.limits["maxComputeInvocationsPerWorkgroup"], device.limits["maxComputeWorkgroupSizeX"])
    lanes = 64                                       # a power of four: so lanes are joined
    while 4 * lanes <= most and rows.count > lanes * MOST_KEPT:
        lanes *= 4
    return lanes, lanes


def _slots(graph, rows, lanes):
    """How many elements a thread keeps; 0 where they are too many."""
    slots = -(-rows.count // lanes)
    if graph.dynamic:
        slots = next(n for n in (1, 4, 16, slots) if n >= slots)  # few kernels for many sizes
    return slots if lanes > 1 and slots <= MOST_KEPT else 0


def _pass(body, level, stores, lanes):
    """The lines of one walk along the row: reductions of ``level`` and the results that are ready."""
    reductions = body.reductions(level)
    if not reductions and not stores:
        return []
    scope = Scope(f"v{level}_")
    body.passes.append(scope)
    lines, calls = [], []
    for node in reductions:
        take, n = body.reducer(node), body.graph_name(node)
        args = body.reduce_arguments(scope, node, "i", body.rows)
        calls.append(f"a{n} = {take}(a{n}, {', '.join(args)});")
        lines.append(f"var a{n} = start_{n}();")
    calls += [body.store(scope, node, k, a, "i") for node, k, a in stores]
    for node, k, a in stores:
        if node in body.group.shorts:
            at = f"{body.number(a.meta.offset)} + i" if a.meta.offset else "i"
            body.saved[(node, k)] = (scope.prefix, a.meta.dtype.wgsl, f"{body.names[a.value]}[{at}]")
    lines = body.row.lines + lines
    body.row.lines = []
    count = body.number(body.rows.count)
    walk = [f"for (var r = lane; r < {count}; r += {lanes}u) {{"]
    if body.slots:
        walk = [f"for (var j = 0u; j < {body.slots}u; j++) {{", f"  let r = lane + j * {lanes}u;", f"  if (r >= {count}) {{ break; }}"]
    lines += [*walk, f"  let i = {body.element_index(body.rows, 'o')};", scope.lines, calls, "}"]
    if lanes > 1 and reductions:
        lines += _join(body, reductions, lanes)
    for node in reductions:
        body.finish(body.row, node, f"a{body.graph_name(node)}")
    return lines


def _flat(lines):
    """Lines with the lists among them spread out: a pass's grows until the last pass is written."""
    for line in lines:
        yield from [line] if isinstance(line, str) else ("  " + inner for inner in line)


def _tree(body, reductions, node):
    """The workgroup array of a reduction: by type and place, so that levels share them."""
    kind = node.detail[1].a
    place = [n for n in reductions if n.detail[1].a == kind].index(node)
    return f"tree_{''.join(c for c in kind if c.isalnum())}_{place}"


def _trees(body, passes, lanes):
    found: dict = {}
    for level in range(1, passes + 1):
        reductions = body.reductions(level)
        for node in reductions:
            found[_tree(body, reductions, node)] = node.detail[1].a
    return [f"var<workgroup> {name}: array<{kind}, {lanes}>;" for name, kind in found.items()] if lanes > 1 else []


def _join(body, reductions, lanes):
    """Lines that merge the lanes' accumulators."""
    names = [(body.graph_name(n), _tree(body, reductions, n)) for n in reductions]
    merges = " ".join(f"{t}[lid] = merge_{n}(merge_{n}({t}[lid], {t}[lid + some]), merge_{n}({t}[lid + 2u * some], {t}[lid + 3u * some]));" for n, t in names)
    return [*[f"{t}[lid] = a{n};" for n, t in names],
            f"for (var some = {lanes // 4}u; some > 0u; some >>= 2u) {{ workgroupBarrier(); if (lid < some) {{ {merges} }} }}",
            "workgroupBarrier();", *[f"a{n} = {t}[0];" for n, t in names], "workgroupBarrier();"]


def _row_stores(body, stores, lanes):
    if not stores:
        return []
    scope = Scope("z", "o")
    texts = [body.store(scope, node, k, a, "o") for node, k, a in stores]
    lines = body.row.lines
    body.row.lines = []
    barrier = ["workgroupBarrier();"] if lanes > 1 else []
    return [*lines, *barrier, "if (lane == 0u) {", *("  " + line for line in scope.lines + texts), "}"]
