"""Draws the loss curve on a device, eager and compiled, and compares it with PyTorch's: python run_curve.py [device]."""
import json
import pathlib
import sys

import curve

import pyborch

pyborch.set_default_device(sys.argv[1] if len(sys.argv) > 1 else "webgpu")
wanted = json.loads((pathlib.Path(__file__).resolve().parent / "golden/curve.json").read_text())
worst = {}
for compiled in (False, True):
    found = curve.losses(pyborch, compiled)
    assert len(found) == len(wanted) == 50
    worst["compiled" if compiled else "eager"] = max(abs(f - w) / w for f, w in zip(found, wanted))
print(json.dumps(worst), pyborch.get_default_device())
sys.exit(0 if max(worst.values()) <= 1e-3 else 1)
