"""The planner that matrix products and convolutions share: a sum of products whose addresses are WGSL text.

A product is C[batch, row, col] = sum over k of A[batch, row, k] * B[batch, k, col]. Each side is a Side: functions that say where a row
(of B: a column) starts, what a step along k adds, and how the element there is read. Steps are triples (k0, k1, k2), so that convolutions
walk channels and taps without divisions.
"""
from __future__ import annotations

from .. import dtypes, kernels
from .formula import Code
from .pointwise_plan import store_expression

_built: dict = {}
# what Result.text() says, for partial sums
PARTIAL = """fn y_row(split: u32, batch: u32, row: u32) -> i32 { return i32(((split * p.batches + batch) * p.rows + row) * p.cols); }
fn bias_row(split: u32, batch: u32, row: u32) -> i32 { return 0; }
fn y_col(col: u32) -> i32 { return i32(col); }
fn bias_col(col: u32) -> i32 { return 0; }
fn put(at: i32, bias_at: i32, value: ACC) { y[u32(at)] = value; }"""


class Side:
    """One operand: ``fields`` {name: word} of Params (i32) and the bodies of its functions.

    ``row`` sees batch and row (all i32) and returns an address (i32), or with ``inside`` vec3<i32>(address, y, x); ``step`` sees k0, k1, k2
    and returns what is added to that; ``inside`` is the condition on ``at`` under which there is an element ("" where always).
    ``address`` replaces ``at.x`` in the read; ``fast``: neighbouring steps are neighbours in memory.
    """
    __slots__ = ("operand", "fields", "row", "step", "inside", "address", "fast")

    def __init__(self, operand, fields, row, step, inside="", address="", fast=False):
        self.operand, self.fields, self.row, self.step, self.inside, self.fast = operand, fields, row, step, inside, fast
        self.address = address or ("at.x" if inside else "at")

    def text(self, name, acc):
        t = "vec3<i32>" if self.inside else "i32"
        element = f"{acc}({name}[u32({self.address})])"
        load = f"if ({self.inside}) {{ return {element}; }} return {acc}(0);" if self.inside else f"return {element};"
        return "\n".join([
            f"alias {name.upper()}_AT = {t};",
            f"fn {name}_row(ubatch: u32, urow: u32) -> {t} {{ let batch = i32(ubatch); let row = i32(urow); {self.row} }}",
            f"fn {name}_step(u0: u32, u1: u32, u2: u32) -> {t} {{ let k0 = i32(u0); let k1 = i32(u1); let k2 = i32(u2); {self.step} }}",
            f"fn {name}_load(at: {t}) -> {acc} {{ {load} }}"])


class Result:
    """Where results go: the element (batch, row, col) of ``operand`` is at ``row`` + ``col``, WGSL over i32 batch, row and col.

    ``bias`` is a second Operand that is added, read at ``bias_row`` + ``bias_col``.
    """
    __slots__ = ("operand", "fields", "row", "col", "bias", "bias_row", "bias_col")

    def __init__(self, operand, fields, row, col, bias=None, bias_row="return 0;", bias_col="return 0;"):
        self.operand, self.fields, self.row, self.col = operand, fields, row, col
        self.bias, self.bias_row, self.bias_col = bias, bias_row, bias_col

    def text(self, acc):
        dtype = self.operand.meta.dtype
        value = f"value + {acc}(bias[u32(bias_at)])" if self.bias is not None else "value"
        stored = store_expression(dtype, Code(None, dtype.compute, "v"))
        rows = [f"fn {name}_row(split: u32, ubatch: u32, urow: u32) -> i32 {{ let batch = i32(ubatch); let row = i32(urow); {body} }}"
                for name, body in (("y", self.row), ("bias", self.bias_row))]
        cols = [f"fn {name}_col(ucol: u32) -> i32 {{ let col = i32(ucol); {body} }}"
                for name, body in (("y", self.col), ("bias", self.bias_col))]
        return "\n".join([*rows, *cols, f"fn put(at: i32, bias_at: i32, value: {acc}) {{ let v = {value}; y[u32(at)] = {stored}; }}"])


class Product:
    """The sizes of a product: ``steps`` is (k0, k1, k2)."""
    __slots__ = ("batches", "rows", "cols", "steps")

    def __init__(self, batches, rows, cols, steps):
        self.batches, self.rows, self.cols, self.steps = batches, rows, cols, steps


