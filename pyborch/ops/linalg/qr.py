"""QR by Householder's reflections: geqrf, products of reflections, and qr made of them."""
from __future__ import annotations

from ... import kernels
from ... import shape as shapes
from ...autograd import apply, no_grad
from ..pointwise_plan import copy
from ..registry import FUNCTIONS, Op, S, T, function, result_type
from .common import check_float, check_kernel, check_matrix, derived, eye_like, specs, written
from .triangular import SOLVE

COLUMNS = 32     # columns of one dispatch, so that none takes long
Factors, Older, Reflections = result_type("linalg_qr", "Q R"), result_type("qr", "Q R"), result_type("geqrf", "a tau")


def _run(plan, A, a, tau):
    *batch, m, n = A.meta.shape
    copy(plan, A, a)
    count, k = shapes.numel(batch), min(m, n)
    for first in range(0, k, COLUMNS):
        plan.dispatch(kernels.from_file("householder"), [a, tau], [count, m, n, first, min(first + COLUMNS, k)], count)


def _reference(np, A):
    *batch, m, n = A.shape
    if not A.size:
        return np.zeros(A.shape, A.dtype), np.zeros((*batch, min(m, n)), A.dtype)
    h, tau = np.linalg.qr(A, mode="raw")
    return np.swapaxes(h, -1, -2).astype(A.dtype), tau.astype(A.dtype)


def _no_gradient(gs):
    raise NotImplementedError("the derivative for 'geqrf' is not implemented.")


GEQRF = Op("geqrf", lambda A: [(A.shape, A.dtype), ((*A.shape[:-2], min(A.shape[-2:])), A.dtype)], _run, _reference, {"A": _no_gradient},
           doc="R of A = Q R on and above the diagonal, Householder's vectors below it, and their scales tau.")


@function(to="torch Tensor", samples=[S(T(4, 3, grad=False)), S(T(2, 3, 4, grad=False)), S(T(3, 0, grad=False)), S(T(2, 20, 18, grad=False))])
def geqrf(input, *, out=None):
    """(a, tau): R of A = Q R, and below its diagonal Householder's vectors: (*, m, n), (*, min(m, n))."""
    if len(input.meta.shape) < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    check_kernel(input, "geqrf_cpu")
    return written(Reflections(*apply(GEQRF, input)), out)


# products of reflections: H1 H2 ... Hk = 1 - V T V.T, T upper triangular
def _compact(A, tau):
    """(V, S, tau) with T = S^-1 diag(tau): the reflections' vectors, and S of ones on the diagonal and tau_i v_i.T v_j above it."""
    m, k = A.meta.shape[-2], tau.meta.shape[-1]
    V = A[..., :k].tril(-1) + eye_like(A, m, k)
    tau = tau.unsqueeze(-1)
    return V, tau * (V.mT @ V), tau


def _times(A, tau, X, transposed=False):
    """Q X, or Q.T X where ``transposed``."""
    V, S, tau = _compact(A, tau)
    inner = V.mT @ X
    if transposed:
        inner = tau * apply(SOLVE, S.mT, inner, upper=False, unit=True)
    else:
        inner = apply(SOLVE, S, tau * inner, upper=True, unit=True)
    return X - V @ inner


def _q(A, tau, columns):
    """The first columns of Q."""
    return _times(A, tau, eye_like(A, A.meta.shape[-2], columns))


def _check_tau(input, tau, where):
    m, t = input.meta.shape, tau.meta.shape
    if len(t) != len(m) - 1:
        raise RuntimeError(f"{where}: Expected tau to have one dimension less than input, but got tau.ndim equal to {len(t)} and input.ndim is equal to {len(m)}")
    if t[:-1] != m[:-2]:
        raise RuntimeError(f"{where}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(t[:-1])}")
    if tau.meta.dtype is not input.meta.dtype:
        raise RuntimeError(f"{where}: tau dtype {tau.meta.dtype.title} does not match input dtype {input.meta.dtype.title}")


