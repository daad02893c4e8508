"""The planner that matrix products and convolutions share: a sum of products whose addresses are WGSL text.

A product is C[batch, row, col] = sum over k of A[batch, row, k] * B[batch, k, col]. Each side is a Side: functions that say where a row
(of B: a column) starts, what a step along k adds, and how the element there is read. Steps are triples (k0, k1, k2), so that convolutions
walk channels and taps without divisions.
"""
from __future__ import annotations

from .. import dtypes, kernels
from . import variants
from .formula import Code
from .pointwise_plan import store_expression
from .reduce_plan import SUMS, plan_reduce

_built = kernels.Cache()
# What a step of a sum does: to four results that share a row's element, and to one.
MULTIPLY = {acc: f"""alias ELEMENT4 = vec4<ELEMENT>; alias ACC4 = vec4<ACC>;
fn mad4(a: ELEMENT, b: ELEMENT4, c: ACC4) -> ACC4 {{ return {four}; }}
fn mad(a: ELEMENT, b: ELEMENT, c: ACC) -> ACC {{ return {one}; }}""" for acc, four, one in (
    ("f32", "fma(ACC4(a), b, c)", "c + a * b"), ("i32", "a * b + c", "c + a * b"),
    ("packed", "vec4<i32>(mad(a, b.x, c.x), mad(a, b.y, c.y), mad(a, b.z, c.z), mad(a, b.w, c.w))", "c + dot4I8Packed(a, b)"))}


class Side:
    """One operand: ``fields`` {name: word} of Params (i32) and the bodies of its functions.

    ``row`` sees batch and row (all i32) and returns an address (i32), or with ``inside`` vec3<i32>(address, y, x); ``step`` sees k0, k1, k2
    and returns what is added to that; ``inside`` is the condition on ``at`` under which there is an element ("" where always).
    ``address`` replaces ``at.x`` in the read; ``fast``: neighbouring steps are neighbours in memory; ``fours``: four elements of a line can be
    read at once, since one dim is adjacent, and offset and other strides are multiples of 4; ``eights``: eight float16, likewise; ``outside`` is
    read where no element is.
    """
    __slots__ = ("operand", "fields", "row", "step", "inside", "address", "fast", "fours", "eights", "outside")

    def __init__(self, operand, fields, row, step, inside="", address="", fast=False, fours=False, eights=False, outside="0"):
        self.fours, self.outside = fours, outside
        self.operand, self.fields, self.row, self.step, self.inside, self.fast, self.eights = operand, fields, row, step, inside, fast, eights
        self.address = address or ("at.x" if inside else "at")

    def places(self, name):
        """WGSL of where elements are."""
        t = "vec3<i32>" if self.inside else "i32"
        return "\n".join([
            f"alias {name.upper()}_AT = {t};",
            f"fn {name}_row(ubatch: u32, urow: u32) -> {t} {{ let batch = i32(ubatch); let row = i32(urow); {self.row} }}",
            f"fn {name}_step(u0: u32, u1: u32, u2: u32) -> {t} {{ let k0 = i32(u0); let k1 = i32(u1); let k2 = i32(u2); {self.step} }}"])

    def text(self, name):
        """WGSL of where elements are and what they are."""
        element = f"ELEMENT({name}[u32({self.address})])"
        load = f"if ({self.inside}) {{ return {element}; }} return ELEMENT({self.outside});" if self.inside else f"return {element};"
        return f"{self.places(name)}\nfn {name}_load(at: {name.upper()}_AT) -> ELEMENT {{ {load} }}"


class Result:
    """Where results go: the element (batch, row, col) of ``operand`` is at ``row`` + ``col``, WGSL over i32 batch, row and col.

    ``bias`` is a second Operand that is added, read at ``bias_row`` + ``bias_col``. ``plane``: rows are channels of images, and so many elements
    lie between one and the next.
    """
    __slots__ = ("operand", "fields", "row", "col", "bias", "bias_row", "bias_col", "plane")
    fours = False        # whether put_four() takes four rows at a time in place of put()

    def __init__(self, operand, fields, row, col, bias=None, bias_row="return 0;", bias_col="return 0;", plane=None):
        self.plane = plane
        self.operand, self.fields, self.row, self.col = operand, fields, row, col
        self.bias, self.bias_row, self.bias_col = bias, bias_row, bias_col

    def label(self):
        """The kernel's name where it is more than a product."""
        return ""

    def inputs(self):
        """[(name, operand)] of what is read beside the two sides."""
        return [] if self.bias is None else [("bias", self.bias)]

    def outputs(self):
        """[(name, operand)] of what is written."""
        return [("y", self.operand)]

    def text(self, acc):
        """WGSL of y_row, y_col, bias_row, bias_col (addresses) and put (stores an element)."""
        rows = [f"fn {name}_row(ubatch: u32, urow: u32) -> i32 {{ let batch = i32(ubatch); let row = i32(urow); {body} }}"
                for name, body in (("y", self.row), ("bias", self.bias_row))]
        cols = [f"fn {name}_col(ucol: u32) -> i32 {{ let col = i32(ucol); {body} }}"
                for name, body in (("y", self.col), ("bias", self.bias_col))]
        return "\n".join([*rows, *cols, f"fn put(split: u32, at: i32, bias_at: i32, value: {acc}) {{ {self.put(acc)} }}"])

    def put(self, acc):
        """The statements of put()."""
        dtype = self.operand.meta.dtype
        return f"let v = {self.value()}; y[u32(at)] = {store_expression(dtype, Code(None, dtype.compute, 'v'))};"

    def value(self):
        """The expression of an element with its bias."""
        return f"{self.scaled()} + {self.added()}" if self.bias is not None else self.scaled()

    def scaled(self):
        """The expression of an element without its bias."""
        return "value"

    def added(self):
        """The expression of an element's bias."""
        return f"{self.operand.meta.dtype.compute}(bias[u32(bias_at)])"


