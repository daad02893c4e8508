"""Milliseconds of compiled networks, results read back: ./build.sh bench networks. Refuses a software adapter unless told ``--anyway``.

Median of many runs in one page, each network before it is profiled. The last line is JSON.
"""
import json
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]


def median(call, count):
    """Milliseconds of ``call()``."""
    times = []
    for _ in range(count):
        begun = time.perf_counter()
        call()
        times.append((time.perf_counter() - begun) * 1e3)
    return round(sorted(times)[count // 2], 3)


def settle(call, backend, seconds=0.5):
    """Call until the kernels are compiled and the GPU's clock is up: an idle GPU begins slowly, and a compiled function eagerly."""
    backend.synchronize()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        call()


def cpu(call, backend, count=200):
    """Milliseconds of Python and JavaScript of one call, the GPU's work left to itself."""
    times = []
    for _ in range(count):
        begun = time.perf_counter()
        call()
        times.append((time.perf_counter() - begun) * 1e3)
        if len(times) % 20 == 0:
            backend.synchronize()
    return round(sorted(times)[count // 2], 3)


def training(torch, models, batch, count):
    """(ms of a step, cpu ms, dispatches, first call in s)."""
    model = models.ResNet18()
    step = torch.compile(models.training_step(model, torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)))
    x, y = torch.randn(batch, 3, 32, 32), torch.randint(0, 10, (batch,))
    begun = time.perf_counter()
    step(x, y).item()
    first = time.perf_counter() - begun
    begun = time.perf_counter()
    step(x, y).item()
    second = time.perf_counter() - begun
    settle(lambda: step(x, y).item(), torch.devices.backend())
    found = {"ms": median(lambda: step(x, y).item(), count), "cpu_ms": cpu(lambda: step(x, y), torch.devices.backend()),
             "dispatches": step.programs[-1].dispatches, "first_s": round(first, 2), "second_s": round(second, 2),
             "shared_mb": round(step.programs[-1].shared_bytes / 1e6)}
    with torch.profile() as profile:
        step(x, y)
    print(f"batch {batch}:", profile.table(30))
    return found


def forward(torch, model, image, count):
    """(ms with the logits read back, dispatches)."""
    model.eval()
    step = torch.compile(model)
    with torch.no_grad():
        begun = time.perf_counter()
        step(image).tobytes()
        first = time.perf_counter() - begun
        settle(lambda: step(image).tobytes(), torch.devices.backend())
        found = {"ms": median(lambda: step(image).tobytes(), count), "dispatches": step.programs[-1].dispatches, "first_s": round(first, 2)}
        with torch.profile() as profile:
            step(image)
        print(profile.table(30))
        return found


def measure(anyway):
    """Runs inside Pyodide."""
    import models

    import pyborch as torch
    import pyborch.devices
    torch.set_default_device("webgpu")
    backend = pyborch.devices.backend()
    if backend.software and not anyway:
        print(f"networks: the adapter is software ({backend.name}); --anyway measures it all the same", file=sys.stderr)
        sys.exit(2)
    count, scale = (5, {"width": 8}) if backend.software else (100, {})
    found = {"adapter": backend.name}
    for batch in (1, 16)[:1 if backend.software else 2]:
        found[f"resnet18_forward_{batch}"] = forward(torch, models.ResNet18(**scale), torch.randn(batch, 3, 32, 32), count)
        found[f"vit_tiny_forward_{batch}"] = forward(torch, models.ViT(), torch.randn(batch, 3, 224, 224), count)
    for batch in (2,) if backend.software else (16, 64):
        found[f"resnet18_train_{batch}"] = training(torch, models, batch, count)
    print(json.dumps(found))


if __name__ == "__main__":
    if sys.platform == "emscripten":
        measure("--anyway" in sys.argv)
    else:
        from tools.browser import run_script
        sys.exit(run_script(__file__, sys.argv[1:], files=[ROOT / "bench/models.py"]))
