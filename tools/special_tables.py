"""Writes pyborch/ops/special_tables.py: polynomials for the special functions, fitted with mpmath (`pip install mpmath`) to float64.

Each table is a function of t in [-1, 1], the place in its interval; it is interpolated at Chebyshev points with 40 digits and written as powers of t.
"""
import pathlib
import sys

import mpmath as mp

mp.mp.dps = 50
TARGET = pathlib.Path(__file__).resolve().parent.parent / "pyborch" / "ops" / "special_tables.py"
ROOT_PSI = mp.findroot(mp.digamma, 1.46)
J0_ROOTS = [mp.besseljzero(0, k) for k in (1, 2)]
J1_ROOTS = [mp.besseljzero(1, k) for k in (1, 2)]


def place(low, high, f):
    """f on [low, high] as a function of t."""
    low, high = mp.mpf(low), mp.mpf(high)
    return lambda t: f((low + high) / 2 + t * (high - low) / 2)


def ratio(f, zeros, x):
    """f(x) over the product of (x - zero), by its limit near one."""
    if min(abs(x - z) for z in zeros) < mp.mpf(10) ** -12:
        x += mp.mpf(10) ** -11
    return f(x) / mp.fprod(x - z for z in zeros)


def stirling(u):
    x = 1 / mp.sqrt(u)
    return (mp.loggamma(x) - (x - mp.mpf(1) / 2) * mp.log(x) + x - mp.log(2 * mp.pi) / 2) * x


def psi_tail(u):
    x = 1 / mp.sqrt(u)
    return (mp.log(x) - 1 / (2 * x) - mp.digamma(x)) / u


def normal_tail(logarithm):
    """w * (w - z), where z is the normal quantile of exp(-w^2 / 2), on log(w)."""
    w = mp.exp(logarithm)
    p = mp.exp(-w * w / 2)
    start = w - (mp.log(w) + mp.mpf("0.92")) / w
    z = mp.findroot(lambda z: mp.log(mp.erfc(z / mp.sqrt(2)) / 2) - mp.log(p), start)
    return w * (w - z)


def erfcx(t):
    """(x + 1) exp(x^2) erfc(x) at t = (x - 3.75) / (x + 3.75)."""
    if t > 1 - mp.mpf(10) ** -3:
        x = mp.mpf("3.75") * (1 + t) / (1 - t)
        return (x + 1) / (x * mp.sqrt(mp.pi)) * sum((-1) ** k * mp.fac2(2 * k - 1) / (2 * x * x) ** k for k in range(9))
    x = mp.mpf("3.75") * (1 + t) / (1 - t)
    return mp.exp(x * x) * mp.erfc(x) * (x + 1)


def modified(kind, order):
    """sqrt(x) exp(-+x) times a modified Bessel function, on v = 1 / x."""
    def f(v):
        x = 1 / max(v, mp.mpf(10) ** (-12 if kind == "k" else -4))
        if kind == "k":
            return mp.besselk(order, x) * mp.exp(x) * mp.sqrt(x)
        return mp.besseli(order, x) * mp.exp(-x) * mp.sqrt(x) if v > mp.mpf(10) ** -4 else asymptotic_i(order, v)
    return f


def asymptotic_i(order, v):
    terms, term = [], mp.mpf(1)
    for k in range(8):
        terms.append(term)
        term *= -(4 * order * order - (2 * k + 1) ** 2) * v / (8 * (k + 1))
    return mp.fsum(terms) / mp.sqrt(2 * mp.pi)


def waves(kind, order):
    """Amplitudes of the Bessel functions of an order at x = 5 / sqrt(v): 'p' of the wave in phase, 'q' (times x) of the one a quarter behind."""
    def f(v):
        x = 5 / mp.sqrt(v)
        angle = x - mp.pi / 4 - order * mp.pi / 2
        j, y, scale = mp.besselj(order, x), mp.bessely(order, x), mp.sqrt(mp.pi * x / 2)
        return scale * (j * mp.cos(angle) + y * mp.sin(angle)) if kind == "p" else scale * x * (y * mp.cos(angle) - j * mp.sin(angle))
    return f


def second(order):
    """What the second kind has beside its logarithm, on x^2 = s."""
    def f(s):
        x = mp.sqrt(s)
        if order == 0:
            return mp.bessely(0, x) - 2 / mp.pi * mp.log(x) * mp.besselj(0, x)
        return (mp.bessely(1, x) - 2 / mp.pi * (mp.log(x) * mp.besselj(1, x) - 1 / x)) / x
    return f


def second_modified(order):
    def f(s):
        x = mp.sqrt(s)
        if order == 0:
            return mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x)
        return (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x) - 1 / x) / x
    return f


def airy_wave(kind):
    def f(v):
        zeta = mp.mpf(2) / 3 * LEFT ** 1.5 / v
        x = (zeta * 3 / 2) ** (mp.mpf(2) / 3)
        angle, scale = zeta + mp.pi / 4, mp.sqrt(mp.pi) * mp.sqrt(mp.sqrt(x))
        a, b = mp.airyai(-x), mp.airybi(-x)
        return scale * (a * mp.sin(angle) + b * mp.cos(angle)) if kind == "p" else scale * zeta * (b * mp.sin(angle) - a * mp.cos(angle))
    return f