def plan_product(plan, size, a, b, result) -> None:
    """Add the dispatches of a product with a non-empty result."""
    if not size.batches * size.rows * size.cols:
        return
    variant, splits = _choose(plan.device, size)
    outer = size.steps[0] * size.steps[1]
    chunk = max(1, -(-outer // splits))
    splits = max(1, -(-outer // chunk))
    words = [size.batches, size.rows, size.cols, outer, chunk, splits]
    acc = result.operand.meta.dtype.compute
    sides = [*a.fields.values(), *b.fields.values()]
    if splits == 1:
        buffers = [a.operand, b.operand, *([result.bias] if result.bias is not None else []), result.operand]
        kernel = _kernel(variant, size.steps, a, b, result, acc)
        plan.dispatch(kernel, buffers, words + sides + list(result.fields.values()), _groups(variant, size, 1))
        return
    partial = plan.temp(splits * size.batches * size.rows * size.cols, dtypes.float32 if acc == "f32" else dtypes.int32)
    kernel = _kernel(variant, size.steps, a, b, None, acc)
    plan.dispatch(kernel, [a.operand, b.operand, partial], words + sides, _groups(variant, size, splits))
    buffers = [partial, *([result.bias] if result.bias is not None else []), result.operand]
    plan.dispatch(_sum_kernel(result, acc), buffers, words + list(result.fields.values()), -(-size.batches * size.rows * size.cols // 64))


def _choose(device, size):
    """(variant, splits). A variant is ("threads", rows) or ("tiles", rows, cols per thread, depth)."""
    outer, steps = size.steps[0] * size.steps[1], size.steps[0] * size.steps[1] * size.steps[2]
    if device.software:
        variant = ("threads", 8 if size.rows > 4 else 4 if size.rows > 1 else 1)
        return variant, _splits(_groups(variant, size, 1), 8, outer, steps, 256)
    if size.rows <= 2:
        variant = ("threads", 1)
        return variant, _splits(_groups(variant, size, 1), 256, outer, steps, 64)
    variant = ("tiles", 4, 4, 16) if size.rows > 32 and size.cols > 32 else ("tiles", 2, 2, 16)
    large = ("tiles", 8, 8, 16 if device.limits["maxComputeWorkgroupStorageSize"] >= 17000 else 8)
    if size.steps[1] == size.steps[2] == 1 and size.rows > 64 and size.cols > 64 and _groups(large, size, 1) >= 200:
        variant = large  # measured: pays for plain products that fill the device, never for convolutions
    return variant, _splits(_groups(variant, size, 1), 264, outer, steps, 128)


def _splits(groups, wanted, outer, steps, least):
    """Enough chunks of the sum that about ``wanted`` groups run, none with fewer than ``least`` steps."""
    return max(1, min((wanted + groups // 2) // groups, outer, steps // least, 128))


def _groups(variant, size, splits):
    if variant[0] == "threads":
        return -(-splits * size.batches * -(-size.rows // variant[1]) * (-(-size.cols // 16) * 4) // 64)
    return splits * size.batches * -(-size.rows // (16 * variant[1])) * -(-size.cols // (16 * variant[2]))


def _kernel(variant, steps, a, b, result, acc):
    parts = [a.text("a", acc), b.text("b", acc)]
    stored = [("a", a.operand), ("b", b.operand)]
    fields = [*a.fields, *b.fields]
    if result is None:
        parts.append(PARTIAL)
        output = acc
    else:
        parts.append(result.text(acc))
        stored += [("bias", result.bias)] if result.bias is not None else []
        output, fields = result.operand.meta.dtype.wgsl, [*fields, *result.fields]
    multiply = "fma(ACC4(a), b, c)" if acc == "f32" else "a * b + c"
    parts.append(f"alias ACC4 = vec4<ACC>; fn mad(a: ACC, b: ACC4, c: ACC4) -> ACC4 {{ return {multiply}; }}")
    consts = [f"const K1 = {steps[1]}u;", f"const K2 = {steps[2]}u;"]
    if variant[0] == "threads":
        consts.append(f"const ROWS = {variant[1]}u;")
    else:
        consts += [f"const TR = {variant[1]}u;", f"const TC = {variant[2]}u;", f"const DEPTH = {variant[3]}u;",
                   f"const A_FAST = {str(a.fast).lower()};", f"const B_FAST = {str(b.fast).lower()};"]
    return _assemble("gemm_" + variant[0], acc, consts, [(n, o.meta.dtype.wgsl) for n, o in stored], output, fields, parts)


def _sum_kernel(result, acc):
    stored = [("partial", acc)] + ([("bias", result.bias.meta.dtype.wgsl)] if result.bias is not None else [])
    return _assemble("gemm_sum", acc, [], stored, result.operand.meta.dtype.wgsl, list(result.fields), [result.text(acc)])


def _assemble(name, acc, consts, inputs, output, fields, parts):
    bindings = [f"@group(0) @binding({i}) var<storage, read> {n}: array<{t}>;" for i, (n, t) in enumerate(inputs)]
    bindings.append(f"@group(0) @binding({len(inputs)}) var<storage, read_write> y: array<{output}>;")
    f16 = output == "f16" or any(t == "f16" for _, t in inputs)
    params = ", ".join(["batches: u32, rows: u32, cols: u32, outer: u32, chunk: u32, splits: u32", *(f"{f}: i32" for f in fields)])
    text = "\n".join(["enable f16;" if f16 else "", f"alias ACC = {acc};", *consts, f"struct Params {{ {params} }}", *bindings,
                      kernels.source("prelude"), *parts, kernels.source(name)])
    found = _built.get(text)
    if found is None:
        found = _built[text] = kernels.Kernel(name, text)
    return found
