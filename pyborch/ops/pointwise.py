"""Elementwise arithmetic, comparison and logic; one line adds one. Activations are in activation.py, special functions in special.py."""
from __future__ import annotations

from .registry import S, T, pointwise

turned = lambda t: t.transpose(0, -1)  # noqa: E731
UNARY = [S(T(3, 5, low=-3.0, high=3.0)), S(T(2, 3, 4, view=turned)), S(T(0, 3))]
POSITIVE = [S(T(3, 5, low=0.1, high=4.0)), S(T(2, 3, 4, low=0.1, high=4.0, view=turned))]
UNIT = [S(T(3, 5, low=-0.9, high=0.9)), S(T(7, low=-0.9, high=0.9))]
INTEGERS = T(3, 4, dtype="int64", low=-9, high=9)
BINARY = [S(T(3, 4), T(3, 4)), S(T(2, 1, 4), T(3, 1)), S(T(4, 3, view=turned), T(3, 4)), S(T(3, 4), 2.5), S(T(3, 4), T()), S(T(0, 4), T(4)),
          S(INTEGERS, T(3, 4)), S(INTEGERS, T(3, 1, dtype="int32", low=1, high=9))]
APART = [S(T(3, 4), T(3, 4, low=0.5, high=2.0)), S(T(2, 1, 4), T(3, 1, low=0.5, high=2.0)), S(T(3, 4), 2.5), S(INTEGERS, T(4, dtype="int64", low=1, high=5))]
WHOLE = [S(T(3, 4, dtype="int64", low=-9, high=9), T(4, dtype="int64", low=1, high=7)), S(T(5, dtype="int32", low=0, high=99), 3)]
EQUALS = [S(T(3, 4, low=-2, high=2, dtype="int64"), T(3, 4, low=-2, high=2, dtype="int64")), S(T(3, 4), T(4)), S(T(3, 4), 0.25)]
LOGIC = [S(T(3, 4, dtype="bool"), T(4, dtype="bool")), S(T(3, 4), T(3, 1, dtype="bool"))]


def _refuse_bool_subtract(dtypes, numbers):
    kinds = [*dtypes, *numbers]
    if kinds == ["bool", "bool"]:
        raise RuntimeError("Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead.")
    if "bool" in kinds:
        raise RuntimeError("Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
                           "`logical_not()` operator instead.")


def _refuse_bool_negation(dtypes, numbers):
    if dtypes == ["bool"]:
        raise RuntimeError("Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
                           "`logical_not()` operator instead.")


def _refuse_integer_quotient(dtypes, numbers):
    if not any(d.startswith("float") for d in dtypes[1:]):
        raise RuntimeError("Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true division of "
                           "tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * torch.trunc(tensor1 / tensor2))."
                           "to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) for float inputs. The future addcdiv behavior "
                           "is just the latter implementation: (input + value * tensor1 / tensor2), for all dtypes.")


def _whole(function):
    """A numpy function of two operands that refuses whole numbers over zero, as PyTorch does on the CPU."""
    def divided(np, a, b):
        if np.result_type(a, b).kind in "iu" and not np.all(b):
            raise RuntimeError("ZeroDivisionError")
        return function(np, a, b)
    return divided


def _power_numpy(np, a, b):
    if np.result_type(a, b).kind not in "iu":
        return np.power(a, b)
    minus = np.where(b % 2 == 0, 1, -1)
    return np.where(b < 0, np.where(a == 1, 1, np.where(a == -1, minus, 0)), np.power(a, np.where(b < 0, 0, b)))


BOTH = ("input", "other")
FIRST = ("input",)
PAIRS = [s for s in BINARY if hasattr(s.args[1], "shape")]

