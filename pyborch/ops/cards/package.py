"""Kernels as folders: manifest.json, metadata.json, test.json, bench.json and the shaders of a kernel."""
from __future__ import annotations

import json
import os

from ... import devices
from ...autograd import forget_plans, no_grad, state
from ...devices.planned import Planned
from . import card
from .cases import Input

DEVICES = {"software": {"software": True}, "hardware": {}, "matrices": {"matrices": frozenset({"f16", "i8"})}}


def export(kernel, folder) -> None:
    """Write a kernel to a folder."""
    made = kernel.card
    cases, bench = made.pop("cases"), made.pop("benchmarks")
    shaders, files = _shaders(kernel)
    made["shaders"] = shaders
    metadata = {"name": made["name"], "version": made["version"], "digest": made["digest"], "license": "Apache-2.0", "library": "pyborch",
                "library_version": _library_version()}
    os.makedirs(folder, exist_ok=True)
    for name, value in (("manifest", made), ("metadata", metadata), ("test", {"cases": cases}), ("bench", {"cases": bench})):
        files[f"{name}.json"] = json.dumps(value, indent=1) + "\n"
    for name, text in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)


def load(folder):
    """The installed kernel that a folder was written from, with ValueError where it is another one now. Only what ``export`` writes is read."""
    from .kernel import get
    read = {}
    for name in ("manifest", "metadata", "test", "bench"):
        with open(os.path.join(folder, f"{name}.json"), encoding="utf-8") as file:
            read[name] = json.load(file)
    metadata = read["metadata"]
    kernel = get(metadata["name"], metadata["version"])
    for where, written in (("metadata", metadata["digest"]), ("manifest", read["manifest"]["digest"])):
        if written != kernel.digest:
            raise ValueError(f"kernels.load(): {where}.json of {os.fspath(folder)!r} has kernel {kernel.name!r} with digest {written}, "
                             f"but the installed one has {kernel.digest}")
    return kernel


def _library_version():
    import sys
    return sys.modules[__name__.split(".")[0]].__version__


def _shaders(kernel):
    """([{file, device, case}], {file: text}): every shader that the first case and the benchmarks need, on each kind of device; each text once."""
    whole = [c for c in kernel.cases if all(0 not in y.shape for y in c.outputs)]
    cases = [*whole[:1], *(c for c in card.benchmarks(kernel.family, kernel.cases) if c not in whole[:1])]
    shaders, names, files = [], {}, {}
    for device, options in DEVICES.items():
        for case in cases:
            for label, text in planned(kernel, case, options):
                name = names.setdefault(text, f"{label}-{len(names)}.wgsl")
                if name not in files:
                    files[name] = text
                    shaders.append({"file": name, "device": device, "case": case.name})
    forget_plans()
    return shaders, files


def planned(kernel, case, options):
    """[(name, complete WGSL)] of the dispatches of a case, on a device with these properties that plans and runs nothing."""
    device = Planned()
    for name, value in options.items():
        setattr(device, name, value)
    tensors = [state.tensor(device.allocate(x.dtype, x.count), devices.meta(x.shape, x.dtype, device, x.strides, x.offset)) if isinstance(x, Input) else x
               for x in case.inputs]
    with no_grad():
        kernel(*tensors, **case.named(device))
    return [(step.kernel.label.split()[0], _complete(step)) for plan in device.plans for step in plan.steps]


def _complete(step):
    """The text with the declaration of its parameters, which devices without immediates read from a uniform buffer."""
    return step.kernel.text + ("\n@group(1) @binding(0) var<uniform> p: Params;\n" if step.words else "")
