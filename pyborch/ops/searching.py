"""Finding and counting values: unique, searchsorted, histograms, quantiles, mode, isin. Made of sorts, gathers and sums, so every device has them."""
from __future__ import annotations

import math

from .. import dtypes
from .. import shape as shapes
from .index import nonzero
from .registry import FUNCTIONS, S, T, function, result_type
from .sort import sort

TORCH = FUNCTIONS["torch"]
Modes, NanMedians = (result_type(name, "values indices") for name in ("mode", "nanmedian"))
Histogram, HistogramDD = (result_type(name, "hist bin_edges") for name in ("histogram", "histogramdd"))
DOUBLES = T(8, values=(2.0, 1.0, 2.0, 0.0, 1.0, 2.0, 3.0, 3.0), grad=False)
ROWS = T(4, 2, dtype="int64", values=(1, 2, 0, 5, 1, 2, 0, 5))


def _arange(n, like):
    return TORCH["arange"](n, device=like.meta.device)


def _differs(rows):
    """Which rows are not the one before: bool (n,)."""
    changed = rows[1:] != rows[:-1]
    changed = changed.reshape(changed.shape[0], shapes.numel(changed.shape[1:])).any(1) if len(changed.shape) > 1 else changed
    return TORCH["cat"]([changed.new_ones(min(1, rows.shape[0])), changed])


def _runs(rows, changed):
    """(first of each run, run of each row, length of each run) of neighbours."""
    starts = nonzero(changed).reshape(-1)
    ends = TORCH["cat"]([starts[1:], starts.new_full((min(1, starts.numel()),), rows.shape[0])])
    return rows.index_select(0, starts), changed.to(dtypes.int64).cumsum(0) - 1, ends - starts


def _answer(values, inverse, counts, return_inverse, return_counts):
    found = (values, *((inverse,) if return_inverse else ()), *((counts,) if return_counts else ()))
    return found if len(found) > 1 else values


def _lexicographic(rows):
    """The order of rows (n, k): a stable sort by each column, the last one first."""
    order = _arange(rows.shape[0], rows)
    for k in reversed(range(rows.shape[1])):
        order = order.index_select(0, sort(rows.select(1, k).index_select(0, order), 0)[1])
    return order


def _leading(input, dim):
    """(rows along ``dim`` as (n, rest), the way back for results)."""
    dim = shapes.normalize_dim(dim, len(input.shape))
    moved = input.movedim(dim, 0)
    return moved.reshape(moved.shape[0], shapes.numel(moved.shape[1:])), lambda rows: rows.reshape((rows.shape[0], *moved.shape[1:])).movedim(0, dim)


