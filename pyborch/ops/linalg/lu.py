"""LU with partial pivoting: its factors, their permutation, and solving with them."""
from __future__ import annotations

from ... import dtypes, kernels
from ... import shape as shapes
from ...autograd import apply
from ...errors import LinAlgError
from ..pointwise_plan import copy
from ..registry import FUNCTIONS, Op, S, T, function, result_type
from .common import batch_words, check_kernel, expand_batches, eye_like, first_failure, written
from .triangular import SOLVE, check_same, check_shapes, solve_lower, solve_upper

LANES, COLUMNS = 256, 64     # threads of a matrix; columns of one dispatch, so that none takes long
Factors, FactorsInfo = result_type("linalg_lu_factor", "LU pivots"), result_type("linalg_lu_factor_ex", "LU pivots info")
Unpacked, Parts = result_type("lu_unpack", "P L U"), result_type("linalg_lu", "P L U")
SINGULAR = {   # what the cpu device says of a zero on U's diagonal, by the function that minds
    "inv": (LinAlgError, "linalg.inv: {batch}The diagonal element {k} is zero, the inversion could not be completed because the input matrix is singular."),
    "solve": (LinAlgError, "torch.linalg.solve: {batch}The solver failed because the input matrix is singular."),
    "lu_factor": (RuntimeError, "torch.linalg.lu_factor: {batch}U[{k},{k}] is zero and using it on lu_solve would result in a division by zero. If you still "
                                "want to perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)")}


def _shape(A, *, pivot, minds):
    batch = A.shape[:-2]
    return [(A.shape, A.dtype), ((*batch, min(A.shape[-2:])), dtypes.int32), (batch, dtypes.int32)]


def _run(plan, A, LU, pivots, info, *, pivot, minds):
    *batch, m, n = A.meta.shape
    copy(plan, A, LU)
    kernel = kernels.from_file("lu", {"LANES": LANES, "PIVOT": pivot})
    k, count = min(m, n), shapes.numel(batch)
    for first in range(0, max(k, 1), COLUMNS):
        plan.dispatch(kernel, [LU, pivots, info], [count, m, n, first, min(first + COLUMNS, k)], count)


def _reference(np, A, *, pivot, minds):
    *batch, m, n = A.shape
    LU, k = np.array(A, order="C").reshape(shapes.numel(batch), m, n), min(m, n)
    pivots, info, each = np.zeros((len(LU), k), np.int32), np.zeros(len(LU), np.int32), np.arange(len(LU))
    for j in range(k if len(LU) else 0):
        row = j + np.abs(LU[:, j:, j]).argmax(1) if pivot else np.full(len(LU), j)
        pivots[:, j] = row + 1
        LU[each, j], LU[each, row] = LU[each, row], LU[each, j]
        d = LU[:, j, j, None]
        info[(info == 0) & (d[:, 0] == 0)] = j + 1
        LU[:, j + 1:, j] /= np.where(d == 0, 1, d)
        LU[:, j + 1:, j + 1:] -= LU[:, j + 1:, j, None] * LU[:, j, None, j + 1:]
    info = info.reshape(batch)
    failed = minds and first_failure(np, info)
    if failed:
        error, words = SINGULAR[minds]
        raise error(words.format(batch=batch_words(failed[0], info), k=failed[1]))
    return LU.reshape(A.shape), pivots.reshape(*batch, k), info


def _gradient(gs, ys, metas):
    """The square part by two triangular solves; the rows or columns beyond it follow from the factors of the square."""
    g, LU, (m, n) = gs[0], ys[0], metas[0].shape[-2:]
    if g is None:
        return None
    k = min(m, n)
    L, U = unit_lower(LU[..., :k]), LU[..., :k, :].triu()
    gL, gU, L1, U1 = g[..., :k].tril(-1), g[..., :k, :].triu(), L[..., :k, :], U[..., :k]
    lower, upper = L1.mT @ gL[..., :k, :], gU[..., :k] @ U1.mT
    if n > k:
        lower = lower - gU[..., k:] @ U[..., k:].mT
    if m > k:
        upper = upper - L[..., k:, :].mT @ gL[..., k:, :]
    found = _times_inverse(_inverse_times(L1, lower.tril(-1) + upper.triu()), U1)
    if n > k:
        found = FUNCTIONS["torch"]["cat"]([found, _inverse_times(L1, gU[..., k:])], -1)
    if m > k:
        found = FUNCTIONS["torch"]["cat"]([found, _times_inverse(gL[..., k:, :], U1)], -2)
    return rows_in_order(found, permutation(ys[1], m, inverse=True))


