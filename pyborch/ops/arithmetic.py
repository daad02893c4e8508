"""Public elementwise functions that choose between records by their arguments: add with alpha, div with rounding, clamp, where, casts."""
from __future__ import annotations

from .. import dtypes
from ..autograd import apply
from .pointwise import APART, BINARY, INTEGERS, UNARY, WHOLE
from .registry import FUNCTIONS, OPS, S, T, function, in_place, pointwise


# Casts and copies: ``dtype`` is the result's
pointwise("_to", lambda m, x: x, kind="cast", grad={"x": lambda m, g: g}, to="")
pointwise("_copy", lambda m, x: x, kind="cast", grad={"x": lambda m, g: g}, to="")
OPS["_copy"].overwrites = True


def cast(x, dtype):
    """``x`` in another dtype; the same tensor where it has it."""
    return x if x.meta.dtype is dtype else apply(OPS["_to"], x, dtype=dtype)


@function(to="Tensor", samples=[S(T(3, 4, grad=False), T(4)), S(T(3, 4, grad=False), INTEGERS)])
def copy_(self, src, non_blocking=False):
    """Write the values of ``src`` (broadcast and cast) into this tensor and return it."""
    if not hasattr(src, "meta"):
        raise TypeError(f"copy_(): argument 'other' (position 1) must be Tensor, not {type(src).__name__}")
    if src.meta.device is not self.meta.device:
        src = src.to(self.meta.device.type)
    if src.meta.shape != self.meta.shape:
        src = src.expand(self.meta.shape)
    return apply(OPS["_copy"], src, out=self, dtype=self.meta.dtype)


_plain_add, _plain_sub = OPS["add"], OPS["sub"]


def _scaled(input, other, alpha):
    """alpha * other, where alpha suits the result's dtype."""
    operands = [x for x in (input, other) if hasattr(x, "meta")]
    found = _plain_add.promoted([x.meta for x in operands], [type(x) for x in (input, other) if not hasattr(x, "meta")])
    if type(alpha) is bool and found.kind != "b":
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if type(alpha) is float and found.kind != "f":
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if not hasattr(other, "meta"):
        return alpha * other
    return other if alpha is True else apply(OPS["mul"], other, alpha)


@function(to="torch Tensor", samples=BINARY + [S(T(3, 4), T(4), alpha=2.5), S(T(3, dtype="bool"), T(3, dtype="bool"))])
def add(input, other, *, alpha=1, out=None):
    """input + alpha * other, elementwise; broadcasts and promotes."""
    return apply(_plain_add, input, other if type(alpha) is int and alpha == 1 else _scaled(input, other, alpha), out=out)


@function(to="torch Tensor", samples=BINARY + [S(T(3, 4), T(4), alpha=2.5)])
def sub(input, other, *, alpha=1, out=None):
    """input - alpha * other, elementwise; broadcasts and promotes."""
    return apply(_plain_sub, input, other if type(alpha) is int and alpha == 1 else _scaled(input, other, alpha), out=out)


@function(to="torch Tensor", samples=[S(T(3, 4), T(4)), S(T(3, 4), 2.0)])
def rsub(input, other, *, alpha=1):
    """other - alpha * input."""
    if not hasattr(input, "meta"):
        raise TypeError(f"rsub() received an invalid combination of arguments - got ({type(input).__name__}, {type(other).__name__}), but expected one of:\n"
                        " * (Tensor input, Tensor other, *, Number alpha = 1)\n * (Tensor input, Number other, Number alpha = 1)\n")
    return sub(other, input, alpha=alpha)


@function(to="torch Tensor", samples=APART + [S(*s.args, rounding_mode=r) for s in APART + WHOLE for r in ("floor", "trunc")])
def div(input, other, *, rounding_mode=None, out=None):
    """input / other; ``rounding_mode`` None (true division), "trunc" or "floor"."""
    names = {None: "true_divide", "floor": "_floor_divide", "trunc": "_trunc_divide"}
    if rounding_mode not in names:
        raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")
    return apply(OPS[names[rounding_mode]], input, other, out=out)


@function(to="torch Tensor", samples=[S(T(3, 4, dtype="bool"), T(4), T(3, 1)), S(T(3, 4, dtype="bool"), T(4), 2.0), S(T(3, dtype="bool"), 1, 0)])
def where(condition, input=None, other=None, *, out=None):
    """``input`` where ``condition`` (bool) holds, else ``other``; with one argument, nonzero(as_tuple=True)."""
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if condition.meta.dtype.name not in ("bool", "uint8"):
        raise RuntimeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.meta.dtype.title}")
    return apply(OPS["_where"], condition, input, other, out=out)


def _method_where(self, condition, other):
    """``self`` where ``condition`` holds, else ``other``."""
    return where(condition, self, other)


FUNCTIONS["Tensor"]["where"] = _method_where


