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


def _tensors_only(name):
    def check(dtypes, numbers):
        if numbers:
            raise TypeError(f"{name}(): argument 'other' (position 2) must be Tensor, not {numbers[0]}")
    return check


PAIRS = [s for s in BINARY if hasattr(s.args[1], "shape")]

# arithmetic
pointwise("clone", lambda m, x: x, grad={"x": lambda m, g: g}, samples=UNARY + [S(INTEGERS)], inplace=False)
pointwise("neg", lambda m, x: -x, grad={"x": lambda m, g: -g}, samples=UNARY + [S(INTEGERS)])
pointwise("abs", wgsl="abs(x)", numpy="abs", grad={"x": lambda m, g, x: g * m.sign(x)}, samples=UNARY + [S(INTEGERS)])
pointwise("sign", lambda m, x: m.where(m.isnan(x), x, m.where(x > 0, 1, m.where(x < 0, -1, 0))), grad={"x": lambda m, g: g * 0},
          samples=UNARY + [S(INTEGERS)])
pointwise("square", lambda m, x: x * x, grad={"x": lambda m, g, x: g * (x + x)}, samples=UNARY + [S(INTEGERS)])
pointwise("add", lambda m, a, b: a + b, grad={"a": lambda m, g: g, "b": lambda m, g: g}, to="")
pointwise("sub", lambda m, a, b: a - b, grad={"a": lambda m, g: g, "b": lambda m, g: -g}, to="", check=_refuse_bool_subtract)
pointwise("mul", lambda m, a, b: a * b, grad={"a": lambda m, g, b: g * b, "b": lambda m, g, a: g * a},
          samples=BINARY + [S(T(3, 4, dtype="bool"), T(3, 4)), S(T(3, dtype="bool"), T(3, dtype="bool"))])
pointwise("true_divide", lambda m, a, b: a / b, kind="float",
          grad={"a": lambda m, g, b: g / b, "b": lambda m, g, a, b: -g * a / (b * b)}, samples=APART)
pointwise("reciprocal", lambda m, x: 1.0 / x, kind="float", grad={"x": lambda m, g, y: -g * y * y}, samples=POSITIVE)
pointwise("maximum", check=_tensors_only("maximum"),
          wgsl={"f32": "max_nan(a, b)", "i32": "max(a, b)", "u32": "max(a, b)", "bool": "(a || b)"}, numpy="maximum", args="ab",
          samples=PAIRS,
          grad={"a": lambda m, g, a, b: g * m.where(a == b, 0.5, m.where(a > b, 1.0, 0.0)),
                "b": lambda m, g, a, b: g * m.where(a == b, 0.5, m.where(b > a, 1.0, 0.0))})
pointwise("minimum", check=_tensors_only("minimum"),
          wgsl={"f32": "min_nan(a, b)", "i32": "min(a, b)", "u32": "min(a, b)", "bool": "(a && b)"}, numpy="minimum", args="ab",
          samples=PAIRS,
          grad={"a": lambda m, g, a, b: g * m.where(a == b, 0.5, m.where(a < b, 1.0, 0.0)),
                "b": lambda m, g, a, b: g * m.where(a == b, 0.5, m.where(b < a, 1.0, 0.0))})
pointwise("fmax", lambda m, a, b: m.where(m.isnan(a), b, m.where(m.isnan(b), a, m.maximum(a, b))), check=_tensors_only("fmax"), samples=PAIRS,
          grad={"a": lambda m, g, a, b: g * m.where((a >= b) | m.isnan(b), 1.0, 0.0), "b": lambda m, g, a, b: g * m.where((a >= b) | m.isnan(b), 0.0, 1.0)})
pointwise("fmin", lambda m, a, b: m.where(m.isnan(a), b, m.where(m.isnan(b), a, m.minimum(a, b))), check=_tensors_only("fmin"), samples=PAIRS,
          grad={"a": lambda m, g, a, b: g * m.where((a <= b) | m.isnan(b), 1.0, 0.0), "b": lambda m, g, a, b: g * m.where((a <= b) | m.isnan(b), 0.0, 1.0)})
pointwise("remainder", wgsl={"f32": "floor_mod(a, b)", "i32": "floor_mod_int(a, b)", "u32": "(a % b)"}, numpy="mod", args="ab",
                       grad={"a": lambda m, g: g, "b": lambda m, g, a, b: -g * m.floor(a / b)}, samples=APART)
pointwise("fmod", wgsl={"f32": "fmod_exact(a, b)", "i32": "(a % b)", "u32": "(a % b)"}, numpy="fmod", args="ab",
          grad={"a": lambda m, g: g, "b": lambda m, g, a, b: -g * m.trunc(a / b)}, samples=APART)
