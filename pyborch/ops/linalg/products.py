"""Products and shapes of vectors and matrices that need no decomposition: cross, vecdot, kron, Vandermonde matrices, diagonals."""
from __future__ import annotations

from ... import dtypes
from ... import shape as shapes
from ..registry import FUNCTIONS, S, T, function, in_place
from .common import written




def _linalg_cross(input, other, *, dim=-1, out=None):
    """Cross products of vectors of three along ``dim``; the other dims broadcast."""
    a, b = input.meta.shape, other.meta.shape
    if len(a) != len(b):
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    at = shapes.normalize_dim(dim, len(a))
    if a[at] != 3 or b[at] != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {a[at]} and {b[at]}")
    found = input.roll(-1, at) * other.roll(1, at) - input.roll(1, at) * other.roll(-1, at)
    return written(found, out)


function(to="linalg", name="cross", samples=[S(T(2, 3), T(2, 3)), S(T(3, 2), T(3, 1), dim=0), S(T(0, 3), T(0, 3))])(_linalg_cross)


@function(to="torch Tensor", samples=[S(T(2, 3), T(2, 3)), S(T(3, 3), T(3, 3), 1)])
def cross(input, other, dim=None, *, out=None):
    """Cross products along ``dim``: where that is None, along the first dim of 3."""
    if dim is None:
        dim = next((d for d, n in enumerate(input.meta.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return _linalg_cross(input, other, dim=dim, out=out)


@function(to="linalg", samples=[S(T(2, 3), T(2, 3)), S(T(2, 3), T(3, 2, 1), dim=0), S(T(2, 0), T(2, 0))])
def vecdot(x, y, *, dim=-1, out=None):
    """Sums of products along ``dim``; what is left broadcasts."""
    for t in (x, y):
        if t.meta.dtype.kind not in "fc":
            raise RuntimeError(f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {t.meta.dtype.title}")
    return written((x * y).sum(dim), out)


@function(to="torch Tensor", samples=[S(T(2, 3), T(3, 2)), S(T(2), T(2, 1, 3)), S(T(0, 2), T(2, 2))])
def kron(input, other, *, out=None):
    """Kronecker products: each element of ``input`` times all of ``other``, block by block."""
    a, b = input.meta.shape, other.meta.shape
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    left = input.reshape([n for pair in zip(a, (1,) * rank) for n in pair])
    right = other.reshape([n for pair in zip((1,) * rank, b) for n in pair])
    return written((left * right).reshape([m * n for m, n in zip(a, b)]), out)


def _linalg_vander(x, *, N=None):
    """Vandermonde matrices: x^0, x^1, ... x^(N-1) of each element in a row, (*, n) -> (*, n, N)."""
    shape = x.meta.shape
    N = (shape[-1] if shape else 1) if N is None else N
    if N <= 1:
        raise RuntimeError("N must be greater than 1.")
    if not shape:
        x = x.unsqueeze(0)
    if x.meta.dtype.name == "bool":
        raise RuntimeError("linalg.vander supports floating point, complex, and integer tensors, but got Bool")
    powers = x.unsqueeze(-1).expand(x.meta.shape + (N - 1,)).cumprod(-1)
    return FUNCTIONS["torch"]["cat"]([powers.new_ones(x.meta.shape + (1,)), powers], -1)


function(to="linalg", name="vander", samples=[S(T(3)), S(T(2, 2), N=4), S(T(3, dtype="int64", low=-3, high=3))])(_linalg_vander)


@function(to="torch", samples=[S(T(3, grad=False)), S(T(3, grad=False), 2, True), S(T(3, dtype="int64", low=-3, high=3), N=1)])
def vander(x, N=None, increasing=False):
    """The Vandermonde matrix of a vector, powers decreasing: (n) -> (n, N)."""
    if len(x.meta.shape) != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    N = x.meta.shape[0] if N is None else N
    if N < 0:
        raise RuntimeError("N must be non-negative.")
    dtype = x.meta.dtype if x.meta.dtype.kind in "fc" else dtypes.int64
    if N < 2:
        return FUNCTIONS["torch"]["ones"](x.meta.shape[0], N, dtype=dtype, device=x.meta.device)
    found = _linalg_vander(x.to(dtype), N=N)
    return found if increasing else found.flip(1)


@function(to="torch Tensor", samples=[S(T(2, 3)), S(T(2, 0, 3))])
def adjoint(input):
    """The last two dims swapped (a view), and complex numbers conjugated."""
    if len(input.meta.shape) == 1:
        raise RuntimeError(f"tensor.adjoint() is only supported on matrices or batches of matrices. Got {len(input.meta.shape)}-D tensor.")
    return input.mT if input.meta.dtype.kind != "c" else input.mT.conj()


def _linalg_diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """A view of the diagonals of matrices: torch.diagonal of the last two dims."""
    return A.diagonal(offset, dim1, dim2)


function(to="linalg", name="diagonal", samples=[S(T(2, 3, 4)), S(T(3, 3), offset=1)])(_linalg_diagonal)


def _linalg_matmul(input, other, *, out=None):
    """torch.matmul."""
    return FUNCTIONS["torch"]["matmul"](input, other, out=out)


function(to="linalg", name="matmul", samples=[S(T(2, 3), T(3, 2))])(_linalg_matmul)

for _name in ("addmm", "addmv", "addr", "addbmm", "baddbmm"):
    FUNCTIONS["Tensor"][_name + "_"] = in_place(FUNCTIONS["torch"][_name])
