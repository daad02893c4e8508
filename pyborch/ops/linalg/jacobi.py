"""Orthogonal columns by Jacobi's rotations: what singular values and symmetric eigenvalues are made of on the GPU."""
from __future__ import annotations

from ... import dtypes, kernels
from ... import shape as shapes
from ...autograd import apply
from ..pointwise_plan import copy
from ..registry import FUNCTIONS, Op

SWEEPS, WORK = 20, 1 << 15      # at most so many walks over all pairs; steps of a thread in one dispatch


def _run(plan, A, W, V, state):
    *batch, m, n = A.meta.shape
    copy(plan, A, W)
    count, players = shapes.numel(batch), n + n % 2
    lanes = 64 if n <= 64 else 256
    side = 1
    while side < 16 and side * 2 * (players // 2) <= lanes and side * 4 <= m:
        side *= 2
    kernel = kernels.from_file("jacobi", {"LANES": lanes, "SIDE": side})
    each = -(-(players // 2) * side // lanes) * (2 * m + n) // side
    rounds, total = max(1, WORK // max(each, 1)), SWEEPS * (players - 1) if n > 1 else 1
    for first in range(0, total, rounds):
        plan.dispatch(kernel, [W, V, state], [count, m, n, first, min(first + rounds, total)], count)


def _reference(np, A):
    """The same by numpy; ``svd`` and ``eigh`` of the cpu device don't come here."""
    *batch, m, n = A.shape
    W, V = np.array(A.reshape(-1, m, n)), np.tile(np.eye(n, dtype=A.dtype), (shapes.numel(batch), 1, 1))
    for _ in range(SWEEPS):
        moved = False
        for a in range(n):
            for b in range(a + 1, n):
                x, y = W[:, :, a].copy(), W[:, :, b].copy()
                xx, yy, xy = (x * x).sum(1), (y * y).sum(1), (x * y).sum(1)
                turn = np.abs(xy) > 2e-7 * np.sqrt(xx) * np.sqrt(yy)
                moved = moved or turn.any()
                zeta = (yy - xx) / np.where(turn, 2 * xy, 1)
                t = np.where(turn, np.where(zeta < 0, -1, 1) / (np.abs(zeta) + np.sqrt(1 + zeta * zeta)), 0)
                c = 1 / np.sqrt(1 + t * t)
                c, s = c[:, None].astype(A.dtype), (c * t)[:, None].astype(A.dtype)
                W[:, :, a], W[:, :, b] = c * x - s * y, s * x + c * y
                x, y = V[:, :, a].copy(), V[:, :, b].copy()
                V[:, :, a], V[:, :, b] = c * x - s * y, s * x + c * y
        if not moved:
            break
    return W.reshape(A.shape), V.reshape(*batch, n, n), np.tile(np.array([0, 1], np.int32), (*batch, 1))


JACOBI = Op("jacobi", lambda A: [(A.shape, A.dtype), ((*A.shape[:-2], A.shape[-1], A.shape[-1]), A.dtype), ((*A.shape[:-2], 2), dtypes.int32)],
            _run, _reference, doc="(W, V, state) with W = A V, V orthogonal, and W's columns orthogonal to one another; m >= n.")
JACOBI.has_card = False    # tall matrices only, and V as the rotations come


def orthogonalized(A):
    """(W, V): W = A V has orthogonal columns of decreasing length, and V is orthogonal. ``A`` has no more columns than rows."""
    W, V, _ = apply(JACOBI, A)
    order = (W * W).sum(-2).argsort(-1, descending=True)
    return columns_in_order(W, order), columns_in_order(V, order)


def columns_in_order(X, order):
    """X[..., order]"""
    return X.gather(len(X.meta.shape) - 1, order.unsqueeze(-2).expand(X.meta.shape))


def scaled(A):
    """(A / s, s), s the largest absolute value of each matrix, so that no square overflows."""
    largest = A.abs().amax((-2, -1), keepdim=True)
    s = FUNCTIONS["torch"]["where"](largest > 0, largest, 1.0)
    return A / s, s
