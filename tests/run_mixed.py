"""Mixed precision on WebGPU: PyTorch's losses, scales and skipped steps, eager and compiled; where there is no float16, a word and float32."""
import sys
import warnings

import mixed

import pyborch as torch
import pyborch.devices

torch.set_default_device("webgpu")
device = pyborch.devices.backend()
problems = []
print(f"on {device.name}, float16 {device.has_f16}")
if device.has_f16:
    for optimizer in mixed.FROZEN:
        for compiled in (False, True):
            found = mixed.train(torch, "webgpu", optimizer, compiled)
            print(f"{optimizer}, compiled {compiled}: losses {found[0][0]:.4f} .. {found[0][-1]:.4f}, scales {found[1][-3:]}, steps {found[3]}")
            problems += [f"{optimizer}, compiled {compiled}: {p}" for p in mixed.differences(optimizer, found)]
else:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with torch.autocast("webgpu"):
            kind = (torch.eye(2) @ torch.eye(2)).dtype
    if kind is not torch.float32 or "has no float16 here" not in str(caught[0].message):
        problems.append(f"{kind}, {caught}")
print(*problems, sep="\n")
sys.exit(1 if problems else 0)
