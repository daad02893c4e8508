"""Order and running results along a dim: sort, topk, argsort, cumsum and kin; triangles and diagonals."""
from __future__ import annotations

from .. import dtypes
from .. import shape as shapes
from ..autograd import apply
from .index import index_select
from .reduce import _number_dtype
from .arithmetic import cast
from .registry import FUNCTIONS, Op, S, T, function, result_type
from .scan_plan import plan_scan
from .sort_plan import plan_sort

SortResult, TopkResult, ValueResult = (result_type(name, "values indices") for name in ("sort", "topk", "kthvalue"))
Maxima, Minima, Medians = (result_type(name, "values indices") for name in ("cummax", "cummin", "median"))


def _compute(dtype):
    return "u32" if dtype.kind == "b" else dtype.compute


def _sort_run(plan, x, y, index, *, dim, descending):
    x = plan.contiguous(x)
    plan_sort(plan, x, y, index, dim, _compute(x.meta.dtype), descending)


def _sort_numpy(np, x, *, dim, descending):
    if not x.ndim:
        return x, np.zeros((), np.int64)
    if descending:
        order = np.flip(x.shape[dim] - 1 - np.argsort(np.flip(x, dim), dim, kind="stable"), dim)
    else:
        order = np.argsort(x, dim, kind="stable")
    return np.take_along_axis(x, order, dim), order


def _sort_gradient(gs, ys, metas, dim, descending):
    g, index = gs[0], ys[1]
    return g.new_zeros(metas[0].shape).scatter(dim, index, g) if metas[0].shape else g


SORT = Op("sort", lambda x, *, dim, descending: [(x.shape, x.dtype), (x.shape, dtypes.int64)], _sort_run, _sort_numpy, grad={"x": _sort_gradient},
          doc="Elements in order along a dim and where they were; stable, NaN last.")
MIXED = T(3, 5)
TIES = T(6, values=(2.0, 1.0, 2.0, 0.0, 1.0, 3.0))


@function(to="torch Tensor", samples=[S(MIXED), S(MIXED, 0, True), S(T(2, 3, 4), 1), S(T(6, dtype="int64", values=(2, 1, 2, 0, 1, 3)), stable=True)])
def sort(input, dim=-1, descending=False, *, stable=False):
    """(values, indices) in order along ``dim``; always stable, NaN last."""
    return SortResult(*apply(SORT, input, dim=shapes.normalize_dim(dim, len(input.shape)), descending=bool(descending)))


@function(to="torch Tensor", samples=[S(MIXED), S(MIXED, 0, True)])
def argsort(input, dim=-1, descending=False, *, stable=False):
    """The indices that sort ``input`` along ``dim``."""
    return sort(input, dim, descending)[1]


@function(to="torch Tensor", samples=[S(MIXED)])
def msort(input):
    """Sorted along the first dim."""
    return sort(input, 0)[0]


@function(to="torch Tensor", samples=[S(MIXED, 2), S(MIXED, 2, 0), S(MIXED, 3, largest=False)])
def topk(input, k, dim=-1, largest=True, sorted=True):
    """(values, indices) of the ``k`` largest (or smallest) along ``dim``, in order."""
    dim = shapes.normalize_dim(dim, len(input.shape))
    if not 0 <= k <= (input.shape[dim] if input.shape else 1):
        raise RuntimeError("selected index k out of range")
    values, indices = sort(input, dim, largest)
    return TopkResult(values.narrow(dim, 0, k), indices.narrow(dim, 0, k)) if input.shape else TopkResult(values, indices)


@function(to="torch Tensor", samples=[S(MIXED, 2), S(MIXED, 1, 0, True)])
def kthvalue(input, k, dim=-1, keepdim=False):
    """(value, index) of the ``k``-th smallest along ``dim`` (from 1)."""
    dim = shapes.normalize_dim(dim, len(input.shape))
    if not 1 <= k <= input.shape[dim]:
        raise RuntimeError("kthvalue(): selected number k out of range for dimension " + str(dim))
    values, indices = sort(input, dim)
    pick = lambda t: t.narrow(dim, k - 1, 1) if keepdim else t.select(dim, k - 1)  # noqa: E731
    return ValueResult(pick(values), pick(indices))


