"""The gamma function's family: lgamma, digamma, polygamma, zeta, the incomplete gamma functions."""
from __future__ import annotations

import math

from ..autograd import apply
from .formula import series
from .pointwise import BOTH
from .registry import FUNCTIONS, OPS, S, T, function, pointwise

INFINITY, NAN = float("inf"), float("nan")
ROOT, ROOT_REST = 1.4616321325302124, 1.2438149938918909e-08  # of digamma, in two parts
SIGNED = [S(T(3, 4, low=0.1, high=9.0)), S(T(8, values=(-3.25, -0.5, -1e-3, 1.0, 2.0, 40.0, float("inf"), float("nan")), grad=False)), S(T(0, 3))]


def _lgamma(m, x):
    z = m.where(x < 0.5, 1.0 - x, x)  # the reflected argument
    below_one = z < 1.0
    roots = (z - 1.0) * m.where(below_one, z, z - 2.0)
    near = roots * series(m, "lgamma_middle", m.where(below_one, z - 1.0, z - 2.0)) - m.where(below_one, m.log1p(z - 1.0), 0.0)
    far = (z - 0.5) * (m.log(z) - 1.0) + (0.5 * math.log(2 * math.pi) - 0.5) + series(m, "lgamma_tail", 18.0 / (z * z) - 1.0) / z
    core = m.where(z < 3.0, near, far)
    below = math.log(math.pi) - m.log(m.abs(m.sin((x - m._round(x)) * math.pi))) - core
    return m.where(m.isinf(x), INFINITY, m.where(x < 0.5, below, core))


def _digamma(m, x):
    z = m.where(x < 0.0, 1.0 - x, x)
    w = m.where(z < 1.0, z + 1.0, z)
    near = (w - ROOT - ROOT_REST) * series(m, "digamma_middle", w - 2.0)
    near = m.where(z < 1.0, near - 1.0 / z, near)
    u = 1.0 / (z * z)
    core = m.where(z < 3.0, near, m.log(z) - 0.5 / z - u * series(m, "digamma_tail", u * 18.0 - 1.0))
    below = core - math.pi / m.tan((x - m._round(x)) * math.pi)
    below = m.where(x == m.floor(x), NAN, below)
    return m.where(x == 0.0, -1.0 / x, m.where(x < 0.0, below, core))


def _trigamma(m, x):
    z = m.where(x < 0.5, 1.0 - x, x)
    total = 1.0 / (z * z)
    for k in range(1, 9):
        total = total + 1.0 / m.square(z + float(k))
    v = 1.0 / (z + 9.0)
    u = v * v
    core = total + v * (1 + 0.5 * v + u * (1 / 6 - u * (1 / 30 - u * (1 / 42 - u * (1 / 30 - u * (5 / 66 - u * (691 / 2730)))))))
    return m.where(x < 0.5, m.square(math.pi / m.sin(x * math.pi)) - core, core)


pointwise("lgamma", _lgamma, kind="float", grad={"x": lambda m, g, x: g * m.digamma(x)}, samples=SIGNED)
pointwise("digamma", _digamma, kind="float", grad={"x": lambda m, g, x: g * m._trigamma(x)}, samples=SIGNED, to="torch Tensor special")
pointwise("_trigamma", _trigamma, kind="float", grad={"x": lambda m, g, x: -2.0 * g * m.zeta(3.0, x)}, to="")


BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)


def _zeta_numpy(np, s, q):
    """Hurwitz' sum: terms until q + k is over 9, then Euler and Maclaurin's formula."""
    s, q = np.broadcast_arrays(np.asarray(s, "float64"), np.asarray(q, "float64"))
    a, total = q.copy(), np.power(q, -s)
    for _ in range(100000):
        more = a <= 9
        if not more.any():
            break
        a = np.where(more, a + 1, a)
        total = total + np.where(more, np.power(a, -s), 0)
    b = np.power(a, -s)
    total = total + np.where(np.isinf(b), 0, b * a / (s - 1) - 0.5 * b)
    factor = s * b / a
    for k, number in enumerate(BERNOULLI):
        total = total + number / math.factorial(2 * k + 2) * factor
        factor = factor * (s + 2 * k + 1) * (s + 2 * k + 2) / (a * a)
    pole = np.where(q == np.floor(q), np.inf, np.where(s == np.floor(s), total, np.nan))
    return np.where(s == 1, np.inf, np.where((s < 1) | np.isnan(s), np.nan, np.where(q <= 0, pole, total)))


pointwise("zeta", wgsl="special_zeta(s, q)", numpy=_zeta_numpy, args="sq", kind="float", to="special", grad={"q": lambda m, g, s, q: -g * s * m.zeta(s + 1.0, q)},
          samples=[S(T(2, 3, low=1.5, high=6.0, grad=False), T(3, low=0.2, high=12.0)), S(3.0, T(4, values=(0.5, -1.5, 0.0, 20.0), grad=False))])


@function(to="special", samples=[S(1, T(3, 4, low=0.3, high=9.0)), S(0, T(3, low=0.3, high=3.0)), S(3, T(4, values=(0.5, -1.5, 2.0, 20.0)))])
def polygamma(n, input, *, out=None):
    """The n-th derivative of digamma, elementwise; ``n`` is a whole number that is not negative."""
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    if n < 2:
        return apply(OPS["_trigamma" if n else "digamma"], input, out=out)
    sign = 1.0 if n % 2 else -1.0
    return FUNCTIONS["torch"]["mul"](OPS["zeta"].call(n + 1.0, input), sign * math.factorial(n), out=out)


