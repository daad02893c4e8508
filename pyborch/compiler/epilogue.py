"""A product and the elementwise nodes that follow it, as one kernel: they run where the product stores an element, or four of neighbouring
channels, of which int8 words are made."""
from __future__ import annotations

from .. import kernels
from ..ops import gemm
from ..ops.formula import Code
from ..ops.pointwise_plan import load_expression, store_expression
from .generate import Body, Scope


class _Named:
    """An operand of the kernel that is not the product's own."""
    __slots__ = ("meta", "slot")

    def __init__(self, dtype, slot):
        self.meta, self.slot = _Typed(dtype), slot


class _Typed:
    __slots__ = ("dtype",)

    def __init__(self, dtype):
        self.dtype = dtype


class Epilogue(gemm.Result):
    """A Result whose put() goes on with a group's nodes; it stores what others need."""
    __slots__ = ("whole", "body", "node", "extra_in", "extra_out", "words")

    def __init__(self, result, body, node, element_wise):
        super().__init__(result.operand, dict(result.fields), result.row, result.col, result.bias, result.bias_row, result.bias_col, result.plane)
        self.words = [n for n in body.group.nodes if body.group.levels[n] == "words"]
        self.whole, self.body, self.node = result, body, node
        own = dict(zip([a.value for a in node.reads], ("a", "b", *(name for name, _ in result.inputs()))))
        if not element_wise:         # sides that are read elsewhere too are bound a second time, by elements
            again = {a.value for n in body.group.nodes if n is not node for a in n.reads}
            own = {v: name for v, name in own.items() if name not in ("a", "b") or v not in again}
        body.names.update(own)
        others = [v for v in body.values if v not in own]
        self.extra_in = [v for v in others if v not in body.written]
        self.extra_out = [v for v in others if v in body.written]

    def label(self):
        return self.body.label()

    def inputs(self):
        return self.whole.inputs() + [(self.body.names[v], _Named(self.body.graph.dtypes[v], v)) for v in self.extra_in]

    def outputs(self):
        return [(self.body.names[v], _Named(self.body.graph.dtypes[v], v)) for v in self.extra_out]

    def text(self, acc):
        more = self._put_four(acc) if self.fours else ""
        return "\n".join([kernels.source("pointwise_functions"), super().text(acc), more])

    @property
    def fours(self):
        return bool(self.words)

    def put(self, acc):
        """Nothing is put element by element where words are made of four."""
        return "" if self.fours else self._put()

    def _put(self):
        body, scope, dtype = self.body, Scope("v"), self.operand.meta.dtype
        scope.lines.append("let i = u32(at - p.y_offset);")
        scope.lines.append(f"let product = {self.whole.value()};")
        body.local[(self.node, 0)] = scope.let(dtype.wgsl, store_expression(dtype, Code(scope, dtype.compute, "product"))).text
        stores = [body.store(scope, node, k, a, "i") for node, k, a in body.escaping]
        self.fields.update(zip(body.fields(), body.words()))
        return "\n".join(scope.lines + stores)

    def _put_four(self, acc):
        """Four neighbouring rows' elements, and the words that are made of them."""
        body, dtype = self.body, self.operand.meta.dtype
        scopes = [Scope(f"v{r}_", f"i{r}") for r in range(4)]
        for r, scope in enumerate(scopes):
            scope.lines.append(f"let i{r} = u32(at[{r}] - p.y_offset);")
            scope.lines.append(f"let product{r} = whole(values[{r}], bias_at[{r}]);")
            scope.values[(self.node, 0)] = scope.let(dtype.wgsl, store_expression(dtype, Code(scope, dtype.compute, f"product{r}"))).text
        stores = [body.store(scope, node, k, a, scope.index) for node, k, a in body.escaping if node not in self.words for scope in scopes]
        last = Scope("w", "word")
        last.lines.append(f"let word = i0 / {4 * self.plane}u * {self.plane}u + i0 % {self.plane}u;")
        for node in self.words:
            loads = [last.let("f32", load_expression(a.meta.dtype, body.read(scope, node, a), "f32")) for a, scope in zip(node.reads, scopes)]
            body.made(last, node, loads)
        stores += [body.store(last, node, k, a, "word") for node, k, a in body.escaping if node in self.words]
        self.fields.update(zip(body.fields(), body.words()))
        lines = "\n".join([line for scope in (*scopes, last) for line in scope.lines] + stores)
        return (f"fn whole(value: {acc}, bias_at: i32) -> {dtype.compute} {{ return {self.whole.value()}; }}\n"
                f"fn put_four(split: u32, at: vec4<i32>, bias_at: vec4<i32>, values: vec4<{acc}>) {{ {lines} }}")


def product(graph, group):
    """(Step, values, scalars) of a product with an epilogue."""
    node = group.nodes[0]
    variant, size, a, b, result = node.detail
    body = Body(graph, group)
    fused = Epilogue(result, body, node, variant.element_wise)
    plan = kernels.Plan.__new__(kernels.Plan)
    plan.steps = []
    gemm.dispatch(plan, variant, 1, size, a, b, fused)
    step = plan.steps[0]
    own = [a.operand, b.operand, *(o for _, o in result.inputs())]
    slot, count = {o.slot: access.value for o, access in zip(own, node.reads)}, len(own)
    values = [slot[s] for s in step.slots[:count]] + list(step.slots[count:])
    return kernels.Step(step.kernel, tuple(range(len(values))), step.words, step.groups), values, [v for v, _ in body.live]
