"""Pooling over the last two dims: largest values and averages of windows, which lie at strides or (adaptive) by proportion.

MAX gives values and indices; SCATTER and PICK move values to and from those indices and are each other's gradient, as are AVERAGE and
SPREAD. ``window`` is (kernel, stride, padding, dilation, adaptive), all pairs but the last; 1-d pooling has a height of 1. See pooling.py
for the public functions.
"""
from __future__ import annotations

from .. import dtypes, kernels
from .. import shape as shapes
from ..autograd import apply
from .matmul import upcast
from .registry import Op, S, T

ADAPTIVE = ((1, 1), (1, 1), (0, 0), (1, 1), True)


# shapes; ``window`` is (kernel, stride, padding, dilation, adaptive)
def _max_shape(x, *, window, size):
    return [((*x.shape[:-2], *size), x.dtype), ((*x.shape[:-2], *size), dtypes.int64)]


def _moved_shape(u, at, *, window, size):
    return (*u.shape[:-2], *size), u.dtype


def _average_shape(x, *, window, size, include_pad, divisor):
    return (*x.shape[:-2], *size), x.dtype


# numpy
def _taps(np, window, n, size, dim):
    """Per tap of a window along one dim: the indices for all outputs, -1 where there is none; and the padded size of each window."""
    kernel, stride, padding, dilation, adaptive = window
    o = np.arange(size)
    if adaptive:
        start, end = o * n // max(size, 1), -(-(o + 1) * n // max(size, 1))
        taps = [np.where(start + k < end, start + k, -1) for k in range(int((end - start).max(initial=0)))]
        return taps, end - start
    begin = o * stride[dim] - padding[dim]
    taps = [begin + k * dilation[dim] for k in range(kernel[dim])]
    padded = np.minimum(begin + kernel[dim], n + padding[dim]) - begin
    return [np.where((t >= 0) & (t < n), t, -1) for t in taps], padded


def _max_numpy(np, x, *, window, size):
    h, w = x.shape[-2:]
    rows, cols = _taps(np, window, h, size[0], 0)[0], _taps(np, window, w, size[1], 1)[0]
    best, at = None, np.full((*x.shape[:-2], *size), -1, np.int64)
    for r in rows:
        for c in cols:
            valid = (r >= 0)[:, None] & (c >= 0)
            v = _take(x, r, c)
            if best is None:
                best = np.array(v)
            better = valid & ((v > best) | (v != v) | (at < 0))
            np.copyto(best, v, where=better)
            np.copyto(at, np.maximum(r, 0)[:, None] * w + np.maximum(c, 0), where=better)
    return (at.astype(x.dtype) if best is None else best), at


def _take(x, r, c):
    """x[..., r, c] for index vectors (-1 reads the last, to be ignored); a slice where the steps are even."""
    sr, sc = _even(r), _even(c)
    if sr is not None and sc is not None:
        return x[..., sr, sc]
    return x[..., r[:, None], c]


def _even(index):
    if len(index) == 0 or index.min() < 0:
        return None
    step = int(index[1] - index[0]) if len(index) > 1 else 1
    if step < 1 or (index[1:] - index[:-1] != step).any():
        return None
    return slice(int(index[0]), int(index[-1]) + 1, step)


def _planes(np, at, plane):
    """Flat positions of indices into planes of ``plane`` elements."""
    count = shapes.numel(at.shape[:-2])
    return (at.reshape(count, -1) + np.arange(count)[:, None] * plane).ravel().astype(np.intp)


def _scatter_numpy(np, u, at, *, window, size):
    (u,), plane = upcast(np, u), size[0] * size[1]
    total = shapes.numel(u.shape[:-2]) * plane
    result = np.bincount(_planes(np, at, plane).astype(np.intp), u.ravel(), total) if total else np.zeros(0)
    return result.reshape(*u.shape[:-2], *size)


def _pick_numpy(np, x, at, *, window, size):
    return x.reshape(-1)[_planes(np, at, x.shape[-2] * x.shape[-1])].reshape(at.shape)


def _divisors(np, rows, cols, padded, include_pad, divisor, dtype):
    if divisor:
        return np.asarray(divisor, dtype)
    if include_pad:
        return (padded[0][:, None] * padded[1]).astype(dtype)
    return (sum(r >= 0 for r in rows)[:, None] * sum(c >= 0 for c in cols)).astype(dtype)


def _average_numpy(np, x, *, window, size, include_pad, divisor):
    (x,) = upcast(np, x)
    (rows, height), (cols, width) = (_taps(np, window, n, m, d) for d, (n, m) in enumerate(zip(x.shape[-2:], size)))
    total = np.zeros((*x.shape[:-2], *size), x.dtype)
    for r in rows:
        for c in cols:
            valid = (r >= 0)[:, None] & (c >= 0)
            total += _take(x, r, c) if valid.all() else np.where(valid, _take(x, r, c), 0)
    divisors = _divisors(np, rows, cols, (height, width), include_pad, divisor, x.dtype)
    return total / divisors if x.dtype.kind == "f" else np.trunc(total / divisors)


