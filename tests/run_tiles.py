"""The tiled products that hardware adapters get against the plain ones of software adapters, around the tiles' edges."""
import sys

import pyborch as torch
import pyborch.devices
from pyborch.nn import functional as F
from pyborch.ops import variants
from pyborch.ops.variants import Tiles

torch.set_default_device("webgpu")
backend = pyborch.devices.backend()
choose, forced = variants.choose, [None]


def variant_of(device, size, *sides):
    """The variant under test, its sum in up to four parts, of which the last may be empty; else the choice for a software adapter."""
    return choose(device, size, *sides) if forced[0] is None else (forced[0], max(1, min(4, size.steps[0] * size.steps[1])))


variants.choose = variant_of
torch.manual_seed(0)
SIZES = [tuple(torch.randn(*shape) for shape in ((n, k), (k, m), (m,))) for n, m, k in (
    (1, 1, 1), (3, 5, 7), (4, 6, 5), (33, 65, 17), (64, 64, 16), (70, 130, 40), (129, 67, 100))]
WHOLE = torch.randint(-9, 9, (40, 50)), torch.randint(-9, 9, (50, 45))
IMAGES = [(torch.randn(2, 6, 9, 11, requires_grad=True), torch.randn(70, 6 // groups, *kernel, requires_grad=True), options)
          for kernel, groups, options in (((3, 3), 1, {"padding": 1}), ((1, 1), 1, {"stride": 2}), ((3, 2), 2, {"stride": 2, "padding": 1, "groups": 2}),
                                          ((2, 3), 1, {"dilation": 2, "padding": 2}))]


def products():
    """Results and gradients as one row of numbers."""
    torch.autograd.forget_plans()
    found = []
    for a, b, c in SIZES:
        found += [a @ b, a.t().contiguous().t() @ b.t().contiguous().t(), F.linear(a, b.t().contiguous(), c), torch.stack([a, a]) @ b]
    found.append((WHOLE[0] @ WHOLE[1]).float())
    for x, w, options in IMAGES:
        y = F.conv2d(x, w, **options)
        found += [y.detach(), *torch.autograd.grad((y * y.detach()).sum(), (x, w))]
    return torch.cat([t.detach().reshape(-1) for t in found])


wanted, failures = products(), []
for variant in (Tiles(8, 4, 4, 16, True, 1), Tiles(16, 4, 8, 16, True, 1), Tiles(16, 8, 4, 16, False, 1), Tiles(16, 8, 8, 8, True, 1),
                Tiles(8, 4, 4, 16, True, 4), Tiles(8, 8, 8, 8, True, 4), Tiles(8, 8, 4, 16, True, 2), Tiles(4, 4, 4, 16, True, 8),
                Tiles(8, 8, 8, 8, True, 1), Tiles(8, 8, 8, 16, True, 2), Tiles(16, 8, 8, 16, False, 1)):
    forced[0] = variant
    found = products()
    worst = ((found - wanted).abs() / (1 + wanted.abs())).max().item()
    print(f"{variant}: {wanted.numel()} numbers, worst relative difference {worst:.1e}")
    if not worst < 1e-4:
        failures.append(f"{variant}: {worst}")
print(f"on {backend.name}")
sys.exit(1 if failures else 0)
