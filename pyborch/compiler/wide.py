"""Large elementwise groups by fours: a thread loads and stores four neighbours at once (H200: 2,300 GB/s one by one)."""
from __future__ import annotations

from .fuse import numel_of, shape_of
from .generate import GROUP, Body, Scope, main_of, step_of
from .space import terms_of

LEAST = 1 << 18      # elements from which on there are threads enough although each has four


def fits(graph, group, device) -> bool:
    """Whether a group of elements is large, and reads and writes by fours all but small things."""
    if device.software or group.kind != "points" or group.numel < LEAST or group.numel % 4 or group.shorts:
        return False
    body = WideBody(graph, group)
    return body.written <= body.fours and 8 * body.scattered <= group.numel


class WideBody(Body):
    """``fours``: values that are only met element by element, which are bound as vec4; ``loads``: the lines that read them. ``scattered``: how
    many elements of another value are read at most."""

    def __init__(self, graph, group):
        super().__init__(graph, group)
        met = [(a, terms_of(a.meta, shape_of(node))) for node in group.nodes for a in node.reads if (a.value, a.state) not in self.maker]
        met += [(a, terms_of(a.meta, a.meta.shape)) for _, _, a in self.escaping]
        single = {a.value for a, terms in met if not terms.linear or terms.offset % 4 or graph.sizes[a.value] % 4}
        self.fours = {a.value for a, _ in met} - single
        self.scattered = max((numel_of(n for n, step in zip(a.meta.shape, a.meta.strides) if step) for a, _ in met if a.value in single), default=0)
        self.loads: dict = {}

    def load(self, scope, a, terms):
        if a.value not in self.fours:
            return scope.let(a.meta.dtype.wgsl, f"{self.names[a.value]}[{self.address(scope, terms, scope.index)}]").text
        name = self.names[a.value]
        at = self.loads.setdefault((name, self.at(a)), f"q{len(self.loads)}")
        return f"{at}.{'xyzw'[int(scope.index[1:])]}"

    def at(self, a):
        return f"{self.number(a.meta.offset // 4)} + i" if a.meta.offset else "i"

    def held(self, value):
        return f"vec4<{self.graph.dtypes[value].wgsl}>" if value in self.fours else super().held(value)


def wide(graph, group):
    """(Step, values, scalars) of a group of elementwise nodes: a thread per four elements."""
    body, scopes = WideBody(graph, group), [Scope(f"v{c}_", f"i{c}") for c in range(4)]
    stores = []
    for node, k, a in body.escaping:
        parts = ", ".join(body.output(scope, node, k) for scope in scopes)
        stores.append(f"{body.names[a.value]}[{body.at(a)}] = {body.held(a.value)}({parts});")
    many = body.number(group.numel // 4)
    loads = [f"let {q} = {name}[{at}];" for (name, at), q in body.loads.items()]
    places = [f"let i{c} = 4u * i + {c}u;" for c in range(4)]
    text = [*body.header(), main_of(GROUP), f"  let i = group_index(wid, nwg) * {GROUP}u + lid;", f"  if (i >= {many}) {{ return; }}",
            *("  " + line for line in [*places, *loads, *[line for scope in scopes for line in scope.lines], *stores]), "}"]
    return step_of(body, text, -(-group.numel // (4 * GROUP)))