def _spread_numpy(np, u, *, window, size, include_pad, divisor):
    (u,) = upcast(np, u)
    (rows, height), (cols, width) = (_taps(np, window, n, m, d) for d, (n, m) in enumerate(zip(size, u.shape[-2:])))
    u = u / _divisors(np, rows, cols, (height, width), include_pad, divisor, u.dtype)
    result = np.zeros((*u.shape[:-2], *size), u.dtype)
    for r in rows:
        for c in cols:
            np.add.at(result, (..., r[r >= 0][:, None], c[c >= 0]), u[..., r >= 0, :][..., c >= 0])
    return result


# GPU
def _kernel(name, window, x, text):
    kernel, stride, padding, dilation, adaptive = window
    acc = x.meta.dtype.compute
    values = zip(("KH", "KW", "SH", "SW", "PH", "PW", "DH", "DW"), (*kernel, *stride, *padding, *dilation))
    lines = [f"alias ACC = {acc};", f"const ADAPTIVE = {str(adaptive).lower()};", *(f"const {n}: i32 = {v};" for n, v in values), text,
             kernels.source("pool")]
    return kernels.from_file(name, types={"T": x.meta.dtype.wgsl}, text="\n".join(lines))


def _dispatch(plan, name, window, buffers, large, small, count, x_offset, u_offset, text=""):
    kernel = _kernel(name, window, buffers[0], text)
    plan.dispatch(kernel, buffers, [count, *large[-2:], *small[-2:], x_offset, u_offset], -(-count // 64))


def _max_run(plan, x, y, at, *, window, size):
    x = plan.contiguous(x)
    missing = "is_nan(x)" if x.meta.dtype.compute == "f32" else "false"
    _dispatch(plan, "pool_max", window, [x, y, at], x.meta.shape, size, y.meta.numel, x.meta.offset, 0,
              f"fn missing(x: ACC) -> bool {{ return {missing}; }}")


def _scatter_run(plan, u, at, x, *, window, size):
    u, at = plan.contiguous(u), plan.contiguous(at)
    _dispatch(plan, "pool_max_scatter", window, [u, at, x], size, u.meta.shape, x.meta.numel, at.meta.offset, u.meta.offset)


def _pick_run(plan, x, at, y, *, window, size):
    x, at = plan.contiguous(x), plan.contiguous(at)
    _dispatch(plan, "pool_pick", window, [x, at, y], x.meta.shape, size, y.meta.numel, at.meta.offset, x.meta.offset)


def _divisor_text(include_pad, divisor):
    value = str(divisor) if divisor else "rows.padded * cols.padded" if include_pad else "rows.count * cols.count"
    return f"fn divisor(rows: Span, cols: Span) -> ACC {{ return ACC({value}); }}"


def _average_run(plan, x, y, *, window, size, include_pad, divisor):
    x = plan.contiguous(x)
    _dispatch(plan, "pool_average", window, [x, y], x.meta.shape, size, y.meta.numel, x.meta.offset, 0, _divisor_text(include_pad, divisor))


def _spread_run(plan, u, x, *, window, size, include_pad, divisor):
    u = plan.contiguous(u)
    _dispatch(plan, "pool_average_scatter", window, [u, x], size, u.meta.shape, x.meta.numel, 0, u.meta.offset,
              _divisor_text(include_pad, divisor))


def _size(metas):
    return tuple(metas[0].shape[-2:])


def _max_gradient(gs, ys, metas, window):
    return apply(SCATTER, gs[0], ys[1], window=window, size=_size(metas))


def _scatter_gradient(g, at, metas, window):
    return apply(PICK, g, at, window=window, size=_size(metas))


def _pick_gradient(g, at, metas, window):
    return apply(SCATTER, g, at, window=window, size=_size(metas))


def _average_gradient(g, metas, window, include_pad, divisor):
    return apply(SPREAD, g, window=window, size=_size(metas), include_pad=include_pad, divisor=divisor)


def _spread_gradient(g, metas, window, include_pad, divisor):
    return apply(AVERAGE, g, window=window, size=_size(metas), include_pad=include_pad, divisor=divisor)


MAX = Op("max_pool", _max_shape, _max_run, _max_numpy, {"x": _max_gradient}, doc="The largest element of each window, and where it is.")
SCATTER = Op("max_pool_scatter", _moved_shape, _scatter_run, _scatter_numpy, {"u": _scatter_gradient},
             doc="The gradient of max_pool: elements sent back to where they came from.")
PICK = Op("max_pool_pick", _moved_shape, _pick_run, _pick_numpy, {"u": _pick_gradient},
          doc="Elements picked where max_pool found its largest.",
          samples=[S(T(1, 2, 4, 4), T(1, 2, 2, 2, dtype="int64", values=(0, 3, 9, 10, 5, 2, 12, 15)), window=((2, 2), (2, 2), (0, 0), (1, 1), False), size=(2, 2))])
AVERAGE = Op("avg_pool", _average_shape, _average_run, _average_numpy, {"x": _average_gradient}, doc="The mean of each window.")
SPREAD = Op("avg_pool_spread", _average_shape, _spread_run, _spread_numpy, {"x": _spread_gradient},
            doc="The gradient of avg_pool: elements spread over their windows.")
