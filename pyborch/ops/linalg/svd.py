"""Singular values and vectors: LAPACK's on the cpu device, by Jacobi's rotations on the GPU."""
from __future__ import annotations

from ...autograd import apply, is_grad_enabled, no_grad
from ...errors import LinAlgError
from ..registry import FUNCTIONS, Op, S, T, function, result_type
from .common import batch_words, check_float, check_kernel, check_matrix, derived, eye_like, specs, written
from .jacobi import orthogonalized, scaled
from .qr import decomposed

Parts, Older = result_type("linalg_svd", "U S Vh"), result_type("svd", "U S V")


def _shape(A, *, full):
    *batch, m, n = A.shape
    k = min(m, n)
    return [((*batch, m, m if full else k), A.dtype), ((*batch, k), A.dtype), ((*batch, n if full else k, n), A.dtype)]


def _reference(np, A, *, full):
    _refuse_infinite(np, A)
    if A.size:
        return tuple(np.linalg.svd(A, full_matrices=full))
    *batch, m, n = A.shape
    k = min(m, n)
    U, Vh = (np.broadcast_to(np.eye(*size, dtype=A.dtype), (*batch, *size)).copy() for size in ((m, m if full else k), (n if full else k, n)))
    return U, np.zeros((*batch, k), A.dtype), Vh


def _refuse_infinite(np, A):
    bad = ~np.isfinite(A).all((-2, -1))
    if bad.any():
        raise LinAlgError(f"linalg.svd: {batch_words(int(bad.reshape(-1).argmax()), bad)}The algorithm failed to converge because the input "
                          "matrix contained non-finite values.")


def _values_numpy(np, A):
    _refuse_infinite(np, A)
    return np.linalg.svd(A, compute_uv=False) if A.size else np.zeros((*A.shape[:-2], min(A.shape[-2:])), A.dtype)


LAPACK_SVD = Op("lapack_svd", _shape, None, _reference, doc="U, S and Vh by LAPACK, on the cpu device.")
LAPACK_VALUES = Op("lapack_svdvals", lambda A: ((*A.shape[:-2], min(A.shape[-2:])), A.dtype), None, _values_numpy, doc="S by LAPACK, on the cpu device.")
LAPACK_SVD.has_card = LAPACK_VALUES.has_card = False


def _by_rotations(A, full):
    """U, S, Vh by Jacobi: with A V = W, S are the lengths of W's columns. U is Q of W = Q R, since that is orthogonal for zero columns too;
    R is diagonal, and its signs are U's."""
    m, n = A.meta.shape[-2:]
    if m < n:
        U, S_, Vh = _by_rotations(A.mT, full)
        return Vh.mT, S_, U.mT
    if not A.meta.numel:
        U = eye_like(A, m, m if full else n).clone()
        return U, A.new_zeros(A.meta.shape[:-2] + (n,)), eye_like(A, n).clone()
    A, s = scaled(A)
    W, V = orthogonalized(A)
    Q, R = decomposed(W, "complete" if full else "reduced")
    d = R.diagonal(0, -2, -1)
    sign = FUNCTIONS["torch"]["where"](d < 0, -1.0, 1.0)
    if full and m > n:
        sign = FUNCTIONS["torch"]["cat"]([sign, sign.new_ones(sign.meta.shape[:-1] + (m - n,))], -1)
    return Q * sign.unsqueeze(-2), (W * W).sum(-2).sqrt() * s.squeeze(-1), V.mT


def _gradient(gs, ys, A):
    (gU, gS, gVh), (U, S_, Vh), (m, n) = gs, ys, A.meta.shape[-2:]
    if gU is None and gVh is None:
        return None if gS is None else _between(U, gS, Vh)
    k = min(m, n)
    U, Vh = U[..., :k], Vh[..., :k, :]
    squares = S_ * S_
    E = squares.unsqueeze(-2) - squares.unsqueeze(-1)
    E = E + eye_like(E)
    inner = 0
    if gS is not None:
        inner = gS.diag_embed()
    if gU is not None:
        gU = gU[..., :k]
        UgU = U.mT @ gU
        inner = inner + (UgU - UgU.mT) / E * S_.unsqueeze(-2)
    if gVh is not None:
        gVh = gVh[..., :k, :]
        VgV = Vh @ gVh.mT
        inner = inner + S_.unsqueeze(-1) * ((VgV - VgV.mT) / E)
    found = U @ inner @ Vh
    if gU is not None and m > k:
        rest = gU / S_.unsqueeze(-2)
        found = found + (rest - U @ (U.mT @ rest)) @ Vh
    if gVh is not None and n > k:
        rest = gVh / S_.unsqueeze(-1)
        found = found + U @ (rest - rest @ Vh.mT @ Vh)
    return found