# arithmetic
pointwise("clone", lambda m, x: x, grad={"x": lambda m, g: g}, samples=UNARY + [S(INTEGERS)], inplace=False)
pointwise("neg", lambda m, x: -x, check=_refuse_bool_negation, grad={"x": lambda m, g: -g}, samples=UNARY + [S(INTEGERS)])
pointwise("abs", wgsl="abs(x)", numpy="abs", refuse=("abs_cpu", "b"), grad={"x": lambda m, g, x: g * m.sign(x)}, samples=UNARY + [S(INTEGERS)])
pointwise("sign", lambda m, x: m.where(m.isnan(x), x, m.where(x > 0, 1, m.where(x < 0, -1, 0))), grad={"x": lambda m, g: g * 0},
          samples=UNARY + [S(INTEGERS)])
pointwise("square", lambda m, x: x * x, grad={"x": lambda m, g, x: g * (x + x)}, to="")
pointwise("add", lambda m, a, b: a + b, grad={"a": lambda m, g: g, "b": lambda m, g: g}, to="")
pointwise("sub", lambda m, a, b: a - b, grad={"a": lambda m, g: g, "b": lambda m, g: -g}, to="", check=_refuse_bool_subtract)
pointwise("mul", lambda m, a, b: a * b, grad={"a": lambda m, g, b: g * b, "b": lambda m, g, a: g * a},
          samples=BINARY + [S(T(3, 4, dtype="bool"), T(3, 4)), S(T(3, dtype="bool"), T(3, dtype="bool"))])
pointwise("true_divide", lambda m, a, b: a / b, kind="float",
          grad={"a": lambda m, g, b: g / b, "b": lambda m, g, a, b: -g * a / (b * b)}, samples=APART)
pointwise("reciprocal", lambda m, x: 1.0 / x, kind="float", grad={"x": lambda m, g, y: -g * y * y}, samples=POSITIVE)
pointwise("maximum", tensors=BOTH,
          wgsl={"f32": "max_nan(a, b)", "i32": "max(a, b)", "u32": "max(a, b)", "bool": "(a || b)"}, numpy="maximum", args="ab",
          samples=PAIRS,
          grad={"a": lambda m, g, a, b: g * m.where(a == b, 0.5, m.where(a > b, 1.0, 0.0)),
                "b": lambda m, g, a, b: g * m.where(a == b, 0.5, m.where(b > a, 1.0, 0.0))})
pointwise("minimum", tensors=BOTH,
          wgsl={"f32": "min_nan(a, b)", "i32": "min(a, b)", "u32": "min(a, b)", "bool": "(a && b)"}, numpy="minimum", args="ab",
          samples=PAIRS,
          grad={"a": lambda m, g, a, b: g * m.where(a == b, 0.5, m.where(a < b, 1.0, 0.0)),
                "b": lambda m, g, a, b: g * m.where(a == b, 0.5, m.where(b < a, 1.0, 0.0))})
pointwise("fmax", lambda m, a, b: m.where(m.isnan(a), b, m.where(m.isnan(b), a, m.maximum(a, b))), tensors=BOTH, samples=PAIRS,
          grad={"a": lambda m, g, a, b: g * m.where((a >= b) | m.isnan(b), 1.0, 0.0), "b": lambda m, g, a, b: g * m.where((a >= b) | m.isnan(b), 0.0, 1.0)})
pointwise("fmin", lambda m, a, b: m.where(m.isnan(a), b, m.where(m.isnan(b), a, m.minimum(a, b))), tensors=BOTH, samples=PAIRS,
          grad={"a": lambda m, g, a, b: g * m.where((a <= b) | m.isnan(b), 1.0, 0.0), "b": lambda m, g, a, b: g * m.where((a <= b) | m.isnan(b), 0.0, 1.0)})
pointwise("remainder", wgsl={"f32": "floor_mod(a, b)", "i32": "floor_mod_int(a, b)", "u32": "(a % b)"}, numpy=_whole(lambda np, a, b: np.mod(a, b)), args="ab",
                       refuse=("remainder_cpu", "b"),
                       grad={"a": lambda m, g: g, "b": lambda m, g, a, b: -g * m.floor(a / b)}, samples=APART)
