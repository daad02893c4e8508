"""Linear systems of square matrices: solve, inverses, determinants, and powers of matrices; all by LU."""
from __future__ import annotations

from ... import shape as shapes
from ...autograd import apply, is_grad_enabled, no_grad
from ..registry import FUNCTIONS, S, T, function, result_type
from .common import check_float, check_kernel, check_matrix, check_square, derived, expand_batches, eye_like, specs, written
from .lu import factored, solve_factored
from .triangular import check_same, check_shapes

SolveInfo, InverseInfo = result_type("linalg_solve_ex", "result info"), result_type("linalg_inv_ex", "inverse info")
SignAndLog, OlderSignAndLog = result_type("linalg_slogdet", "sign logabsdet"), result_type("slogdet", "sign logabsdet")
NEAR_ONE = lambda t: t + t.new_ones(3).diag() * 2  # noqa: E731
MATRICES = [S(T(3, 3, view=NEAR_ONE)), S(T(2, 3, 3, view=NEAR_ONE)), S(T(2, 3, 3, view=lambda t: NEAR_ONE(t).mT)), S(T(0, 0)), S(T(0, 3, 3))]


def _transposed_solve(A, LU, pivots, g):
    """X of A.T X = g; of A itself where that has to have a history."""
    return _solved(A.mT, g)[0] if is_grad_enabled() else solve_factored(LU, pivots, g, adjoint=True)


SOLVED = derived("linalg_solve", lambda A, B, LU, pivots, X: specs(X), {
    "A": lambda g, A, LU, pivots, y: -_transposed_solve(A, LU, pivots, g) @ y.mT,
    "B": lambda g, A, LU, pivots: _transposed_solve(A, LU, pivots, g)})
DET = derived("linalg_det", lambda A, LU, pivots, det: specs(det), {"A": lambda g, A, LU, pivots, y: _det_gradient(g * y, A, LU, pivots)})
LOG_DET = derived("linalg_slogdet", lambda A, LU, pivots, sign, logabsdet: specs(sign, logabsdet), {
    "A": lambda gs, A, LU, pivots: None if gs[1] is None else _transposed_solve(A, LU, pivots, eye_like(A) * gs[1][..., None, None])}, 2)


def _det_gradient(g, A, LU, pivots):
    """Zeros on U's diagonal become tiny, since the gradient of a determinant is finite all the same."""
    if is_grad_enabled():
        LU, pivots, _ = factored(A)
    d = LU.diagonal(0, -2, -1)
    tiny = (d == 0).to(d.meta.dtype) * {"float32": 2.0**-23, "float64": 2.0**-52}[d.meta.dtype.name]
    return solve_factored(LU + tiny.diag_embed(), pivots, eye_like(A) * g[..., None, None], adjoint=True)


def _solved(A, B, minds=None):
    """(X, info) of A X = B, matrices of one batch shape."""
    with no_grad():
        LU, pivots, info = factored(A, minds)
        X = solve_factored(LU, pivots, B)
    return apply(SOLVED, *expand_batches(A, B), *_expanded(LU, pivots, X), X), info


def _expanded(LU, pivots, X):
    batch = X.meta.shape[:-2]
    return LU.expand(batch + LU.meta.shape[-2:]), pivots.expand(batch + pivots.meta.shape[-1:])


def _is_vector(A, B):
    """Whether B is a vector, or a batch of them as A is one of matrices."""
    return len(B.meta.shape) == 1 or len(A.meta.shape) - 1 == len(B.meta.shape) and B.meta.shape == A.meta.shape[:-1]


