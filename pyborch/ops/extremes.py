"""Reductions that compare: maxima, minima, their indices, and variances."""
from __future__ import annotations

from .. import dtypes
from .. import shape as shapes
from ..autograd import apply
from . import reduce
from .reduce_plan import Recipe, plan_reduce
from .registry import OPS, Op, S, T, function, result_type

GRID, LONG, TURNED, INTEGERS = reduce.GRID, reduce.LONG, reduce.TURNED, reduce.INTEGERS
LOWEST = {"f32": "-infinity()", "i32": "i32(-2147483647 - 1)", "u32": "0u", "bool": "false"}
HIGHEST = {"f32": "infinity()", "i32": "2147483647", "u32": "4294967295u", "bool": "true"}


def _extreme_recipe(t, largest):
    """Value and first index; NaN beats everything."""
    worst = (LOWEST if largest else HIGHEST)[t]
    better = "v > a.v" if largest else "v < a.v"
    if t == "bool":
        better = "v && !a.v" if largest else "!v && a.v"
    if t == "f32":
        better = f"(!is_nan(a.v) && (is_nan(v) || {better}))"
    better = f"(a.i == 0xffffffffu || {better})"
    merged = better.replace("is_nan(v)", "is_nan(b.v)").replace("v >", "b.v >").replace("v <", "b.v <").replace("v && !a", "b.v && !a") \
        .replace("!v && a", "!b.v && a")
    same = "(a.v == b.v && b.i < a.i)" if t != "f32" else "((a.v == b.v || (is_nan(a.v) && is_nan(b.v))) && b.i < a.i)"
    field = "u32" if t == "bool" else t
    if t == "bool":
        return Recipe("Found", 2, f"return Found({'0u' if largest else '1u'}, 0xffffffffu);",
                      f"let w = select(0u, 1u, v); if (a.i == 0xffffffffu || w {'>' if largest else '<'} a.v) {{ return Found(w, r); }} return a;",
                      f"if (b.i == 0xffffffffu) {{ return a; }} if (a.i == 0xffffffffu || b.v {'>' if largest else '<'} a.v || (a.v == b.v && b.i < a.i)) "
                      "{ return b; } return a;", ("(a.v != 0u)", "a.i"), "struct Found { v: u32, i: u32 }")
    return Recipe("Found", 2, f"return Found({worst}, 0xffffffffu);", f"if ({better}) {{ return Found(v, r); }} return a;",
                  f"if (b.i == 0xffffffffu) {{ return a; }} if ({merged} || {same}) {{ return b; }} return a;", ("a.v", "a.i"),
                  f"struct Found {{ v: {field}, i: u32 }}")


_recipes: dict = {}


def _recipe(dtype, largest, which):
    key = (dtype.compute, largest, which)
    if key not in _recipes:
        found = value_recipe(dtype, largest) if which == "value" else _extreme_recipe(dtype.compute, largest)
        if which == "index":
            found.finish = found.finish[1:]
        _recipes[key] = found
    return _recipes[key]


def value_recipe(dtype, largest) -> Recipe:
    """The recipe of a maximum or minimum; NaN beats everything."""
    t, name = dtype.compute, "max" if largest else "min"
    kept, v, result = ("u32", "select(0u, 1u, v)", "(a != 0u)") if t == "bool" else (t, "v", "a")
    call = f"{name}_nan" if t == "f32" else name
    worst = (LOWEST if largest else HIGHEST)[kept]
    return Recipe(kept, 1, f"return {worst};", f"return {call}(a, {v});", f"return {call}(a, b);", result)


def _refuse_empty(name, x, dims):
    if shapes.numel(x.shape[d] for d in dims) == 0 and shapes.numel(n for d, n in enumerate(x.shape) if d not in dims):
        if len(dims) == len(x.shape):
            raise RuntimeError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.")
        raise IndexError(f"{name}(): Expected reduction dim {dims[0]} to have non-zero size.")


def _value_op(name, largest):
    def shape(x, *, dims, keepdim):
        _refuse_empty(name, x, dims)
        return reduce.reduced_shape(x.shape, dims, keepdim), x.dtype

    def run(plan, x, y, *, dims, keepdim):
        plan_reduce(plan, [x], [y], dims, _recipe(x.meta.dtype, largest, "value"))

    def reference(np, x, *, dims, keepdim):
        return (np.max if largest else np.min)(x, dims, keepdims=keepdim)

    def gradient(g, x, y, dims, keepdim):
        hit = (x == reduce.restored(y, x.shape, dims, keepdim)).to(g.dtype)
        return hit / reduce.restored(hit.sum(dims, keepdim=keepdim), x.shape, dims, keepdim) * reduce.restored(g, x.shape, dims, keepdim)
    return Op(name, shape, run, reference, {"x": gradient})


