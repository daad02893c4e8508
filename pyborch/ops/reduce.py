"""Reductions over any dims: sums, means, extremes, variances, norms, logical any and all."""
from __future__ import annotations

from .. import dtypes
from .. import shape as shapes
from ..autograd import apply
from .arithmetic import cast
from .reduce_plan import Recipe, plan_reduce
from .registry import FUNCTIONS, Op, S, T, function

GRID = T(2, 3, 4)
TURNED = T(4, 3, 5, view=lambda t: t.permute(2, 0, 1))
LONG = T(7, 300)
INTEGERS = T(3, 4, dtype="int64", low=-9, high=9)
EACH = [S(GRID), S(GRID, 1), S(GRID, (0, 2)), S(GRID, -1, keepdim=True), S(TURNED, (0, 2), keepdim=True), S(TURNED, 1), S(LONG, 1), S(LONG, 0)]


def reduced_shape(shape, dims, keepdim):
    """The shape without ``dims``, or with 1 in their place."""
    return tuple(1 if d in dims else n for d, n in enumerate(shape) if keepdim or d not in dims)


def restored(g, shape, dims, keepdim):
    """A gradient or result of a reduction, as large as the input again (a view)."""
    if not keepdim:
        g = g.reshape(reduced_shape(shape, dims, True))
    return g.expand(shape)


def _dims(input, dim):
    return shapes.normalize_dims(dim, len(input.meta.shape))


def reduction(name, recipe_of, reference, grad=None, dtype_of=None, doc=""):
    """An Op over ``dims`` and ``keepdim``; ``recipe_of(dtype)`` gives its WGSL."""
    def shape(x, *, dims, keepdim):
        return reduced_shape(x.shape, dims, keepdim), dtype_of(x.dtype) if dtype_of else x.dtype

    def run(plan, x, y, *, dims, keepdim):
        plan_reduce(plan, [x], [y], dims, recipe_of(x.meta.dtype))
    return Op(name, shape, run, reference, grad, doc=doc)


_recipes: dict = {}


def _cached(make):
    def of(dtype):
        key = (make, dtype.compute)
        if key not in _recipes:
            _recipes[key] = make(dtype.compute)
        return _recipes[key]
    return of


def _upcast(np, x):
    """float16 is summed in float32 as on the GPU."""
    return x.astype("float32") if x.dtype == np.float16 else x


@_cached
def _sum_recipe(t):
    zero = "0.0" if t == "f32" else f"{t}(0)"
    return Recipe(t, 1, f"return {zero};", "return a + v;", "return a + b;", "a")


@_cached
def _mean_recipe(t):
    return Recipe("f32", 1, "return 0.0;", "return a + v;", "return a + b;", "select(a / f32(n), nan(), n == 0u)")


@_cached
def _prod_recipe(t):
    return Recipe(t, 1, f"return {t}(1);", "return a * v;", "return a * b;", "a")


SUM = reduction("sum", _sum_recipe, lambda np, x, *, dims, keepdim: _upcast(np, x).sum(dims, keepdims=keepdim),
                {"x": lambda g, metas, dims, keepdim: restored(g, metas[0].shape, dims, keepdim)})
MEAN = reduction("mean", _mean_recipe, lambda np, x, *, dims, keepdim: _mean(np, x, dims, keepdim),
                 {"x": lambda g, metas, dims, keepdim: restored(g / _count(metas[0].shape, dims), metas[0].shape, dims, keepdim)})
PROD = reduction("prod", _prod_recipe, lambda np, x, *, dims, keepdim: x.prod(dims, keepdims=keepdim),
                 {"x": lambda g, x, dims, keepdim: _prod_gradient(g, x, dims, keepdim)})


def _mean(np, x, dims, keepdim):
    count = _count(x.shape, dims)
    return _upcast(np, x).sum(dims, keepdims=keepdim) / np.asarray(count, _upcast(np, x).dtype)


