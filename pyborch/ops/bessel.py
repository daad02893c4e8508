"""Bessel functions, modified ones, and Airy's (torch.special): series near zero, waves or exponentials times a series of 1 / x far from it."""
from __future__ import annotations

import math

from .formula import series
from .pointwise import UNARY
from .registry import S, T, pointwise

INFINITY, NAN = float("inf"), float("nan")
BOTH = [*UNARY[:1], S(T(10, values=(0.0, -0.5, 3.8, 7.9, 8.5, -20.0, 60.0, INFINITY, -INFINITY, NAN), grad=False))]
RIGHT = [S(T(8, values=(0.0, 0.3, 1.9, 2.1, 4.9, 7.5, 30.0, -1.0), grad=False))]


def _i0e(m, x):
    a = m.abs(x)
    return m.where(a <= 8.0, series(m, "i0_near", a * 0.25 - 1.0), series(m, "i0_far", 16.0 / a - 1.0) / m.sqrt(a))


def _i1e(m, x):
    a = m.abs(x)
    return m.where(a <= 8.0, x * series(m, "i1_near", a * 0.25 - 1.0), m.sign(x) * series(m, "i1_far", 16.0 / a - 1.0) / m.sqrt(a))


def _grown(m, scaled, x):
    """``scaled`` times exp(abs(x)), which may be over the range where the product is not."""
    half = m.exp(0.5 * m.abs(x))
    return half * (half * scaled)


def _k_near(m, order, x):
    if order == 0:
        return series(m, "k0_near", 0.5 * x * x - 1.0) - m.log(0.5 * x) * m.modified_bessel_i0(x)
    return 1.0 / x + x * series(m, "k1_near", 0.5 * x * x - 1.0) + m.log(0.5 * x) * m.modified_bessel_i1(x)


def _k(order, scaled):
    def formula(m, x):
        near = _k_near(m, order, x) * m.exp(x) if scaled else _k_near(m, order, x)
        far = series(m, f"k{order}_far", 4.0 / x - 1.0) / m.sqrt(x)
        value = m.where(x <= 2.0, near, far if scaled else far * m.exp(-x))
        return m.where(x == 0.0, INFINITY, m.where(x < 0.0, NAN, value))
    return formula


def _wave(m, order, x, second):
    """J or Y for x over 5, from amplitudes and the wave's phase x - pi/4 - order pi/2."""
    t = 50.0 / (x * x) - 1.0
    p, q = series(m, f"bessel{order}_p", t), series(m, f"bessel{order}_q", t) / x
    c, s = m.cos(x), m.sin(x)
    along, across = (c + s, s - c) if order == 0 else (s - c, -(s + c))
    value = p * across + q * along if second else p * along - q * across
    return value / m.sqrt(x * math.pi)


def _j0(m, x):
    a, s = m.abs(x), x * x
    near = (s - 5.783185958862305 - 4.084479833675995e-09) * series(m, "j0_near", s * 0.08 - 1.0)
    return m.where(a < 5.0, near, _wave(m, 0, a, False))


def _j1(m, x):
    a, s = m.abs(x), x * x
    near = x * (s - 14.681970596313477 - 4.581041669471978e-08) * series(m, "j1_near", s * 0.08 - 1.0)
    return m.where(a < 5.0, near, m.sign(x) * _wave(m, 1, a, False))


def _y0(m, x):
    near = series(m, "y0_near", x * x * 0.08 - 1.0) + 2 / math.pi * m.log(x) * m.bessel_j0(x)
    value = m.where(x < 5.0, near, _wave(m, 0, x, True))
    return m.where(x == 0.0, -INFINITY, m.where(x < 0.0, NAN, value))


def _y1(m, x):
    near = x * series(m, "y1_near", x * x * 0.08 - 1.0) + 2 / math.pi * (m.log(x) * m.bessel_j1(x) - 1.0 / x)
    value = m.where(x < 5.0, near, _wave(m, 1, x, True))
    return m.where(x == 0.0, -INFINITY, m.where(x < 0.0, NAN, value))


def _spherical_j0(m, x):
    u = x * x
    near = 1 - u / 6 * (1 - u / 20 * (1 - u / 42 * (1 - u / 72 * (1 - u / 110 * (1 - u / 156)))))
    return m.where(m.isinf(x), 0.0, m.where(m.abs(x) < 0.5, near, m.sin(x) / x))


def _airy(m, x):
    a = m.abs(x)
    zeta, root = 2 / 3 * a * m.sqrt(a), m.sqrt(m.sqrt(a))
    right = series(m, "airy_right", 4 / 3 * 2 ** 1.5 / zeta - 1.0) * m.exp(-zeta) / (2 * math.sqrt(math.pi) * root)
    t = 2.0 * m.square(16 / 3 / zeta) - 1.0
    c, s = m.cos(zeta), m.sin(zeta)
    left = (series(m, "airy_p", t) * (s + c) - series(m, "airy_q", t) / zeta * (c - s)) / (math.sqrt(2 * math.pi) * root)
    value = m.where(x > 2.0, right, m.where(x < -4.0, left, series(m, "airy_near", (x + 1.0) / 3.0)))
    return m.where(m.isinf(x), NAN, m.where(x > 103.892, 0.0, value))


def _special(name, formula, samples, grad=None, to="special"):
    pointwise(name, formula, kind="float", to=to, samples=samples, grad=grad)


_special("i0e", _i0e, BOTH, {"x": lambda m, g, x, y: g * (m.i1e(x) - m.sign(x) * y)})
_special("i1e", _i1e, BOTH, {"x": lambda m, g, x, y: g * m.where(m.abs(x) < 1e-7, 0.5, m.i0e(x) - y * (m.sign(x) + 1.0 / x))})
_special("i0", lambda m, x: m.abs(_grown(m, m.i0e(x), x)), BOTH, {"x": lambda m, g, x: g * m.i1(x)}, to="torch Tensor special")
_special("i1", lambda m, x: _grown(m, m.i1e(x), x), BOTH, {"x": lambda m, g, x, y: g * m.where(m.abs(x) < 1e-7, 0.5, m.i0(x) - y / x)})
_special("modified_bessel_i0", lambda m, x: m.i0(x), BOTH)
_special("modified_bessel_i1", lambda m, x: m.i1(x), BOTH)
for _order in (0, 1):
    _special(f"modified_bessel_k{_order}", _k(_order, False), RIGHT)
    _special(f"scaled_modified_bessel_k{_order}", _k(_order, True), RIGHT)
_special("bessel_j0", _j0, BOTH)
_special("bessel_j1", _j1, BOTH)
_special("bessel_y0", _y0, RIGHT)
_special("bessel_y1", _y1, RIGHT)
_special("spherical_bessel_j0", _spherical_j0, BOTH)
_special("airy_ai", _airy, [S(T(9, values=(0.0, -0.5, 1.9, 2.1, 8.0, -3.9, -4.1, -20.0, 110.0), grad=False))])
