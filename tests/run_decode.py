"""Attention of few queries over many keys against the kernel for any number of them and against products, and a paged cache against the cpu device, on WebGPU."""
import pyborch as torch
import pyborch.devices
from pyborch.nn import PagedKVCache
from pyborch.nn import functional as F
from pyborch.ops import decode

torch.set_default_device("webgpu")
torch.manual_seed(0)
backend = pyborch.devices.backend()
count, FROM = 0, decode.FROM


def check(wanted, found, tolerance=1e-5):
    global count
    assert wanted.shape == found.shape and wanted.dtype == found.dtype, (wanted.shape, found.shape)
    worst = (wanted.float() - found.float()).abs().max().item() / max(1e-3, wanted.float().abs().max().item())
    assert worst < tolerance, (worst, wanted.shape)
    count += wanted.numel()


def both(q, k, v, plain=False, **options):
    """What it gives made of products (or, ``plain``, with the kernel for any number of queries), and with the kernel for few."""
    found = []
    for decode.FROM in (1 << 30, FROM):
        torch.autograd.forget_plans()
        q = q.detach().requires_grad_(decode.FROM != FROM and not plain)
        found.append(F.scaled_dot_product_attention(q, k, v, **options).detach())
    return found


def few(queries, keys, size, wide, heads=2, key_heads=2, batch=1, tolerance=1e-5, dtype=torch.float32, **options):
    q, k, v = (torch.randn(batch, *shape).to(dtype) for shape in ((heads, queries, size), (key_heads, keys, size), (key_heads, keys, wide)))
    check(*both(q, k, v, enable_gqa=heads != key_heads, **options), tolerance)


few(1, 600, 64, 64, batch=2, plain=True)
few(1, 257, 20, 33, heads=8, batch=2)
few(2, 300, 128, 128, heads=4, attn_mask=torch.randn(1, 4, 2, 300))
few(3, 700, 7, 3, attn_mask=torch.rand(1, 2, 3, 700) > 0.9)
few(2, 300, 8, 8, attn_mask=torch.zeros(2, 300) > 0)
few(4, 130, 16, 16, heads=18, scale=0.2)     # 36 rows share keys: three workgroups have them
q, k, v = torch.randn(1, 1, 2, 16).transpose(1, 2), torch.randn(1, 300, 2, 20)[..., 3:19].transpose(1, 2), torch.randn(1, 300, 2, 16).transpose(1, 2)
check(*both(q, k, v))
q, k, v = torch.randn(1, 2, 1, 260), torch.randn(1, 2, 200, 260), torch.randn(1, 2, 200, 260)
check(*both(q, k, v))
if backend.has_f16:
    few(1, 300, 64, 64, heads=4, tolerance=2e-3, dtype=torch.float16)


def as_written(q, k, v, mask):
    return (q @ k.transpose(-2, -1) / 3).masked_fill(mask > 0, -torch.inf).softmax(-1) @ v


q, k, v, mask = torch.randn(2, 2, 3, 8), torch.randn(2, 2, 200, 8), torch.randn(2, 2, 200, 12), torch.randn(2, 1, 3, 200)
mask[:, :, 1] = 1.0
compiled = torch.compile(as_written)
with torch.no_grad():
    compiled(q, k, v, mask)
    backend.synchronize()   # until then the second call would be eager
    wanted, found = as_written(q, k, v, mask), compiled(q, k, v, mask)
labels = [step.kernel.label.split()[0] for step, _, _ in compiled.programs[0].lowered]
assert "attention_few" in labels and bool(wanted.isnan().any()) and torch.equal(wanted.isnan(), found.isnan()), labels
check(wanted.nan_to_num(7.0), found.nan_to_num(7.0))


def talk(device, dtype, page, dim):
    """What sequences of a cache attend to, while they come, grow and go."""
    def drawn(*shape):
        return torch.sin(torch.arange(1.0, 1 + torch.Size(shape).numel(), device="cpu") * 12.9898).reshape(shape).to(dtype).to(device)
    cache, found = PagedKVCache(16, page, 2, dim, dtype, device), []
    for step, (sequence, tokens) in enumerate((("a", 3 * page), ("b", 1), ("b", page), ("a", 1), ("c", 5), ("b", 4))):
        cache.append(sequence, drawn(2, tokens + step, dim)[:, step:], drawn(tokens, 2, dim).transpose(0, 1))
        found.append(cache.attend([sequence], drawn(1, 4, 1, dim)))
    found += [cache.attend(["a", "b", "c"], drawn(3, 4, n, dim)) for n in (1, 5)]
    cache.free("a")
    cache.append("d", drawn(2, 13 * page, dim), drawn(2, 13 * page, dim))
    return [*found, cache.attend(["d", "b"], drawn(2, 6, 1, dim)), cache.attend(["c", "d"], drawn(2, 2, 3, dim))]


for dtype, page, dim, tolerance in ((torch.float32, 16, 24, 1e-5), (torch.float32, 7, 5, 1e-5), (torch.float16, 16, 16, 2e-3))[:2 + backend.has_f16]:
    for wanted, found in zip(talk("cpu", dtype, page, dim), talk("webgpu", dtype, page, dim)):
        check(wanted, found.cpu(), tolerance)
print(f"{count} numbers on {backend.name}, float16 {backend.has_f16}")
