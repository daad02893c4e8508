"""Products of float16: against the same products in float32, around the edges of subgroup matrices where the device has them."""
import sys

import pyborch as torch
import pyborch.devices
from pyborch.nn import functional as F
from pyborch.ops import variants

torch.set_default_device("webgpu")
device = pyborch.devices.backend()
if not device.has_f16:
    print(f"{device.name} has no float16", file=sys.stderr)
    sys.exit(2)
variants.MATRICES_FROM = 1      # small products too
torch.manual_seed(0)
BOUND = 2.0 ** -10              # the result's own rounding, twice; sums are in f32
problems, count = [], 0


def compare(name, found, wanted):
    global count
    count += wanted.numel()
    worst = ((found.float() - wanted).abs() / (1 + wanted.abs())).max().item()
    if not worst < BOUND:
        problems.append(f"{name}: {worst}")


def half(*shape):
    """Numbers that float16 holds, in float32."""
    return torch.randint(-64, 64, shape).float() / 64


for m, n, k in ((17, 17, 1), (17, 33, 7), (64, 64, 64), (65, 70, 72), (130, 100, 50), (128, 256, 520), (200, 136, 1000), (129, 24, 4096)):
    a, b, c = half(m, k), half(k, n), half(n)
    forms = {"a b": (a, b), "a b^T": (a, b.t().contiguous().t()), "a^T b": (a.t().contiguous().t(), b), "a^T b^T": (a.t().contiguous().t(), b.t().contiguous().t())}
    for name, (x, y) in forms.items():
        compare(f"{name} {m} {n} {k}", x.half() @ y.half(), a @ b)
    compare(f"linear {m} {n} {k}", F.linear(a.half(), b.t().contiguous().half(), c.half()), a @ b + c)
    compare(f"batches {m} {n} {k}", torch.stack([a, -a]).half() @ torch.stack([b, b + 1 / 64]).half(), torch.stack([a, -a]) @ torch.stack([b, b + 1 / 64]))
    compiled = torch.compile(lambda x, y: torch.relu(x @ y + 1) * 0.5)
    for _ in range(2):
        compare(f"compiled {m} {n} {k}", compiled(a.half(), b.half()), torch.relu(a @ b + 1) * 0.5)
x = half(80, 80)
again = torch.compile(lambda t: (t @ t) * t)
for _ in range(2):
    compare("a side read again", again(x.half()), (x @ x) * x)
w, v = half(96, 40).requires_grad_(), half(40, 56).requires_grad_()
grads = torch.autograd.grad((w @ v).sum(), (w, v)), torch.autograd.grad((w.half() @ v.half()).sum(), (w, v))
for wanted, found in zip(*grads):
    compare("gradients", found, wanted)
print(f"on {device.name}, matrices of {sorted(device.matrices) or 'nothing'}: {count} numbers")
print(*problems, sep="\n")
sys.exit(1 if problems else 0)
