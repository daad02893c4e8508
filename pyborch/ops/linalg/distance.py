"""Distances between vectors (cdist, pdist, dist), and vectors made no longer than a bound (renorm)."""
from __future__ import annotations

from ... import shape as shapes
from ...autograd import apply, no_grad
from .common import derived, specs
from ..registry import FUNCTIONS, S, T, function, in_place
from ..vector_norm import vector_norm

MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
MANY = 25   # rows from which on Euclidean distances are a matrix product


def _weighed(g, y, x1, x2):
    """The gradient of Euclidean distances y of rows of x1 from rows of x2, with respect to x1; 0 where a distance is 0."""
    w = FUNCTIONS["torch"]["where"](y == 0, 0.0, g / y)
    return w.sum(-1, keepdim=True) * x1 - w @ x2


EUCLIDEAN = derived("cdist", lambda x1, x2, d: specs(d), {"x1": lambda g, y, x1, x2: _weighed(g, y, x1, x2),
                                                          "x2": lambda g, y, x1, x2: _weighed(g.mT, y.mT, x2, x1)})


def _by_product(x1, x2):
    """Euclidean distances by |a|^2 + |b|^2 - 2 a b."""
    with no_grad():
        squares = [(x * x).sum(-1, keepdim=True) for x in (x1, x2)]
        found = (squares[0] + squares[1].mT - 2 * (x1 @ x2.mT)).clamp_min(0).sqrt()
    return apply(EUCLIDEAN, x1, x2, found)


@function(to="torch", samples=[S(T(3, 4), T(2, 4)), S(T(2, 3, 2), T(1, 4, 2), p=1.5), S(T(30, 3), T(2, 3)), S(T(0, 3), T(2, 3)), S(T(2, 0), T(3, 0))])
def cdist(x1, x2, p=2.0, compute_mode=MODES[0]):
    """The p-norm distances of all pairs of rows: (*, n, m), (*, k, m) -> (*, n, k). RuntimeError where columns, dtypes or batches do not fit."""
    if compute_mode not in MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    for x, name in ((x1, "X1"), (x2, "X2")):
        if x.meta.dtype.kind != "f":
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {x.meta.dtype.title}")
        if len(x.meta.shape) < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {len(x.meta.shape)}D")
    m, n = x1.meta.shape, x2.meta.shape
    if m[-1] != n[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {m[-1]} X2: {n[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if x1.meta.dtype is not x2.meta.dtype:
        raise RuntimeError(f"expected scalar type {x1.meta.dtype.title} but found {x2.meta.dtype.title}")
    batch = shapes.broadcast(m[:-2], n[:-2])
    if not m[-1]:
        return (x1.unsqueeze(-2) - x2.unsqueeze(-3)).sum(-1)
    x1, x2 = x1.expand(batch + m[-2:]), x2.expand(batch + n[-2:])
    if p == 2 and (compute_mode == MODES[1] or compute_mode == MODES[0] and max(m[-2], n[-2]) > MANY):
        return _by_product(x1, x2)
    return vector_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)


@function(to="torch F", samples=[S(T(4, 3)), S(T(3, 2), 1), S(T(1, 3))])
def pdist(input, p=2.0):
    """The p-norm distances of each row from those after it: (n, m) -> (n * (n - 1) / 2)."""
    if len(input.meta.shape) != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {len(input.meta.shape)}D")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    n = input.meta.shape[0]
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    if not pairs:
        return vector_norm(input[:0], p, -1) if input.meta.shape[1] else input.new_zeros((0,))
    first, second = (FUNCTIONS["torch"]["tensor"]([pair[k] for pair in pairs], device=input.meta.device) for k in (0, 1))
    return vector_norm(input.index_select(0, first) - input.index_select(0, second), p, -1)


@function(to="torch Tensor", samples=[S(T(2, 3), T(2, 3)), S(T(2, 3), T(3), 1)])
def dist(input, other, p=2):
    """The p-norm of input - other, which broadcast."""
    difference = input - other
    if difference.meta.dtype.kind not in "fc":
        raise RuntimeError(f"norm(): input dtype should be either floating point or complex. Got {difference.meta.dtype.title} instead.")
    return vector_norm(difference, p)


@function(to="torch Tensor", samples=[S(T(3, 4), 2, 0, 1.0), S(T(2, 3, 2), 1, -1, 0.5)])
def renorm(input, p, dim, maxnorm, *, out=None):
    """``input`` with each slice along ``dim`` made no longer than ``maxnorm`` in the p-norm."""
    rank = len(input.meta.shape)
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if rank < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {rank} dimensions")
    dim = shapes.normalize_dim(dim, rank)
    length = vector_norm(input, p, tuple(d for d in range(rank) if d != dim), keepdim=True)
    result = input * FUNCTIONS["torch"]["where"](length > maxnorm, maxnorm / (length + 1e-7), 1.0)
    return result if out is None else out.copy_(result)


FUNCTIONS["Tensor"]["renorm_"] = in_place(renorm)


@function(to="torch F", samples=[S(T(3, 4), T(3, 4)), S(T(4), T(2, 4), 1.0, 1e-3, True)])
def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The p-norm of x1 - x2 + eps over the last dim."""
    return (x1 - x2 + eps).norm(p, -1, keepdim)