pointwise("fmod", wgsl={"f32": "fmod_exact(a, b)", "i32": "(a % b)", "u32": "(a % b)"}, args="ab",
          numpy=_whole(lambda np, a, b: np.fmod(a, b)), refuse=("fmod_cpu", "b"), tensors=FIRST,
          grad={"a": lambda m, g: g, "b": lambda m, g, a, b: -g * m.trunc(a / b)}, samples=APART)
pointwise("floor_divide", wgsl={"f32": "floor(a / b)", "i32": "floor_div_int(a, b)", "u32": "(a / b)"}, args="ab", samples=APART,
          numpy=_whole(lambda np, a, b: np.floor_divide(a, b)), refuse=("div_floor_cpu", "b"))
pointwise("_floor_divide", wgsl={"f32": "floor(a / b)", "i32": "floor_div_int(a, b)", "u32": "(a / b)"}, args="ab", to="",
          numpy=_whole(lambda np, a, b: np.floor_divide(a, b)), refuse=("div_floor_cpu", "b"),
          grad={"a": lambda m, g: g * 0, "b": lambda m, g, b: g * b * 0})
pointwise("_trunc_divide", wgsl={"f32": "trunc(a / b)", "i32": "(a / b)", "u32": "(a / b)"}, args="ab", to="",
          numpy=_whole(lambda np, a, b: np.trunc(a / b) if a.dtype.kind == "f" else (a - np.fmod(a, b)) // b), refuse=("div_trunc_cpu", "b"),
          grad={"a": lambda m, g: g * 0, "b": lambda m, g, b: g * b * 0})
pointwise("pow", wgsl={"f32": "power(a, b)", "i32": "power_int(a, b)", "u32": "u32(power_int(i32(a), i32(b)))"}, numpy=_power_numpy, args="ab", to="",
          grad={"a": lambda m, g, a, b: g * m.where(b == 0, 0.0, b * m.pow(a, b - 1)),
                "b": lambda m, g, a, b, y: g * m.where((a == 0) & (b >= 0), 0.0, y * m.log(a))})
pointwise("atan2", tensors=BOTH, wgsl="arc_tangent2(a, b)", numpy="arctan2", args="ab", kind="float", samples=PAIRS,
          grad={"a": lambda m, g, a, b: g * b / (a * a + b * b), "b": lambda m, g, a, b: -g * a / (a * a + b * b)})
pointwise("hypot", lambda m, a, b: m.sqrt(a * a + b * b), kind="float", tensors=BOTH, samples=PAIRS[:5], refuse=("hypot_cpu", "bui"),
          grad={"a": lambda m, g, a, y: g * a / y, "b": lambda m, g, b, y: g * b / y})
pointwise("lerp", lambda m, a, b, weight: a + weight * (b - a), refuse=("lerp_kernel_scalar", "bui"),
          samples=[S(T(3, 4), T(4), 0.25), S(T(3, 4), T(3, 4), T(3, 4))],
          grad={"a": lambda m, g, weight: g * (1.0 - weight), "b": lambda m, g, weight: g * weight, "weight": lambda m, g, a, b: g * (b - a)})
pointwise("addcmul", lambda m, x, a, b, *, value=1.0: x + value * a * b, samples=[S(T(3, 4), T(4), T(3, 1), value=0.5)],
          grad={"x": lambda m, g: g, "a": lambda m, g, b, value: g * value * b, "b": lambda m, g, a, value: g * value * a})
pointwise("addcdiv", lambda m, x, a, b, *, value=1.0: x + value * (a / b), check=_refuse_integer_quotient,
          samples=[S(T(3, 4), T(4), T(3, 1, low=0.5, high=2.0), value=0.5)],
          grad={"x": lambda m, g: g, "a": lambda m, g, b, value: g * value / b, "b": lambda m, g, a, b, value: -g * value * a / (b * b)})

# rounding
STEPS = [S(T(4, 5, low=-3.0, high=3.0)), S(T(7, values=(-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.0))), S(INTEGERS)]
for _name, _function, _numpy in (("floor", "floor", "floor"), ("ceil", "ceil", "ceil"), ("trunc", "trunc", "trunc"), ("_round", "round", "rint")):
    pointwise(_name, wgsl={"f32": f"{_function}(x)", "i32": "x", "u32": "x"}, grad={"x": lambda m, g: g * 0}, samples=STEPS,
              to="" if _name[0] == "_" else "torch Tensor", refuse=(f"{_name.strip('_')}_vml_cpu", "b"),
              numpy=lambda np, x, _numpy=_numpy: getattr(np, _numpy)(x) if getattr(x, "dtype", np.dtype(float)).kind == "f" else x)
pointwise("frac", lambda m, x: x - m.trunc(x), refuse=("frac_cpu", "bui"), grad={"x": lambda m, g: g}, samples=STEPS[:2])

# comparison: bool results, no gradient
pointwise("eq", lambda m, a, b: a == b, kind="compare", tensors=FIRST, samples=EQUALS)
pointwise("ne", wgsl={"f32": "(!(a == b) || is_nan(a) || is_nan(b))", "i32": "(a != b)", "u32": "(a != b)", "bool": "(a != b)"}, numpy="not_equal",
          args="ab", kind="compare", samples=EQUALS, tensors=FIRST)  # WGSL's != is false for NaN
pointwise("lt", lambda m, a, b: a < b, kind="compare", tensors=FIRST, samples=EQUALS)
pointwise("le", lambda m, a, b: a <= b, kind="compare", tensors=FIRST, samples=EQUALS)
pointwise("gt", lambda m, a, b: a > b, kind="compare", tensors=FIRST, samples=EQUALS)
pointwise("ge", lambda m, a, b: a >= b, kind="compare", tensors=FIRST, samples=EQUALS)
SPECIAL = [S(T(6, values=(float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.5), grad=False)), S(INTEGERS)]
_always = lambda value: lambda np, x: np.full(np.shape(x), value)  # noqa: E731
pointwise("isnan", wgsl={"f32": "is_nan(x)", "i32": "(x != x)", "u32": "(x != x)", "bool": "(x != x)"}, numpy="isnan", kind="compare", inplace=False, samples=SPECIAL)
pointwise("isinf", wgsl={"f32": "is_inf(x)", "i32": "(x != x)", "u32": "(x != x)", "bool": "(x != x)"}, numpy="isinf", kind="compare", inplace=False, samples=SPECIAL)
pointwise("isfinite", lambda m, x: ~(m.isnan(x) | m.isinf(x)), kind="compare", inplace=False, samples=SPECIAL)
pointwise("isposinf", lambda m, x: m.isinf(x) & (x > 0), kind="compare", inplace=False, samples=SPECIAL)
pointwise("isneginf", lambda m, x: m.isinf(x) & (x < 0), kind="compare", inplace=False, samples=SPECIAL)
pointwise("signbit", wgsl={"f32": "((bitcast<u32>(x) >> 31u) == 1u)", "i32": "(x < 0)", "u32": "(x < x)"}, numpy="signbit", kind="compare", inplace=False,
          samples=SPECIAL)
pointwise("_isclose", lambda m, a, b, *, rtol, atol, equal_nan=False: (a == b) | (m.abs(a * 1.0 - b) <= atol + m.abs(rtol * b)) & m.isfinite(b)
          | m.isnan(a) & m.isnan(b) & equal_nan, kind="compare", to="")

# logic and bits
pointwise("logical_and", tensors=BOTH, formula=lambda m, a, b: a & b, kind="bool", samples=LOGIC)
pointwise("logical_or", tensors=BOTH, formula=lambda m, a, b: a | b, kind="bool", samples=LOGIC)
pointwise("logical_xor", tensors=BOTH, formula=lambda m, a, b: a ^ b, kind="bool", samples=LOGIC)
pointwise("logical_not", lambda m, x: ~x, kind="bool", samples=[S(T(5, dtype="bool")), S(T(5, values=(0.0, 1.0, -2.0, 0.0, 3.0)))])
BITS = [S(INTEGERS, T(4, dtype="int64", low=0, high=15)), S(INTEGERS, 6)]
FLAGS = [S(T(3, 4, dtype="bool"), T(4, dtype="bool"))]
pointwise("bitwise_and", refuse=("bitwise_and_cpu", "f"), formula=lambda m, a, b: a & b, samples=BITS + FLAGS)
pointwise("bitwise_or", refuse=("bitwise_or_cpu", "f"), formula=lambda m, a, b: a | b, samples=BITS + FLAGS)
pointwise("bitwise_xor", refuse=("bitwise_xor_cpu", "f"), formula=lambda m, a, b: a ^ b, samples=BITS + FLAGS)
pointwise("bitwise_not", lambda m, x: ~x, refuse=("bitwise_not_cpu", "f"), samples=[S(INTEGERS), S(T(5, dtype="bool"))])
SHIFTS = [S(INTEGERS, T(4, dtype="int64", low=0, high=5)), S(INTEGERS, 2)]



def _bits(np, a):
    return 8 * np.result_type(a).itemsize


pointwise("bitwise_left_shift", wgsl={"i32": "select(a << u32(b), 0, b < 0 || b > 31)", "u32": "select(a << b, 0u, b > 31u)"}, args="ab", samples=SHIFTS,
          numpy=lambda np, a, b: np.where((b < 0) | (b >= _bits(np, a)), 0, np.left_shift(a, b)), refuse=("lshift_cpu", "bf"))
pointwise("bitwise_right_shift", wgsl={"i32": "(a >> select(u32(b), 31u, b < 0 || b > 31))", "u32": "select(a >> b, 0u, b > 31u)"}, args="ab", samples=SHIFTS,
          numpy=lambda np, a, b: np.right_shift(a, np.where((b < 0) | (b >= _bits(np, a)), _bits(np, a) - 1, b)), refuse=("rshift_cpu", "bf"))

# selection
pointwise("_where", lambda m, condition, a, b: m.where(condition, a, b), fixed={"condition": "bool"}, to="",
          grad={"a": lambda m, g, condition: m.where(condition, g, 0.0), "b": lambda m, g, condition: m.where(condition, 0.0, g)})
pointwise("clamp_min", tensors=FIRST, refuse=("clamp_min_scalar_cpu", "b"),
          wgsl={"f32": "max_nan(x, min)", "i32": "max(x, min)", "u32": "max(x, min)"}, numpy="maximum", args=("x", "min"),
          grad={"x": lambda m, g, x, min: m.where(x >= min, g, 0.0), "min": lambda m, g, x, min: m.where(x < min, g, 0.0)},
          samples=[S(T(3, 4), 0.25), S(T(3, 4), T(4)), S(INTEGERS, -2)])
pointwise("clamp_max", tensors=FIRST, refuse=("clamp_max_scalar_cpu", "b"),
          wgsl={"f32": "min_nan(x, max)", "i32": "min(x, max)", "u32": "min(x, max)"}, numpy="minimum", args=("x", "max"),
          grad={"x": lambda m, g, x, max: m.where(x <= max, g, 0.0), "max": lambda m, g, x, max: m.where(x > max, g, 0.0)},
          samples=[S(T(3, 4), 0.25), S(T(3, 4), T(4)), S(INTEGERS, -2)])
pointwise("_clamp", lambda m, x, min, max: m.minimum(m.maximum(x, min), max), to="",
          grad={"x": lambda m, g, x, min, max: m.where((x >= min) & (x <= max), g, 0.0),
                "min": lambda m, g, x, min, max: m.where((x < min) & (min < max), g, 0.0),
                "max": lambda m, g, x, min, max: m.where((x > max) | (max < min), g, 0.0)})
pointwise("_nan_to_num", lambda m, x, *, nan, posinf, neginf: m.where(m.isnan(x), nan, m.where(m.isposinf(x), posinf, m.where(m.isneginf(x), neginf, x))),
          grad={"x": lambda m, g, x: m.where(m.isfinite(x), g, 0.0)}, to="")