@function(to="torch Tensor", samples=[S(T(3, 4), -0.5, 0.25), S(T(3, 4), min=0.1), S(T(3, 4), max=0.1), S(T(3, 4), T(4, high=0.0), T(4, low=0.2)), S(INTEGERS, -2, 3)])
def clamp(input, min=None, max=None, *, out=None):
    """Limit values to [min, max]; either may be None, a number or a tensor."""
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if max is None:
        return apply(OPS["clamp_min"], input, min, out=out)
    if min is None:
        return apply(OPS["clamp_max"], input, max, out=out)
    return apply(OPS["_clamp"], input, min, max, out=out)


@function(to="torch Tensor", samples=[S(T(7, values=(-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.0))), S(T(3, 4, low=-9, high=9), decimals=2), S(INTEGERS)])
def round(input, *, decimals=0, out=None):
    """Nearest whole number, halves to even; ``decimals`` keeps that many places."""
    if decimals == 0:
        return apply(OPS["_round"], input, out=out)
    scale = 10.0 ** abs(decimals)
    scaled = input * scale if decimals > 0 else input / scale
    rounded = apply(OPS["_round"], scaled)
    return div(rounded, scale, out=out) if decimals > 0 else FUNCTIONS["torch"]["mul"](rounded, scale, out=out)


@function(to="torch Tensor", samples=[S(T(5, values=(float("nan"), float("inf"), float("-inf"), 1.0, -2.0))),
                                      S(T(3, values=(float("nan"), float("inf"), 1.0)), 5.0, 6.0)])
def nan_to_num(input, nan=0.0, posinf=None, neginf=None, *, out=None):
    """Replace NaN and infinities (by the dtype's largest finite values unless given)."""
    if input.meta.dtype.kind != "f":
        return input.clone()
    largest = {"float16": 65504.0, "float32": 3.4028234663852886e38, "float64": 1.7976931348623157e308}[input.meta.dtype.name]
    return apply(OPS["_nan_to_num"], input, out=out, nan=0.0 if nan is None else float(nan),
                 posinf=largest if posinf is None else float(posinf), neginf=-largest if neginf is None else float(neginf))


@function(to="torch Tensor", samples=[S(T(3, 4), T(3, 4)), S(T(3, values=(1.0, float("nan"), 2.0)), T(3, values=(1.00000001, float("nan"), 2.1)), equal_nan=True)])
def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether |input - other| <= atol + rtol * |other|, elementwise."""
    for position, (name, x) in enumerate((("input", input), ("other", other))):
        if not hasattr(x, "meta"):
            raise TypeError(f"isclose(): argument '{name}' (position {position + 1}) must be Tensor, not {type(x).__name__}")
    if input.meta.dtype is not other.meta.dtype:
        raise RuntimeError(f"{input.meta.dtype.title} did not match {other.meta.dtype.title}")
    for name, x in (("rtol", rtol), ("atol", atol)):
        if not x >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {x:g}")
    return apply(OPS["_isclose"], input, other, rtol=float(rtol), atol=float(atol), equal_nan=bool(equal_nan))


@function(to="torch Tensor")
def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all elements are close; a Python bool."""
    return bool(isclose(input, other, rtol, atol, equal_nan).all().item())


@function(to="torch Tensor")
def equal(input, other):
    """Whether two tensors have the same shape and elements; a Python bool."""
    if not hasattr(other, "meta"):
        raise TypeError(f"equal(): argument 'other' (position 2) must be Tensor, not {type(other).__name__}")
    return input.shape == other.shape and bool(apply(OPS["eq"], input, other).all().item())


@function(to="torch Tensor", samples=[S(T(3, 4)), S(INTEGERS)])
def positive(input):
    """The tensor itself; TypeError for bool."""
    if input.meta.dtype is dtypes.bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


@function(to="torch Tensor", samples=[S(T(3, 4, low=0.2, high=2.0), T(4)), S(T(3, 4), 2), S(T(3, 4), 3), S(T(3, 4, low=0.1, high=2.0), -1.5),
                                       S(INTEGERS, 3), S(T(3, 4), 0), S(2.0, T(3, 4))])
def pow(input, exponent, *, out=None):
    """input ** exponent, elementwise; either may be a number."""
    if isinstance(exponent, int) and exponent < 0 and hasattr(input, "meta") and input.meta.dtype.kind != "f":
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    return apply(OPS["pow"], input, exponent, out=out)


for _name in "add sub div clamp round nan_to_num pow".split():
    FUNCTIONS["Tensor"][_name + "_"] = in_place(FUNCTIONS["Tensor"][_name])


@function(to="torch Tensor", samples=[*UNARY, S(INTEGERS), S(T(3, dtype="bool"))])
def square(input, *, out=None):
    """x * x, elementwise; int64 for bool."""
    return apply(OPS["square"], cast(input, dtypes.int64) if input.meta.dtype is dtypes.bool_ else input, out=out)


FUNCTIONS["Tensor"]["square_"] = in_place(square)
