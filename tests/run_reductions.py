"""The reductions, transposed copies and sums of depthwise convolutions that hardware adapters get against the plain ones of software adapters: long
rows, columns, strips and their edges."""
import sys

import pyborch as torch
import pyborch.devices
from pyborch.nn import functional as F

torch.set_default_device("webgpu")
backend = pyborch.devices.backend()
torch.manual_seed(0)
INPUTS = [torch.randn(shape) for shape in ((3, 5000), (200, 40), (1000, 33), (130, 3, 70), (4, 40, 50), (9000,), (2, 4, 200, 32))]
INPUTS += [torch.randn(96, 150).t(), torch.randn(40, 300, 2)[:, :, 0], torch.randint(-99, 99, (300, 64))]
COPIED = [torch.randn(300, 250).t(), torch.randn(5, 130, 140).transpose(1, 2), torch.randn(130, 6, 120).permute(1, 2, 0), torch.randn(300, 400)[3:, 7:].t(),
          torch.randint(-99, 99, (33, 3000)).t(), torch.randn(2, 1, 200, 300).expand(2, 3, 200, 300)[:, 1].mT]
DEPTHWISE = [(torch.randn(shape), torch.randn(weights), options) for shape, weights, options in (
    ((2, 6, 20, 30), (12, 1, 3, 3), {"padding": 1}), ((3, 4, 33, 9), (4, 1, 2, 5), {"stride": (2, 1), "padding": (0, 2), "dilation": (2, 1)}),
    ((5, 3, 64, 64), (3, 1, 3, 3), {"padding": 1}))]


def results():
    """Everything as one list of tensors."""
    torch.autograd.forget_plans()
    found = []
    for x in INPUTS:
        for dims in [(d,) for d in range(x.dim())] + [tuple(range(x.dim()))] + [(0, 1)] * (x.dim() > 2) + [(0, 2)] * (x.dim() > 2):
            found += [x.sum(dims), x.amax(dims), x.float().var(dims), (x > 0).any(dims)]
        for d in range(x.dim()):
            found += [*x.max(d), x.argmin(d)]
    found += [t.contiguous() for t in COPIED] + [torch.zeros(250, 320)[:, 10:310].copy_(COPIED[0])]
    for x, w, options in DEPTHWISE:
        w = w.detach().requires_grad_()
        y = F.conv2d(x, w, groups=x.shape[1], **options)
        found.append(torch.autograd.grad((y * y.detach()).sum(), w)[0] / 100)
    return [t.tolist() for t in (t.float().reshape(-1) for t in found)]


software, backend.software = backend.software, True
wanted = results()
backend.software = False
found = results()
backend.software = software
worst = max(abs(a - b) / (1 + abs(a)) for one, other in zip(wanted, found) for a, b in zip(one, other))
print(f"{sum(map(len, wanted))} numbers, worst relative difference {worst:.1e} on {backend.name}")
sys.exit(0 if worst < 1e-4 else 1)