@function(to="linalg", samples=[S(T(4, 3), T(2)), S(T(2, 3, 3), T(2, 3)), S(T(3, 2), T(0))])
def householder_product(A, tau, *, out=None):
    """The first n columns of the product of reflections 1 - tau v v.T, v below the diagonal of A: (*, m, n), (*, k) -> (*, m, n)."""
    where = "torch.linalg.householder_product"
    shape = A.meta.shape
    if len(shape) < 2:
        raise RuntimeError(f"{where}: input must have at least 2 dimensions.")
    if shape[-2] < shape[-1]:
        raise RuntimeError(f"{where}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if shape[-1] < tau.meta.shape[-1]:
        raise RuntimeError(f"{where}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    _check_tau(A, tau, where)
    check_kernel(A, "orgqr_cpu")
    return written(_q(A, tau, shape[-1]), out)


@function(to="torch Tensor", samples=[S(T(4, 3), T(2))])
def orgqr(input, tau, *, out=None):
    """linalg.householder_product()."""
    return householder_product(input, tau, out=out)


@function(to="torch Tensor", samples=[S(T(3, 2), T(2), T(3, 4)), S(T(3, 2), T(2), T(4, 3), left=False, transpose=True)])
def ormqr(input, tau, other, left=True, transpose=False, *, out=None):
    """Q @ other (other @ Q where not ``left``; Q.T for Q where ``transpose``), Q the whole product of the reflections of geqrf."""
    where = "torch.ormqr"
    for x, name in ((input, "input"), (other, "other")):
        if len(x.meta.shape) < 2:
            raise RuntimeError(f"{where}: {name} must have at least 2 dimensions.")
    side, size = ("-2", other.meta.shape[-2]) if left else ("-1", other.meta.shape[-1])
    if size < tau.meta.shape[-1]:
        raise RuntimeError(f"{where}: other.shape[{side}] must be greater than or equal to tau.shape[-1]")
    if size != input.meta.shape[-2]:
        raise RuntimeError(f"{where}: other.shape[{side}] must be equal to input.shape[-2]")
    if tau.meta.shape[-1] != min(size, input.meta.shape[-1]):
        raise RuntimeError(f"{where}: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])")
    _check_tau(input, tau, where)
    if other.meta.dtype is not input.meta.dtype:
        raise RuntimeError(f"{where}: Expected input and other to have the same dtype, but input has dtype {input.meta.dtype.title} "
                           f"and other has dtype {other.meta.dtype.title}")
    check_kernel(input, "ormqr_cpu")
    found = _times(input, tau, other, transpose) if left else _times(input, tau, other.mT, not transpose).mT
    return written(found, out)


# qr
def _gradient(gs, ys, A, mode):
    """By Walter and Lehmann; the columns beyond a square first follow from it."""
    if mode == "r":
        raise RuntimeError("The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, mode='reduced') "
                           "if you are going to differentiate through linalg.qr.")
    (gQ, gR), (Q, R), (m, n) = gs, ys, A.meta.shape[-2:]
    if mode == "complete" and m > n:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    if gQ is None and gR is None:
        return None
    gR = R * 0 if gR is None else gR.triu()
    gQ = Q * 0 if gQ is None else gQ
    if m >= n:
        return _tall_gradient(Q, R, gQ, gR)
    rest = gR[..., m:]
    left = _tall_gradient(Q, R[..., :m], gQ + A[..., m:] @ rest.mT, gR[..., :m])
    return FUNCTIONS["torch"]["cat"]([left, Q @ rest], -1)


def _tall_gradient(Q, R, gQ, gR):
    M = R @ gR.mT - gQ.mT @ Q
    B = gQ + Q @ (M.tril() + M.tril(-1).mT)
    return apply(SOLVE, R, B.mT, upper=True, unit=False).mT


QR = derived("linalg_qr", lambda A, Q, R, *, mode: specs(Q, R), {"A": _gradient}, 2)


def decomposed(A, mode="reduced"):
    """(Q, R) of A = Q R."""
    m, n = A.meta.shape[-2:]
    with no_grad():
        a, tau = apply(GEQRF, A)
        rows = m if mode == "complete" else min(m, n)
        R = a[..., :rows, :].triu()
        Q = A.new_empty((0,)) if mode == "r" else _q(a, tau, rows)
    return apply(QR, A, Q, R, mode=mode)


def _qr(A, mode, where):
    check_matrix(A, where)
    check_float(A, where)
    check_kernel(A, "geqrf_cpu")
    if mode not in ("reduced", "r", "complete"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'")
    return decomposed(A, mode)


QR_SAMPLES = [S(T(4, 3)), S(T(2, 3, 4)), S(T(3, 3), mode="complete"), S(T(3, 0, grad=False), mode="complete"), S(T(4, 2, grad=False), mode="r"), S(T(0, 2, 2))]


def _linalg_qr(A, mode="reduced", *, out=None):
    """(Q, R) of A = Q R: "reduced" (*, m, k), (*, k, n), k = min(m, n); "complete" (*, m, m), (*, m, n); "r" an empty Q."""
    return written(Factors(*_qr(A, mode, "linalg.qr")), out)


function(to="linalg", name="qr", samples=QR_SAMPLES)(_linalg_qr)


@function(to="torch Tensor", samples=[S(T(4, 3)), S(T(2, 2, 2), some=False)])
def qr(input, some=True, *, out=None):
    """(Q, R) of A = Q R, reduced, or complete where not ``some``; see linalg.qr."""
    return written(Older(*_qr(input, "reduced" if some else "complete", "linalg.qr")), out)