def _solve(A, B, left, minds):
    where = "linalg.solve"
    check_square(A, where)
    check_float(A, where)
    check_same(A, B, where)
    vector = _is_vector(A, B)
    if vector:
        B = B.unsqueeze(-1)
    check_matrix(B, where, "B")
    if vector and not left:
        raise RuntimeError("linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. "
                           "In this case linalg.solve is equivalent to B / A.squeeze(-1)")
    check_shapes(A, B, left, where)
    check_kernel(A, "lu_cpu")
    A, B = expand_batches(A, B)
    X, info = _solved(A, B, minds) if left else _solved(A.mT, B.mT, minds)
    return (X.squeeze(-1) if vector else X if left else X.mT), info


@function(to="linalg", samples=[S(T(3, 3, view=NEAR_ONE), T(3, 2)), S(T(3, 3, view=NEAR_ONE), T(3)), S(T(2, 3, 3, view=NEAR_ONE), T(2, 3)),
                                S(T(2, 1, 3, 3, view=NEAR_ONE), T(4, 3, 2)), S(T(3, 3, view=NEAR_ONE), T(2, 3), left=False), S(T(0, 0), T(0, 2))])
def solve(A, B, *, left=True, out=None):
    """X of A X = B (X A = B where not ``left``): (*, n, n), and (*, n, k) or (*, n), which is taken as one column.

    Singular matrices raise LinAlgError on the cpu device; on WebGPU, which does not wait for the answer, they give inf and nan.
    """
    return written(_solve(A, B, left, "solve")[0], out)


@function(to="linalg", samples=[S(T(3, 3, view=NEAR_ONE), T(3, 2))])
def solve_ex(A, B, *, left=True, check_errors=False, out=None):
    """(solve(A, B), info): info is 0, or the place of the zero that makes A singular; raises for that only where ``check_errors``."""
    return written(SolveInfo(*_solve(A, B, left, "solve" if check_errors else None)), out)


def _inverse(A, minds):
    where = "linalg.inv"
    check_square(A, where)
    check_float(A, where, half=False)
    return _solved(A, eye_like(A), minds)


@function(to="linalg", samples=MATRICES)
def inv(A, *, out=None):
    """The inverses of (*, n, n) matrices. Singular ones raise LinAlgError on the cpu device, and give inf and nan on WebGPU."""
    return written(_inverse(A, "inv")[0], out)


function(to="torch Tensor", name="inverse", samples=MATRICES[:1])(inv)


@function(to="linalg", samples=MATRICES[:2])
def inv_ex(A, *, check_errors=False, out=None):
    """(inverse, info): info is 0, or the place of the zero that makes A singular; raises for that only where ``check_errors``."""
    return written(InverseInfo(*_inverse(A, "inv" if check_errors else None)), out)


# tensors as matrices
@function(to="linalg", samples=[S(T(4, 2, 2, view=lambda t: t + t.new_ones(4).diag().reshape(4, 2, 2) * 2), ind=1)])
def tensorinv(A, ind=2, *, out=None):
    """The inverse of ``A`` as the matrix of its first ``ind`` dims by the others; tensordot(A, it, A.ndim - ind) is the identity."""
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    shape = A.meta.shape
    rows, columns = shapes.numel(shape[:ind]), shapes.numel(shape[ind:])
    if rows != columns:
        raise RuntimeError(f"Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got {columns} != {rows}")
    return written(inv(A.reshape(rows, columns)).reshape(shape[ind:] + shape[:ind]), out)


@function(to="linalg", samples=[S(T(4, 2, 2, view=lambda t: t + t.new_ones(4).diag().reshape(4, 2, 2) * 2), T(4)),
                                S(T(2, 4, 2, view=lambda t: t + t.new_ones(4).diag().reshape(2, 4, 2) * 2), T(4), dims=(0,))])
def tensorsolve(A, B, dims=None, *, out=None):
    """X of tensordot(A, X, X.ndim) = B; ``dims`` of A are moved to its end first."""
    A = A if dims is None else A.movedim(tuple(dims), tuple(range(-len(dims), 0)))
    shape = A.meta.shape[len(B.meta.shape):]
    count, wanted = shapes.numel(shape), B.meta.numel
    if count != wanted:
        raise RuntimeError("Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
                           f"but got {count} != {wanted}")
    return written(solve(A.reshape(count, count), B.reshape(-1)).reshape(shape), out)


