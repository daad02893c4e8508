"""Covariances and correlations; integrals by the trapezoidal rule."""
from __future__ import annotations

from .. import shape as shapes
from .registry import S, T, function


def _weights(w, name, kind, count):
    if len(w.meta.shape) > 1:
        raise RuntimeError(f"cov(): expected {name} to have one or fewer dimensions but got {name} with {len(w.meta.shape)} dimensions")
    if (w.meta.dtype.kind == "f") != (kind == "floating point") or w.meta.dtype.name == "bool":
        raise RuntimeError(f"cov(): expected {name} to have {kind} dtype but got {name} with {w.meta.dtype.title} dtype")
    if w.meta.numel != count:
        raise RuntimeError(f"cov(): expected {name} to have the same numel as there are observations in the input but got {w.meta.numel} != {count}")
    if count and w.meta.device.type == "cpu" and w.min().item() < 0:
        raise RuntimeError(f"cov(): {name} cannot be negative")


FREQUENCIES = T(4, dtype="int64", values=(1, 2, 0, 3))


@function(to="torch Tensor", samples=[S(T(3, 4)), S(T(5)),
                                      S(T(2, 4), correction=0, fweights=FREQUENCIES), S(T(2, 4), fweights=FREQUENCIES, aweights=T(4, low=0.1, grad=False))])
def cov(input, *, correction=1, fweights=None, aweights=None):
    """The covariances of variables (rows) over observations (columns): (n, m) -> (n, n), (m) -> a number.

    ``fweights`` (integers) repeat observations, ``aweights`` (floats) weigh them; what is negative is refused on the cpu device.
    """
    shape = input.meta.shape
    if len(shape) > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got an input with {len(shape)} dimensions")
    if input.meta.dtype.name == "bool":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = input if len(shape) == 2 else input.reshape(1, -1)
    count, w = x.meta.shape[1], None
    if fweights is not None:
        _weights(fweights, "fweights", "integral", count)
        w = fweights
    if aweights is not None:
        _weights(aweights, "aweights", "floating point", count)
        w = aweights if w is None else w * aweights
    if w is None:
        mean, factor = x.sum(1) / count if count else x.sum(1) / x.new_zeros(()), max(0, count - correction)
        x = x - mean.unsqueeze(1)
        products = x @ x.mT
        return (products / factor if factor else products / products.new_zeros(())).squeeze()
    total = w.sum()
    if count and w.meta.device.type == "cpu" and total.item() == 0:
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    x = x - ((x * w).sum(1) / total).unsqueeze(1)
    factor = total - correction * (w * aweights).sum() / total if aweights is not None and correction else total - correction
    return (x @ (x * w).mT / factor.clamp_min(0)).squeeze()


@function(to="torch Tensor", samples=[S(T(3, 4)), S(T(4))])
def corrcoef(input):
    """The correlations of variables (rows) over observations (columns): (n, m) -> (n, n)."""
    if len(input.meta.shape) > 2:
        raise RuntimeError(f"corrcoef(): expected input to have two or fewer dimensions but got an input with {len(input.meta.shape)} dimensions")
    c = cov(input)
    if not c.meta.shape:
        return c / c
    spread = c.diagonal().sqrt()
    return (c / spread.unsqueeze(1) / spread).clamp(-1, 1)


# the trapezoidal rule
def _check(y, name):
    if y.meta.dtype.name == "bool":
        raise RuntimeError(f"{name}: received a bool input for `y`, but bool is not supported")


def _steps(x, y, dim, name):
    """Differences of ``x``, shaped to go with the steps of ``y`` along ``dim``."""
    if x.meta.dtype.name == "bool":
        raise RuntimeError(f"{name}: received a bool input for `x`, but bool is not supported")
    rank = len(y.meta.shape)
    if len(x.meta.shape) == 1:
        if x.meta.shape[0] != y.meta.shape[dim]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        x = x.reshape(*[-1 if d == dim else 1 for d in range(rank)])
    elif len(x.meta.shape) < rank:
        x = x.reshape((1,) * (rank - len(x.meta.shape)) + x.meta.shape)
    n = x.meta.shape[dim]
    return x.narrow(dim, 1, n - 1) - x.narrow(dim, 0, n - 1) if n else x


def _pairs(y, dim):
    n = y.meta.shape[dim]
    return y.narrow(dim, 0, n - 1) + y.narrow(dim, 1, n - 1)


@function(to="torch", samples=[S(T(2, 5)), S(T(2, 5), T(5)), S(T(5, 2), dx=0.5, dim=0), S(T(2, 0))])
def trapezoid(y, x=None, *, dx=1, dim=-1):
    """The integral of ``y`` along ``dim`` by the trapezoidal rule, at points ``x`` or ``dx`` apart; that dim goes."""
    _check(y, "trapezoid")
    dim = shapes.normalize_dim(dim, len(y.meta.shape))
    if not y.meta.shape[dim]:
        return y.new_zeros(y.meta.shape[:dim] + y.meta.shape[dim + 1:])
    if x is not None:
        return (_steps(x, y, dim, "trapezoid") * _pairs(y, dim)).sum(dim) / 2
    return (y.sum(dim) - (y.select(dim, 0) + y.select(dim, -1)) * 0.5) * dx


@function(to="torch", samples=[S(T(2, 5), T(5))])
def trapz(y, x=None, *, dx=1, dim=-1):
    """trapezoid()."""
    return trapezoid(y, x, dx=dx, dim=dim)


@function(to="torch", samples=[S(T(2, 5)), S(T(5, 2), T(5, 2), dim=0)])
def cumulative_trapezoid(y, x=None, *, dx=1, dim=-1):
    """Running integrals of ``y`` along ``dim`` by the trapezoidal rule; that dim becomes one shorter."""
    _check(y, "cumulative_trapezoid")
    dim = shapes.normalize_dim(dim, len(y.meta.shape))
    if not y.meta.shape[dim]:
        return y.new_zeros(y.meta.shape)
    step = dx if x is None else _steps(x, y, dim, "cumulative_trapezoid")
    return (step / 2 * _pairs(y, dim)).cumsum(dim)