def airy_right(v):
    zeta = mp.mpf(2) / 3 * RIGHT ** 1.5 / v
    x = (zeta * 3 / 2) ** (mp.mpf(2) / 3)
    return mp.airyai(x) * mp.exp(zeta) * 2 * mp.sqrt(mp.pi) * mp.sqrt(mp.sqrt(x))


LEFT, RIGHT = mp.mpf(4), mp.mpf(2)
TINY = mp.mpf(10) ** -30


def from_zero(f):
    """f with its limit at zero."""
    return lambda v: f(v if v > TINY else TINY)


FITS = {
    "lgamma_middle": place(1, 3, lambda x: ratio(mp.loggamma, [1, 2], x)),
    "lgamma_tail": place(0, mp.mpf(1) / 9, lambda u: stirling(max(u, mp.mpf(10) ** -18))),
    "digamma_middle": place(1, 3, lambda x: ratio(mp.digamma, [ROOT_PSI], x)),
    "digamma_tail": place(0, mp.mpf(1) / 9, lambda u: psi_tail(max(u, mp.mpf(10) ** -14))),
    "erfcx": erfcx,
    "erfinv_middle": place(0, mp.mpf("0.5625"), lambda s: mp.erfinv(mp.sqrt(s)) / mp.sqrt(s) if s > 0 else mp.sqrt(mp.pi) / 2),
    "normal_tail": place(mp.mpf("0.7"), mp.mpf("3.7"), normal_tail),
    "i0_near": place(0, 8, lambda x: mp.besseli(0, x) * mp.exp(-x)),
    "i0_far": place(0, mp.mpf(1) / 8, modified("i", 0)),
    "i1_near": place(0, 8, lambda x: mp.besseli(1, x) * mp.exp(-x) / x if x > 0 else mp.mpf(1) / 2),
    "i1_far": place(0, mp.mpf(1) / 8, modified("i", 1)),
    "k0_near": place(0, 4, from_zero(second_modified(0))),
    "k0_far": place(0, mp.mpf(1) / 2, modified("k", 0)),
    "k1_near": place(0, 4, from_zero(second_modified(1))),
    "k1_far": place(0, mp.mpf(1) / 2, modified("k", 1)),
    "j0_near": place(0, 25, lambda s: ratio(lambda s: mp.besselj(0, mp.sqrt(s)), [r * r for r in J0_ROOTS[:1]], s)),
    "j1_near": place(0, 25, lambda s: ratio(lambda s: mp.besselj(1, mp.sqrt(s)) / mp.sqrt(s) if s > 0 else mp.mpf(1) / 2, [r * r for r in J1_ROOTS[:1]], s)),
    "y0_near": place(0, 25, from_zero(second(0))),
    "y1_near": place(0, 25, from_zero(second(1))),
    **{f"bessel{n}_{kind}": place(0, 1, (lambda f: lambda v: f(max(v, mp.mpf(10) ** -8)))(waves(kind, n))) for n in (0, 1) for kind in "pq"},
    "airy_near": place(-LEFT, RIGHT, mp.airyai),
    "airy_right": place(0, 1, (lambda v: airy_right(max(v, mp.mpf(10) ** -4)))),
    "airy_p": place(0, 1, (lambda v: airy_wave("p")(mp.sqrt(max(v, mp.mpf(10) ** -7))))),
    "airy_q": place(0, 1, (lambda v: airy_wave("q")(mp.sqrt(max(v, mp.mpf(10) ** -7))))),
}


def coefficients(f):
    """Powers of t, highest first: Chebyshev interpolation, cut where terms no longer matter to float64."""
    n = 64
    nodes = [mp.cos(mp.pi * (k + mp.mpf(1) / 2) / n) for k in range(n)]
    values = [mp.mpf(f(t)) for t in nodes]
    chebyshev = [2 * mp.fsum(v * mp.cos(mp.pi * j * (k + mp.mpf(1) / 2) / n) for k, v in enumerate(values)) / n for j in range(n)]
    chebyshev[0] /= 2
    largest = max(abs(v) for v in values)
    smallest = min(abs(v) for v in values)
    limit = max(smallest, largest / 100) * mp.mpf(10) ** -17
    while len(chebyshev) > 1 and abs(chebyshev[-1]) < limit:
        chebyshev.pop()
    powers, before, now = [mp.mpf(0)] * len(chebyshev), [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)]
    for c in chebyshev:
        for k, p in enumerate(before):
            powers[k] += c * p
        before, now = now, [2 * a - b for a, b in zip([mp.mpf(0), *now], [*before, mp.mpf(0), mp.mpf(0)])]
    return [float(p) for p in reversed(powers)]


def main():
    lines = ['"""Polynomials of the special functions, highest power first; tools/special_tables.py fits them."""', "", "TABLES = {"]
    for name, f in FITS.items():
        found = coefficients(f)
        print(name, len(found), f"{max(map(abs, found)):.3g}", file=sys.stderr)
        lines.append(f'    "{name}": (')
        row = "       "
        for c in found:
            if len(row) + len(repr(c)) > 138:
                lines.append(row)
                row = "       "
            row += f" {c!r},"
        lines += [row, "    ),"]
    TARGET.write_text("\n".join([*lines, "}"]) + "\n")


main()