def _index_op(name, largest, both):
    def shape(x, *, dims, keepdim):
        _refuse_empty(name, x, dims)
        where = reduce.reduced_shape(x.shape, dims, keepdim), dtypes.int64
        return [(where[0], x.dtype), where] if both else where

    def run(plan, x, *outputs, dims, keepdim):
        plan_reduce(plan, [x], list(outputs), dims, _recipe(x.meta.dtype, largest, "both" if both else "index"))

    def reference(np, x, *, dims, keepdim):
        kept = [d for d in range(x.ndim) if d not in dims]
        flat = x.transpose(kept + list(dims)).reshape([x.shape[d] for d in kept] + [-1])
        shape = reduce.reduced_shape(x.shape, dims, keepdim)
        index = (np.argmax if largest else np.argmin)(flat, -1)
        if not both:
            return index.reshape(shape)
        return np.take_along_axis(flat, index[..., None], -1).reshape(shape), index.reshape(shape)

    def gradient(gs, ys, metas, dims, keepdim):
        g, index = gs[0], ys[1]
        if not dims:
            return g
        shape, d = metas[0].shape, dims[0]
        if not keepdim:
            g, index = g.unsqueeze(d), index.unsqueeze(d)
        return g.new_zeros(shape).scatter(d, index, g)
    return Op(name, shape, run, reference, {"x": gradient} if both else None)


AMAX, AMIN = _value_op("amax", True), _value_op("amin", False)
ARGMAX, ARGMIN = _index_op("argmax", True, False), _index_op("argmin", False, False)
MAX_DIM, MIN_DIM = _index_op("max", True, True), _index_op("min", False, True)
SPREAD = [S(GRID), S(GRID, 1), S(GRID, (0, 2)), S(GRID, -1, keepdim=True), S(TURNED, (0, 2)), S(LONG, 1), S(T(3, 2, values=(1.0, float("nan"), 3.0, 2.0, 0.0, 5.0)), 0),
          S(INTEGERS, 1)]


@function(to="torch Tensor", samples=SPREAD)
def amax(input, dim=None, keepdim=False):
    """The largest value over ``dim``; the gradient is shared among equals."""
    return apply(AMAX, input, dims=reduce._dims(input, dim), keepdim=keepdim)


@function(to="torch Tensor", samples=SPREAD)
def amin(input, dim=None, keepdim=False):
    """The smallest value over ``dim``; the gradient is shared among equals."""
    return apply(AMIN, input, dims=reduce._dims(input, dim), keepdim=keepdim)


@function(to="torch Tensor", samples=[S(T(3, 4), dim=0), S(T(3, 4))])
def aminmax(input, *, dim=None, keepdim=False):
    """(min, max) over one dim or all."""
    return Extremes(amin(input, dim, keepdim), amax(input, dim, keepdim))


Extremes = result_type("aminmax", "min max")
MaxResult, MinResult = result_type("max", "values indices"), result_type("min", "values indices")
PICKS = [S(GRID), S(GRID, 1), S(GRID, -1, True), S(TURNED, 0), S(LONG, 1), S(T(2, 3, values=(1.0, 3.0, 3.0, float("nan"), 5.0, 1.0)), 1), S(INTEGERS, 0)]


def _extreme(name, value, both, binary, result):
    def extreme(input, dim=None, keepdim=False, *, other=None, out=None):
        if hasattr(dim, "meta") or other is not None:
            return apply(OPS[binary], input, dim if other is None else other)
        if dim is None:
            if not input.meta.numel:
                raise RuntimeError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.")
            return value(input)
        return result(*apply(both, input, dims=shapes.normalize_dims(dim, len(input.meta.shape)), keepdim=keepdim))
    extreme.__doc__ = f"The {name} of all elements; over ``dim`` (values, indices); or {binary}(input, other)."
    function(to="torch Tensor", name=name, samples=PICKS + [S(T(3, 4), T(4))])(extreme)


_extreme("max", amax, MAX_DIM, "maximum", MaxResult)
_extreme("min", amin, MIN_DIM, "minimum", MinResult)


