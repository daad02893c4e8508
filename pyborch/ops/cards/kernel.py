"""A kernel that is called on its own, says what it is (card), and tests itself."""
from __future__ import annotations

from ... import devices
from ...autograd import apply, no_grad
from . import card, family, package
from .cases import cases_of

VERSION = 1


def get(name, version=VERSION):
    """The kernel of that name: ``kernels.get("softmax")(x, dim=-1)``. ``kernels.list()`` names all."""
    known = family.names()
    if name not in known:
        raise ValueError(f"kernels.get(): no kernel {name!r}; there are: {', '.join(sorted(known))}")
    if version != VERSION:
        raise ValueError(f"kernels.get(): kernel {name!r} has version {VERSION}, not {version}")
    return Kernel(name)


def list():
    """The names of all kernels."""
    return sorted(family.names())


class Kernel:
    """``kernel(*tensors, **attributes)`` runs it, with gradients where it has any; operands that may be left out are the last ones, or None."""

    def __init__(self, name):
        self.name, self.version = name, VERSION
        self.family = family.Family(name)
        self.__doc__ = self.family.doc

    def __call__(self, *tensors, **attributes):
        op, operands, named = self.family.bound(tensors, attributes)
        if "device" in named:
            named["device"] = devices.backend(named["device"])
        return apply(op, *operands, **named)

    @property
    def cases(self):
        """Its correctness cases; they are made with numpy, once for all kernels."""
        return cases_of(self.name)

    @property
    def card(self) -> dict:
        """All that there is to know about it, as JSON."""
        return card.card(self.family, self.version, self.cases)

    @property
    def digest(self) -> str:
        """sha256 over its WGSL files and all that its plan is made of."""
        return card.digest(self.family, self.version)

    def test(self, device=None) -> int:
        """Run its correctness cases on ``device`` (None: "webgpu") against numpy; returns how many ran, raises AssertionError that names the case which fails."""
        cpu, found = devices.backend("cpu"), devices.backend(device or "webgpu")
        if found is cpu:
            raise ValueError("Kernel.test(): the cpu device is what kernels are compared with; test them on 'webgpu'")
        cases = [case for case in self.cases if case.fits(found)]
        with no_grad():
            for case in cases:
                self._compare(case, self._results(case, found), self._results(case, cpu))
        return len(cases)

    def _results(self, case, device):
        results = self(*case.tensors(device), **case.named(device))
        return [t.numpy() for t in (results if isinstance(results, tuple) else (results,))]

    def _compare(self, case, found, wanted):
        np = devices.backend("cpu").np
        relative, absolute = case.tolerance
        for k, (f, w) in enumerate(zip(found, wanted, strict=True)):
            w64, f64 = w.astype("float64"), f.astype("float64")
            finite = w64[np.isfinite(w64)]
            bound = absolute + relative * np.maximum(abs(w64), 0.1 * abs(finite).max(initial=0))
            with np.errstate(invalid="ignore"):
                wrong = ~((f64 == w64) | (np.isnan(f64) & np.isnan(w64)) | (abs(f64 - w64) <= bound))
            if f.shape != w.shape or f.dtype != w.dtype or wrong.any():
                where = np.argwhere(wrong)[0].tolist() if f.shape == w.shape and wrong.any() else None
                what = f"{f.dtype}{[*f.shape]} instead of {w.dtype}{[*w.shape]}" if where is None else f"{f[tuple(where)]} instead of {w[tuple(where)]} at {where}"
                raise AssertionError(f"kernel {self.name}, case {case.name}, output {k}: {what}")

    def export(self, folder) -> None:
        """Write it to a folder as a package: manifest, metadata, cases, benchmarks, and its shaders as they are on several devices."""
        package.export(self, folder)

    def __repr__(self):
        return f"<kernel {self.name} version {self.version}>"
