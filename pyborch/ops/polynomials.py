"""Orthogonal polynomials of torch.special, by their recurrences: p[k + 1] = ((a + b k) x + c + d k) p[k] - (e + f k) p[k - 1], over k + 1 where they divide."""
from __future__ import annotations

from .registry import S, T, pointwise

# name: (p[1] as factor of x and constant, (a, b, c, d, e, f), whether they divide, what x is shifted to, the largest n)
CHEBYSHEV = (2, 0, 0, 0, 1, 0)
POLYNOMIALS = {
    "chebyshev_polynomial_t": ((1, 0), CHEBYSHEV, False, False),
    "chebyshev_polynomial_u": ((2, 0), CHEBYSHEV, False, False),
    "chebyshev_polynomial_v": ((2, -1), CHEBYSHEV, False, False),
    "chebyshev_polynomial_w": ((2, 1), CHEBYSHEV, False, False),
    "shifted_chebyshev_polynomial_t": ((1, 0), CHEBYSHEV, False, True),
    "shifted_chebyshev_polynomial_u": ((2, 0), CHEBYSHEV, False, True),
    "shifted_chebyshev_polynomial_v": ((2, -1), CHEBYSHEV, False, True),
    "shifted_chebyshev_polynomial_w": ((2, 1), CHEBYSHEV, False, True),
    "hermite_polynomial_h": ((2, 0), (2, 0, 0, 0, 0, 2), False, False),
    "hermite_polynomial_he": ((1, 0), (1, 0, 0, 0, 0, 1), False, False),
    "laguerre_polynomial_l": ((-1, 1), (-1, 0, 1, 2, 0, 1), True, False),
    "legendre_polynomial_p": ((1, 0), (1, 2, 0, 0, 0, 1), True, False),
}


def _numpy(first, steps, divides, shifted):
    a, b, c, d, e, f = steps

    def polynomial(np, x, n):
        x, n = np.broadcast_arrays(np.asarray(x, "float64"), np.trunc(np.asarray(n, "float64")))
        x = 2 * x - 1 if shifted else x
        before, now = np.ones_like(x), first[0] * x + first[1]
        result = np.where(n < 0, 0.0, np.where(n == 0, before, now))
        for k in range(1, int(n.max(initial=0))):
            before, now = now, ((a + b * k) * x + c + d * k) * now - (e + f * k) * before
            if divides:
                now = now / (k + 1)
            result = np.where(n == k + 1, now, result)
        return result
    return polynomial


for _name, (_first, _steps, _divides, _shifted) in POLYNOMIALS.items():
    _point = "(2.0 * x - 1.0)" if _shifted else "x"
    _numbers = ", ".join(f"{float(v)!r}" for v in (*_first, *_steps))
    pointwise(_name, wgsl=f"special_polynomial({_point}, n, {_numbers}, {'true' if _divides else 'false'})", args="xn", kind="float", to="special",
              numpy=_numpy(_first, _steps, _divides, _shifted), doc=f"{_name}(input, n): the polynomial of degree n, elementwise; 0 for negative n.",
              samples=[S(T(3, 4, grad=False), T(4, values=(0.0, 1.0, 2.0, 5.0), grad=False)), S(T(3, low=-2, high=2, grad=False), 3)])