# determinants
def _diagonal(LU, pivots):
    """(U's diagonal, 1 or -1 for an even or odd number of swaps)."""
    k = pivots.meta.shape[-1]
    swaps = (pivots != FUNCTIONS["torch"]["arange"](1, k + 1, device=LU.meta.device, dtype=pivots.meta.dtype)).sum(-1)
    return LU.diagonal(0, -2, -1), (1 - 2 * (swaps % 2)).to(LU.meta.dtype)


@function(to="linalg torch Tensor", samples=[*MATRICES, S(T(2, 2, values=(0.0, 2.0, 3.0, 1.0)))])
def det(A, *, out=None):
    """The determinants of (*, n, n) matrices."""
    check_square(A, "linalg.det")
    check_float(A, "linalg.det")
    check_kernel(A, "lu_cpu")
    with no_grad():
        LU, pivots, _ = factored(A)
        d, sign = _diagonal(LU, pivots)
        found = d.prod(-1) * sign
    return written(apply(DET, A, LU, pivots, found), out)


def _sign_and_log(A, where):
    check_square(A, where)
    check_float(A, where, half=False)
    with no_grad():
        LU, pivots, _ = factored(A)
        d, sign = _diagonal(LU, pivots)
        found = d.sign().prod(-1) * sign, d.abs().log().sum(-1)
    return apply(LOG_DET, A, LU, pivots, *found)


def _linalg_slogdet(A, *, out=None):
    """(sign, log of the absolute value) of the determinants of (*, n, n) matrices; (0, -inf) for singular ones."""
    return written(SignAndLog(*_sign_and_log(A, "linalg.slogdet")), out)


function(to="linalg", name="slogdet", samples=MATRICES)(_linalg_slogdet)


@function(to="torch Tensor", samples=MATRICES[:2])
def slogdet(input):
    """(sign, log of the absolute value) of the determinants of (*, n, n) matrices."""
    return OlderSignAndLog(*_sign_and_log(input, "linalg.slogdet"))


@function(to="torch Tensor", samples=MATRICES + [S(T(2, 2, values=(0.0, 2.0, 3.0, 1.0)))])
def logdet(input):
    """The log of the determinants of (*, n, n) matrices: nan for negative ones, -inf for singular ones."""
    sign, found = _sign_and_log(input, "logdet")
    return FUNCTIONS["torch"]["where"](sign == -1, float("nan"), found)


# powers
@function(to="linalg", samples=[S(T(3, 3), 3), S(T(2, 3, 3, view=NEAR_ONE), -2), S(T(3, 3), 0), S(T(3, 3), 1), S(T(3, 3, dtype="int64", low=-3, high=3), 5)])
def matrix_power(A, n, *, out=None):
    """(*, m, m) matrices times themselves, ``n`` times in all; the inverse's power where n is negative."""
    check_square(A, "linalg.matrix_power")
    return written(_power(A, n), out)


def _power(A, n):
    if n == 0:
        return A.clone().copy_(eye_like(A))
    if n == 1:
        return A.clone()
    if n < 0:
        A, n = inv(A), -n
    result = None
    while n:
        if n % 2:
            result = A if result is None else result @ A
        n //= 2
        if n:
            A = A @ A
    return result


function(to="torch Tensor", name="matrix_power", samples=[S(T(3, 3), 2)])(matrix_power)


@function(to="torch Tensor", samples=[S(T(3, 3)), S(T(3, 4)), S(T(2, 2, dtype="int64", low=-9, high=9)), S(T(0, 3))])
def trace(input):
    """The sum of a matrix's diagonal."""
    if len(input.meta.shape) != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {len(input.meta.shape)}")
    return input.diagonal().sum()

