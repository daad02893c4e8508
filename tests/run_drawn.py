"""Runs tests/drawn.py on WebGPU."""
import drawn

import pyborch

pyborch.set_default_device("webgpu")
drawn.check(pyborch)