@function(to="torch Tensor", samples=[S(DOUBLES), S(DOUBLES, return_inverse=True, return_counts=True), S(ROWS, dim=0, return_inverse=True)])
def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The different elements, sorted (slices along ``dim`` where one is given): values, or a tuple with the place of each element among them (int64, of the
    input's shape, or (n,) with ``dim``) and how often each occurs. Reads how many there are."""
    input = input.detach()
    if dim is None:
        values, order = sort(input.reshape(-1), 0)
        back, shape = (lambda rows: rows), tuple(input.shape)
    else:
        rows, back = _leading(input, dim)
        order, shape = _lexicographic(rows), (rows.shape[0],)
        values = rows.index_select(0, order)
    values, runs, counts = _runs(values, _differs(values))
    inverse = TORCH["zeros"](order.numel(), dtype=dtypes.int64, device=input.meta.device).scatter(0, order, runs).reshape(shape)
    return _answer(back(values), inverse, counts, return_inverse, return_counts)


@function(to="torch Tensor", samples=[S(DOUBLES), S(DOUBLES, True, True), S(ROWS, dim=0, return_counts=True)])
def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """Like unique(), of neighbours only and in their order: the first element of each run of equal ones."""
    input = input.detach()
    rows, back = (input.reshape(-1), lambda rows: rows) if dim is None else _leading(input, dim)
    values, runs, counts = _runs(rows, _differs(rows))
    return _answer(back(values), runs.reshape(tuple(input.shape)) if dim is None else runs, counts, return_inverse, return_counts)


@function(to="torch", samples=[S(T(4, values=(1.0, 2.0, 2.0, 5.0), grad=False), T(2, 3, low=0, high=6, grad=False)),
                               S(T(4, values=(1.0, 2.0, 2.0, 5.0), grad=False), 2.0, right=True)])
def searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None):
    """Where values would go in ascending rows (the last dim): the first place whose element is not below the value, or with ``right`` above it.

    int64 (int32 with ``out_int32``) of the shape of ``input``. A halving takes log2 of the row's length steps.
    """
    if side is not None and side not in ("left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if right and side == "left":
        raise RuntimeError("torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True")
    given = input if hasattr(input, "meta") else sorted_sequence.new_full((), input, dtype=dtypes.int64 if type(input) is int else dtypes.float32)
    rows, values = sorted_sequence.detach(), given.detach()
    flat = len(rows.shape) == 1
    if not flat and tuple(rows.shape[:-1]) != tuple(values.shape[:-1]) or not rows.shape:
        raise RuntimeError("torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input value "
                           f"tensor must match, but we got boundaries tensor {list(rows.shape)} and input value tensor {list(values.shape)}")
    if sorter is not None:
        rows = rows.gather(-1, sorter)
    n = rows.shape[-1]
    pick = (lambda t: rows.index_select(0, t.reshape(-1)).reshape(t.shape)) if flat else (lambda t: rows.gather(-1, t))
    low, high = (TORCH["full"](tuple(values.shape), v, dtype=dtypes.int64, device=rows.meta.device) for v in (0, n))
    for _ in range(n.bit_length()):
        middle = (low + high) // 2
        found = pick(middle.clamp(0, n - 1))
        before = ~(found > values if right or side == "right" else found >= values) & (low < high)    # NaN is above all
        low, high = TORCH["where"](before, middle + 1, low), TORCH["where"](before, high, middle)
    return low.to(dtypes.int32 if out_int32 else dtypes.int64)


FUNCTIONS["Tensor"]["searchsorted"] = searchsorted


@function(to="torch Tensor", samples=[S(T(2, 3, low=0, high=6, grad=False), T(3, values=(1.0, 2.0, 4.0), grad=False), right=True)])
def bucketize(input, boundaries, *, out_int32=False, right=False):
    """The place of each value among ascending ``boundaries`` (n,): searchsorted() with the arguments turned round."""
    if len(boundaries.shape) != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({len(boundaries.shape)})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def _counted(places, kept, bins, weights):
    """Sums of ``weights`` by place, of those that are ``kept``."""
    start = weights.new_zeros(bins + 1)
    return start.scatter_add(0, TORCH["where"](kept, places, bins), weights)[:bins]


def _range_of(x, low, high):
    if low == high and x.numel():
        low, high = x.min().item(), x.max().item()
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low}, {high}] is not finite")
    return (low - 1, high + 1) if low == high else (low, high)


@function(to="torch Tensor", samples=[S(T(9, low=0, high=4, grad=False), 4, 0, 4), S(DOUBLES, 3)])
def histc(input, bins=100, min=0, max=0):
    """How many elements lie in each of ``bins`` parts of [min, max] (of the elements' range where both are equal); the dtype of ``input``."""
    if bins <= 0:
        raise RuntimeError("bins must be > 0")
    if min > max:
        raise RuntimeError("max must be larger than min")
    x = input.detach().reshape(-1)
    low, high = _range_of(x, min, max)
    places = ((x - low) / (high - low) * bins).floor().to(dtypes.int64).clamp(0, bins - 1)
    return _counted(places, (x >= low) & (x <= high), bins, x.new_ones(x.numel()))


def _edges(x, bins, limits):
    """Ascending edges of bins, given as such or by their number."""
    if hasattr(bins, "meta"):
        return bins
    low, high = limits if limits is not None else (x.min().item(), x.max().item()) if x.numel() else (0.0, 1.0)
    if low > high:
        raise RuntimeError(f"torch.histogram: min {low} should not exceed max {high}")
    low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
    return TORCH["linspace"](low, high, bins + 1, dtype=x.meta.dtype, device=x.meta.device)


def _place(x, edges):
    """(bin of each element, whether it has one); the last bin has its upper edge."""
    n = edges.numel() - 1
    place = searchsorted(edges, x, right=True) - 1
    return TORCH["where"](x == edges[n], n - 1, place), (x >= edges[0]) & (x <= edges[n])


