"""What Python and the FFI cost: ./build.sh bench ffi. In headless Chromium; the last line is JSON, times in microseconds unless named.

``python_us`` is an eager op with the bridge's call left out, ``total_us`` with it; the best of several rounds.
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def measure():
    """Runs inside Pyodide."""
    import time
    start = time.perf_counter()
    import pyborch as torch
    import_ms = (time.perf_counter() - start) * 1e3
    without_numpy = "numpy" not in sys.modules
    import pyborch.devices
    from pyborch import nn
    torch.set_default_device("webgpu")
    backend = pyborch.devices.backend()

    def best(call, count=1000, rounds=7):
        found = []
        for _ in range(rounds):
            begun = time.perf_counter()
            for _ in range(count):
                call()
            found.append((time.perf_counter() - begun) / count * 1e6)
            backend.synchronize()
        return round(min(found), 2)

    x, y = torch.ones(8, 8, requires_grad=True), torch.ones(8, 8)
    image, weight = torch.ones(1, 1, 6, 6), torch.ones(1, 1, 3, 3, requires_grad=True)
    calls = {"pointwise": lambda: x * y, "matmul": lambda: x @ y, "conv2d": lambda: nn.functional.conv2d(image, weight)}
    total = {name: best(call, 300) for name, call in calls.items()}
    run, backend._run = backend._run, lambda *numbers: None
    python = {name: best(call) for name, call in calls.items()}
    backend._run = run

    def chain(a):
        for _ in range(300):
            a = a * 1.0001
        return a
    compiled = torch.compile(chain)
    compiled(y)
    step = best(lambda: compiled(y), 20)
    print(json.dumps({"adapter": backend.name, "python_us": python, "total_us": total, "compiled_300_dispatches_ms": round(step / 1e3, 3),
                      "import_ms": round(import_ms), "import_without_numpy": without_numpy}))


if __name__ == "__main__":
    if sys.platform == "emscripten":
        measure()
    else:
        from tools.browser import run_script
        sys.exit(run_script(__file__))
