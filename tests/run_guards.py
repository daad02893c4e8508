"""Ops' samples with guard words: python run_guards.py [first] [hardware].

What an op writes to is filled with NaN bits first: what lies behind its result must stay so, and what it leaves out shows. ``first``: one
sample of each op; ``hardware``: with the kernels that hardware adapters get, on whatever adapter there is.
"""
import sys

import samples
from pyodide.ffi import run_sync

import pyborch
import pyborch.devices

pyborch.set_default_device("webgpu")
backend = pyborch.devices.backend()
backend.software = backend.software and "hardware" not in sys.argv
GUARD = b"\xa5\xa5\xc0\x7f"
written, broken, pending = 0, [], []


def launch(plan, storages, scalars):
    """As the device's, between guard words."""
    global written
    outputs = [backend.allocate(m.dtype, m.numel) for m in plan.outputs]
    if not plan.steps:
        return outputs
    for storage in outputs:
        backend.bridge.write(storage.buffer, 0, GUARD * (storage.form.size // 4), "raw")
    backend.run(plan, storages, outputs, scalars)
    for storage in outputs:
        used = backend.copy_bytes(storage.dtype, storage.numel)
        written += 1
        if storage.form.size > used:
            pending.append((backend.bridge.read(storage.buffer, used, storage.form.size - used, "raw"), plan))
    if len(pending) > 100:
        look()
    return outputs


def look():
    """Compare what was read with what must be there."""
    while pending:
        reading, plan = pending.pop()
        found = run_sync(reading).to_bytes()
        if found != GUARD * (len(found) // 4):
            broken.append(plan.describe())


backend.launch = launch
count, failures = samples.check(pyborch, device="webgpu", first="first" in sys.argv)
look()
print(f"{count} samples, {written} results between guard words on {backend.name}")
print(*failures, *sorted(set(broken)), sep="\n")
sys.exit(1 if failures or broken or not written else 0)
