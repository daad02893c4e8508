"""Activation functions, each one fused elementwise kernel (torch.nn.functional)."""
from __future__ import annotations

import math

from .. import shape as shapes
from ..autograd import apply, state
from .pointwise import UNARY
from .registry import FUNCTIONS, OPS, S, T, function, in_place, pointwise
from .special import WIDE

EDGES = [S(T(7, values=(-3.0, -1.0, -0.0, 0.0, 1.0, 3.0, 6.0)))]
_SQRT_HALF, _GELU_SLOPE = math.sqrt(0.5), math.sqrt(2 / math.pi)


def _refuse_bool(words):
    def check(dtypes, numbers):
        if dtypes == ["bool"]:
            raise RuntimeError(words)
    return check


pointwise("relu", lambda m, x: m.maximum(x, 0), check=_refuse_bool("Boolean inputs not supported for relu"),
          grad={"x": lambda m, g, y: m.where(y <= 0, 0.0, g)}, samples=UNARY + WIDE, to="torch Tensor F")
pointwise("relu6", lambda m, x: m.minimum(m.maximum(x, 0), 6), check=_refuse_bool("Bool inputs not supported for hardtanh"),
          grad={"x": lambda m, g, x: m.where((x > 0) & (x < 6), g, 0.0)},
          samples=UNARY + EDGES, to="F")
pointwise("leaky_relu", lambda m, x, *, negative_slope=0.01: m.where(x > 0, x, x * negative_slope),
          refuse=("leaky_relu_cpu", "bui"),
          grad={"x": lambda m, g, x, negative_slope: m.where(x > 0, g, g * negative_slope)}, samples=UNARY + [S(T(3, 4), 0.2)], to="F")
pointwise("elu", lambda m, x, *, alpha=1.0: m.where(x > 0, x, alpha * m.expm1(x)), kind="float",
          refuse=("elu_cpu", "bui"),
          grad={"x": lambda m, g, x, alpha: m.where(x > 0, g, g * alpha * m.exp(x))}, samples=UNARY + [S(T(3, 4), alpha=0.5)], to="F")
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
pointwise("selu", lambda m, x: m.where(x > 0, _SELU_SCALE * x, _SELU_SCALE * _SELU_ALPHA * m.expm1(x)), kind="float",
          refuse=("elu_cpu", "bui"),
          grad={"x": lambda m, g, x: m.where(x > 0, g * _SELU_SCALE, g * _SELU_SCALE * _SELU_ALPHA * m.exp(x))}, samples=UNARY, to="torch F")
pointwise("celu", lambda m, x, *, alpha=1.0: m.where(x > 0, x, alpha * m.expm1(x / alpha)), kind="float",
          refuse=("elu_cpu", "bui"),
          grad={"x": lambda m, g, x, alpha: m.where(x > 0, g, g * m.exp(x / alpha))}, samples=UNARY + [S(T(3, 4), alpha=2.0)], to="torch F")
pointwise("silu", lambda m, x: x * m.sigmoid(x), kind="float",
          refuse=("silu_cpu", "bui"),
          grad={"x": lambda m, g, x: g * m.sigmoid(x) * (1.0 + x * (1.0 - m.sigmoid(x)))}, samples=UNARY, to="F")
pointwise("softplus", lambda m, x, *, beta=1.0, threshold=20.0: m.where(x * beta > threshold, x, m.log1p(m.exp(m.minimum(x * beta, threshold))) / beta),
          refuse=("softplus_cpu", "bui"),
          kind="float", grad={"x": lambda m, g, x, beta, threshold: m.where(x * beta > threshold, g, g * m.sigmoid(x * beta))},
          samples=UNARY + [S(T(5, low=-9, high=9), 2.0, 5.0)], to="F")
pointwise("mish", lambda m, x: x * m.tanh(m.softplus(x, beta=1.0, threshold=20.0)), kind="float", samples=UNARY, to="F",
          refuse=("mish_cpu", "bui"),
          grad={"x": lambda m, g, x: g * (m.tanh(m.softplus(x, beta=1.0, threshold=20.0))
                                          + x * m.sigmoid(x) * (1.0 - m.square(m.tanh(m.softplus(x, beta=1.0, threshold=20.0)))))})
