"""How few dispatches, how much memory and how much Python a compiled step takes: ./build.sh bench dispatches [--batch N]. In headless
Chromium; the last line is JSON. Counts are of whole networks on small batches; memory is ResNet-18's at batch 64, where the work itself is
left out (only its memory is asked for).
"""
import json
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]


def program_of(compiled):
    return next(iter(compiled._programs.values()))[-1]


def left_out(backend):
    """Have the device run nothing from here on."""
    backend._run = backend._replay = lambda *numbers: None


def used(backend):
    return backend.stats()["allocated_bytes"]


def eager_peak(backend, step, *batch):
    """The most bytes in use during a step, looked at before each op."""
    step(*batch)
    found, launch = [0], backend.launch

    def watched(*args):
        outputs = launch(*args)
        found[0] = max(found[0], backend.pool.reserved_bytes - backend.pool.idle_bytes())
        return outputs
    backend.launch = watched
    step(*batch)
    del backend.launch
    return found[0]


def measure(batch):
    """Runs inside Pyodide."""
    import gc

    import models

    import pyborch as torch
    import pyborch.devices
    torch.set_default_device("webgpu")
    backend = pyborch.devices.backend()
    found = {"adapter": backend.name, "batch": batch}
    model = models.ResNet18()
    step = models.training_step(model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9))
    x, y = torch.randn(batch, 3, 32, 32), torch.randint(0, 10, (batch,))
    losses = [step(x, y).item()]
    compiled = torch.compile(step)
    losses += [compiled(x, y).item(), compiled(x, y).item()]
    found["resnet18_train"] = program_of(compiled).dispatches
    print("losses of three steps, the last one replayed:", losses)
    model.eval()
    forward = torch.compile(model)
    with torch.no_grad():
        wanted, _ = model(x), forward(x)
        found["resnet18_forward_max_abs_diff"] = (forward(x) - wanted).abs().max().item()
    found["resnet18_forward"] = program_of(forward).dispatches
    vit = models.ViT()
    forward = torch.compile(vit)
    with torch.no_grad():
        image = torch.randn(1, 3, 224, 224)
        wanted, _ = vit(image), forward(image)
        found["vit_tiny_forward_max_abs_diff"] = (forward(image) - wanted).abs().max().item()
    found["vit_tiny_forward"] = program_of(forward).dispatches
    found["adamw_update"], found["parameters_updated"] = adamw(torch, model)
    compiled.reset()
    left_out(backend)
    found.update(memory(torch, models, backend, gc))
    print(json.dumps(found))


def adamw(torch, model):
    """(dispatches of one update, parameters)."""
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=1e-3)
    for p in parameters:
        p.grad = torch.ones_like(p)
    update = torch.compile(lambda: optimizer.step())
    update()
    update()
    return program_of(update).dispatches, len(parameters)


def memory(torch, models, backend, gc):
    model = models.ResNet18()
    step = models.training_step(model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9))
    x, y = torch.zeros(64, 3, 32, 32), torch.zeros(64, dtype=torch.int64)
    gc.collect()
    other = used(backend) - sum(4 * p.numel() for p in model.parameters())
    eager = eager_peak(backend, step, x, y) - other
    compiled = torch.compile(step)
    begun = time.perf_counter()
    compiled(x, y)
    first = time.perf_counter() - begun
    backend.synchronize()                # until its kernels are compiled the function would run eagerly
    begun = time.perf_counter()
    step(x, y)
    plain = time.perf_counter() - begun
    gc.collect()
    compiled(x, y)
    planned = used(backend) - other
    begun = time.perf_counter()
    for _ in range(20):
        compiled(x, y)
    replay = (time.perf_counter() - begun) / 20
    program = program_of(compiled)
    return {"resnet18_memory_ratio": round(planned / eager, 3), "eager_peak_mb": round(eager / 1e6), "compiled_mb": round(planned / 1e6),
            "shared_mb": round(program.shared_bytes / 1e6), "recorded_and_compiled_s": round(first, 2), "eager_step_python_s": round(plain, 2),
            "replay_python_ms": round(replay * 1e3, 3), "dispatches_at_batch_64": program.dispatches}


if __name__ == "__main__":
    if sys.platform == "emscripten":
        measure(int(sys.argv[1]) if len(sys.argv) > 1 else 4)
    else:
        from tools.browser import run_script
        sys.exit(run_script(__file__, sys.argv[1:], files=[ROOT / "bench/models.py"]))
