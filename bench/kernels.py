"""How near single kernels are to what the hardware can do: ./build.sh bench kernels. Refuses a software adapter unless told ``--anyway``.

Each case is compiled alone; its dispatches are repeated in one program, and the difference between two counts of repeats is its time, so
that what a call and a read cost is left out. Against the bandwidth of a copy and the rate of a loop of multiply-adds, measured here too.
The last line is JSON.
"""
import json
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]
MULTIPLY_ADDS = """@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(256) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  var a = vec4<f32>(f32(id.x)); var b = a + 1.0; var c = a + 2.0; var d = a + 3.0;
  for (var i = 0u; i < 256u; i++) {
    a = fma(a, b, c); b = fma(b, c, d); c = fma(c, d, a); d = fma(d, a, b);
  }
  y[id.x] = a.x + b.y + c.z + d.w;
}"""


class Timer:
    """Times work on a device: lists of (step, storages, scalars)."""

    def __init__(self, torch):
        self.torch, self.device = torch, torch.devices.backend()
        self.probe = torch.zeros(1)

    def seconds(self, work):
        """The GPU's time for ``work``."""
        work = work * self.copies(work)
        handle = self.device.program(work, [], [], [])
        try:
            self._run(handle, 1)
            times = max(2, round(0.02 / max(self._run(handle, 2) / 2, 2e-5)))
            once = min([self._run(handle, times) for _ in range(4)])
            thrice = min([self._run(handle, 3 * times) for _ in range(4)])
        finally:
            self.device.drop(handle)
        return (thrice - once) / (2 * times) / (len(work) or 1)

    def _run(self, handle, times):
        self.probe.item()
        begun = time.perf_counter()
        self.device.replay(handle, times, [], [], [])
        self.probe.item()
        return time.perf_counter() - begun

    @staticmethod
    def copies(work):
        """How often work is put into one program: a replay is a call, which short work would not fill."""
        return max(1, 16 // len(work))

    def call(self, function, *args):
        """The time of one call of a function, compiled."""
        compiled, work = self.recorded(function, *args)
        try:
            return len(work) * self.seconds(work)
        finally:
            compiled.reset()

    def recorded(self, function, *args):
        """(the compiled function, its work); arguments lie in the program's own memory."""
        compiled = self.torch.compile(function)
        compiled(*args)
        if not compiled.programs:
            compiled(*args)
        program = compiled.programs[-1]
        self.probe.item()
        return compiled, [(step, [program.where[v] for v in values], [getattr(s, "value", s) for s in scalars])
                          for step, values, scalars in program.lowered]


def cases(torch, small):
    """(name, function, arguments, bytes moved or None, operations or None)."""
    F, n = torch.nn.functional, 1 << (16 if small else 24)
    rows = torch.randn(64 if small else 4096, 1024)
    weight = torch.ones(1024)
    yield "relu(x*2+1)", lambda x: torch.relu(x * 2 + 1), (torch.randn(n),), 8 * n, None
    yield "sum", lambda x: x.sum(), (torch.randn(n),), 4 * n, None
    yield "softmax of rows", lambda x: x.softmax(-1), (rows,), 8 * rows.numel(), None
    yield "layer norm of rows", lambda x: F.layer_norm(x, (1024,), weight, weight), (rows,), 8 * rows.numel(), None
    yield "sum of columns", lambda x: x.sum(0), (rows,), 4 * rows.numel(), None
    yield "transposed copy", lambda x: x.t().contiguous(), (rows,), 8 * rows.numel(), None
    yield from selections(torch, rows, 1 << (12 if small else 22))
    yield from depthwise(torch, 8 if small else 56)
    yield from decoding(torch, 256 if small else 8192)
    yield from few_bits(torch, 64 if small else 4096)
    yield from updates(torch, 1 << 16 if small else 100_000_000)
    for size in (64,) if small else (512, 1024, 2048, 4096):
        a, b = torch.randn(size, size), torch.randn(size, size)
        yield f"matmul {size}", torch.matmul, (a, b), None, 2 * size ** 3
        yield f"matmul {size} a b^T", lambda a, b: a @ b.t(), (a, b), None, 2 * size ** 3
        yield f"matmul {size} a^T b", lambda a, b: a.t() @ b, (a, b), None, 2 * size ** 3
    if torch.devices.backend().has_f16:
        for size in (64,) if small else (1024, 2048, 4096):
            a, b = torch.randn(size, size).half(), torch.randn(size, size).half()
            yield f"matmul {size} float16", torch.matmul, (a, b), None, 2 * size ** 3
            yield f"matmul {size} a b^T float16", lambda a, b: a @ b.t(), (a, b), None, 2 * size ** 3
    for images, channels, size in ((1, 8, 8),) if small else ((16, 64, 56), (16, 256, 14), (16, 512, 7)):
        x, w = torch.randn(images, channels, size, size), torch.randn(channels, channels, 3, 3)
        g = torch.randn(images, channels, size, size)
        operations, name = 2 * 9 * x.numel() * channels, f"conv 3x3 {images}x{channels}x{size}x{size}"
        yield name, lambda x, w: F.conv2d(x, w, padding=1), (x, w), None, operations
        yield f"{name}, gradient of x", lambda g, w: F.conv_transpose2d(g, w, padding=1), (g, w), None, operations
        yield f"{name}, gradient of w", lambda g, x, w=w: weight_gradient(torch, g, x, w), (g, x), None, operations


def selections(torch, rows, n):
    """Scans, sorts, losses, noise and indices; bytes that must be moved at least."""
    F, (count, size) = torch.nn.functional, rows.shape
    yield "cumsum of rows", lambda x: x.cumsum(-1), (rows,), 8 * rows.numel(), None
    yield "cumsum of one row", lambda x: x.cumsum(0), (torch.randn(n),), 8 * n, None
    yield "argmax of rows", lambda x: x.argmax(-1), (rows,), 4 * rows.numel(), None
    yield "sort of rows", lambda x: x.sort(-1)[0], (rows,), 8 * rows.numel(), None
    yield "sort of one row", lambda x: x.sort(0)[0], (torch.randn(n // 4),), 2 * n, None
    yield "top 8 of rows", lambda x: x.topk(8, -1)[0], (rows,), 4 * rows.numel(), None
    classes = torch.randint(0, size, (count,))
    yield "cross entropy of rows", F.cross_entropy, (rows, classes), 4 * rows.numel(), None
    yield "cross entropy of rows, gradient", lambda x, c: gradient(torch, F.cross_entropy, x, c), (rows, classes), 8 * rows.numel(), None
    yield "dropout", lambda x: F.dropout(x, 0.1), (torch.randn(4 * n),), 32 * n, None
    table, chosen = torch.randn(n // 64, 64), torch.randint(0, n // 64, (n // 64,))
    yield "embedding", F.embedding, (chosen, table), 8 * n, None
    yield "embedding, gradient", lambda w, i: gradient(torch, lambda w, i: F.embedding(i, w).sum(), w, i), (table, chosen), 8 * n, None


def depthwise(torch, size):
    """A 3x3 convolution of each of 256 channels; images and results move once, weights hardly count."""
    x, w = torch.randn(16, 256, size, size), torch.randn(256, 1, 3, 3)
    convolve = lambda x, w: torch.nn.functional.conv2d(x, w, padding=1, groups=256)  # noqa: E731
    yield "depthwise 3x3", convolve, (x, w), 8 * x.numel(), None
    yield "depthwise 3x3, gradient of x", lambda g, w: torch.nn.functional.conv_transpose2d(g, w, padding=1, groups=256), (x, w), 8 * x.numel(), None
    yield "depthwise 3x3, gradient of w", lambda g, x: weight_gradient(torch, g, x, w, groups=256), (x, x), 8 * x.numel(), None


def gradient(torch, function, x, *args):
    """The gradient of a scalar function for its first argument."""
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        return torch.autograd.grad(function(x, *args), x)[0]


def decoding(torch, keys):
    """One query, 32 heads that share 8 of keys and values; as they come, in float16, and in pages of 16 tokens."""
    from pyborch.autograd import apply
    from pyborch.ops.registry import OPS
    q, k, v = torch.randn(1, 32, 1, 128), torch.randn(1, 8, keys, 128), torch.randn(1, 8, keys, 128)
    attention = lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)  # noqa: E731
    name = f"attention, 1 query, 32 heads over 8 x {keys}"
    yield name, attention, (q, k, v), 8 * k.numel(), None
    if torch.devices.backend().has_f16:
        yield f"{name} float16", attention, (q.half(), k.half(), v.half()), 4 * k.numel(), None
    table, lengths = torch.randperm(keys // 16).int().reshape(1, -1), torch.full((1,), keys, dtype=torch.int32)
    pages = [t.reshape(8, keys // 16, 16, 128).transpose(0, 1).contiguous() for t in (k, v)]
    paged = lambda *operands: apply(OPS["attention_paged"], *operands, scale=128 ** -0.5)  # noqa: E731
    yield f"{name}, in pages", paged, (q, *pages, table, lengths), 8 * k.numel(), None


def few_bits(torch, n):
    """One row through a layer of n x n weights; eight layers, which a cache does not hold."""
    from pyborch.ao import quantization
    x = torch.randn(1, n)
    for config, name in ((quantization.Int4WeightOnlyConfig(32), "4 bits"), (quantization.Int8WeightOnlyConfig(), "8 bits")):
        model = torch.nn.Sequential(*[torch.nn.Linear(n, n, bias=False) for _ in range(8)])
        quantization.quantize_(model, config)
        yield f"8 x linear {n}, 1 row, {name}", model, (x,), 4 * sum(layer.weight.numel() for layer in model), None
    model = torch.nn.Sequential(*[torch.nn.Linear(n, n, bias=False) for _ in range(8)])
    yield f"8 x linear {n}, 1 row, float32", model, (x,), 4 * 8 * n * n, None


def updates(torch, n):
    p = torch.nn.Parameter(torch.zeros(n))
    p.grad = torch.ones(n)
    optimizer = torch.optim.Adam([p], lr=1e-3)
    yield "Adam", lambda: optimizer.step(), (), 28 * n, None


def weight_gradient(torch, g, x, w, groups=1):
    w = w.detach().requires_grad_()
    return torch.autograd.grad(torch.nn.functional.conv2d(x, w, padding=1, groups=groups), w, g)[0]


def limits(torch, timer, small):
    """(bytes a second of a copy, operations a second of multiply-adds)."""
    from pyborch.kernels import Kernel, Step
    n, groups = 1 << (16 if small else 27), 4 if small else 8192
    copied = 8 * n / timer.call(torch.clone, torch.zeros(n))
    y = torch.zeros(256 * groups)
    step = Step(Kernel("multiply-adds", MULTIPLY_ADDS), (0,), (), groups)
    return copied, 256 * groups * 256 * 16 * 2 / timer.seconds([(step, [y.storage], [])])


def measure(anyway, only):
    """Runs inside Pyodide."""
    import pyborch as torch
    import pyborch.devices
    torch.set_default_device("webgpu")
    backend = pyborch.devices.backend()
    if backend.software and not anyway:
        print(f"kernels: the adapter is software ({backend.name}); --anyway measures it all the same", file=sys.stderr)
        sys.exit(2)
    timer, small = Timer(torch), backend.software
    bandwidth, rate = limits(torch, timer, small)
    found = {"adapter": backend.name, "copy_gb_s": round(bandwidth / 1e9), "fma_tflop_s": round(rate / 1e12, 2)}
    print(f"{backend.name}: a copy moves {bandwidth / 1e9:.0f} GB/s, multiply-adds run at {rate / 1e12:.2f} TFLOP/s")
    for name, function, args, moved, operations in cases(torch, small):
        if only not in name:
            continue
        with torch.no_grad() if "gradient of w" not in name else torch.enable_grad():
            seconds = timer.call(function, *args)
        value, unit, share = (moved / seconds / 1e9, "GB/s", moved / seconds / bandwidth) if moved else (operations / seconds / 1e12, "TFLOP/s",
                                                                                                    operations / seconds / rate)
        found[name] = round(value, 2)
        print(f"{name:<40} {seconds * 1e3:9.4f} ms {value:9.1f} {unit:<8} {share:6.1%} of the limit")
    times = []
    x = torch.zeros(2, 3)
    for _ in range(5 if small else 100):
        begun = time.perf_counter()
        (x + 1).tolist()
        times.append(time.perf_counter() - begun)
    found["read_back_ms"] = round(sorted(times)[len(times) // 2] * 1e3, 3)
    print(json.dumps(found))


if __name__ == "__main__":
    if sys.platform == "emscripten":
        names = [a for a in sys.argv[1:] if not a.startswith("--")]
        measure("--anyway" in sys.argv, names[0] if names else "")
    else:
        from tools.browser import run_script
        sys.exit(run_script(__file__, sys.argv[1:]))
