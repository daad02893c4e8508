"""The planner that matrix products and convolutions share: a sum of products whose addresses are WGSL text.

A product is C[batch, row, col] = sum over k of A[batch, row, k] * B[batch, k, col]. Each side is a Side: functions that say where a row
(of B: a column) starts, what a step along k adds, and how the element there is read. Steps are triples (k0, k1, k2), so that convolutions
walk channels and taps without divisions.
"""
from __future__ import annotations

from .. import dtypes, kernels
from .formula import Code
from .pointwise_plan import store_expression
from .reduce_plan import SUMS, plan_reduce

_built = kernels.Cache()
PROCESSORS = 132     # of the H200 that the choice of tiles was measured on
# A thread stores its results itself, or, where much follows the product, a row at a time through workgroup memory: a loop that the driver
# does not unroll would move the sums out of registers (H200: a convolution with a residual 0.67 ms instead of 0.05).
STORE_EACH = """for (var m = 0u; m < TR; m++) {
    let row = first_row + m / 4u * (4u * SIDE) + ty * 4u + m % 4u;
    if (row < p.rows) {
      let start = y_row(batch, row);
      let bias_start = bias_row(batch, row);
      for (var n = 0u; n < TC; n++) {
        let col = first_col + n / 4u * (4u * SIDE) + tx * 4u + n % 4u;
        if (col < p.cols) { put(split, start + y_col(col), bias_start + bias_col(col), c[m][n]); }
      }
    }
  }"""
STORE_ROW = """for (var n = 0u; n < TC / 4u; n++) {
    tile_b[(n * SLICES + slice) * THREADS + lid] = vec4<ACC>(c[ROW][n * 4u], c[ROW][n * 4u + 1u], c[ROW][n * 4u + 2u], c[ROW][n * 4u + 3u]);
  }
  workgroupBarrier();
  store_rows(ROWu, first_row, first_col, batch, split, all_lid);
  workgroupBarrier();"""


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
        return f"let v = {self.value(acc)}; y[u32(at)] = {store_expression(dtype, Code(None, dtype.compute, 'v'))};"

    def value(self, acc):
        """The expression of an element with its bias."""
        return f"value + {acc}(bias[u32(bias_at)])" if self.bias is not None else "value"


class Partial(Result):
    """Partial sums of a result: ``operand`` has a leading dim, the part of the sum. The first part has the bias."""
    __slots__ = ()

    def __init__(self, whole, operand):
        fields = {**whole.fields, "y_offset": 0, "y_count": whole.operand.meta.numel}
        super().__init__(operand, fields, whole.row, whole.col, whole.bias, whole.bias_row, whole.bias_col)

    def put(self, acc):
        bias = f"; if (split == 0u) {{ v += {acc}(bias[u32(bias_at)]); }}" if self.bias is not None else ";"
        return f"var v = value{bias} y[u32(at + i32(split) * p.y_count)] = v;"


class Product:
    """The sizes of a product: ``steps`` is (k0, k1, k2)."""
    __slots__ = ("batches", "rows", "cols", "steps")

    def __init__(self, batches, rows, cols, steps):
        self.batches, self.rows, self.cols, self.steps = batches, rows, cols, steps


def plan_product(plan, size, a, b, result) -> None:
    """Add the dispatches of a product."""
    plan_products(plan, [(size, a, b, result)])


def plan_products(plan, products) -> None:
    """Add the dispatches of products [(size, a, b, result), ...] whose results make up one row-major tensor."""
    products = [p for p in products if p[0].batches * p[0].rows * p[0].cols]
    choices = [choose(plan.device, size, a.fast, b.fast) for size, a, b, _ in products]
    splits = max((split for _, split in choices), default=1)
    if splits == 1:
        for (variant, _), product in zip(choices, products):
            first = len(plan.steps)
            dispatch(plan, variant, 1, *product)
            if len(products) == 1:
                _, a, b, result = product
                plan.part("product", first, [a.operand, b.operand, *(o for _, o in result.inputs())], [result.operand], (variant, *product))
        return
    y = products[0][3].operand
    partial = plan.temp((splits, *y.meta.shape), dtypes.float32 if y.meta.dtype.compute == "f32" else dtypes.int32)
    for (variant, _), (size, a, b, result) in zip(choices, products):
        dispatch(plan, variant, splits, size, a, b, Partial(result, partial))
    plan_reduce(plan, [partial], [y], (0,), SUMS[partial.meta.dtype.compute])