pointwise("_gelu_erf", lambda m, x: 0.5 * x * (1.0 + m.erf(x * _SQRT_HALF)), kind="float", to="",
          refuse=("GeluKernelImpl", "bui"),
          grad={"x": lambda m, g, x: g * (0.5 * (1.0 + m.erf(x * _SQRT_HALF)) + x * m.exp(-0.5 * x * x) * (0.5 * _GELU_SLOPE))})
pointwise("_gelu_tanh", lambda m, x: 0.5 * x * (1.0 + m.tanh(_GELU_SLOPE * (x + 0.044715 * x * x * x))), kind="float", to="",
          refuse=("GeluKernelImpl", "bui"),
          grad={"x": lambda m, g, x: g * (0.5 * (1.0 + m.tanh(_GELU_SLOPE * (x + 0.044715 * x * x * x)))
                                          + 0.5 * x * (1.0 - m.square(m.tanh(_GELU_SLOPE * (x + 0.044715 * x * x * x))))
                                          * (_GELU_SLOPE * (1.0 + 0.134145 * x * x)))})
pointwise("hardsigmoid", lambda m, x: m.minimum(m.maximum(x + 3.0, 0.0), 6.0) / 6.0, kind="float",
          refuse=("hardsigmoid_cpu", "bui"),
          grad={"x": lambda m, g, x: m.where((x > -3) & (x < 3), g / 6.0, 0.0)}, samples=UNARY, to="F")
pointwise("hardswish", lambda m, x: x * m.minimum(m.maximum(x + 3.0, 0.0), 6.0) / 6.0, kind="float", samples=UNARY, to="F",
          refuse=("hardswish_cpu", "bui"),
          grad={"x": lambda m, g, x: m.where(x <= -3, 0.0, m.where(x < 3, g * (x / 3.0 + 0.5), g))})
pointwise("hardtanh", lambda m, x, *, min_val=-1.0, max_val=1.0: m.minimum(m.maximum(x, min_val), max_val), samples=UNARY + [S(T(3, 4), -0.5, 0.25)], to="F",
          check=_refuse_bool("Bool inputs not supported for hardtanh"),
          grad={"x": lambda m, g, x, min_val, max_val: m.where((x > min_val) & (x < max_val), g, 0.0)})
pointwise("logsigmoid", lambda m, x: m.minimum(x, 0) - m.log1p(m.exp(-m.abs(x))), kind="float", grad={"x": lambda m, g, x: g * m.sigmoid(-x)},
          refuse=("log_sigmoid_cpu", "bui"),
          samples=UNARY, to="F")
pointwise("softsign", lambda m, x: x / (m.abs(x) + 1.0), kind="float", grad={"x": lambda m, g, x: g / m.square(m.abs(x) + 1.0)}, samples=UNARY, to="F")
pointwise("tanhshrink", lambda m, x: x - m.tanh(x), kind="float", grad={"x": lambda m, g, x: g * m.square(m.tanh(x))}, samples=UNARY, to="F")
pointwise("hardshrink", lambda m, x, *, lambd=0.5: m.where((x >= -lambd) & (x <= lambd), 0, x), samples=UNARY + [S(T(3, 4), 0.2)], to="torch Tensor F",
          refuse=("hardshrink_cpu", "bui"),
          inplace=False, grad={"x": lambda m, g, x, lambd: m.where((x >= -lambd) & (x <= lambd), 0.0, g)})
pointwise("softshrink", lambda m, x, *, lambd=0.5: m.where(x > lambd, x - lambd, m.where(x < -lambd, x + lambd, x * 0)), samples=UNARY + [S(T(3, 4), 0.2)],
          refuse=("softshrink_check", "bui"),
          to="F", grad={"x": lambda m, g, x, lambd: m.where((x >= -lambd) & (x <= lambd), 0.0, g)})
pointwise("threshold", lambda m, x, *, threshold, value: m.where(x > threshold, x, value), samples=[S(T(3, 4), 0.1, 20.0)], to="torch F",
          grad={"x": lambda m, g, x, threshold: m.where(x > threshold, g, 0.0)})
pointwise("prelu", lambda m, x, weight: m.where(x > 0, x, x * weight), to="",
          refuse=("prelu_cpu", "bui"),
          grad={"x": lambda m, g, x, weight: m.where(x > 0, g, g * weight), "weight": lambda m, g, x: m.where(x > 0, 0.0, g * x)})


