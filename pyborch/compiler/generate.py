"""WGSL of a fused group: elements, rows with reductions, or what follows a product."""
from __future__ import annotations

import re

from .. import kernels
from ..autograd import Live
from ..ops.formula import Builder, Code, CodeMath, literal
from ..ops.pointwise_plan import literal_of, load_expression, store_expression
from ..ops.reduce_plan import element, stored
from .fuse import bindings, escapes, shape_of
from .space import Rows, terms_of

GROUP = 256
MOST_SIZES = 24      # numbers that a kernel takes as parameters: all of them have to fit into 64 words
_kernels = kernels.Cache()


class Scope(Builder):
    """Lines of one block, with names that no other block uses; ``values``: (node, output) -> its stored form here."""

    def __init__(self, prefix, index="i"):
        super().__init__(prefix, index)
        self.values: dict = {}


class Body:
    """Emits the values of a group on demand: a value is made in the scope where it is first needed, from its node or its buffer."""

    def __init__(self, graph, group):
        self.graph, self.group = graph, group
        self.inside = set(group.nodes)
        self.values = bindings(graph, group.nodes)
        self.names = {v: f"t{k}" for k, v in enumerate(self.values)}
        self.maker = {(a.value, a.state): (node, k) for node in group.nodes for k, a in enumerate(node.writes)}
        self.escaping = [(node, k, a) for node in group.nodes for k, a in enumerate(node.writes) if escapes(graph, (a.value, a.state), self.inside)]
        self.written = {a.value for _, _, a in self.escaping}
        self.live: list = []
        self.numbers: dict = {}      # (number, kind) -> its field, where sizes are parameters
        self.functions: list = []
        self.declared: set = set()
        self.local: dict = {}        # (node, output) -> stored text that is in every scope (a product's element)

    # values; each is the text of what a buffer would hold
    def output(self, scope, node, k):
        """The stored form of a node's k-th result in ``scope``."""
        found = self.local.get((node, k)) or scope.values.get((node, k))
        if found is None:
            self.evaluate(scope, node)
            found = self.local.get((node, k)) or scope.values[(node, k)]
        return found

    def evaluate(self, scope, node):
        if node in self.group.shorts:
            return self.short(scope, node)
        plan, op, kinds, params = node.detail
        types = op.load_types([a.meta.dtype for a in node.reads], plan)
        loads = [scope.let(t, load_expression(a.meta.dtype, self.read(scope, node, a), t)) for a, t in zip(node.reads, types)]
        return self.made(scope, node, loads)

    def made(self, scope, node, loads):
        """Have a node's results in ``scope``, from its operands' values."""
        plan, op, kinds, params = node.detail
        scalars = [self.scalar(scope, node.scalars[i], kind) for i, kind in enumerate(kinds)]
        tensors, numbers = iter(loads), iter(scalars)
        args = [next(tensors) if is_tensor else next(numbers) for is_tensor in plan.layout]
        params = {**params, **dict(zip(plan.scalar_names, numbers))}
        if isinstance(params.get("n"), (int, float)):  # a count of elements, as plan_pointwise() has it
            params["n"] = self.scalar(scope, params["n"], "f32")
        results = op.evaluate(CodeMath(op.table, scope), args, params)
        for k, (a, result) in enumerate(zip(node.writes, results)):
            dtype = a.meta.dtype
            if not isinstance(result, Code):
                result = Code(scope, dtype.compute, literal_of(result, dtype))
            scope.values[(node, k)] = scope.let(dtype.wgsl, store_expression(dtype, result)).text
        return None

    def scalar(self, scope, value, kind):
        if isinstance(value, Live):
            if not any(value is other for other, _ in self.live):
                self.live.append((value, kind))
            index = next(i for i, (other, _) in enumerate(self.live) if other is value)
            text = f"p.live{index}"
            return Code(scope, kind, f"({text} != 0u)" if kind == "bool" else text)
        return Code(scope, kind, self.number(value, kind) if kind in ("f32", "i32") else literal(value, kind))

    def number(self, value, kind="u32"):
        """WGSL of a number: itself, or a parameter in programs whose kernels are to serve many sizes."""
        common = value in (0, 1) or kind == "f32" and not abs(value) < 3e38
        if not self.graph.dynamic or common or len(self.numbers) >= MOST_SIZES and (value, kind) not in self.numbers:
            return f"{value}u" if kind == "u32" else literal(value, kind)
        return "p." + self.numbers.setdefault((value, kind), f"n{len(self.numbers)}")

    def read(self, scope, node, a):
        """The stored form of what a node reads."""
        made = self.maker.get((a.value, a.state))
        if made is not None and made[0] is not node:
            return self.output(scope, *made)
        return self.load(scope, a, terms_of(a.meta, shape_of(node)))

    def load(self, scope, a, terms, index=None):
        return scope.let(a.meta.dtype.wgsl, f"{self.names[a.value]}[{self.address(scope, terms, index or scope.index)}]").text

    def address(self, scope, terms, index="i"):
        parts = []
        for inner, size, stride in terms.terms:
            text = index
            if inner > 1:
                text = scope.let("u32", f"({text} / {self.number(inner)})").text
            if inner * size < terms.numel:
                text = scope.let("u32", f"({text} % {self.number(size)})").text
            parts.append(text if stride == 1 else f"{text} * {self.number(stride)}")
        if terms.offset or not parts:
            parts.insert(0, self.number(terms.offset))
        return " + ".join(parts)

    def short(self, scope, node, index="i"):
        """A reduction as a loop inside the thread."""
        take, names = self.reducer(node), self.graph_name(node)
        rows = Rows(shape_of(node), node.detail[0])
        inner = Scope(f"{scope.prefix}{names}_")
        inner.lines.append(f"let at = {self.element_index(rows, index)};")
        args = self.reduce_arguments(inner, node, "at", rows)
        scope.lines.append(f"var {scope.prefix}a{names} = start_{names}();")
        scope.lines.append(f"for (var r = 0u; r < {self.number(rows.count)}; r++) {{ {' '.join(inner.lines)} "
                           f"{scope.prefix}a{names} = {take}({scope.prefix}a{names}, {', '.join(args)}); }}")
        self.finish(scope, node, f"{scope.prefix}a{names}")

    def element_index(self, rows, output):
        """WGSL of the space's index of element r of a row."""
        parts, inner = [], 1
        for n, step in reversed(rows.kept):
            text = output if inner == 1 else f"{output} / {self.number(inner)}"
            parts.append(f"({text}) % {self.number(n)} * {self.number(step)}" if inner * n < rows.outputs else f"({text}) * {self.number(step)}")
            inner *= n
        inner = 1
        for n, step in reversed(rows.reduced):
            text = "r" if inner == 1 else f"r / {self.number(inner)}"
            parts.append(f"({text}) % {self.number(n)} * {self.number(step)}" if inner * n < rows.count else f"({text}) * {self.number(step)}")
            inner *= n
        return " + ".join(parts)

    # reductions
    def graph_name(self, node):
        return str(self.group.nodes.index(node))

    def reducer(self, node):
        """Declare the functions of a node's recipe; returns the name of take()."""
        n, (_, recipe, inputs) = self.graph_name(node), node.detail
        if node in self.declared:
            return f"take_{n}"
        self.declared.add(node)
        rename = lambda text: re.sub(r"\bmerge\(", f"merge_{n}(", text)  # noqa: E731
        if recipe.struct and recipe.struct not in self.functions:
            self.functions.append(recipe.struct)
        types = [self.element_type(a.meta.dtype) for a in node.reads[:inputs]]
        parameters = "".join(f", v{k or ''}: {t}" for k, t in enumerate(types)) + "".join(f", c{k}: f32" for k in range(len(node.reads) - inputs))
        self.functions += [f"fn start_{n}() -> {recipe.a} {{ {recipe.start} }}", f"fn merge_{n}(a: {recipe.a}, b: {recipe.a}) -> {recipe.a} {{ {rename(recipe.merge)} }}",
                           f"fn take_{n}(a: {recipe.a}{parameters}, r: u32) -> {recipe.a} {{ {rename(recipe.take)} }}"]
        for k, a in enumerate(node.writes):
            count = f"let n = {self.number(Rows(shape_of(node), node.detail[0]).count)};"
            self.functions.append(f"fn finish_{n}_{k}(a: {recipe.a}) -> {a.meta.dtype.wgsl} {{ {count} return {stored(recipe.finish[k], a.meta.dtype)}; }}")
        return f"take_{n}"

    @staticmethod
    def element_type(dtype):
        return "bool" if dtype.name == "bool" else "f32" if dtype.kind == "f" else dtype.wgsl

    def reduce_arguments(self, scope, node, index, rows):
        """The arguments of take() for the element at ``index`` in the space, r-th of its row."""
        inputs = node.detail[2]
        args = []
        for a in node.reads[:inputs]:
            made = (a.value, a.state) in self.maker
            text = self.read(scope, node, a) if made else self.load(scope, a, terms_of(a.meta, shape_of(node)), index)
            args.append(scope.let(self.element_type(a.meta.dtype), element(a.meta.dtype, text)).text)
        return [*args, *self.per_output(scope, node), "r"]

    def per_output(self, scope, node):
        return [f"f32({self.names[a.value]}[{self.number(a.meta.offset)} + i])" for a in node.reads[node.detail[2]:]]

    def finish(self, scope, node, accumulator):
        n = self.graph_name(node)
        for k, a in enumerate(node.writes):
            scope.values[(node, k)] = scope.let(a.meta.dtype.wgsl, f"finish_{n}_{k}({accumulator})").text

    # text
    def store(self, scope, node, k, a, index):
        at = f"{self.number(a.meta.offset)} + {index}" if a.meta.offset else index
        return f"{self.names[a.value]}[{at}] = {self.output(scope, node, k)};"

    def header(self):
        dtypes = [self.graph.dtypes[v] for v in self.values]
        lines = ["enable f16;"] if any(d.wgsl == "f16" for d in dtypes) else []
        lines += [kernels.source("prelude"), kernels.source("pointwise_functions")]
        if self.fields():
            lines.append(f"struct Params {{ {', '.join(self.fields())} }}")
        lines += [f"@group(0) @binding({k}) var<storage, {'read_write' if v in self.written else 'read'}> t{k}: array<{self.held(v)}>;"
                  for k, v in enumerate(self.values)]
        return lines + self.functions

    def held(self, value):
        """What a value's buffer is an array of."""
        return self.graph.dtypes[value].wgsl

    def fields(self):
        return [f"live{i}: {'u32' if kind == 'bool' else kind}" for i, (_, kind) in enumerate(self.live)] + [
            f"{name}: {kind}" for (_, kind), name in self.numbers.items()]

    def words(self):
        return [kernels.Scalar(i, {"f32": "f", "i32": "i"}.get(kind, "u")) for i, (_, kind) in enumerate(self.live)] + [
            float(value) if kind == "f32" else int(value) for value, kind in self.numbers]

    def label(self):
        return "+".join(dict.fromkeys(n.name for n in self.group.nodes))[:120]


def points(graph, group):
    """(Step, values, scalars) of a group of elementwise nodes: a thread per element."""
    body, scope = Body(graph, group), Scope("v")
    stores = [body.store(scope, node, k, a, "i") for node, k, a in body.escaping]
    many = body.number(group.numel)
    text = [*body.header(), main_of(GROUP), f"  let i = group_index(wid, nwg) * {GROUP}u + lid;", f"  if (i >= {many}) {{ return; }}",
            *("  " + line for line in scope.lines + stores), "}"]
    return step_of(body, text, -(-group.numel // GROUP))


def main_of(size):
    return (f"@compute @workgroup_size({size}) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, "
            "@builtin(local_invocation_index) lid: u32) {")


def step_of(body, text, groups):
    kernel = kernel_of(body.label(), "\n".join(text))
    step = kernels.Step(kernel, tuple(range(len(body.values))), tuple(body.words()), groups)
    return step, body.values, [value for value, _ in body.live]


def kernel_of(label, text):
    """The kernel of a text; equal texts share one."""
    return _kernels.get(text) or _kernels.keep(text, kernels.Kernel(label, text))
