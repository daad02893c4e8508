"""Profiles eager work and a compiled step on WebGPU; reads values as on a hardware adapter, several at once."""
import asyncio

from pyodide.ffi import run_sync

import pyborch as torch
import pyborch.devices
from pyborch import nn

torch.set_default_device("webgpu")
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.LayerNorm(64), nn.Linear(64, 8))
step = torch.compile(lambda x: model(x).softmax(-1))
x = torch.randn(32, 64)
with torch.no_grad():
    step(x)
    with torch.profile() as eager:
        (x @ x.t()).exp().sum().item()
    with torch.profile() as replayed:
        step(x)
print(eager)
print(replayed)
print(step.programs[-1])
assert len(eager.events) >= 3 and all(end >= begin for _, begin, end in eager.events)
assert [name for name, _, _ in replayed.events] == [s.kernel.label for s, _, _ in step.programs[-1].lowered]
assert "dispatches" in replayed.table() and "<svg" in replayed._repr_html_()
picture = step.programs[-1].show().svg()
assert picture.count("<rect") == step.programs[-1].dispatches
with torch.profile() as nothing:
    pass
assert nothing.events == [] and nothing.total_ms == 0.0

pyborch.devices.backend().bridge.setHurry(True)


async def several():
    return await asyncio.gather(*[(x * k).sum().item_async() for k in range(6)])
total = x.sum().item()
assert all(abs(found - k * total) < 1e-3 * max(1.0, abs(k * total)) for k, found in enumerate(run_sync(several())))