def _refuse_numbers(name, args, values):
    """PyTorch's errors for parameters outside their range."""
    given = {**dict(zip(args, values[0])), **values[1]}
    if name == "celu" and given.get("alpha", 1) == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    if name == "hardtanh" and given.get("min_val", -1.0) > given.get("max_val", 1.0):
        raise ValueError("min_val cannot be greater than max_val")
    if name == "softshrink" and given.get("lambd", 0.5) < 0:
        raise RuntimeError(f"lambda must be in range [0, 3.40282e+38] for input dtype Float, but found {given['lambd']:g}")


def _with_inplace(name, args):
    """F.name with torch.nn.functional's ``inplace`` flag, and F.name_."""
    plain = FUNCTIONS["F"][name]

    def call(input, *args, inplace=False, **kwargs):
        if names and (args or kwargs):
            _refuse_numbers(name, names, (args, kwargs))
        return plain(input, *args, out=input, **kwargs) if inplace else plain(input, *args, **kwargs)
    names = args.split()
    call.__name__, call.__doc__ = name, plain.__doc__
    FUNCTIONS["F"][name] = call
    if name in ("celu", "elu", "hardtanh", "leaky_relu", "relu", "selu", "threshold"):
        FUNCTIONS["F"][name + "_"] = in_place(plain)


for _name, _args in {"relu": "", "relu6": "", "leaky_relu": "", "elu": "", "selu": "", "celu": "alpha", "silu": "", "mish": "", "hardsigmoid": "",
                     "hardswish": "", "hardtanh": "min_val max_val", "threshold": "", "softshrink": "lambd"}.items():
    _with_inplace(_name, _args)
for _name in ("celu", "selu", "threshold"):
    FUNCTIONS["torch"][_name + "_"] = FUNCTIONS["F"][_name + "_"]


@function(to="F", samples=[*UNARY, S(T(3, 4), approximate="tanh")])
def gelu(input, approximate="none"):
    """Gaussian error linear unit, x * Phi(x); ``approximate="tanh"`` takes the tanh form. Same shape and dtype."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return apply(OPS["_gelu_erf" if approximate == "none" else "_gelu_tanh"], input)


@function(to="torch Tensor F", name="prelu", samples=[S(T(2, 3, 4), T(3)), S(T(3, 4), T(1))])
def _prelu(input, weight):
    """x where positive, else weight * x; ``weight`` has one element or one per channel (dim 1)."""
    if weight.dim() > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.dim()}")
    if input.meta.dtype is not weight.meta.dtype and state.autocast is None:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {input.meta.dtype.title} and {weight.meta.dtype.title}")
    channels = input.shape[1] if input.dim() > 1 else 1
    if weight.numel() == 1:
        weight = weight.reshape(())
    else:
        if not input.dim():
            raise RuntimeError("Not allow zero-dim input tensor.")
        if weight.numel() != channels:
            raise RuntimeError(f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {weight.numel()} "
                               f"and channel size = {channels}.")
        weight = weight.reshape((channels,) + (1,) * (input.dim() - 2))
    return apply(OPS["prelu"], input, weight)


@function(to="F", samples=[S(T(3, 8), 1), S(T(4, 3), 0)])
def glu(input, dim=-1):
    """First half times sigmoid of the second half along ``dim``, whose size must be even."""
    if not input.dim():
        raise RuntimeError("glu does not support scalars because halving size must be even")
    dim = shapes.normalize_dim(dim, input.dim())
    if input.shape[dim] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {input.shape[dim]}")
    a, b = input.chunk(2, dim)
    return a * b.sigmoid()


@function(to="torch F", samples=[S(T(3, 4))])
def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """x where positive, else x times a slope drawn from [lower, upper] in training, their mean otherwise."""
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if training:
        from .random import random_of
        slope = random_of("uniform", input.shape, input.meta.dtype, input.meta.device, float(lower), float(upper))
    else:
        slope = (lower + upper) / 2
    result = apply(OPS["prelu"], input, slope)
    return input.copy_(result) if inplace else result


def _rrelu_in_place(input, lower=1.0 / 8, upper=1.0 / 3, training=False):
    """In-place version of :func:`rrelu`."""
    return rrelu(input, lower, upper, training, inplace=True)


FUNCTIONS["torch"]["rrelu_"] = FUNCTIONS["F"]["rrelu_"] = _rrelu_in_place
