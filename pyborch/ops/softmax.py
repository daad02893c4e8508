"""softmax and log_softmax over any dim, each forward and backward one kernel."""
from __future__ import annotations

from .. import shape as shapes
from ..autograd import apply
from .arithmetic import cast
from .reduce import _as_dtype, _upcast
from .registry import Op, S, T, function
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
                  grad={("g", "y"): lambda gs, tensors, dim: _softmax_second(gs[0], tensors[0], tensors[1], dim)})
LOG_SOFTMAX_GRAD = Op("log_softmax_grad", lambda g, y, *, dim: (g.shape, g.dtype), _backward(True),
                      lambda np, g, y, *, dim: g - np.exp(y) * g.sum(dim, keepdims=True),
                      grad={("g", "y"): lambda gs, tensors, dim: _log_softmax_second(gs[0], tensors[0], tensors[1], dim)})


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


SOFTMAX = Op("softmax", _same, _forward(False), _softmax_numpy, grad={"x": lambda g, y, dim: softmax_gradient(g, y, dim)})
LOG_SOFTMAX = Op("log_softmax", _same, _forward(True), _log_softmax_numpy, grad={"x": lambda g, y, dim: apply(LOG_SOFTMAX_GRAD, g, y, dim=dim)})
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