@function(to="torch Tensor", samples=[S(GRID), S(GRID, 1), S(GRID, -1, True), S(LONG, 1), S(T(4, values=(1.0, 3.0, 3.0, 0.0)))])
def argmax(input, dim=None, keepdim=False):
    """The index (int64) of the first largest value over one dim, or of the flattened tensor."""
    return apply(ARGMAX, input, dims=reduce._dims(input, dim), keepdim=keepdim)


@function(to="torch Tensor", samples=[S(GRID), S(GRID, 1), S(GRID, -1, True), S(LONG, 0), S(T(4, values=(1.0, 0.0, 3.0, 0.0)))])
def argmin(input, dim=None, keepdim=False):
    """The index (int64) of the first smallest value over one dim, or of the flattened tensor."""
    return apply(ARGMIN, input, dims=reduce._dims(input, dim), keepdim=keepdim)


# variance by Welford's and Chan's update: one pass, no cancellation
VAR_RECIPE = Recipe(
    "Moments", 3, "return Moments(0.0, 0.0, 0.0);",
    "let n = a.n + 1.0; let d = v - a.mean; let mean = a.mean + d / n; return Moments(n, mean, a.m2 + d * (v - mean));",
    "let n = a.n + b.n; if (n == 0.0) { return a; } let d = b.mean - a.mean; let w = b.n / n; "
    "return Moments(n, a.mean + d * w, a.m2 + b.m2 + d * d * a.n * w);", ("a.m2", "select(a.mean, nan(), n == 0u)"),
    "struct Moments { n: f32, mean: f32, m2: f32 }")


def _moments_shape(x, *, dims, keepdim):
    where = reduce.reduced_shape(x.shape, dims, keepdim), x.dtype
    return [where, where]


def _moments_numpy(np, x, *, dims, keepdim):
    x = reduce._upcast(np, x).astype(np.float64)
    m = x.mean(dims, keepdims=True) if x.size else np.full(reduce.reduced_shape(x.shape, dims, True), np.nan)
    return ((x - m) ** 2).sum(dims, keepdims=keepdim), m if keepdim else m.reshape(reduce.reduced_shape(x.shape, dims, False))


def _moments_gradient(gs, x, ys, dims, keepdim):
    back = lambda t: reduce.restored(t, x.shape, dims, keepdim)  # noqa: E731
    parts = [back(gs[0]) * 2.0 * (x - back(ys[1]))] if gs[0] is not None else []
    if gs[1] is not None:
        parts.append(back(gs[1]) / reduce._count(x.shape, dims))
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


MOMENTS = Op("moments", _moments_shape,
             lambda plan, x, m2, mean, *, dims, keepdim: plan_reduce(plan, [x], [m2, mean], dims, VAR_RECIPE),
             _moments_numpy, {"x": _moments_gradient}, doc="Sums of squared distances from the mean, and means.")
VARS = [S(GRID), S(GRID, 1), S(GRID, (0, 2), keepdim=True), S(GRID, 1, correction=0), S(LONG, 1), S(LONG, 0), S(GRID, 1, unbiased=False)]


def _spread(input, dim, unbiased, correction, keepdim):
    """(variance, mean)."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not None:
        correction = 1 if unbiased else 0
    if input.meta.dtype.kind != "f":
        raise RuntimeError("std and var only support floating point and complex dtypes")
    dims = reduce._dims(input, dim)
    squares, average = apply(MOMENTS, input, dims=dims, keepdim=keepdim)
    divisor = reduce._count(input.meta.shape, dims) - (1 if correction is None else correction)
    return squares / float(max(divisor, 0)), average


@function(to="torch Tensor", samples=VARS)
def var(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """The variance over ``dim``, divided by n - correction (1 unless given)."""
    return _spread(input, dim, unbiased, correction, keepdim)[0]


@function(to="torch Tensor", samples=VARS)
def std(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """The square root of :func:`var`."""
    return _spread(input, dim, unbiased, correction, keepdim)[0].sqrt()


@function(to="torch", samples=VARS[:4])
def var_mean(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """(variance, mean) in one pass."""
    return _spread(input, dim, unbiased, correction, keepdim)


@function(to="torch", samples=VARS[:4])
def std_mean(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """(standard deviation, mean) in one pass."""
    spread, average = _spread(input, dim, unbiased, correction, keepdim)
    return spread.sqrt(), average
