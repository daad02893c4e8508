"""What int8 costs in accuracy and gains in time: ./build.sh bench quantized. Refuses a software adapter unless told ``--anyway``.

Trains ResNet-18 on real handwritten digits, converts it with 512 of them, and compares both on 2,000 others; milliseconds are medians with the
result read back. The last line is JSON.
"""
import json
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
DIGITS = ROOT / ".cache/digits.bin"
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]


def digits(torch, count):
    """(images (n, 3, 32, 32), classes) of the first ``count`` digits for training and for testing; the file keeps 8,000 and 2,000."""
    data = DIGITS.read_bytes()
    found = []
    for first, n in ((0, min(count, 8000)), (8000, min(count, 2000))):
        records = torch.frombuffer(data[785 * first:785 * (first + n)], dtype=torch.uint8).reshape(n, 785)
        images = torch.nn.functional.pad(records[:, 1:].reshape(n, 1, 28, 28).float() / 255, (2, 2, 2, 2)).expand(n, 3, 32, 32)
        found += [images.contiguous(), records[:, 0].long()]
    return found


def trained(torch, models, x, y, epochs, width, batch):
    """A ResNet-18 that has seen the digits so often."""
    model = models.ResNet18(width=width)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    steps = epochs * (len(x) // batch)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    step = torch.compile(models.training_step(model, optimizer))
    for _ in range(epochs):
        order = torch.randperm(len(x)).split(batch)
        for rows in order[:len(x) // batch]:
            step(x[rows], y[rows])
            schedule.step()
    return model.eval()


def norms(model):
    """Names of the convolutions and of the batch norms behind them."""
    names = [name for name, _ in model.named_modules()]
    pairs = [(name, name.replace("conv", "bn")) for name in names if "conv" in name]
    return [list(pair) for pair in pairs] + [[name + ".0", name + ".1"] for name in names if name.endswith("shortcut") and name + ".1" in names]


def right(torch, model, x, y, batch=100):
    """Percent of digits whose class the model says."""
    step = torch.compile(model)
    return round(100 * sum((step(a).argmax(1) == b).sum().item() for a, b in zip(x.split(batch), y.split(batch))) / len(x), 2)


def race(torch, backend, nets, image, count, found):
    """Times of the nets with the results read back. They take turns: a GPU's clock falls when it has less to do, and would then be the same for none."""
    from networks import settle
    steps, batch = {name: torch.compile(net) for name, net in nets.items()}, image.shape[0]
    times = {name: [] for name in steps}
    for step in steps.values():
        step(image).tobytes()
        settle(lambda step=step: step(image).tobytes(), backend)
    for _ in range(count):
        for name, step in steps.items():
            begun = time.perf_counter()
            step(image).tobytes()
            times[name].append((time.perf_counter() - begun) * 1e3)
    for name, step in steps.items():
        found[name][f"ms_{batch}"] = round(sorted(times[name])[count // 2], 3)
        with torch.profile() as profile:
            step(image)
        found[name][f"gpu_ms_{batch}"] = round(sum(e[2] - e[1] for e in profile.events) / 1e6, 3)
        print(name, batch, profile.table(12))


def measure(anyway):
    """Runs inside Pyodide."""
    import models

    import pyborch as torch
    import pyborch.devices
    from pyborch.ao import quantization
    torch.set_default_device("webgpu")
    backend = pyborch.devices.backend()
    if backend.software and not anyway:
        print(f"quantized: the adapter is software ({backend.name}); --anyway measures it all the same", file=sys.stderr)
        sys.exit(2)
    torch.manual_seed(0)
    small = backend.software
    x, y, test, classes = digits(torch, 300 if small else 8000)
    model = trained(torch, models, x, y, 2 if small else 5, 8 if small else 64, 50 if small else 100)
    found = {"adapter": backend.name}
    with torch.no_grad():
        prepared = quantization.prepare(quantization.fuse_modules(model, norms(model)))
        for part in x[:512].split(64):
            prepared(part)
        int8 = quantization.convert(prepared)
        nets = {"float32": model, "int8": int8}
        for name, net in nets.items():
            found[name] = {"right": right(torch, net, test, classes)}
        for batch in (1, 16) if small else (1, 16, 64):
            race(torch, backend, nets, test[:batch].contiguous(), 3 if small else 200, found)
    print(json.dumps(found))


if __name__ == "__main__":
    if sys.platform == "emscripten":
        measure("--anyway" in sys.argv)
    else:
        from tools import mnist
        from tools.browser import run_script
        DIGITS.write_bytes(mnist.pack())
        sys.exit(run_script(__file__, sys.argv[1:], files=[ROOT / "bench/models.py", ROOT / "bench/networks.py", DIGITS]))