def _count(shape, dims):
    return shapes.numel(shape[d] for d in dims)


def _prod_gradient(g, x, dims, keepdim):
    """The product of all other elements, so that zeros are right."""
    total = None
    if len(dims) == 1:
        n = x.shape[dims[0]]
        parts = x.unbind(dims[0])
        before, after, ones = [], [], parts[0] * 0 + 1
        for i in range(n):
            before.append(ones if i == 0 else before[-1] * parts[i - 1])
        for i in range(n - 1, -1, -1):
            after.insert(0, ones if i == n - 1 else after[0] * parts[i + 1])
        total = FUNCTIONS["torch"]["stack"]([a * b for a, b in zip(before, after)], dims[0])
        return restored(g, x.shape, dims, keepdim) * total
    flat = _prod_gradient(g.reshape(()), x.reshape(-1), (0,), False)
    return flat.reshape(x.shape)


def _number_dtype(dtype, kind="sum"):
    """What integer and bool sums become."""
    return dtypes.int64 if dtype.kind != "f" else dtype


@function(to="torch Tensor", samples=EACH + [S(INTEGERS), S(T(3, 4, dtype="bool"), 0), S(T(0, 3), 0), S(T()), S(GRID, dtype="float16", tol=1e-2)])
def sum(input, dim=None, keepdim=False, *, dtype=None):
    """The sum over ``dim`` (all dims where None); integers and bools give int64."""
    dtype = _as_dtype(dtype) or _number_dtype(input.meta.dtype)
    return apply(SUM, cast(input, dtype), dims=_dims(input, dim), keepdim=keepdim)


def _as_dtype(dtype):
    return dtypes.BY_NAME[dtype] if isinstance(dtype, str) else dtype


@function(to="torch Tensor", samples=EACH + [S(T(0))])
def mean(input, dim=None, keepdim=False, *, dtype=None):
    """The mean over ``dim``; floating dtypes only."""
    dtype = _as_dtype(dtype) or input.meta.dtype
    if dtype.kind != "f":
        raise RuntimeError("mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: "
                           f"{dtype.title}")
    return apply(MEAN, cast(input, dtype), dims=_dims(input, dim), keepdim=keepdim)


@function(to="torch Tensor", samples=[S(GRID), S(GRID, 1), S(T(4, values=(1.0, 0.0, 2.0, 3.0)), 0, keepdim=True), S(INTEGERS, 0)])
def prod(input, dim=None, keepdim=False, *, dtype=None):
    """The product over one dim or all."""
    dtype = _as_dtype(dtype) or _number_dtype(input.meta.dtype)
    return apply(PROD, cast(input, dtype), dims=_dims(input, dim), keepdim=keepdim)


@function(to="torch Tensor", samples=[S(T(3, values=(1.0, float("nan"), 2.0))), S(GRID, 1)])
def nansum(input, dim=None, keepdim=False, *, dtype=None):
    """sum() with NaN taken as zero."""
    return sum(FUNCTIONS["torch"]["where"](input.isnan(), 0.0, input), dim, keepdim, dtype=dtype)


@function(to="torch Tensor", samples=[S(T(3, values=(1.0, float("nan"), 2.0))), S(GRID, 1)])
def nanmean(input, dim=None, keepdim=False, *, dtype=None):
    """mean() of what is not NaN."""
    present = input.isnan().logical_not()
    return nansum(input, dim, keepdim, dtype=dtype) / sum(present, dim, keepdim)


@function(to="torch Tensor", samples=[S(INTEGERS), S(INTEGERS, 1)])
def count_nonzero(input, dim=None):
    """How many elements are not zero, int64."""
    return sum(input != 0, dim)