def dispatch(plan, variant, splits, size, a, b, result) -> None:
    """Add one dispatch of a product."""
    outer = size.steps[0] * size.steps[1]
    words = [size.batches, size.rows, size.cols, outer, max(1, -(-outer // splits)), splits]
    buffers = [a.operand, b.operand, *(o for _, o in (*result.inputs(), *result.outputs()))]
    kernel = _kernel(variant, size.steps, a, b, result, result.operand.meta.dtype.compute)
    plan.dispatch(kernel, buffers, words + [*a.fields.values(), *b.fields.values(), *result.fields.values()], _groups(variant, size, splits))


def choose(device, size, a_fast=False, b_fast=False):
    """(variant, splits). A variant is ("threads", rows) or ("tiles", side, rows and columns per thread, depth, ahead, slices). ``a_fast``,
    ``b_fast``: an operand is adjacent along the sum."""
    outer, steps = size.steps[0] * size.steps[1], size.steps[0] * size.steps[1] * size.steps[2]
    if device.software:
        variant = ("threads", 8 if size.rows > 4 else 4 if size.rows > 1 else 1)
        return variant, _splits(_groups(variant, size, 1), 4, outer, steps, 256)
    if size.rows <= 2:
        variant = ("threads", 1)
        return variant, _splits(_groups(variant, size, 1), 256, outer, steps, 64)
    variant, splits = _tiles(size, outer, steps, size.steps[1] * size.steps[2] == 1, a_fast, b_fast)
    return _fitting(device, variant), splits


def _tiles(size, outer, steps, plain, a_fast, b_fast):
    """(variant, splits) as measured on an H200: tiles so large that there are still some groups for each of its processors, slices where
    there are fewer. Splits cost a second dispatch, so they come last."""
    groups = lambda rows, cols: size.batches * -(-size.rows // rows) * -(-size.cols // cols)  # noqa: E731
    narrow, fast = size.rows <= 32 or size.cols <= 32, a_fast and b_fast
    if fast and not plain:                                          # gradients of a convolution's weights: few results, long sums
        variant = ("tiles", 8, 4, 4, 16, True, 1) if narrow else ("tiles", 16, 8 if size.rows >= 128 else 4, 4, 16, False, 1)
        return variant, _splits(_groups(variant, size, 1), 256 if narrow else 400, outer, steps, 128)
    wide = 0 if narrow else groups(64, 64)
    if wide and plain and groups(128, 128) >= 200:
        return ("tiles", 16, 8, 8, 16, not a_fast or b_fast, 1), 1
    if wide >= 400 and plain and not fast and steps >= 1024:
        return ("tiles", 8, 8, 8, 8, True, 2), 1
    if wide >= 400 and not plain and size.cols > 64:
        large, small = _filled(groups(64, 128), 2 * PROCESSORS), _filled(wide, 6 * PROCESSORS)
        return ("tiles", 8, 8, 8, 8, True, 1) if large < min(0.8, small) else ("tiles", 16, 4, 8, 16, True, 1), 1
    if wide >= 400:
        return ("tiles", 16, 4, 4, 16, True, 1), 1
    if wide >= 200 and steps >= (1024 if plain else 512):
        return ("tiles", 8, 8, 8, 16, True, 2), 1
    if wide >= 100 and steps >= 512 and not (plain and fast):
        return ("tiles", 8, 8, 4, 16, True, 2) if plain or groups(64, 32) >= 384 else ("tiles", 8, 8, 8, 8, True, 4), 1
    if 25 <= wide < 100 and steps >= 1024:
        if groups(64, 32) >= 100:
            return ("tiles", 8, 8, 4, 16, True, 4), 1
        return ("tiles", 8, 8, 8, 8, True, 4), 2 if wide >= 50 else 4
    if (tiles := groups(32, 32)) >= 100:
        return ("tiles", 8, 4, 4, 16, True, 4 if tiles < 400 else 2 if tiles < 800 else 1), 1
    return ("tiles", 4, 4, 4, 16, True, 16 if steps >= 512 else 8), max(1, min(64 // groups(16, 16), steps // 2048, outer))


def _filled(groups, at_once):
    """How much of the device ``groups`` use, from the first to the last, where so many run at once."""
    return groups / (-(-groups // at_once) * at_once)


def _fitting(device, variant):
    """The variant with as many slices and as deep tiles as the device has room for."""
    _, side, rows, cols, depth, ahead, slices = variant
    space, threads = (device.limits[f"maxCompute{name}"] for name in ("WorkgroupStorageSize", "InvocationsPerWorkgroup"))
    while side * side * slices > threads:
        slices //= 2
    while ((rows + cols) * side + 8) * depth * slices * 4 > space:
        depth, slices = (depth // 2, slices) if depth > 8 else (depth, slices // 2)
    return "tiles", side, rows, cols, depth, ahead, slices


def _splits(groups, wanted, outer, steps, least):
    """Enough chunks of the sum that about ``wanted`` groups run, none with fewer than ``least`` steps."""
    return max(1, min((wanted + groups // 2) // groups, outer, steps // least, 128))


def _groups(variant, size, splits):
    if variant[0] == "threads":
        return -(-splits * size.batches * -(-size.rows // variant[1]) * (-(-size.cols // 16) * 4) // 64)
    _, side, rows, cols, *_ = variant
    return splits * size.batches * -(-size.rows // (side * rows)) * -(-size.cols // (side * cols))


def _kernel(variant, steps, a, b, result, acc):
    parts = [a.text("a", acc), b.text("b", acc), result.text(acc)]
    fields = [*a.fields, *b.fields, *result.fields]
    multiply = "fma(ACC4(a), b, c)" if acc == "f32" else "a * b + c"
    parts.append(f"alias ACC4 = vec4<ACC>; fn mad(a: ACC, b: ACC4, c: ACC4) -> ACC4 {{ return {multiply}; }}")
    consts = [f"const K1 = {steps[1]}u;", f"const K2 = {steps[2]}u;"]
    if variant[0] == "threads":
        consts.append(f"const ROWS = {variant[1]}u;")
    else:
        consts += [f"const {name} = {value}u;" for name, value in zip(("SIDE", "TR", "TC", "DEPTH"), variant[1:])]
        flags = (("AHEAD", variant[5]), ("A_FAST", a.fast), ("B_FAST", b.fast))
        consts += [f"const SLICES = {variant[6]}u;", *(f"const {name} = {str(value).lower()};" for name, value in flags)]
    stored = [("read", n, o.meta.dtype.wgsl) for n, o in (("a", a.operand), ("b", b.operand), *result.inputs())]
    stored += [("read_write", n, o.meta.dtype.wgsl) for n, o in result.outputs()]
    bindings = [f"@group(0) @binding({i}) var<storage, {access}> {n}: array<{t}>;" for i, (access, n, t) in enumerate(stored)]
    params = ", ".join(["batches: u32, rows: u32, cols: u32, outer: u32, chunk: u32, splits: u32", *(f if ":" in f else f"{f}: i32" for f in fields)])
    name = "gemm_" + variant[0]
    text = "\n".join(["enable f16;" if any(t == "f16" for *_, t in stored) else "", f"alias ACC = {acc};", *consts, f"struct Params {{ {params} }}",
                      *bindings, kernels.source("prelude"), *parts, kernels.source(name)])
    if variant[0] == "tiles":
        by_row = variant[6] > 1 or result.label() and variant[2] * variant[3] > 16
        store = "\n  ".join(STORE_ROW.replace("ROW", str(m)) for m in range(variant[2])) if by_row else STORE_EACH
        text = text.replace("STORE\n}", store + "\n}")
    found = _built.get(text)
    if found is None:
        found = _built.keep(text, kernels.Kernel(result.label() or name, text))
    return found
