"""The exponential of matrices, by scaling and squaring of a Taylor polynomial."""
from __future__ import annotations

from ...autograd import apply, no_grad
from ..registry import FUNCTIONS, S, T, function
from .common import check_float, check_kernel, check_square, derived, eye_like, specs

DEGREE = 18
RADIUS = {"float32": 3.01, "float64": 1.09}     # the polynomial is right to the dtype's precision for matrices of this norm
SQUARINGS = 12              # norms up to RADIUS * 4096; what is larger becomes infinite, or less precise
FACTORIALS = [1.0]
for _k in range(1, DEGREE + 1):
    FACTORIALS.append(FACTORIALS[-1] * _k)


def _polynomial(A):
    """The sum of A^k / k! up to DEGREE in six products: powers up to A^4, and Horner's rule in A^4."""
    eye = eye_like(A)
    A2 = A @ A
    A3 = A2 @ A
    powers, A4 = (eye, A, A2, A3), A2 @ A2
    result = None
    for start in range(DEGREE - DEGREE % 4, -1, -4):
        terms = sum(p * (1 / FACTORIALS[start + i]) for i, p in enumerate(powers) if start + i <= DEGREE)
        result = terms if result is None else terms + result @ A4
    return result


def _exponential(A):
    norm = A.abs().sum(-2).amax(-1)
    times = (norm / RADIUS[A.meta.dtype.name]).log2().ceil().clamp(0, SQUARINGS)[..., None, None]
    result = _polynomial(A * (-times).exp2())
    for i in range(SQUARINGS):
        result = FUNCTIONS["torch"]["where"](times > i, result @ result, result)
    return result


def _gradient(g, A):
    """The upper right block of exp([[A.T, g], [0, A.T]])."""
    cat, n = FUNCTIONS["torch"]["cat"], A.meta.shape[-1]
    At = A.mT
    upper, lower = cat([At, g], -1), cat([At * 0, At], -1)
    return _public(cat([upper, lower], -2))[..., :n, n:]


MATRIX_EXP = derived("matrix_exp", lambda A, y: specs(y), {"A": _gradient})


def _public(A):
    with no_grad():
        found = _exponential(A)
    return apply(MATRIX_EXP, A, found)


@function(to="linalg torch Tensor", samples=[S(T(3, 3)), S(T(2, 2, 2, low=-6, high=6), tol=1e-3), S(T(0, 2, 2)), S(T(2, 0, 0)), S(T(1, 1))])
def matrix_exp(A):
    """The exponentials of (*, n, n) matrices: the sum of A^k / k! over all k."""
    check_square(A, "linalg.matrix_exp")
    check_float(A, "linalg.matrix_exp", half=False)
    check_kernel(A, "matrix_exp_cpu")
    n = A.meta.shape[-1]
    if not A.meta.numel:
        return A.clone()
    return A.exp() if n == 1 else _public(A)
