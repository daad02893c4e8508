"""Large copies that change which dim is adjacent: by tiles, which read and write along memory."""
from __future__ import annotations

from .. import kernels

COPIES = ("clone", "_copy")
LEAST = 1 << 16      # elements from which on it pays
SHORT = 16           # a dim that is shorter leaves tiles empty


def planned(plan, op, inputs, outputs, sizes, strides) -> bool:
    """Whether the copy was dispatched so: it is large, has at most three dims left, and x and y are adjacent along different ones."""
    if op.name not in COPIES or plan.device.software or len(sizes) not in (2, 3) or any(plan.aliases) or inputs[0].meta.dtype is not outputs[0].meta.dtype:
        return False
    x, y = strides
    if 1 not in x or y[-1] != 1 or x[-1] == 1:
        return False
    u, v = x.index(1), len(sizes) - 1
    layers, x_z, y_z = next(((sizes[d], x[d], y[d]) for d in range(v) if d != u), (1, 0, 0))
    if layers * sizes[u] * sizes[v] < LEAST or min(sizes[u], sizes[v]) < SHORT:
        return False
    count = layers * -(-sizes[u] // 32) * -(-sizes[v] // 32)
    words = [sizes[u], sizes[v], count, inputs[0].meta.offset, x_z, x[v], outputs[0].meta.offset, y_z, y[u]]
    plan.dispatch(kernels.from_file("transpose", types={"T": inputs[0].meta.dtype.wgsl}), [inputs[0], outputs[0]], words, count)
    return True
