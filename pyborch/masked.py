"""Functions of the elements that a mask (bool, broadcast to the input) keeps: torch.masked. The others count as what changes nothing."""
from __future__ import annotations

import math

from . import dtypes
from .ops.registry import FUNCTIONS, namespace

__all__ = ["amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median", "norm", "normalize", "prod", "softmax",
           "softmin", "std", "sum", "var"]
TORCH, LINALG = namespace("torch"), FUNCTIONS["linalg"]
F = FUNCTIONS["F"]


def _filled(input, mask, value, dtype=None):
    """``input`` with ``value`` where the mask does not hold, in ``dtype``."""
    input = input if dtype is None else input.to(dtype)
    if mask is None:
        return input
    if input.meta.dtype.kind != "f":
        low, high = (0, 1) if input.meta.dtype.kind == "b" else (-(1 << 31), (1 << 31) - 1)
        value = {math.inf: high, -math.inf: low}.get(value, value)
    return TORCH["where"](mask, input, value).to(input.meta.dtype)


def _dims(input, dim):
    return tuple(range(len(input.shape))) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)


def _reduction(name, value, call, doc):
    def function(input, dim=None, *, keepdim=False, dtype=None, mask=None):
        return call(_filled(input, mask, value, dtype), _dims(input, dim), keepdim)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc} over ``dim`` (all dims without) of what ``mask`` keeps; {value} where it keeps nothing."
    return function


def _prod(x, dims, keepdim):
    for d in sorted((d % max(1, len(x.shape)) for d in dims), reverse=True):
        x = x.prod(d, keepdim=keepdim)
    return x


sum = _reduction("sum", 0, lambda x, dims, keepdim: x.sum(dims, keepdim=keepdim), "The sum")
prod = _reduction("prod", 1, _prod, "The product")
amax = _reduction("amax", -math.inf, lambda x, dims, keepdim: x.amax(dims, keepdim=keepdim), "The largest")
amin = _reduction("amin", math.inf, lambda x, dims, keepdim: x.amin(dims, keepdim=keepdim), "The least")


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """log of the sum of exp over ``dim`` of what ``mask`` keeps; -inf where it keeps nothing."""
    return TORCH["logsumexp"](_filled(input, mask, -math.inf, dtype), _dims(input, dim), keepdim=keepdim)


def _count(input, dims, keepdim, mask):
    kept = TORCH["ones"]((), device=input.meta.device) if mask is None else mask.to(dtypes.float32)
    return kept.expand(tuple(input.shape)).sum(dims, keepdim=keepdim)


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The mean over ``dim`` of what ``mask`` keeps; NaN where it keeps nothing."""
    dims = _dims(input, dim)
    total = sum(input, dims, keepdim=keepdim, dtype=dtype, mask=mask)
    return total / _count(input, dims, keepdim, mask).to(total.meta.dtype if total.meta.dtype.kind == "f" else dtypes.float32)


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """The lower median along ``dim`` of what ``mask`` keeps; NaN where it keeps nothing."""
    return TORCH["nanmedian"](_filled(input, mask, math.nan, dtype), dim, keepdim)[0]


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The vector norm over ``dim`` of what ``mask`` keeps."""
    return LINALG["vector_norm"](_filled(input, mask, math.inf if ord < 0 else 0, dtype), ord, _dims(input, dim), keepdim)


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The variance over ``dim`` of what ``mask`` keeps, by its count less ``correction`` (1)."""
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask)


def _variance(input, dim, unbiased, correction, keepdim, dtype, mask):
    dims = _dims(input, dim)
    input = input if dtype is None else input.to(dtype)
    input = input if input.meta.dtype.kind == "f" else input.to(dtypes.get_default_dtype())
    less = (0 if unbiased is False else 1) if correction is None else correction
    count = _count(input, dims, True, mask).to(input.meta.dtype)
    centred = input - sum(input, dims, keepdim=True, mask=mask) / count
    total = sum(centred * centred, dims, keepdim=keepdim, mask=mask)
    count = _count(input, dims, keepdim, mask).to(input.meta.dtype)
    return total / (count - less).clamp(0, None)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The root of var()."""
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask).sqrt()


def _extreme(name, value):
    def function(input, dim=None, *, keepdim=False, dtype=None, mask=None):
        return getattr(_filled(input, mask, value, dtype), name)(dim, keepdim).to(dtype or input.meta.dtype)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = "The place along ``dim`` of the extreme of what ``mask`` keeps, in the dtype of the input."
    return function


argmax, argmin = _extreme("argmax", -math.inf), _extreme("argmin", math.inf)


def _along(name, value, call, doc):
    def function(input, dim, *, dtype=None, mask=None):
        return call(_filled(input, mask, value, dtype), dim)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc} along ``dim`` of what ``mask`` keeps."
    return function


softmax = _along("softmax", -math.inf, lambda x, dim: F["softmax"](x, dim), "The softmax")
log_softmax = _along("log_softmax", -math.inf, lambda x, dim: F["log_softmax"](x, dim), "The logarithm of softmax")
softmin = _along("softmin", math.inf, lambda x, dim: F["softmax"](-x, dim), "The softmax of -input")
cumsum = _along("cumsum", 0, lambda x, dim: x.cumsum(dim), "Running sums")
cumprod = _along("cumprod", 1, lambda x, dim: x.cumprod(dim), "Running products")


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """What ``mask`` keeps, divided by its vector norm along ``dim`` (at least ``eps``)."""
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _filled(input, mask, 0, dtype) / length.clamp(eps, None)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """log(exp(input) + exp(other)) of what their masks keep."""
    return TORCH["logaddexp"](_filled(input, input_mask, -math.inf, dtype), _filled(other, other_mask, -math.inf, dtype))