@function(to="torch Tensor", samples=[S(MIXED), S(MIXED, 1), S(T(3, 4), 1)])
def median(input, dim=None, keepdim=False):
    """The lower median of all elements, or (values, indices) along ``dim``."""
    if dim is None:
        return kthvalue(input.reshape(-1), (input.numel() + 1) // 2)[0]
    return Medians(*kthvalue(input, (input.shape[dim] + 1) // 2, dim, keepdim))


# running results
def _scan(name, combine, numpy_name, grad, indexed=False, replaces="false"):
    def run(plan, x, *outputs, dim):
        x, v = plan.contiguous(x), _compute(x.meta.dtype)
        plan_scan(plan, x, outputs, dim, v, combine, replaces[v] if indexed else "")

    def shape(x, *, dim):
        return [(x.shape, x.dtype), (x.shape, dtypes.int64)] if indexed else (x.shape, x.dtype)

    def reference(np, x, *, dim):
        if not x.ndim:
            return (x, np.zeros((), np.int64)) if indexed else x
        if not indexed:
            return getattr(np, numpy_name)(x, dim)
        return _running_numpy(np, x, dim, numpy_name)
    return Op(name, shape, run, reference, grad=grad)


def _running_numpy(np, x, dim, name):
    moved = np.moveaxis(x, dim, 0)
    values, index = moved.copy(), np.zeros(moved.shape, np.int64)
    better = np.greater_equal if name == "maximum" else np.less_equal
    for k in range(1, len(moved)):
        take = (better(moved[k], values[k - 1]) | np.isnan(moved[k])) & ~(np.isnan(values[k - 1]) & ~np.isnan(moved[k]))
        values[k] = np.where(take, moved[k], values[k - 1])
        index[k] = np.where(take, k, index[k - 1])
    return np.moveaxis(values, 0, dim), np.moveaxis(index, 0, dim)


def _reverse_cumsum(g, dim):
    return g.flip(dim).cumsum(dim).flip(dim) if g.shape else g


def _cumprod_gradient(g, x, dim):
    """Sum over later products without each factor; exact where no factor is zero, by parts where one is."""
    if not x.shape:
        return g
    n, columns = x.shape[dim], []
    for k in range(n):
        others = FUNCTIONS["torch"]["cat"]([x.narrow(dim, 0, k), x.narrow(dim, k, 1) * 0 + 1, x.narrow(dim, k + 1, n - k - 1)], dim)
        columns.append((g * others.cumprod(dim)).narrow(dim, k, n - k).sum(dim))
    return FUNCTIONS["torch"]["stack"](columns, dim)


def _running_gradient(gs, ys, metas, dim):
    return gs[0].new_zeros(metas[0].shape).scatter_add(dim, ys[1], gs[0]) if metas[0].shape else gs[0]


CUMSUM = _scan("cumsum", "a + v", "cumsum", {"x": lambda g, dim: _reverse_cumsum(g, dim)})
CUMPROD = _scan("cumprod", "a * v", "cumprod", {"x": _cumprod_gradient})
_MORE = {"f32": "(!is_nan(a) || is_nan(v)) && (v >= a || is_nan(v))", "i32": "v >= a", "u32": "v >= a"}
_LESS = {"f32": "(!is_nan(a) || is_nan(v)) && (v <= a || is_nan(v))", "i32": "v <= a", "u32": "v <= a"}
CUMMAX = _scan("cummax", "v", "maximum", {"x": _running_gradient}, True, _MORE)
CUMMIN = _scan("cummin", "v", "minimum", {"x": _running_gradient}, True, _LESS)


@function(to="torch Tensor", samples=[S(MIXED, 0), S(MIXED, -1), S(T(3, dtype="int64", low=0, high=9), 0)])
def cumsum(input, dim, *, dtype=None):
    """Running sums along ``dim``; integers give int64."""
    return apply(CUMSUM, cast(input, dtype or _number_dtype(input.meta.dtype)), dim=shapes.normalize_dim(dim, len(input.shape)))


@function(to="torch Tensor", samples=[S(MIXED, 0), S(MIXED, -1), S(T(4, values=(2.0, 0.0, 3.0, 4.0)), 0)])
def cumprod(input, dim, *, dtype=None):
    """Running products along ``dim``; integers give int64."""
    return apply(CUMPROD, cast(input, dtype or _number_dtype(input.meta.dtype)), dim=shapes.normalize_dim(dim, len(input.shape)))


@function(to="torch Tensor", samples=[S(MIXED, 1), S(TIES, 0)])
def cummax(input, dim):
    """(running maxima, their indices) along ``dim``."""
    return Maxima(*apply(CUMMAX, input, dim=shapes.normalize_dim(dim, len(input.shape))))


@function(to="torch Tensor", samples=[S(MIXED, 1), S(TIES, 0)])
def cummin(input, dim):
    """(running minima, their indices) along ``dim``."""
    return Minima(*apply(CUMMIN, input, dim=shapes.normalize_dim(dim, len(input.shape))))


@function(to="torch Tensor", samples=[S(MIXED), S(MIXED, 2, 0)])
def diff(input, n=1, dim=-1, prepend=None, append=None):
    """Differences of neighbours along ``dim``, ``n`` times, with what comes before and after put to the input first; of bool whether they differ."""
    if not input.shape:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    parts = [t for t in (prepend, input, append) if t is not None]
    input = FUNCTIONS["torch"]["cat"](parts, dim) if len(parts) > 1 else input
    for _ in range(n):
        size = max(0, input.shape[dim] - 1)
        later, earlier = input.narrow(dim, input.shape[dim] - size, size), input.narrow(dim, 0, size)
        input = later ^ earlier if input.meta.dtype.kind == "b" else later - earlier
    return input


# triangles, diagonals, rolls
def _triangle(name, keep):
    def call(input, diagonal=0):
        if len(input.shape) < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        arange = FUNCTIONS["torch"]["arange"]
        rows = arange(input.shape[-2], device=input.meta.device).unsqueeze(1)
        columns = arange(input.shape[-1], device=input.meta.device) - diagonal
        return FUNCTIONS["torch"]["where"](keep(rows, columns), input, 0 if input.meta.dtype.kind != "b" else False)
    call.__doc__ = f"The {'lower' if name == 'tril' else 'upper'} triangle of the last two dims; zero elsewhere."
    function(to="torch Tensor", name=name, samples=[S(T(3, 4)), S(T(2, 4, 3), 1), S(T(3, 3), -1)])(call)


_triangle("tril", lambda rows, columns: rows >= columns)
_triangle("triu", lambda rows, columns: rows <= columns)


@function(to="torch Tensor", samples=[S(T(3)), S(T(3, 4), 1), S(T(2), -1)])
def diag(input, diagonal=0):
    """A vector as the diagonal of a matrix, or the diagonal of a matrix."""
    if len(input.shape) == 2:
        return input.diagonal(diagonal).clone()
    return diag_embed(input, diagonal)


@function(to="torch Tensor", samples=[S(T(2, 3)), S(T(3), 1)])
def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """The last dim as diagonals of new matrices, whose dims are ``dim1`` and ``dim2`` of the result."""
    n = input.shape[-1] + abs(offset)
    result = input.new_zeros((*input.shape[:-1], n, n))
    result.diagonal(offset, -2, -1).copy_(input)
    return result.movedim((-2, -1), (dim1, dim2))


@function(to="torch Tensor", samples=[S(T(3, 4), 1), S(T(3, 4), (1, -1), (0, 1))])
def roll(input, shifts, dims=None):
    """Elements shifted around along ``dims`` (over the flattened tensor without)."""
    if dims is None:
        return roll(input.reshape(-1), shifts, 0).reshape(input.shape)
    pairs = zip((shifts,) if isinstance(shifts, int) else shifts, (dims,) if isinstance(dims, int) else dims)
    for shift, dim in pairs:
        n = input.shape[dim]
        cut = (n - shift) % n if n else 0
        input = FUNCTIONS["torch"]["cat"]([input.narrow(dim, cut, n - cut), input.narrow(dim, 0, cut)], dim) if cut else input.clone()
    return input


@function(to="torch Tensor", samples=[S(T(3, 2), 2, 0), S(T(3), 3)])
def repeat_interleave(input, repeats, dim=None):
    """Each element (or slice along ``dim``) ``repeats`` times in a row; ``repeats`` a whole number."""
    if dim is None:
        input, dim = input.reshape(-1), 0
    if hasattr(repeats, "meta"):
        places = [i for i, r in enumerate(repeats.tolist()) for _ in range(r)]
        return index_select(input, dim, FUNCTIONS["torch"]["tensor"](places, device=input.meta.device, dtype=dtypes.int64))
    d = shapes.normalize_dim(dim, len(input.shape))
    shape = list(input.shape)
    grown = input.unsqueeze(d + 1).expand([*shape[:d + 1], repeats, *shape[d + 1:]])
    shape[d] *= repeats
    return grown.reshape(shape)


@function(to="torch")
def meshgrid(*tensors, indexing="ij"):
    """Coordinate grids of vectors."""
    tensors = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    shape = [t.numel() for t in tensors]
    grids = tuple(t.reshape([-1 if d == k else 1 for d in range(len(tensors))]).expand(shape) for k, t in enumerate(tensors))
    return grids if indexing == "ij" or len(tensors) < 2 else tuple(g.transpose(0, 1) for g in grids)
