"""The error function's family and the normal distribution's: erf, erfc, erfcx, erfinv, ndtr, ndtri, log_ndtr."""
from __future__ import annotations

import math

from .formula import series
from .pointwise import UNARY, UNIT
from .registry import S, T, pointwise

INFINITY, NAN = float("inf"), float("nan")
_SLOPE, _ROOT_HALF, _ROOT_TWO = 2 / math.sqrt(math.pi), math.sqrt(0.5), math.sqrt(2)
EDGES = S(T(9, values=(NAN, INFINITY, -INFINITY, 0.0, -0.0, 9.0, -9.0, 1e-6, -3.0), grad=False))
PARTS = [S(T(3, 5, low=0.01, high=0.99)), S(T(8, values=(0.0, 1.0, 1e-30, 0.999999, 0.5, 1.5, -0.5, NAN), grad=False))]


def _vectorized(np, function, x):
    return np.frompyfunc(function, 1, 1)(np.asarray(x)[None])[0] if np.ndim(x) == 0 else np.frompyfunc(function, 1, 1)(x).astype(x.dtype)


def _erfcx(m, x):
    a = m.abs(x)
    core = series(m, "erfcx", 1.0 - 7.5 / (a + 3.75)) / (a + 1.0)
    return m.where(x < 0.0, 2.0 * m.exp(x * x) - core, core)


def _quantile(m, p):
    """Minus the normal quantile of a p up to 1/8."""
    w = m.sqrt(-2.0 * m.log(p))
    return w - series(m, "normal_tail", (m.log(w) - 2.2) / 1.5) / w


def _erfinv(m, x):
    middle = x * series(m, "erfinv_middle", x * x * (2 / 0.5625) - 1.0)
    tail = m.sign(x) * _ROOT_HALF * _quantile(m, 0.5 - 0.5 * m.abs(x))
    inside = m.where(m.abs(x) <= 0.75, middle, tail)
    return m.where(m.abs(x) == 1.0, x * INFINITY, m.where(m.abs(x) > 1.0, NAN, inside))


def _ndtri(m, p):
    far = m.where(p > 0.5, 1.0 - p, p)
    y = 2.0 * p - 1.0
    middle = _ROOT_TWO * y * series(m, "erfinv_middle", y * y * (2 / 0.5625) - 1.0)
    tail = m.where(p > 0.5, 1.0, -1.0) * _quantile(m, far)
    return m.where(far == 0.0, y * INFINITY, m.where(far < 0.0, NAN, m.where(far >= 0.125, middle, tail)))


pointwise("erf", wgsl="error_function(x)", numpy=lambda np, x: _vectorized(np, math.erf, x), kind="float", to="torch Tensor special",
          grad={"x": lambda m, g, x: g * _SLOPE * m.exp(-x * x)}, samples=UNARY)
pointwise("erfcx", _erfcx, kind="float", to="special", grad={"x": lambda m, g, x, y: g * (2.0 * x * y - _SLOPE)}, samples=[*UNARY, EDGES])
pointwise("erfc", lambda m, x: m.where(x < 0.5, 1.0 - m.erf(x), m.exp(-x * x) * m.erfcx(m.abs(x))), kind="float", to="torch Tensor special",
          grad={"x": lambda m, g, x: -g * _SLOPE * m.exp(-x * x)}, samples=[*UNIT, EDGES])
pointwise("erfinv", _erfinv, kind="float", grad={"x": lambda m, g, y: g * (0.5 * math.sqrt(math.pi)) * m.exp(y * y)}, to="torch Tensor special",
          samples=[*UNIT, S(T(7, values=(1.0, -1.0, 1.5, 0.999999, -0.75, 0.0, NAN), grad=False))])
pointwise("ndtr", lambda m, x: 0.5 * m.erfc(x * -_ROOT_HALF), kind="float", to="special", samples=[*UNARY, EDGES],
          grad={"x": lambda m, g, x: g * (1 / math.sqrt(2 * math.pi)) * m.exp(-0.5 * x * x)})
pointwise("ndtri", _ndtri, kind="float", to="special", samples=PARTS, grad={"p": lambda m, g, y: g * math.sqrt(2 * math.pi) * m.exp(0.5 * y * y)})
pointwise("log_ndtr", lambda m, x: m.where(x < -1.0, m.log(0.5 * m.erfcx(x * -_ROOT_HALF)) - 0.5 * x * x, m.log1p(-0.5 * m.erfc(x * _ROOT_HALF))),
          kind="float", to="special", samples=[*UNARY, EDGES], grad={"x": lambda m, g, x: g * math.sqrt(2 / math.pi) / m.erfcx(x * -_ROOT_HALF)})
