"""Vector norms over any dims."""
from __future__ import annotations

import math

from ..autograd import apply
from . import reduce
from .extremes import amax, amin
from .reduce import GRID
from .reduce_plan import Recipe
from .registry import FUNCTIONS, S, function

NORM_SAMPLES = [S(GRID), S(GRID, 2, 1), S(GRID, 1, (0, 2)), S(GRID, float("inf"), -1, keepdim=True), S(GRID, 3, 1), S(GRID, 0, 1), S(GRID, float("-inf"))]


@function(to="linalg", samples=NORM_SAMPLES)
def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    """(sum |x|^ord)^(1/ord) over ``dim``; ord may be 0 (count), inf or -inf."""
    if ord == math.inf:
        return amax(x.abs(), dim, keepdim)
    if ord == -math.inf:
        return amin(x.abs(), dim, keepdim)
    if ord == 0:
        return reduce.sum(x.sign().abs(), dim, keepdim)
    if ord == 1:
        return reduce.sum(x.abs(), dim, keepdim)
    if ord == 2:
        return apply(NORM2, x, dims=reduce._dims(x, dim), keepdim=keepdim)
    return reduce.sum(x.abs().pow(ord), dim, keepdim).pow(1.0 / ord)


NORM2_RECIPE = Recipe("f32", 1, "return 0.0;", "return a + v * v;", "return a + b;", "sqrt(a)")
NORM2 = reduce.reduction("norm2", lambda dtype: NORM2_RECIPE, lambda np, x, *, dims, keepdim: np.sqrt((reduce._upcast(np, x) ** 2).sum(dims, keepdims=keepdim)),
                  {"x": lambda g, x, y, dims, keepdim: _norm_gradient(x, reduce.restored(g, x.shape, dims, keepdim), reduce.restored(y, x.shape, dims, keepdim))},
                         doc="The square root of the sum of squares over dims.")


def _norm_gradient(x, g, y):
    return FUNCTIONS["torch"]["where"](y == 0, 0.0, g * x / y)


@function(to="torch Tensor", samples=[S(GRID), S(GRID, 1, 2), S(GRID, "fro"), S(GRID, 2, (0, 1), True)])
def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """The p-norm of all elements or over ``dim``; "fro" is 2."""
    return vector_norm(input, 2 if p in ("fro", None) else p, dim, keepdim)
