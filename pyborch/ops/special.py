"""Elementwise exponentials, logarithms, trigonometry and special functions."""
from __future__ import annotations

import math

from ..autograd import apply
from .pointwise import BOTH, POSITIVE, UNARY, UNIT
from .registry import OPS, S, T, function, pointwise

WIDE = [S(T(9, values=(float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 100.0, -100.0, 1e-6, -1e-6)))]

pointwise("exp", wgsl="safe_exp(x)", numpy="exp", kind="float", grad={"x": lambda m, g, y: g * y}, samples=UNARY + WIDE)
pointwise("exp2", wgsl="safe_exp2(x)", numpy="exp2", kind="float", grad={"x": lambda m, g, y: g * y * math.log(2)}, samples=UNARY)
pointwise("expm1", wgsl="expm1_precise(x)", numpy="expm1", kind="float", grad={"x": lambda m, g, y: g * (y + 1.0)}, samples=UNARY)
pointwise("log", wgsl="safe_log(x)", numpy="log", kind="float", grad={"x": lambda m, g, x: g / x}, samples=POSITIVE + WIDE)
pointwise("log2", wgsl="safe_log2(x)", numpy="log2", kind="float", grad={"x": lambda m, g, x: g / (x * math.log(2))}, samples=POSITIVE)
pointwise("log10", wgsl="(safe_log(x) * 0.4342944819032518)", numpy="log10", kind="float", grad={"x": lambda m, g, x: g / (x * math.log(10))},
          samples=POSITIVE)
pointwise("log1p", wgsl="log1p_precise(x)", numpy="log1p", kind="float", grad={"x": lambda m, g, x: g / (x + 1.0)}, samples=POSITIVE + UNIT)
pointwise("sqrt", wgsl="safe_sqrt(x)", numpy="sqrt", kind="float", grad={"x": lambda m, g, y: g / (2.0 * y)}, samples=POSITIVE)
pointwise("rsqrt", lambda m, x: 1.0 / m.sqrt(x), kind="float", grad={"x": lambda m, g, y: -0.5 * g * y * y * y}, samples=POSITIVE)
pointwise("sin", wgsl="sine(x)", numpy="sin", kind="float", grad={"x": lambda m, g, x: g * m.cos(x)}, samples=UNARY)
pointwise("cos", wgsl="cosine(x)", numpy="cos", kind="float", grad={"x": lambda m, g, x: -g * m.sin(x)}, samples=UNARY)
pointwise("tan", lambda m, x: m.sin(x) / m.cos(x), kind="float", grad={"x": lambda m, g, y: g * (1.0 + y * y)}, samples=UNIT)
pointwise("asin", wgsl="arc_sine(x)", numpy="arcsin", kind="float", grad={"x": lambda m, g, x: g * m.rsqrt(1.0 - x * x)}, samples=UNIT)
pointwise("acos", wgsl="(1.5707963267948966 - arc_sine(x))", numpy="arccos", kind="float", grad={"x": lambda m, g, x: -g * m.rsqrt(1.0 - x * x)}, samples=UNIT)
pointwise("atan", wgsl="arc_tangent(x)", numpy="arctan", kind="float", grad={"x": lambda m, g, x: g / (1.0 + x * x)}, samples=UNARY)
pointwise("sinh", wgsl="hyperbolic_sine(x)", numpy="sinh", kind="float", grad={"x": lambda m, g, x: g * m.cosh(x)}, samples=UNARY)
pointwise("cosh", wgsl="(0.5 * (safe_exp(x) + safe_exp(-x)))", numpy="cosh", kind="float", grad={"x": lambda m, g, x: g * m.sinh(x)}, samples=UNARY)
pointwise("tanh", wgsl="safe_tanh(x)", numpy="tanh", kind="float", grad={"x": lambda m, g, y: g * (1.0 - y * y)}, samples=UNARY + WIDE)
pointwise("asinh", wgsl="sign(x) * log1p_precise(abs(x) + x * x / (1.0 + sqrt(1.0 + x * x)))", numpy="arcsinh", kind="float",
          grad={"x": lambda m, g, x: g * m.rsqrt(x * x + 1.0)}, samples=UNARY)
pointwise("acosh", wgsl="safe_log(x + safe_sqrt(x * x - 1.0))", numpy="arccosh", kind="float", grad={"x": lambda m, g, x: g * m.rsqrt(x * x - 1.0)},
          samples=[S(T(3, 4, low=1.2, high=5.0))])
pointwise("atanh", wgsl="(0.5 * (log1p_precise(x) - log1p_precise(-x)))", numpy="arctanh", kind="float", grad={"x": lambda m, g, x: g / (1.0 - x * x)},
          samples=UNIT)
