"""Runs ops' samples on WebGPU: python run_samples.py [first]; ``first`` takes only each op's first sample."""
import sys

import samples

import pyborch
import pyborch.devices

pyborch.set_default_device("webgpu")
count, failures = samples.check(pyborch, device="webgpu", first="first" in sys.argv)
backend = pyborch.devices.backend("webgpu")
print(f"{count} samples on {backend.name}, f16 {backend.has_f16}")
print(*failures, sep="\n")
sys.exit(1 if failures or not count else 0)