@function(to="Tensor")
def sum_to_size(self, *size):
    """Summed over the dims that broadcasting ``size`` to this shape would add or repeat."""
    size = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    shape = self.meta.shape
    if size == shape:
        return self
    lead = len(shape) - len(size)
    if lead < 0 or [n for i, n in enumerate(size) if n != shape[lead + i] and n != 1]:
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(shape)}}}.")
    dims = tuple(range(lead)) + tuple(lead + i for i, n in enumerate(size) if n == 1 and shape[lead + i] != 1)
    summed = apply(SUM, self, dims=dims, keepdim=True) if dims else self
    return summed.reshape(size)


# any and all
@_cached
def _any_recipe(t):
    return Recipe("u32", 1, "return 0u;", f"return select(a, 1u, {_truth(t)});", "return a | b;", "(a != 0u)")


@_cached
def _all_recipe(t):
    return Recipe("u32", 1, "return 1u;", f"return select(0u, a, {_truth(t)});", "return a & b;", "(a != 0u)")


def _truth(t):
    return "v" if t == "bool" else f"v != {t}(0)"


ANY = reduction("any", _any_recipe, lambda np, x, *, dims, keepdim: x.astype(bool).any(dims, keepdims=keepdim), dtype_of=lambda d: dtypes.bool_)
ALL = reduction("all", _all_recipe, lambda np, x, *, dims, keepdim: x.astype(bool).all(dims, keepdims=keepdim), dtype_of=lambda d: dtypes.bool_)
FLAGS = [S(T(3, 4, dtype="bool")), S(T(3, 4, dtype="bool"), 1), S(INTEGERS, 0, keepdim=True), S(T(0, 2), 0)]


@function(to="torch Tensor", samples=FLAGS)
def any(input, dim=None, keepdim=False):
    """Whether any element is true (not zero)."""
    return apply(ANY, input, dims=_dims(input, dim), keepdim=keepdim)


@function(to="torch Tensor", samples=FLAGS)
def all(input, dim=None, keepdim=False):
    """Whether all elements are true (not zero)."""
    return apply(ALL, input, dims=_dims(input, dim), keepdim=keepdim)


# log of a sum of exponentials
LOGSUMEXP_RECIPE = Recipe(
    "Scaled", 2, "return Scaled(-infinity(), 0.0);",
    "return merge(a, Scaled(v, 1.0));",
    "if (is_nan(a.m) || is_nan(b.m)) { return Scaled(nan(), 1.0); } let m = max(a.m, b.m); if (is_inf(m)) { return Scaled(m, 1.0); } "
    "return Scaled(m, select(0.0, a.s * exp(a.m - m), a.m == m || a.m > m - 90.0) + select(0.0, b.s * exp(b.m - m), b.m == m || b.m > m - 90.0));",
    "select(a.m + log(a.s), a.m, is_inf(a.m) || is_nan(a.m))", "struct Scaled { m: f32, s: f32 }")


def _logsumexp_numpy(np, x, *, dims, keepdim):
    x = _upcast(np, x)
    m = x.max(dims, keepdims=True) if x.size else np.full(reduced_shape(x.shape, dims, True), -np.inf, x.dtype)
    safe = np.where(np.isinf(m), 0, m)
    total = np.log(np.exp(x - safe).sum(dims, keepdims=True)) + safe
    return total if keepdim else total.reshape(reduced_shape(x.shape, dims, False))


LOGSUMEXP = reduction("logsumexp", lambda dtype: LOGSUMEXP_RECIPE, _logsumexp_numpy,
                      {"x": lambda g, x, y, dims, keepdim: restored(g, x.shape, dims, keepdim) * (x - restored(y, x.shape, dims, keepdim)).exp()})


@function(to="torch Tensor special", samples=[S(GRID, 1), S(GRID, (0, 2), keepdim=True), S(LONG, 1), S(T(3, values=(float("-inf"),) * 3), 0)])
def logsumexp(input, dim, keepdim=False):
    """log(sum(exp(input))) over ``dim``, without overflow."""
    return apply(LOGSUMEXP, cast(input, input.meta.dtype if input.meta.dtype.kind == "f" else dtypes.get_default_dtype()), dims=_dims(input, dim), keepdim=keepdim)
