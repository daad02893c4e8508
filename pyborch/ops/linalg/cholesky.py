"""Cholesky factors of positive definite matrices, and solving and inverting with them."""
from __future__ import annotations

from ... import dtypes, kernels
from ... import shape as shapes
from ...autograd import apply, no_grad
from ...errors import LinAlgError
from ..pointwise_plan import copy
from ..registry import Op, S, T, function, result_type
from .common import batch_words, check_float, check_kernel, check_square, derived, expand_batches, eye_like, first_failure, specs, written
from .triangular import SOLVE, check_older

LANES, COLUMNS = 256, 64     # threads of a matrix; columns of one dispatch, so that none takes long
FactorInfo = result_type("linalg_cholesky_ex", "L info")


def _run(plan, A, L, info, *, minds):
    *batch, n, _ = A.meta.shape
    copy(plan, A, L)
    count = shapes.numel(batch)
    for first in range(0, max(n, 1), COLUMNS):
        plan.dispatch(kernels.from_file("cholesky", {"LANES": LANES}), [L, info], [count, n, first, min(first + COLUMNS, n)], count)


def _reference(np, A, *, minds):
    batch, n = A.shape[:-2], A.shape[-1]
    try:
        L = np.linalg.cholesky(A)
        if not np.isnan(L).any():      # which is all that numpy says in a browser
            return L, np.zeros(batch, np.int32)
    except np.linalg.LinAlgError:
        pass
    L, info = np.tril(A).reshape(-1, n, n), np.zeros(shapes.numel(batch), np.int32)
    for j in range(n):    # as LAPACK leaves it: what is before the minor that is not positive
        d = L[:, j, j].copy()
        info[(info == 0) & ~(d > 0)] = j + 1
        fine = info == 0
        root = np.sqrt(np.where(fine, d, 1))
        L[:, j, j] = np.where(fine, root, d)
        L[:, j + 1:, j] /= root[:, None]
        below = L[:, j + 1:, j] * fine[:, None]
        L[:, j + 1:, j + 1:] -= np.tril(below[:, :, None] * below[:, None, :])
    info = info.reshape(batch)
    failed = minds and first_failure(np, info)
    if failed:
        raise LinAlgError(f"{minds}: {batch_words(failed[0], info)}The factorization could not be completed because the input is not "
                          f"positive-definite (the leading minor of order {failed[1]} is not positive-definite).")
    return L.reshape(A.shape), info


def _gradient(gs, ys):
    g, L = gs[0], ys[0].tril()
    if g is None:
        return None
    inner = L.mT @ g.tril()
    inner = inner.tril(-1) + inner.tril(-1).mT + inner.diagonal(0, -2, -1).diag_embed()
    left = apply(SOLVE, L.mT, inner, upper=True, unit=False)
    return apply(SOLVE, L.mT, left.mT, upper=True, unit=False).mT * 0.5


CHOLESKY = Op("cholesky", lambda A, *, minds: [(A.shape, A.dtype), (A.shape[:-2], dtypes.int32)], _run, _reference, {"A": _gradient},
              doc="The lower triangles L of A = L L.T, of the lower triangles of A; info tells of minors that are not positive.")


def _factored(A, upper, minds, where):
    check_square(A, where)
    check_float(A, where)
    check_kernel(A, "cholesky_cpu")
    L, info = apply(CHOLESKY, A.mT if upper else A, minds=minds)
    return (L.tril().mT if upper else L.tril()), info


POSITIVE = lambda t: t + t.mT + t.new_ones(3).diag() * 6  # noqa: E731
SAMPLES = [S(T(3, 3, view=POSITIVE)), S(T(2, 3, 3, view=POSITIVE), upper=True), S(T(2, 0, 0))]
INDEFINITE = S(T(2, 2, values=(1.0, 2.0, 2.0, 1.0), grad=False))


def _linalg_cholesky(A, *, upper=False, out=None):
    """L of A = L L.T for (*, n, n) positive definite matrices, or L.T where ``upper``. What is not positive definite raises LinAlgError on the
    cpu device only."""
    return written(_factored(A, upper, "linalg.cholesky", "linalg.cholesky")[0], out)


function(to="linalg", name="cholesky", samples=SAMPLES)(_linalg_cholesky)


@function(to="linalg", samples=[SAMPLES[1], INDEFINITE])
def cholesky_ex(A, *, upper=False, check_errors=False, out=None):
    """(L, info): info is 0, or the order of the first leading minor that is not positive; raises for that only where ``check_errors``."""
    return written(FactorInfo(*_factored(A, upper, "linalg.cholesky_ex" if check_errors else None, "linalg.cholesky")), out)


@function(to="torch Tensor", samples=SAMPLES[:2])
def cholesky(input, upper=False, *, out=None):
    """L of A = L L.T, or its transpose where ``upper``; see linalg.cholesky."""
    return written(_factored(input, upper, "cholesky", "cholesky")[0], out)


# solving with factors
def _by_triangles(B, L, upper):
    first, second = (L.mT, L) if upper else (L, L.mT)
    return apply(SOLVE, second, apply(SOLVE, first, B, upper=False, unit=False), upper=True, unit=False)


def _factor_gradient(g, L, y, upper):
    """PyTorch's: of all elements of ``L``, although only a triangle of it is read."""
    inner = _solved(g, L, upper) @ y.mT
    inner = inner + inner.mT
    return -(L @ inner) if upper else -(inner @ L)


CHOLESKY_SOLVE = derived("cholesky_solve", lambda B, L, X, *, upper: specs(X), {"B": lambda g, L, upper: _solved(g, L, upper), "L": _factor_gradient})


def _solved(B, L, upper):
    """X of A X = B, by both triangles of A's factor in turn; ``L`` is upper where ``upper``."""
    L, B = expand_batches(L, B)
    with no_grad():
        X = _by_triangles(B, L, upper)
    return apply(CHOLESKY_SOLVE, B, L, X, upper=bool(upper))


FACTOR = lambda t: t + t.new_ones(3).diag() * 2  # noqa: E731


@function(to="torch Tensor", samples=[S(T(3, 2), T(3, 3, view=FACTOR)), S(T(2, 3, 2), T(3, 3, view=FACTOR), upper=True)])
def cholesky_solve(input, L, upper=False, *, out=None):
    """X of A X = input, of the factor ``L`` of A by cholesky: (*, n, k), (*, n, n) -> (*, n, k)."""
    check_older(input, L, "cholesky_solve")
    check_kernel(L, "cholesky_solve_cpu")
    return written(_solved(input, L, upper), out)


@function(to="torch Tensor", samples=[S(T(3, 3, view=FACTOR)), S(T(2, 3, 3, view=FACTOR), upper=True)])
def cholesky_inverse(L, upper=False, *, out=None):
    """The inverse of A, of its factor ``L`` by cholesky: (*, n, n)."""
    check_square(L, "cholesky_inverse")
    check_kernel(L, "cholesky_inverse_out_cpu")
    return written(_solved(eye_like(L), L, upper), out)
