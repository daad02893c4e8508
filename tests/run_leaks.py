"""1,000 training steps, eager and compiled, leave as many GPU buffers and JsProxies as the first hundred; the pool stays bounded under changing batch sizes."""
import gc

from pyodide.ffi import JsProxy

import pyborch as torch
import pyborch.devices
from pyborch import nn

torch.set_default_device("webgpu")
backend = pyborch.devices.backend()


def alive():
    """(GPU buffers in use, JsProxies) after Python's cycles are gone."""
    gc.collect()
    stats = backend.stats()
    return stats["buffers"] - stats["idle_buffers"], sum(isinstance(o, JsProxy) for o in gc.get_objects()), stats["plans"], stats["kernels"]


def train(compiled):
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x, y = torch.randn(16, 8), torch.randint(4, (16,))

    def step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss
    if compiled:
        step = torch.compile(step)
    counts = []
    for n in range(1000):
        loss = step(x, y)
        if n % 50 == 9 or n == 999:
            loss.item()
            backend.synchronize()  # what is compiled is replayed from then on
            if n in (109, 999):  # by then what is compiled has been compiled
                counts.append(alive())
    assert counts[0] == counts[1], (compiled, counts)


for compiled in (False, True):
    train(compiled)

model = nn.Linear(256, 256)
peak = 0
for n in range(120):
    model(torch.randn(64 + 7 * n, 256)).sum().backward()
    model.zero_grad()
    stats = backend.stats()
    peak = max(peak, stats["reserved_bytes"] - stats["allocated_bytes"])
assert peak <= (64 << 20) + (8 << 20), peak


def train_and_forget(width):
    """Train a compiled step whose optimizer gathers its memory, and let go of all of it."""
    weights = [nn.Parameter(torch.ones(8, width)) for _ in range(3)]
    optimizer = torch.optim.SGD(weights, lr=0.1, momentum=0.9)

    def step():
        optimizer.zero_grad()
        sum((w * 2).softmax(-1).square().sum() for w in weights).backward()
        optimizer.step()
    compiled = torch.compile(step)
    for _ in range(4):
        compiled()
    assert compiled.programs
    compiled.reset()


left = []
for n in range(30):
    train_and_forget(8 + n)
    gc.collect()
    backend.synchronize()
    stats = backend.stats()
    left.append((stats["programs"], stats["allocated_bytes"]))
assert len(set(left)) == 1, left
print("ok", alive(), peak, left[-1])
