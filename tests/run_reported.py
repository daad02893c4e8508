"""Runs tests/reported.py on WebGPU."""
import sys
import warnings

import reported

import pyborch

warnings.simplefilter("ignore")
pyborch.set_default_device("webgpu")
wrong = [f"{name}: {text}" for name, expression, wanted in reported.CASES if (text := reported.problem(pyborch, expression, wanted))]
print(*wrong, sep="\n")
sys.exit(1 if wrong else 0)