pointwise("sigmoid", lambda m, x: 1.0 / (1.0 + m.exp(-x)), kind="float", grad={"x": lambda m, g, y: g * y * (1.0 - y)}, samples=UNARY + WIDE,
          to="torch Tensor F")
pointwise("logaddexp", lambda m, a, b: m.where(a == b, a + math.log(2), m.maximum(a, b) + m.log1p(m.exp(-m.abs(a - b)))), kind="float",
          tensors=BOTH, refuse=("logaddexp_cpu", "bui"),
          grad={"a": lambda m, g, a, b: g * m.sigmoid(a - b), "b": lambda m, g, a, b: g * m.sigmoid(b - a)}, samples=[S(T(3, 4), T(4)), S(T(3, 4), T(3, 1))])
pointwise("logaddexp2", lambda m, a, b: m.where(a == b, a + 1.0, m.maximum(a, b) + m.log1p(m.exp2(-m.abs(a - b))) * (1 / math.log(2))), kind="float",
          tensors=BOTH, refuse=("logaddexp2_cpu", "bui"),
          grad={"a": lambda m, g, a, b: g / (1.0 + m.exp2(b - a)), "b": lambda m, g, a, b: g / (1.0 + m.exp2(a - b))},
          samples=[S(T(3, 4), T(4)), S(T(2, values=(float("-inf"), 3.0), grad=False), T(2, values=(float("-inf"), 9.0), grad=False))])
pointwise("xlog1py", lambda m, a, b: m.where(m.isnan(b), b, m.where(a == 0, 0.0, a * m.log1p(b))), kind="float",
          grad={"a": lambda m, g, a, b: m.where((a == 0) & (b <= -1), 0.0, g * m.log1p(b)), "b": lambda m, g, a, b: g * a / (b + 1.0)},
          samples=[S(T(3, 4), T(4, low=-0.5, high=3.0)), S(2.0, T(3, low=0.0, high=2.0))], to="special")
pointwise("entr", lambda m, x: m.where(m.isnan(x), x, m.where(x > 0, -x * m.log(x), m.where(x == 0, 0.0, float("-inf")))), kind="float", to="special",
          grad={"x": lambda m, g, x: g * (-m.log(x) - 1.0)}, samples=[*POSITIVE, *WIDE])
pointwise("_logit", lambda m, x: m.log(x / (1.0 - x)), kind="float", to="",
          grad={"x": lambda m, g, x: m.where((x < 0) | (x > 1), float("nan"), g / (x * (1.0 - x)))})
pointwise("_logit_within", lambda m, x, *, eps: m.log(m.minimum(m.maximum(x, eps), 1.0 - eps) / (1.0 - m.minimum(m.maximum(x, eps), 1.0 - eps))),
          kind="float", to="", grad={"x": lambda m, g, x, eps: m.where((x < eps) | (x > 1.0 - eps), 0.0, g / (x * (1.0 - x)))})


@function(to="torch Tensor special", samples=[S(T(3, 4, low=0.1, high=0.9)), S(T(4, values=(0.0, 0.05, 0.5, 1.0)), eps=0.1)])
def logit(input, eps=None, *, out=None):
    """log(x / (1 - x)), elementwise; ``eps`` limits x to [eps, 1 - eps] first."""
    if eps is None:
        return apply(OPS["_logit"], input, out=out)
    return apply(OPS["_logit_within"], input, eps=float(eps), out=out)


pointwise("xlogy", lambda m, a, b: m.where(m.isnan(b), b, m.where(a == 0, 0.0, a * m.log(b))), kind="float",
          grad={"a": lambda m, g, a, b: m.where((a == 0) & (b <= 0), 0.0, g * m.log(b)), "b": lambda m, g, a, b: g * a / b},
          samples=[S(T(3, 4), T(4, low=0.2, high=3.0))], to="torch Tensor special")
pointwise("sinc", lambda m, x: m.where(x == 0, 1.0, m.sin(x * math.pi) / (x * math.pi)), kind="float", samples=UNARY,
          grad={"x": lambda m, g, x: m.where(x == 0, 0.0, g * (m.cos(x * math.pi) * (x * math.pi) - m.sin(x * math.pi)) / (x * x * math.pi))})
pointwise("deg2rad", lambda m, x: x * (math.pi / 180), kind="float", grad={"x": lambda m, g: g * (math.pi / 180)}, samples=UNARY)
pointwise("rad2deg", lambda m, x: x * (180 / math.pi), kind="float", grad={"x": lambda m, g: g * (180 / math.pi)}, samples=UNARY)
