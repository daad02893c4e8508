"""Signs, exponents and neighbours of floating-point numbers; gcd and lcm of whole ones; steps and fills."""
from __future__ import annotations

import math

from .. import dtypes
from ..autograd import apply
from .arithmetic import cast
from .pointwise import BOTH, FIRST, INTEGERS
from .registry import FUNCTIONS, OPS, S, T, function, pointwise, result_type

INTEGER_PAIRS = [S(INTEGERS, T(4, dtype="int64", low=-9, high=9)), S(T(3, dtype="int32", values=(0, 12, -18)), T(3, dtype="int32", values=(0, 18, 12)))]
EDGES = T(7, values=(0.0, -0.0, 1.5, -2.0, float("inf"), float("-inf"), float("nan")), grad=False)

pointwise("copysign", lambda m, a, b: m.where(m.signbit(b), -m.abs(a), m.abs(a)), kind="float", tensors=FIRST,
          grad={"a": lambda m, g, a, y: g * m.where(a == 0, 0.0, y / a), "b": lambda m, g: g * 0.0},
          samples=[S(T(3, 4), T(4)), S(T(3, 4), -1.0), S(INTEGERS, -2), S(EDGES, T(7, values=(-0.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0), grad=False))])


def _same_dtype(dtypes, numbers):
    if len(set(dtypes)) > 1:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")


pointwise("heaviside", lambda m, x, values: m.where(x == 0, values, m.where(x > 0, 1, 0)), tensors=("input", "values"), check=_same_dtype,
          samples=[S(EDGES, T(1, grad=False)), S(INTEGERS, T(4, dtype="int64", low=-9, high=9))])
pointwise("nextafter", wgsl="special_nextafter(a, b)", numpy="nextafter", args="ab", kind="float", tensors=BOTH, refuse=("nextafter_cpu", "bui"),
          grad={"a": lambda m, g, a, b: m.where(a == b, 0.0, g), "b": lambda m, g: g * 0.0},
          samples=[S(T(3, 4, grad=False), T(4, grad=False)), S(EDGES, T(1, values=(1.5,), grad=False))])
pointwise("ldexp", lambda m, a, b: a * m.exp2(b), kind="float", tensors=BOTH,
          grad={"a": lambda m, g, b: g * m.exp2(b), "b": lambda m, g, y: g * y * math.log(2)},
          samples=[S(T(3, 4), T(4, dtype="int64", low=0, high=6)), S(INTEGERS, T(3, 1))])
pointwise("_mantissa", wgsl="special_mantissa(x)", numpy=lambda np, x: np.frexp(x)[0], kind="float", to="", grad={"x": lambda m, g, x: g / m.exp2(m._exponent(x))})
pointwise("_exponent", wgsl="special_exponent(x)", numpy=lambda np, x: np.frexp(x)[1], kind="word", to="")
Frexp = result_type("frexp", "mantissa exponent")


@function(to="torch Tensor", samples=[S(T(3, 4, low=-9, high=9)), S(EDGES)])
def frexp(input, *, out=None):
    """(mantissa, exponent): ``input`` is mantissa * 2 ** exponent, with a mantissa in [0.5, 1) or 0; the exponents are int32."""
    if input.meta.dtype.kind != "f":
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    mantissa, exponent = out or (None, None)
    return Frexp(apply(OPS["_mantissa"], input, out=mantissa), apply(OPS["_exponent"], input, out=exponent))


pointwise("gcd", wgsl={"i32": "special_gcd(a, b)", "u32": "u32(special_gcd(i32(a), i32(b)))"}, numpy="gcd", args="ab", tensors=BOTH,
          refuse=("gcd_cpu", "bf"), samples=INTEGER_PAIRS)
pointwise("lcm", wgsl={"i32": "special_lcm(a, b)", "u32": "u32(special_lcm(i32(a), i32(b)))"}, numpy="lcm", args="ab", tensors=BOTH,
          refuse=("lcm_cpu", "bf"), samples=INTEGER_PAIRS)


@function(to="torch Tensor", samples=[S(T(3, 4, dtype="float64", low=0.1, high=2.0), 2), S(2.5, T(3, dtype="float64")),
                                      S(T(3, dtype="float64", low=0.5, high=2.0), T(3, dtype="float64"))])
def float_power(input, exponent, *, out=None):
    """input ** exponent in double precision (float32 on WebGPU, which has no other); either may be a number."""
    tensor = input if hasattr(input, "meta") else exponent
    if not hasattr(tensor, "meta"):
        raise TypeError(f"float_power() received an invalid combination of arguments - got ({type(input).__name__}, {type(exponent).__name__}), but "
                        "expected one of:\n * (Tensor input, Tensor exponent, *, Tensor out = None)\n * (Number self, Tensor exponent, *, Tensor out = "
                        "None)\n * (Tensor input, Number exponent, *, Tensor out = None)\n")
    wide = dtypes.float64 if tensor.meta.device.type == "cpu" else dtypes.float32
    if out is not None and out.meta.dtype is not wide:
        raise RuntimeError(f"the output given to float_power has dtype {out.meta.dtype.title} but the operation's result requires dtype {wide.title}")
    input, exponent = (cast(x, wide) if hasattr(x, "meta") else float(x) for x in (input, exponent))
    return apply(OPS["pow"], input, exponent, out=out)


def _float_power_in_place(self, exponent):
    """In-place version of :func:`float_power`; the tensor has to be float64."""
    if self.meta.dtype is not dtypes.float64:
        raise RuntimeError(f"the base given to float_power_ has dtype {self.meta.dtype.title} but the operation's result requires dtype Double")
    return float_power(self, exponent, out=self)


@function(to="torch Tensor", samples=[S(T(3, 4)), S(INTEGERS)])
def isreal(input):
    """True everywhere: elements of real dtypes have no imaginary part."""
    return FUNCTIONS["torch"]["ones_like"](input, dtype=dtypes.bool_)


@function(to="torch", samples=[S(T(3, 4), 2.5), S(INTEGERS, 3.5), S(T(3, 4), T())])
def fill(input, value):
    """``value``, a number or a 0-d tensor, in the shape and dtype of ``input``."""
    if hasattr(value, "meta") and value.meta.shape:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.dim()} dimensions.")
    return cast(apply(OPS["_where"], FUNCTIONS["torch"]["zeros_like"](input, dtype=dtypes.bool_), input, value), input.meta.dtype)


FUNCTIONS["Tensor"]["float_power_"] = _float_power_in_place