def _polygamma_method(self, n):
    """The n-th derivative of digamma at this tensor's elements."""
    return polygamma(n, self)


def _polygamma_in_place(self, n):
    """In-place version of :func:`polygamma`."""
    return self.copy_(polygamma(n, self))


FUNCTIONS["torch"]["polygamma"] = polygamma
FUNCTIONS["Tensor"]["polygamma"], FUNCTIONS["Tensor"]["polygamma_"] = _polygamma_method, _polygamma_in_place


@function(to="torch Tensor", samples=[S(T(3, 4, low=3.1, high=8.0), 3), S(T(2, low=0.5, high=3.0), 1)])
def mvlgamma(input, p, *, out=None):
    """The logarithm of the multivariate gamma function of dimension ``p``, elementwise."""
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    constant = p * (p - 1) / 4 * math.log(math.pi)
    total = FUNCTIONS["torch"]["lgamma"](input)
    for k in range(1, p):
        total = total + FUNCTIONS["torch"]["lgamma"](input - 0.5 * k)
    return FUNCTIONS["torch"]["add"](total, constant, out=out)


def _stirling(np, a):
    """log Gamma(a + 1) without (a + 0.5) log(a) - a, for a from 10 on."""
    u = 1 / (a * a)
    return 0.5 * math.log(2 * math.pi) + (1 / 12 - u * (1 / 360 - u * (1 / 1260 - u * (1 / 1680 - u * (1 / 1188 - u * (691 / 360360)))))) / a


def _power_over_gamma(np, a, x):
    """x^a exp(-x) / Gamma(a + 1)."""
    shift = np.where(a < 10, 11.0, 0.0)
    b = a + shift
    product = np.ones_like(a)
    for k in range(1, 12):
        product = product * np.where(shift > 0, a + k, 1.0)
    lgamma = (b + 0.5) * np.log(b) - b + _stirling(np, b) - np.log(product)
    direct = a * np.log(x) - x - lgamma
    u = (x - a) / np.where(a > 0, a, 1)
    return np.exp(np.where(a < 10, direct, -a * (u - np.log1p(u)) - 0.5 * np.log(a) - _stirling(np, a)))


def _lower_series(np, a, x, chosen):
    term, total = np.ones_like(x), np.ones_like(x)
    for k in range(1, 20000):
        term = np.where(chosen, term * x / (a + k), 0)
        total = total + term
        if not (term > 1e-17 * total).any():
            break
    return total


def _upper_fraction(np, a, x, chosen):
    """Lentz' continued fraction of Gamma(a, x) / (x^a exp(-x))."""
    b = np.where(chosen, x + 1 - a, 1.0)
    c, d = np.full_like(x, 1e300), 1 / b
    total = d
    for k in range(1, 20000):
        factor, b = -k * (k - a), b + 2
        d = 1 / (factor * d + b)
        c = b + factor / c
        step = np.where(chosen, c * d, 1.0)
        total = total * step
        if not (np.abs(step - 1) > 1e-16).any():
            break
    return total


def _incomplete(upper):
    def numpy(np, a, x):
        a, x = np.broadcast_arrays(np.asarray(a, "float64"), np.asarray(x, "float64"))
        fine = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
        safe_a, safe_x = np.where(fine, a, 1.0), np.where(fine, x, 1.0)
        low = safe_x < safe_a + 1
        front = _power_over_gamma(np, safe_a, safe_x)
        below, above = front * _lower_series(np, safe_a, safe_x, low), front * safe_a * _upper_fraction(np, safe_a, safe_x, ~low)
        value = np.where(low, 1 - below, above) if upper else np.where(low, below, 1 - above)
        edge = np.where((a == 0) | np.isinf(x), 1.0, 0.0)  # of the lower function
        edge = np.where((a == 0) & (x == 0) | np.isinf(a) & np.isinf(x), np.nan, edge)
        edge = 1 - edge if upper else edge
        return np.where(fine, value, np.where((a >= 0) & (x >= 0), edge, np.nan))
    return numpy


def _density(m, g, a, x):
    return g * m.exp((a - 1.0) * m.log(x) - x - m.lgamma(a))


_PAIRS = [S(T(3, 4, low=0.2, high=9.0, grad=False), T(4, low=0.2, high=12.0)), S(T(2, values=(0.0, 2.0), grad=False), T(2, values=(0.5, 0.0), grad=False))]
pointwise("igamma", wgsl="special_gamma_part(a, x, false)", numpy=_incomplete(False), args="ax", kind="float", grad={"x": _density}, samples=_PAIRS,
          tensors=BOTH, refuse=("igamma_cpu", "bui"))
pointwise("igammac", wgsl="special_gamma_part(a, x, true)", numpy=_incomplete(True), args="ax", kind="float", samples=_PAIRS, tensors=BOTH, refuse=("igammac_cpu", "bui"),
          grad={"x": lambda m, g, a, x: -_density(m, g, a, x)})