@function(to="torch Tensor", samples=[S(DOUBLES, 4), S(DOUBLES, T(3, values=(0.0, 1.5, 4.0), grad=False), density=True)])
def histogram(input, bins, *, range=None, weight=None, density=False):
    """(hist, bin_edges): sums of ``weight`` (counts without one) in bins given by number or edges; ``density``: divided by their sum and the bins' widths."""
    x = input.detach().reshape(-1)
    edges = _edges(x, bins, range)
    found = _counted(*_place(x, edges), edges.numel() - 1, x.new_ones(x.numel()) if weight is None else weight.detach().reshape(-1))
    return Histogram(found / found.sum() / (edges[1:] - edges[:-1]) if density else found, edges)


@function(to="torch", samples=[S(T(6, 2, low=0, high=3, grad=False), [2, 3], range=[0.0, 3.0, 0.0, 3.0])])
def histogramdd(input, bins, *, range=None, weight=None, density=False):
    """(hist, list of bin_edges) of points (..., D) in bins of D dims."""
    points = input.detach().reshape(-1, input.shape[-1])
    bins = [bins] * points.shape[1] if isinstance(bins, int) else list(bins)
    edges = [_edges(points[:, d], b, None if range is None else range[2 * d:2 * d + 2]) for d, b in enumerate(bins)]
    place, kept, shape = 0, True, [e.numel() - 1 for e in edges]
    for d, e in enumerate(edges):
        own, inside = _place(points[:, d], e)
        place, kept = own + place * shape[d], inside & kept
    weights = points.new_ones(points.shape[0]) if weight is None else weight.detach().reshape(-1)
    found = _counted(place, kept, shapes.numel(shape), weights).reshape(shape)
    if density:
        found = found / found.sum()
        for d, e in enumerate(edges):
            found = found / (e[1:] - e[:-1]).reshape([-1 if k == d else 1 for k, _ in enumerate(edges)])
    return HistogramDD(found, tuple(edges))


@function(to="torch Tensor", samples=[S(T(6, dtype="int64", low=0, high=5)), S(T(6, dtype="int64", low=0, high=5), T(6, grad=False), minlength=8)])
def bincount(input, weights=None, minlength=0):
    """How often each whole number occurs, or the sums of their ``weights``; reads the largest."""
    if len(input.shape) != 1 or input.meta.dtype.kind == "f":
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if input.numel() and input.min().item() < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    bins = max(minlength, int(input.max().item()) + 1 if input.numel() else 0)
    if weights is None:
        values = TORCH["ones"](input.numel(), dtype=dtypes.int64, device=input.meta.device)
    else:
        wide = dtypes.float64 if input.meta.device.type == "cpu" else dtypes.float32
        values = weights.detach() if weights.meta.dtype.name == "float32" else weights.detach().to(wide)
    return values.new_zeros(bins).scatter_add(0, input.to(dtypes.int64), values)


@function(to="torch", samples=[S(ROWS, T(2, dtype="int64", values=(5, 1))), S(ROWS, 2, invert=True)])
def isin(elements, test_elements, *, assume_unique=False, invert=False):
    """Whether each element is among ``test_elements`` (bool)."""
    pair = [t if hasattr(t, "meta") else None for t in (elements, test_elements)]
    like = pair[0] if pair[0] is not None else pair[1]
    elements, test_elements = (t if t is not None else TORCH["tensor"](v, device=like.meta.device) for t, v in zip(pair, (elements, test_elements)))
    found = (elements.unsqueeze(-1) == test_elements.reshape(-1)).any(-1)
    return ~found if invert else found


# order statistics
def _along(input, dim):
    """(rows with the reduced elements last, the way back with ``keepdim``)."""
    if dim is None:
        return input.reshape(-1), [1] * len(input.shape), 0
    dim = shapes.normalize_dim(dim, len(input.shape))
    moved = input.movedim(dim, -1) if input.shape else input.reshape(1)
    return moved, list(moved.shape[:-1]), dim


