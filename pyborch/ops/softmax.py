"""softmax and log_softmax over any dim, each forward and backward one kernel."""
from __future__ import annotations

import math

from .. import shape as shapes
from ..autograd import apply
from ..dtypes import float32
from .arithmetic import cast
from .extremes import value_recipe
from .pointwise_plan import plan_part
from .reduce import _as_dtype, _upcast
from .reduce_plan import PRODUCTS, SUMS, plan_reduce
from .registry import OPS, Op, S, T, function, pointwise
from .rows_plan import plan_rows



def geometry(shape, dim):
    """(rows, row length, distance of a row's elements) of a row-major tensor along ``dim``."""
    n = shape[dim] if shape else 1
    inner = shapes.numel(shape[dim + 1:])
    return (shapes.numel(shape) // n if n else 0), n, inner


def _forward(log):
    def run(plan, x, y, *, dim):
        x = plan.contiguous(x)
        rows, n, inner = geometry(x.meta.shape, dim)
        plan_rows(plan, "softmax", rows, n, [x, y], [n, inner, x.meta.offset], {"LOG": log}, {"T": x.meta.dtype.wgsl})
    return run


def _backward(log):
    def run(plan, g, y, out, *, dim):
        g, y = plan.contiguous(g), plan.contiguous(y)
        rows, n, inner = geometry(y.meta.shape, dim)
        plan_rows(plan, "softmax_grad", rows, n, [g, y, out], [n, inner, g.meta.offset, y.meta.offset], {"LOG": log},
                  {"G": g.meta.dtype.wgsl, "T": y.meta.dtype.wgsl})
    return run


pointwise("_softmax_exp", lambda m, x, top: m.exp(x - top), to="")
pointwise("_softmax_share", lambda m, e, total, top: m.where(m.isnan(top) | m.isinf(top), math.nan, e / total), to="")
pointwise("_softmax_log", lambda m, x, total, top: m.where(m.isnan(top) | m.isinf(top), math.nan, x - top - m.log(total)), to="")
pointwise("_softmax_back", lambda m, g, y, s: y * (g - s), to="")
pointwise("_log_softmax_back", lambda m, g, y, s: g - m.exp(y) * s, to="")


def _forward_parts(log):
    def parts(plan, x, y, *, dim):
        shape = tuple(1 if d == dim else n for d, n in enumerate(x.meta.shape))
        top, total, e = plan.temp(shape, float32), plan.temp(shape, float32), plan.temp(x.meta.shape, float32)
        dims = (dim,) if shape else ()
        plan_reduce(plan, [x], [top], dims, value_recipe(float32, True))
        plan_part(plan, OPS["_softmax_exp"], [x, top], [e], {})
        plan_reduce(plan, [e], [total], dims, SUMS["f32"])
        plan_part(plan, OPS["_softmax_log" if log else "_softmax_share"], [x if log else e, total, top], [y], {})
    return parts


def _backward_parts(log):
    def parts(plan, g, y, out, *, dim):
        s = plan.temp(tuple(1 if d == dim else n for d, n in enumerate(y.meta.shape)), float32)
        dims = (dim,) if y.meta.shape else ()
        plan_reduce(plan, [g] if log else [g, y], [s], dims, SUMS["f32"] if log else PRODUCTS)
        plan_part(plan, OPS["_log_softmax_back" if log else "_softmax_back"], [g, y, s], [out], {})
    return parts


def _softmax_numpy(np, x, *, dim):
    x = _upcast(np, x)
    e = np.exp(x - x.max(dim, keepdims=True)) if x.size else x
    return e / e.sum(dim, keepdims=True)


def _log_softmax_numpy(np, x, *, dim):
    x = _upcast(np, x)
    if not x.size:
        return x
    x = x - x.max(dim, keepdims=True)
    return x - np.log(np.exp(x).sum(dim, keepdims=True))


def _same(x, *, dim):
    return x.shape, x.dtype


SOFTMAX_GRAD = Op("softmax_grad", lambda g, y, *, dim: (g.shape, g.dtype), _backward(False),
                  lambda np, g, y, *, dim: y * (g - (g * y).sum(dim, keepdims=True)),
                  parts=_backward_parts(False),
                  grad={("g", "y"): lambda gs, tensors, dim: _softmax_second(gs[0], tensors[0], tensors[1], dim)},
                  doc="The gradient of softmax for its input.")
LOG_SOFTMAX_GRAD = Op("log_softmax_grad", lambda g, y, *, dim: (g.shape, g.dtype), _backward(True),
                      lambda np, g, y, *, dim: g - np.exp(y) * g.sum(dim, keepdims=True),
                      parts=_backward_parts(True),
                      grad={("g", "y"): lambda gs, tensors, dim: _log_softmax_second(gs[0], tensors[0], tensors[1], dim)},
                      doc="The gradient of log_softmax for its input.")


def softmax_gradient(g, y, dim):
    return apply(SOFTMAX_GRAD, g, y, dim=dim)


def _softmax_second(h, g, y, dim):
    """Gradients of y * (g - sum(g * y)) for g and y, given h."""
    inner = (h * y).sum(dim, keepdim=True)
    return h * y - y * inner, h * (g - (g * y).sum(dim, keepdim=True)) - g * inner


def _log_softmax_second(h, g, y, dim):
    """Gradients of g - exp(y) * sum(g) for g and y, given h."""
    e = y.exp()
    return h - (h * e).sum(dim, keepdim=True), -h * e * g.sum(dim, keepdim=True)


SOFTMAX = Op("softmax", _same, _forward(False), _softmax_numpy, parts=_forward_parts(False), grad={"x": lambda g, y, dim: softmax_gradient(g, y, dim)},
             doc="exp(x) / sum(exp(x)) along a dim.")
LOG_SOFTMAX = Op("log_softmax", _same, _forward(True), _log_softmax_numpy, parts=_forward_parts(True),
                 grad={"x": lambda g, y, dim: apply(LOG_SOFTMAX_GRAD, g, y, dim=dim)}, doc="log(softmax(x)) along a dim, without overflow.")
SAMPLES = [S(T(4, 5), dim=-1), S(T(2, 3, 7), dim=1), S(T(3, 4, 5, view=lambda t: t.transpose(0, 2)), dim=0), S(T(3, 300, low=-30, high=30), dim=1), S(T(), dim=0),
           S(T(2, 3, values=(float("-inf"), 1.0, 2.0, 1000.0, 0.0, -1000.0)), dim=1), S(T(0, 3), dim=1)]


def _over(op, input, dim, dtype):
    dtype = _as_dtype(dtype)
    if dtype is None and input.meta.dtype.kind != "f":
        raise NotImplementedError(f'"{op.name}_lastdim_kernel_impl" not implemented for \'{input.meta.dtype.title}\'')
    if dim is None:  # PyTorch's old default, still in torch.nn.functional
        dim = 0 if len(input.meta.shape) in (0, 1, 3) else 1
    return apply(op, cast(input, dtype or input.meta.dtype), dim=shapes.normalize_dim(dim, len(input.meta.shape)))


@function(to="torch Tensor", samples=SAMPLES)
def softmax(input, dim, dtype=None):
    """exp(x) / sum(exp(x)) over ``dim``."""
    return _over(SOFTMAX, input, dim, dtype)


@function(to="torch Tensor", samples=SAMPLES)
def log_softmax(input, dim, dtype=None):
    """log(softmax(x)) over ``dim``, without overflow."""
    return _over(LOG_SOFTMAX, input, dim, dtype)


@function(to="F", name="softmax", samples=[S(T(4, 5), dim=-1)])
def _f_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """exp(x) / sum(exp(x)) over ``dim``."""
    return _over(SOFTMAX, input, dim, dtype)


@function(to="F", name="log_softmax", samples=[S(T(4, 5), dim=-1)])
def _f_log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """log(softmax(x)) over ``dim``."""
    return _over(LOG_SOFTMAX, input, dim, dtype)


@function(to="F", samples=[S(T(4, 5), dim=-1)])
def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmax(-x) over ``dim``."""
    return _over(SOFTMAX, -input, dim, dtype)