def _between(U, s, Vh):
    k = s.meta.shape[-1]
    return U[..., :k] * s.unsqueeze(-2) @ Vh[..., :k, :]


SVD = derived("linalg_svd", lambda A, U, S, Vh: specs(U, S, Vh), {"A": _gradient}, 3)
VALUES = derived("linalg_svdvals", lambda A, U, Vh, S: specs(S), {"A": lambda g, A, U, Vh: _values_gradient(g, A, U, Vh)})


def _values_gradient(g, A, U, Vh):
    if is_grad_enabled():
        U, _, Vh = decomposed_svd(A)
    return _between(U, g, Vh)


def _parts(A, full):
    with no_grad():
        return apply(LAPACK_SVD, A, full=full) if A.meta.device.type == "cpu" else _by_rotations(A, full)


def decomposed_svd(A, full=False):
    """(U, S, Vh) of A = U S Vh, with its gradient."""
    return apply(SVD, A, *_parts(A, full))


def singular_values(A):
    """S, decreasing, with its gradient; without vectors where no one needs them."""
    if A.requires_grad and is_grad_enabled():
        U, S_, Vh = _parts(A, False)
        return apply(VALUES, A, U, Vh, S_)
    if A.meta.device.type == "cpu":
        return apply(LAPACK_VALUES, A)
    with no_grad():
        return _values_by_rotations(A)


def _values_by_rotations(A):
    A = A.mT if A.meta.shape[-2] < A.meta.shape[-1] else A
    if not A.meta.numel:
        return A.new_zeros(A.meta.shape[:-2] + A.meta.shape[-1:])
    A, s = scaled(A)
    W, _ = orthogonalized(A)
    return (W * W).sum(-2).sqrt() * s.squeeze(-1)


def _check(A, driver, where="linalg.svd"):
    check_matrix(A, where)
    check_float(A, where)
    check_kernel(A, "linalg_svd_cpu")
    if driver is not None:
        raise RuntimeError("torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.")


def _linalg_svd(A, full_matrices=True, *, driver=None, out=None):
    """(U, S, Vh) of A = U diag(S) Vh, S decreasing: (*, m, m), (*, k), (*, n, n); U and Vh of k = min(m, n) columns and rows where not ``full_matrices``.

    Signs of vectors are not determined; gradients of U and Vh want them not to matter, and singular values to be distinct.
    """
    _check(A, driver)
    return written(Parts(*decomposed_svd(A, bool(full_matrices))), out)


function(to="linalg", name="svd", samples=[S(T(0, 2, 2), False), S(T(3, 0, grad=False))])(_linalg_svd)


@function(to="linalg", samples=[S(T(4, 3)), S(T(2, 2, 3)), S(T(2, 0)), S(T(3, 3, values=(0.0,) * 9, grad=False)), S(T(20, 17, grad=False))])
def svdvals(A, *, driver=None, out=None):
    """The singular values of (*, m, n) matrices, decreasing: (*, min(m, n))."""
    _check(A, driver, "linalg.svdvals")
    return written(singular_values(A), out)


@function(to="torch Tensor", samples=[S(T(3, 3, grad=False), compute_uv=False)])
def svd(input, some=True, compute_uv=True, *, out=None):
    """(U, S, V), not V transposed; U and V are square where not ``some``, and zeros where not ``compute_uv``. See linalg.svd."""
    if len(input.meta.shape) < 2:
        raise RuntimeError(f"linalg.svd: input should have at least 2 dimensions, but has {len(input.meta.shape)} dimensions instead")
    _check(input, None)
    if compute_uv:
        U, S_, Vh = decomposed_svd(input, not some)
        return written(Older(U, S_, Vh.mT), out)
    *batch, m, n = input.meta.shape
    return written(Older(input.new_zeros((*batch, m, m)), singular_values(input), input.new_zeros((*batch, n, n))), out)