def _quantile(name, input, q, dim, keepdim, interpolation, ignore):
    if input.meta.dtype.name not in ("float32", "float64"):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if not input.numel():
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}")
    scalar = not hasattr(q, "meta")
    if scalar and not 0 <= q <= 1:
        raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
    q = input.new_full((), q) if scalar else q
    if len(q.shape) > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if q.meta.dtype is not input.meta.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    rows, kept, at = _along(input, dim)
    values, count = sort(rows, -1)[0], rows.shape[-1]
    missing = rows.isnan().to(dtypes.int64).sum(-1, keepdim=True)
    ranks = q.reshape(-1) * ((count - 1 - missing).clamp(0, None).to(q.meta.dtype) if ignore else count - 1)
    if not ignore:
        ranks = TORCH["where"](missing > 0, count - 1.0, ranks)
    ranks = {"lower": ranks.floor, "higher": ranks.ceil, "nearest": ranks.round}.get(interpolation, lambda: ranks)()
    below = ranks.floor()
    found = values.gather(-1, below.to(dtypes.int64))
    if interpolation in ("linear", "midpoint"):
        weight = ranks - below if interpolation == "linear" else TORCH["where"](ranks == below, 0.0, 0.5)
        found = TORCH["lerp"](found, values.gather(-1, ranks.ceil().to(dtypes.int64)), weight)
    found = found.movedim(-1, 0)
    if not input.shape:
        found = found.reshape(found.shape[0])
    elif keepdim:
        found = found.reshape([found.shape[0], *kept]) if dim is None else found.unsqueeze(at + 1)
    return found.squeeze(0) if not len(q.shape) else found


@function(to="torch Tensor", samples=[S(T(3, 5), 0.3, 1), S(T(7), T(2, values=(0.25, 0.5), grad=False), keepdim=True), S(T(3, 5), 0.4, 0, interpolation="midpoint")])
def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """The values below which parts ``q`` (a number or a vector) of the elements along ``dim`` lie; NaN where there is one."""
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


@function(to="torch Tensor", samples=[S(T(2, 3, values=(1.0, float("nan"), 3.0, 2.0, 0.0, 5.0)), 0.5, 1)])
def nanquantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """quantile() of the elements that are not NaN."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)


@function(to="torch Tensor", samples=[S(T(2, 3, values=(1.0, float("nan"), 3.0, 2.0, 0.0, 5.0)), 1), S(T(5))])
def nanmedian(input, dim=None, keepdim=False):
    """The lower median of the elements that are not NaN, of all or along ``dim`` as (values, indices)."""
    rows, kept, at = _along(input, dim)
    values, order = sort(rows, -1)
    there = rows.shape[-1] - rows.isnan().to(dtypes.int64).sum(-1, keepdim=True)
    place = ((there - 1) // 2).clamp(0, None)
    values, index = values.gather(-1, place), order.gather(-1, place)
    if dim is None:
        return values.squeeze(-1)
    if not input.shape:
        return NanMedians(values.reshape(()), index.reshape(()))
    back = (lambda t: t.movedim(-1, at)) if keepdim else (lambda t: t.squeeze(-1))
    return NanMedians(back(values), back(index))


@function(to="torch Tensor", samples=[S(T(2, 4, values=(1.0, 2.0, 2.0, 3.0, 5.0, 5.0, 1.0, 1.0))), S(T(3, 2), 0, True)])
def mode(input, dim=-1, keepdim=False):
    """(values, indices) of the most frequent element along ``dim``, the least of several; the index is that of its last occurrence."""
    rows, kept, at = _along(input, dim)
    values, order = sort(rows, -1)
    n = rows.shape[-1]
    places = _arange(n, rows)
    same = TORCH["cat"]([values.new_zeros((*values.shape[:-1], 1), dtype=dtypes.bool_), values[..., 1:] == values[..., :-1]], -1) if n else values != values
    begun = TORCH["where"](same, 0, places).cummax(-1)[0]
    best = (places - begun).argmax(-1, keepdim=True)
    values, index = values.gather(-1, best), order.gather(-1, best)
    if not input.shape:
        return Modes(values.reshape(()), index.reshape(()))
    back = (lambda t: t.movedim(-1, at)) if keepdim else (lambda t: t.squeeze(-1))
    return Modes(back(values), back(index))


@function(to="torch Tensor", samples=[S(T(2, 3, values=(0.0, 1.0, 0.0, 2.0, 0.0, 3.0), grad=False), size=4)])
def nonzero_static(input, *, size, fill_value=-1):
    """nonzero() cut or filled up to ``size`` rows."""
    found = nonzero(input)[:size]
    return TORCH["cat"]([found, found.new_full((size - found.shape[0], found.shape[1]), fill_value)])


@function(to="torch Tensor", samples=[S(T(2, 2, values=(0.0, 1.0, 3.0, 0.0), grad=False))])
def argwhere(input):
    """Indices of elements that are not zero, (count, dims) int64."""
    return nonzero(input)