pointwise("floor_divide", wgsl={"f32": "floor(a / b)", "i32": "floor_div_int(a, b)", "u32": "(a / b)"}, numpy="floor_divide", args="ab", samples=APART)
pointwise("_floor_divide", wgsl={"f32": "floor(a / b)", "i32": "floor_div_int(a, b)", "u32": "(a / b)"}, numpy="floor_divide", args="ab", to="",
          grad={"a": lambda m, g: g * 0, "b": lambda m, g, b: g * b * 0})
pointwise("_trunc_divide", wgsl={"f32": "trunc(a / b)", "i32": "(a / b)", "u32": "(a / b)"}, args="ab", to="",
          numpy=lambda np, a, b: np.trunc(a / b) if a.dtype.kind == "f" else (a - np.fmod(a, b)) // b,
          grad={"a": lambda m, g: g * 0, "b": lambda m, g, b: g * b * 0})
pointwise("pow", wgsl={"f32": "power(a, b)", "i32": "power_int(a, b)", "u32": "u32(power_int(i32(a), i32(b)))"}, numpy="power", args="ab", to="",
          grad={"a": lambda m, g, a, b: g * m.where(b == 0, 0.0, b * m.pow(a, b - 1)),
                "b": lambda m, g, a, b, y: g * m.where((a == 0) & (b >= 0), 0.0, y * m.log(a))})
pointwise("atan2", check=_tensors_only("atan2"), wgsl="arc_tangent2(a, b)", numpy="arctan2", args="ab", kind="float", samples=PAIRS,
          grad={"a": lambda m, g, a, b: g * b / (a * a + b * b), "b": lambda m, g, a, b: -g * a / (a * a + b * b)})
pointwise("hypot", lambda m, a, b: m.sqrt(a * a + b * b), kind="float", check=_tensors_only("hypot"), samples=PAIRS[:5],
          grad={"a": lambda m, g, a, y: g * a / y, "b": lambda m, g, b, y: g * b / y})
pointwise("lerp", lambda m, a, b, weight: a + weight * (b - a), samples=[S(T(3, 4), T(4), 0.25), S(T(3, 4), T(3, 4), T(3, 4))],
          grad={"a": lambda m, g, weight: g * (1.0 - weight), "b": lambda m, g, weight: g * weight, "weight": lambda m, g, a, b: g * (b - a)})
pointwise("addcmul", lambda m, x, a, b, *, value=1.0: x + value * a * b, samples=[S(T(3, 4), T(4), T(3, 1), value=0.5)],
          grad={"x": lambda m, g: g, "a": lambda m, g, b, value: g * value * b, "b": lambda m, g, a, value: g * value * a})
pointwise("addcdiv", lambda m, x, a, b, *, value=1.0: x + value * (a / b), samples=[S(T(3, 4), T(4), T(3, 1, low=0.5, high=2.0), value=0.5)],
          grad={"x": lambda m, g: g, "a": lambda m, g, b, value: g * value / b, "b": lambda m, g, a, b, value: -g * value * a / (b * b)})

# rounding
STEPS = [S(T(4, 5, low=-3.0, high=3.0)), S(T(7, values=(-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.0))), S(INTEGERS)]
for _name, _function, _numpy in (("floor", "floor", "floor"), ("ceil", "ceil", "ceil"), ("trunc", "trunc", "trunc"), ("_round", "round", "rint")):
    pointwise(_name, wgsl={"f32": f"{_function}(x)", "i32": "x", "u32": "x"}, grad={"x": lambda m, g: g * 0}, samples=STEPS,
              to="" if _name[0] == "_" else "torch Tensor",
              numpy=lambda np, x, _numpy=_numpy: getattr(np, _numpy)(x) if getattr(x, "dtype", np.dtype(float)).kind == "f" else x)
pointwise("frac", lambda m, x: x - m.trunc(x), grad={"x": lambda m, g: g}, samples=STEPS[:2])

# comparison: bool results, no gradient
pointwise("eq", lambda m, a, b: a == b, kind="compare", samples=EQUALS)
pointwise("ne", wgsl={"f32": "(!(a == b) || is_nan(a) || is_nan(b))", "i32": "(a != b)", "u32": "(a != b)", "bool": "(a != b)"}, numpy="not_equal",
          args="ab", kind="compare", samples=EQUALS)  # WGSL's != is false for NaN