def _inverse_times(L, X):
    return apply(SOLVE, L.mT, X, upper=True, unit=True)


def _times_inverse(X, U):
    return apply(SOLVE, U, X.mT, upper=True, unit=False).mT


LU_FACTOR = Op("lu_factor", _shape, _run, _reference, {"A": _gradient},
               doc="The factors L (below the diagonal) and U of matrices whose rows are swapped as pivots say; info tells of zeros on U's diagonal.")


def factored(A, minds=None, pivot=True):
    """(LU, pivots, info) of ``A``; ``minds`` names a function in SINGULAR."""
    return apply(LU_FACTOR, A, pivot=bool(pivot), minds=minds)


def unit_lower(LU):
    """L of LU, with its ones."""
    return LU.tril(-1) + eye_like(LU, *LU.meta.shape[-2:])


# the order of rows
def _permutation_run(plan, pivots, order, *, m, inverse):
    pivots, count = plan.contiguous(pivots), shapes.numel(pivots.meta.shape[:-1])
    plan.dispatch(kernels.from_file("permutation", {"INVERSE": inverse}), [pivots, order], [count, pivots.meta.shape[-1], m, pivots.meta.offset], -(-count // 64))


def _permutation_reference(np, pivots, *, m, inverse):
    k, each = pivots.shape[-1], np.arange(shapes.numel(pivots.shape[:-1]))
    order, flat = np.tile(np.arange(m), (len(each), 1)), pivots.reshape(len(each), k) - 1
    for i in reversed(range(k)) if inverse else range(k):
        order[each, i], order[each, flat[:, i]] = order[each, flat[:, i]], order[each, i]
    return order.reshape(*pivots.shape[:-1], m)


PERMUTATION = Op("permutation", lambda pivots, *, m, inverse: ((*pivots.shape[:-1], m), dtypes.int64), _permutation_run, _permutation_reference,
                 doc="The order of m rows that swaps make: i with pivots[i] - 1, one after the other; or the order that undoes it.")


def permutation(pivots, m, inverse=False):
    """The order of ``m`` rows after the swaps of ``pivots``."""
    return apply(PERMUTATION, pivots, m=m, inverse=inverse)


def rows_in_order(X, order):
    """X[..., order, :]"""
    return X.gather(len(X.meta.shape) - 2, order.unsqueeze(-1).expand(X.meta.shape))


# public functions
def _check(A, where):
    if len(A.meta.shape) < 2:
        raise RuntimeError(f"{where}: Expected tensor with 2 or more dimensions. Got size: {list(A.meta.shape)} instead")
    check_kernel(A, "lu_cpu")


def _check_pivot(A, pivot, where):
    if not pivot and A.meta.device.type == "cpu":
        raise RuntimeError(f"{where}: LU without pivoting is not implemented on the CPU")


SAMPLES = [S(T(3, 3)), S(T(2, 2, 4)), S(T(5, 3)), S(T(2, 0, 3))]


@function(to="linalg", samples=SAMPLES)
def lu_factor(A, *, pivot=True, out=None):
    """(LU, pivots): both factors in one (*, m, n) matrix, and int32 pivots from 1. On the cpu device RuntimeError where U has a zero on its diagonal."""
    _check(A, "torch.lu_factor")
    _check_pivot(A, pivot, "linalg.lu_factor")
    return written(Factors(*factored(A, "lu_factor", pivot)[:2]), out)


@function(to="linalg", samples=SAMPLES)
def lu_factor_ex(A, *, pivot=True, check_errors=False, out=None):
    """(LU, pivots, info): info is the place, from 1, of the first zero on U's diagonal, else 0."""
    _check(A, "torch.lu_factor")
    _check_pivot(A, pivot, "linalg.lu_factor")
    return written(FactorsInfo(*factored(A, "lu_factor" if check_errors else None, pivot)), out)


@function(to="torch Tensor", samples=[S(T(3, 3)), S(T(2, 4, 2))])
def lu(A, pivot=True, get_infos=False):
    """(LU, pivots), and info where ``get_infos``; see linalg.lu_factor."""
    _check(A, "torch.lu_factor")
    _check_pivot(A, pivot, "linalg.lu_factor")
    found = tuple(factored(A, None if get_infos else "lu_factor", pivot))
    return found if get_infos else found[:2]


@function(to="torch", samples=[S(T(3, 3), T(3, dtype="int32", values=(3, 3, 3))), S(T(2, 4, 2), T(2, 2, dtype="int32", values=(2, 4, 1, 2)))])
def lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True, *, out=None):
    """(P, L, U) of what lu_factor returns, so that A = P L U; empty tensors for what is not unpacked."""
    if LU_pivots.meta.dtype is not dtypes.int32:
        raise RuntimeError("torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
                           "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor")
    m, n = LU_data.meta.shape[-2:]
    k = min(m, n)
    P = L = U = None
    if unpack_data:
        L, U = unit_lower(LU_data[..., :k]), LU_data[..., :k, :].triu()
    if unpack_pivots:
        order = permutation(LU_pivots, m).unsqueeze(-2)
        P = (FUNCTIONS["torch"]["arange"](m, device=LU_data.meta.device).unsqueeze(-1) == order).to(LU_data.meta.dtype)
    empty = lambda t: LU_data.new_empty((0,)) if t is None else t  # noqa: E731
    return written(Unpacked(empty(P), empty(L), empty(U)), out)


def _linalg_lu(A, *, pivot=True, out=None):
    """(P, L, U) with A = P L U: (*, m, m), (*, m, k), (*, k, n), k the smaller of m and n."""
    _check(A, "linalg.lu")
    _check_pivot(A, pivot, "linalg.lu")
    P, L, U = lu_unpack(*factored(A, None, pivot)[:2])
    return written(Parts(P if pivot else A.new_empty((0,)), L, U), out)


function(to="linalg", name="lu", samples=SAMPLES)(_linalg_lu)


def solve_factored(LU, pivots, B, adjoint=False):
    """X of A X = B, or of A.T X = B where ``adjoint``, of the factors of A."""
    LU, B = expand_batches(LU, B)
    order = permutation(pivots, B.meta.shape[-2], inverse=adjoint)
    order = order.expand(B.meta.shape[:-1])
    if not adjoint:
        return solve_upper(LU, solve_lower(LU, rows_in_order(B, order)))
    X = apply(SOLVE, LU.mT, apply(SOLVE, LU.mT, B, upper=False, unit=False), upper=True, unit=True)
    return rows_in_order(X, order)


FACTORED = lambda t: t + t.new_ones(3).diag() * 2  # noqa: E731
PIVOTS = T(3, dtype="int32", values=(2, 3, 3))
FACTOR_SAMPLES = [S(T(3, 3, view=FACTORED), PIVOTS, T(3, 2)), S(T(3, 3, view=FACTORED), PIVOTS, T(2, 3, 2), adjoint=True),
                  S(T(3, 3, view=FACTORED), PIVOTS, T(2, 3), left=False)]


def _linalg_lu_solve(LU, pivots, B, *, left=True, adjoint=False, out=None):
    """X of A X = B (X A = B where not ``left``; A.T for A where ``adjoint``), of the factors of A by lu_factor."""
    where = "linalg.lu_solve"
    if LU.meta.shape[-1] != LU.meta.shape[-2]:
        raise RuntimeError(f"{where}: A must be batches of square matrices, but they are {LU.meta.shape[-2]} by {LU.meta.shape[-1]} matrices")
    check_same(LU, B, where)
    check_shapes(LU, B, left, where)
    check_kernel(LU, "lu_solve_cpu")
    if left:
        return written(solve_factored(LU, pivots, B, adjoint), out)
    return written(solve_factored(LU, pivots, B.mT, not adjoint).mT, out)


function(to="linalg", name="lu_solve", samples=FACTOR_SAMPLES)(_linalg_lu_solve)


@function(to="torch Tensor", samples=[S(T(3, 2), T(3, 3, view=FACTORED), PIVOTS)])
def lu_solve(b, LU_data, LU_pivots, *, out=None):
    """X of A X = b, of the factors of A by lu_factor."""
    return _linalg_lu_solve(LU_data, LU_pivots, b, out=out)
