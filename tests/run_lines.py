"""A few rows times lines of a matrix (gemm_lines.wgsl), which hardware adapters do: against the products of software adapters, and nothing written beside."""
import sys

import pyborch as torch
import pyborch.devices
from pyborch.nn import functional as F
from pyborch.ops import variants
from pyborch.ops.variants import Lines

torch.set_default_device("webgpu")
backend = pyborch.devices.backend()
choose, forced, used = variants.choose, [None], []


def variant_of(device, size, a, b):
    """The variant under test where it may be used, its sum in up to three parts; else the choice for a software adapter."""
    if forced[0] is None or size.rows > variants.LINES or not (variants._in_lines(a) and variants._in_lines(b)):
        return choose(device, size, a, b)
    used.append(size.rows)
    return Lines(size.rows, forced[0]), min(3, -(-size.steps[0] // 4))


variants.choose = variant_of
torch.manual_seed(0)
KINDS = [torch.float32] + ([torch.float16] if backend.has_f16 else [])
CASES = [(torch.randn(*lead, rows, depth).to(dtype), torch.randn(cols, depth).to(dtype), torch.randn(cols).to(dtype))
         for dtype in KINDS for lead, rows, cols, depth in (((), 1, 65, 64), ((), 2, 6, 300), ((), 3, 130, 72), ((), 4, 1, 520), ((3,), 1, 33, 256))]


def fused(x, w, bias):
    return F.relu(F.linear(x, w, bias)) * 2


def products():
    """Results as one row of numbers; a padded matrix' lines do not end where the next ones begin."""
    torch.autograd.forget_plans()
    found = []
    for x, w, bias in CASES:
        wide = F.pad(w, (0, 8), value=float("nan"))[:, :w.shape[1]]
        found += [F.linear(x, w, bias), x @ w.t(), x @ wide.t(), w @ x[..., :1, :].mT, torch.compile(fused)(x, w, bias), torch.stack([x, x]) @ w.t()]
    return torch.cat([t.float().reshape(-1) for t in found])


with torch.no_grad():
    wanted, failures = products(), []
    for cols in (1, 2, 4):
        forced[0] = cols
        found = products()
        worst = ((found - wanted).abs() / (1 + wanted.abs())).max().item()
        print(f"{cols} columns: {wanted.numel()} numbers, rows {sorted(set(used))}, worst relative difference {worst:.1e}")
        if not worst < (2e-3 if backend.has_f16 else 1e-5) or set(used) != {1, 2, 3, 4}:
            failures.append(cols)
print(f"on {backend.name}, {len(KINDS)} dtypes")
sys.exit(1 if failures else 0)