pointwise("lt", lambda m, a, b: a < b, kind="compare", samples=EQUALS)
pointwise("le", lambda m, a, b: a <= b, kind="compare", samples=EQUALS)
pointwise("gt", lambda m, a, b: a > b, kind="compare", samples=EQUALS)
pointwise("ge", lambda m, a, b: a >= b, kind="compare", samples=EQUALS)
SPECIAL = [S(T(6, values=(float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.5), grad=False)), S(INTEGERS)]
_always = lambda value: lambda np, x: np.full(np.shape(x), value)  # noqa: E731
pointwise("isnan", wgsl={"f32": "is_nan(x)", "i32": "(x != x)", "u32": "(x != x)", "bool": "(x != x)"}, numpy="isnan", kind="compare", inplace=False, samples=SPECIAL)
pointwise("isinf", wgsl={"f32": "is_inf(x)", "i32": "(x != x)", "u32": "(x != x)", "bool": "(x != x)"}, numpy="isinf", kind="compare", inplace=False, samples=SPECIAL)
pointwise("isfinite", lambda m, x: ~(m.isnan(x) | m.isinf(x)), kind="compare", inplace=False, samples=SPECIAL)
pointwise("isposinf", lambda m, x: m.isinf(x) & (x > 0), kind="compare", inplace=False, samples=SPECIAL)
pointwise("isneginf", lambda m, x: m.isinf(x) & (x < 0), kind="compare", inplace=False, samples=SPECIAL)
pointwise("signbit", wgsl={"f32": "((bitcast<u32>(x) >> 31u) == 1u)", "i32": "(x < 0)", "u32": "(x < x)"}, numpy="signbit", kind="compare", inplace=False,
          samples=SPECIAL)
pointwise("_isclose", lambda m, a, b, *, rtol, atol, equal_nan=False: (a == b) | (m.abs(a - b) <= atol + m.abs(rtol * b)) & m.isfinite(b)
          | m.isnan(a) & m.isnan(b) & equal_nan, kind="compare", to="")

# logic and bits
pointwise("logical_and", lambda m, a, b: a & b, kind="bool", samples=LOGIC)
pointwise("logical_or", lambda m, a, b: a | b, kind="bool", samples=LOGIC)
pointwise("logical_xor", lambda m, a, b: a ^ b, kind="bool", samples=LOGIC)
pointwise("logical_not", lambda m, x: ~x, kind="bool", samples=[S(T(5, dtype="bool")), S(T(5, values=(0.0, 1.0, -2.0, 0.0, 3.0)))])
BITS = [S(INTEGERS, T(4, dtype="int64", low=0, high=15)), S(INTEGERS, 6)]
FLAGS = [S(T(3, 4, dtype="bool"), T(4, dtype="bool"))]
pointwise("bitwise_and", lambda m, a, b: a & b, samples=BITS + FLAGS)
pointwise("bitwise_or", lambda m, a, b: a | b, samples=BITS + FLAGS)
pointwise("bitwise_xor", lambda m, a, b: a ^ b, samples=BITS + FLAGS)
pointwise("bitwise_not", lambda m, x: ~x, samples=[S(INTEGERS), S(T(5, dtype="bool"))])
SHIFTS = [S(INTEGERS, T(4, dtype="int64", low=0, high=5)), S(INTEGERS, 2)]
pointwise("bitwise_left_shift", wgsl={"i32": "(a << u32(b))", "u32": "(a << b)"}, numpy="left_shift", args="ab", samples=SHIFTS)
pointwise("bitwise_right_shift", wgsl={"i32": "(a >> u32(b))", "u32": "(a >> b)"}, numpy="right_shift", args="ab", samples=SHIFTS)

# selection
pointwise("_where", lambda m, condition, a, b: m.where(condition, a, b), fixed={"condition": "bool"}, to="",
          grad={"a": lambda m, g, condition: m.where(condition, g, 0.0), "b": lambda m, g, condition: m.where(condition, 0.0, g)})
pointwise("clamp_min", wgsl={"f32": "max_nan(x, min)", "i32": "max(x, min)", "u32": "max(x, min)"}, numpy="maximum", args=("x", "min"),
          grad={"x": lambda m, g, x, min: m.where(x >= min, g, 0.0), "min": lambda m, g, x, min: m.where(x < min, g, 0.0)},
          samples=[S(T(3, 4), 0.25), S(T(3, 4), T(4)), S(INTEGERS, -2)])
pointwise("clamp_max", wgsl={"f32": "min_nan(x, max)", "i32": "min(x, max)", "u32": "min(x, max)"}, numpy="minimum", args=("x", "max"),
          grad={"x": lambda m, g, x, max: m.where(x <= max, g, 0.0), "max": lambda m, g, x, max: m.where(x > max, g, 0.0)},
          samples=[S(T(3, 4), 0.25), S(T(3, 4), T(4)), S(INTEGERS, -2)])
pointwise("_clamp", lambda m, x, min, max: m.minimum(m.maximum(x, min), max), to="",
          grad={"x": lambda m, g, x, min, max: m.where((x >= min) & (x <= max), g, 0.0),
                "min": lambda m, g, x, min, max: m.where((x < min) & (min < max), g, 0.0),
                "max": lambda m, g, x, min, max: m.where((x > max) | (max < min), g, 0.0)})
pointwise("_nan_to_num", lambda m, x, *, nan, posinf, neginf: m.where(m.isnan(x), nan, m.where(m.isposinf(x), posinf, m.where(m.isneginf(x), neginf, x))),
          grad={"x": lambda m, g, x: m.where(m.isfinite(x), g, 0.0)}, to="")
