"""Triangular systems: solve_triangular and the older triangular_solve."""
from __future__ import annotations

from ... import kernels
from ... import shape as shapes
from ...autograd import apply
from ..pointwise_plan import copy
from ..registry import Op, S, T, function, result_type
from .common import check_kernel, check_matrix, check_square, expand_batches, written

LANES = 64
TriangularResult = result_type("triangular_solve", "solution cloned_coefficient")


def _run(plan, A, B, X, *, upper, unit):
    *batch, n, columns = B.meta.shape
    count = shapes.numel(batch)
    if not B.meta.numel:
        return
    sizes, (strides,) = shapes.collapse(batch, [A.meta.strides[:-2]])
    if len(sizes) > 1:
        A = plan.contiguous(A)
        strides = (n * n,)
    copy(plan, B, X)
    words = [count, n, columns, A.meta.offset, strides[0] if strides else 0, *A.meta.strides[-2:]]
    plan.dispatch(kernels.from_file("triangular", {"LANES": LANES, "UPPER": upper, "UNIT": unit}), [A, X], words, count * columns)


def _reference(np, A, B, *, upper, unit):
    X, n = np.array(B), A.shape[-1]
    for i in reversed(range(n)) if upper else range(n):
        known = slice(i + 1, n) if upper else slice(0, i)
        X[..., i, :] -= np.matmul(A[..., i:i + 1, known], X[..., known, :])[..., 0, :]
        if not unit:
            X[..., i, :] /= A[..., i, i, None]
    return X


def _a_gradient(g, A, y, upper, unit):
    found = -apply(SOLVE, A.mT, g, upper=not upper, unit=unit) @ y.mT
    return found.triu(int(unit)) if upper else found.tril(-int(unit))


SOLVE = Op("solve_triangular", lambda A, B, *, upper, unit: (B.shape, B.dtype), _run, _reference,
           {"A": _a_gradient, "B": lambda g, A, upper, unit: apply(SOLVE, A.mT, g, upper=not upper, unit=unit)},
           doc="X of A X = B for triangular A, of as many batch dims as B.")


def solve_lower(A, B):
    """X of A X = B for lower triangular A with ones on the diagonal."""
    return apply(SOLVE, *expand_batches(A, B), upper=False, unit=True)


def solve_upper(A, B):
    """X of A X = B for upper triangular A."""
    return apply(SOLVE, *expand_batches(A, B), upper=True, unit=False)


TRIANGLE = lambda t: t + t.new_ones(3).diag() * 2  # noqa: E731
SAMPLES = [S(T(3, 3, view=TRIANGLE), T(3, 2), upper=True), S(T(2, 1, 3, 3, view=TRIANGLE), T(4, 3, 2), upper=False),
           S(T(3, 3), T(2, 3), upper=False, left=False, unitriangular=True), S(T(0, 0), T(0, 2), upper=True)]


@function(to="linalg", samples=SAMPLES)
def solve_triangular(A, B, *, upper, left=True, unitriangular=False, out=None):
    """X of A X = B, or of X A = B where not ``left``, A triangular: (*, n, n), (*, n, k) -> (*, n, k).

    The other triangle is not read, nor the diagonal where ``unitriangular``. RuntimeError where shapes or dtypes do not fit.
    """
    where = "linalg.solve_triangular"
    check_square(A, where)
    check_matrix(B, where, "B")
    check_same(A, B, where)
    check_shapes(A, B, left, where)
    check_kernel(A, "triangular_solve_cpu")
    A, B = expand_batches(A, B)
    if left:
        return written(apply(SOLVE, A, B, upper=bool(upper), unit=bool(unitriangular)), out)
    return written(apply(SOLVE, A.mT, B.mT, upper=not upper, unit=bool(unitriangular)).mT, out)


def check_same(A, B, where):
    """RuntimeError where dtypes differ."""
    if A.meta.dtype is not B.meta.dtype:
        raise RuntimeError(f"{where}: Expected A and B to have the same dtype, but found A of type {A.meta.dtype.title} "
                           f"and B of type {B.meta.dtype.title} instead")


def check_shapes(A, B, left, where):
    """RuntimeError where no X can be (``left``: A X = B, else X A = B)."""
    a, b = A.meta.shape[-2:], B.meta.shape[-2:]
    if (a[0] != b[0]) if left else (a[1] != b[1]):
        raise RuntimeError(f"{where}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
                           f"({a[0]}x{a[1]} and {b[0]}x{b[1]})")


def check_older(B, A, name, prefix=""):
    """The checks of the functions that came before torch.linalg."""
    for x, letter in ((B, "b"), (A, "A")):
        if len(x.meta.shape) < 2:
            said = f"{prefix}Expected {letter} to have at least 2 dimensions, but it has" if prefix else f"{letter} should have at least 2 dimensions, but has"
            raise RuntimeError(f"{said} {len(x.meta.shape)} dimensions instead")
    if A.meta.dtype is not B.meta.dtype:
        raise RuntimeError(f"Expected b and A to have the same dtype, but found b of type {B.meta.dtype.title} and A of type {A.meta.dtype.title} instead.")
    a, b = A.meta.shape[-2:], B.meta.shape[-2:]
    if a[0] != a[1]:
        raise RuntimeError(f"A must be batches of square matrices, but they are {a[0]} by {a[1]} matrices")
    if a[0] != b[0]:
        raise RuntimeError(f"Incompatible matrix sizes for {name}: each A matrix is {a[0]} by {a[0]} but each b matrix is {b[0]} by {b[1]}")


@function(to="torch Tensor", samples=[S(T(3, 2), T(3, 3, view=TRIANGLE)), S(T(3, 2), T(2, 3, 3, view=TRIANGLE), upper=False, transpose=True)])
def triangular_solve(b, A, upper=True, transpose=False, unitriangular=False, *, out=None):
    """(X of A X = b, or of A.T X = b where ``transpose``; A), A triangular: (*, n, k), (*, n, n). See linalg.solve_triangular."""
    check_older(b, A, "triangular_solve", "torch.triangular_solve: ")
    check_kernel(A, "triangular_solve_cpu")
    A, b = expand_batches(A, b)
    X = apply(SOLVE, A.mT, b, upper=not upper, unit=bool(unitriangular)) if transpose else apply(SOLVE, A, b, upper=bool(upper), unit=bool(unitriangular))
    return written(TriangularResult(X, A.clone()), out)