class Partial(Result):
    """Partial sums of a result: ``operand`` has a leading dim, the part of the sum. The first part has the bias."""
    __slots__ = ("whole",)

    def __init__(self, whole, operand):
        self.whole = whole
        fields = {**whole.fields, "y_offset": 0, "y_count": whole.operand.meta.numel}
        super().__init__(operand, fields, whole.row, whole.col, whole.bias, whole.bias_row, whole.bias_col)

    def inputs(self):
        return self.whole.inputs()

    def put(self, acc):
        bias = f" if (split == 0u) {{ v += {self.added()}; }}" if self.bias is not None else ""
        return f"var v = {self.whole.scaled()};{bias} y[u32(at + i32(split) * p.y_count)] = v;"


class Product:
    """The sizes of a product: ``steps`` is (k0, k1, k2). ``packed``: a step's elements are words of four int8, whose products are added."""
    __slots__ = ("batches", "rows", "cols", "steps", "packed")

    def __init__(self, batches, rows, cols, steps, packed=False):
        self.batches, self.rows, self.cols, self.steps, self.packed = batches, rows, cols, steps, packed


def plan_product(plan, size, a, b, result) -> None:
    """Add the dispatches of a product."""
    plan_products(plan, [(size, a, b, result)])


def plan_products(plan, products) -> None:
    """Add the dispatches of products [(size, a, b, result), ...] whose results make up one row-major tensor."""
    products = [p for p in products if p[0].batches * p[0].rows * p[0].cols]
    plan.products += products
    plan_chosen(plan, products, [variants.choose(plan.device, size, a, b) for size, a, b, _ in products])


def plan_chosen(plan, products, choices) -> None:
    """The same with a (variant, splits) for each."""
    splits = max((split for _, split in choices), default=1)
    if splits == 1:
        for (variant, _), product in zip(choices, products):
            first = len(plan.steps)
            dispatch(plan, variant, 1, *product)
            _note(plan, first, products, variant)
        return
    y = products[0][3].operand
    partial = plan.temp((splits, *y.meta.shape), dtypes.float32 if y.meta.dtype.compute == "f32" else dtypes.int32)
    for (variant, _), (size, a, b, result) in zip(choices, products):
        dispatch(plan, variant, splits, size, a, b, Partial(result, partial))
    plan_reduce(plan, [partial], [y], (0,), SUMS[partial.meta.dtype.compute])


def _note(plan, first, products, variant):
    """Say what a dispatch computes: of products that together make one tensor there is no part that others could join."""
    if len(products) == 1:
        _, a, b, result = products[0]
        plan.part("product", first, [a.operand, b.operand, *(o for _, o in result.inputs())], [result.operand], (variant, *products[0]))


def dispatch(plan, variant, splits, size, a, b, result) -> None:
    """Add one dispatch of a product."""
    outer = size.steps[0] * size.steps[1]
    chunk = -(-max(1, -(-outer // splits)) // variant.step) * variant.step
    words = [size.batches, size.rows, size.cols, outer, chunk, splits, *a.fields.values(), *b.fields.values()]
    buffers = [a.operand, b.operand, *(o for _, o in (*result.inputs(), *result.outputs()))]
    kernel = _kernel(variant, size, a, b, result)
    plan.dispatch(kernel, buffers, words + [*result.fields.values()], splits * variant.groups(size))


def _kernel(variant, size, a, b, result):
    sides = (("a", a), ("b", b))
    acc = "i32" if size.packed else result.operand.meta.dtype.compute
    parts = [side.text(n) if variant.element_wise else side.places(n) for n, side in sides] + [result.text(acc)]
    consts = {"K1": size.steps[1], "K2": size.steps[2], **variant.consts(a, b)}
    stored = [("read", n, variant.stored(side.operand.meta.dtype)) for n, side in sides]
    stored += [("read", n, o.meta.dtype.wgsl) for n, o in result.inputs()] + [("read_write", n, o.meta.dtype.wgsl) for n, o in result.outputs()]
    bindings = [f"@group(0) @binding({i}) var<storage, {access}> {n}: array<{t}>;" for i, (access, n, t) in enumerate(stored)]
    fields = ", ".join(f if ":" in f else f"{f}: i32" for f in (*a.fields, *b.fields, *result.fields))
    halves = variant.file == "gemm_matrices" or any("f16" in t for *_, t in stored)
    text = "\n".join(["enable f16;" if halves else "", variant.head, f"alias ELEMENT = {'u32' if size.packed else acc};", f"alias ACC = {acc};",
                      MULTIPLY["packed" if size.packed else acc],
                      *(f"const {n} = {kernels.wgsl_literal(v)};" for n, v in consts.items()),
                      f"struct Params {{ batches: u32, rows: u32, cols: u32, outer: u32, chunk: u32, splits: u32, {fields} }}",
                      *bindings, kernels.source("prelude"), *parts, variant.filled(kernels.source(variant.file), result, a, b)])
    found = _built.get(text)
    if found is None:
        found = _built.keep(text, kernels.Kernel(result.label() or variant.file, text))
    return found
