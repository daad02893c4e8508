"""Writing by index on the GPU, in the same order each time: a thread walks a column's indices, or they are sorted first where they are many."""
from __future__ import annotations

from .. import kernels
from .scan_plan import KEPT
from .sort_plan import bound, plan_radix

MANY = 512           # indices of a column from which on they are sorted
CHUNK = 32           # sorted indices of a thread


def plan_scatter(plan, index, source, y, sizes, m, strides, wrap, combine) -> None:
    """y[o, index[o, j, i], i] = combine(y[...], source[o, j, i]) for all j in order; ``sizes`` are (outer, n, inner) of y, ``strides`` those of the
    contiguous ``index``; ``combine`` is (WGSL type, functions). Both operands row-major."""
    outer, n, inner = sizes
    spread = strides[0] == strides[2] == 0
    if not plan.device.software and m >= MANY and (spread or outer * inner <= 1 << 14) and outer * m * inner < 1 << 30:
        _sorted(plan, index, source, y, sizes, m, spread, wrap, combine)
        return
    kernel = kernels.from_file("scatter", {"WRAP": wrap}, {"T": y.meta.dtype.wgsl}, f"alias V = {combine[0]};\n{combine[1]}")
    words = [outer * inner, n, m, inner, *strides, source.meta.offset, index.meta.offset]
    plan.dispatch(kernel, [source, index, y], words, -(-outer * inner // 64))


def _sorted(plan, index, source, y, sizes, m, spread, wrap, combine):
    outer, n, inner = sizes
    row = "u32(k)"
    if not spread:   # each column's rows are rows of their own
        row = f"(j / {m * inner}u * {n}u + u32(k)) * {inner}u + j % {inner}u"
        outer, n, inner, m = 1, outer * n * inner, 1, outer * m * inner
    known = sizes[1]
    keys = f"""fn key_at(row: u32, j: u32) -> u32 {{
  var k = x[p.offset + j];
  {f"if (k < 0) {{ k += {known}; }}" if wrap else ""}
  if (k < 0 || k >= {known}) {{ return {n}u; }}
  return {row};
}}"""
    ordered = plan_radix(plan, index, keys, 1, m, 1, n.bit_length(), {})
    chunks, kept = -(-m // CHUNK), KEPT[combine[0]]
    sides = [plan.temp(outer * chunks * inner, kept) for _ in range(2)]
    named = [("keys", ordered[0]), ("order", ordered[1]), ("source", source), ("heads", sides[0]), ("tails", sides[1]), ("y", y)]
    words = [outer * inner, inner, n, m, chunks, source.meta.offset]
    for phase in (1, 2):
        text = bound(*named, written=3) + f"alias V = {combine[0]};\n{combine[1]}"
        kernel = kernels.from_file("scatter_sorted", {"PHASE": phase}, {"T": y.meta.dtype.wgsl}, text)
        plan.dispatch(kernel, [o for _, o in named], words, -(-outer * inner * chunks // 64))
