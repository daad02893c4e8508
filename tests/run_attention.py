"""The attention kernel against products and a softmax on WebGPU, and some compiled kernels, float16 too where the device has it."""
import pyborch as torch
import pyborch.devices
from pyborch.nn import functional as F

torch.set_default_device("webgpu")
torch.manual_seed(0)
HALF = pyborch.devices.backend().has_f16
count = 0


def check(wanted, found, tolerance):
    global count
    assert wanted.shape == found.shape and wanted.dtype == found.dtype, (wanted.shape, found.shape)
    worst = (wanted.float() - found.float()).abs().max().item()
    assert worst < tolerance, (worst, wanted.shape)
    count += 1


def attend(q, k, v, tolerance=1e-5, **options):
    """The same with and without a gradient wanted: the first is made of products, the second is the kernel."""
    wanted = F.scaled_dot_product_attention(q.requires_grad_(), k, v, **options).detach()
    with torch.no_grad():
        check(wanted, F.scaled_dot_product_attention(q, k, v, **options), tolerance)


def heads(*shape, dtype=torch.float32):
    return torch.randn(*shape).to(dtype)


for queries, keys, size, wide in ((1, 1, 4, 4), (17, 33, 8, 12), (40, 70, 64, 64), (5, 100, 128, 3), (33, 32, 7, 128)):
    q, k, v = heads(2, 3, queries, size), heads(2, 3, keys, size), heads(2, 3, keys, wide)
    attend(q, k, v)
    attend(q[0], k[0], v[0], scale=0.3)
    attend(q, k, v, attn_mask=torch.randn(queries, keys))
    attend(q, k, v, attn_mask=torch.rand(2, 1, queries, keys) > 0.4)
    attend(q, k, v, attn_mask=torch.zeros(queries, keys) > 0)
    if queries == keys or queries > 16:
        attend(q, k, v, is_causal=True)
mixed = heads(2, 50, 3, 4, 16).permute(2, 0, 3, 1, 4)
attend(*[t.detach() for t in mixed.unbind(0)], is_causal=True)
attend(heads(1, 6, 20, 8), heads(1, 2, 20, 8), heads(1, 2, 20, 8), enable_gqa=True)


def behind(node):
    """The names of all nodes of the tape from this one on."""
    return repr(node) + "".join(behind(other) for other, _ in node.next_functions if other is not None)


def gradients(q, k, v, tolerance=2e-5, **options):
    """Results and gradients made of products, and those of the kernels that hardware adapters get."""
    found = []
    for software in (True, False):
        backend.software = software
        leaves = [t.detach().requires_grad_() for t in (q, k, v)]
        y = F.scaled_dot_product_attention(*leaves, **options)
        assert ("AttentionTraining" in behind(y.grad_fn)) is not software, behind(y.grad_fn)
        found.append([y.detach(), *torch.autograd.grad((y * y.detach().sin()).sum(), leaves)])
    backend.software = was
    for wanted, made in zip(*found):
        check(wanted, made, tolerance)


backend = pyborch.devices.backend()
was = backend.software
q, k, v = heads(2, 3, 17, 8), heads(2, 3, 33, 8), heads(2, 3, 33, 12)
gradients(q, k, v)
gradients(q, k, v, attn_mask=torch.randn(17, 33))
gradients(q, k, v, attn_mask=torch.rand(2, 1, 17, 33) > 0.4)
gradients(q, k, v, is_causal=True)
gradients(heads(1, 2, 40, 64), heads(1, 2, 70, 64), heads(1, 2, 70, 64))
gradients(heads(2, 1, 33, 7), heads(2, 1, 45, 7), heads(2, 1, 45, 21))
gradients(heads(1, 6, 20, 8), heads(1, 2, 20, 8), heads(1, 2, 20, 8), enable_gqa=True, is_causal=True)
gradients(heads(3, 37, 16), heads(3, 37, 16), heads(3, 37, 16), is_causal=True, scale=0.3)
backend.software = False
q, k, v = (heads(1, 2, 5, 4).requires_grad_() for _ in range(3))
curves = []
for software in (True, False):
    backend.software = software
    y = F.scaled_dot_product_attention(q, k, v)
    g = torch.autograd.grad((y * y).sum(), (q, k, v), create_graph=True)
    curves.append(torch.cat([t.reshape(-1) for t in torch.autograd.grad(sum((t * t).sum() for t in g), (q, k, v))]))
backend.software = was
check(*curves, 1e-4)


def as_written(q, k, v, mask, kind):
    scores = q @ k.transpose(-2, -1) / 3
    if kind == "added":
        return (mask + scores).softmax(-1) @ v
    if kind == "filled":
        return scores.masked_fill(mask > 0, -torch.inf).softmax(-1) @ v
    if kind == "seen":
        return torch.where(mask > 0, scores, -1e9).softmax(-1) @ v
    return torch.bmm(scores.reshape(6, 33, 40).softmax(-1), v.reshape(6, 40, 12))


for kind in ("added", "filled", "seen", "none"):
    q, k, v, mask = heads(2, 3, 33, 8), heads(1, 3, 40, 8).expand(2, 3, 40, 8), heads(2, 3, 40, 12), torch.randn(2, 1, 33, 40)
    mask[:, :, 5] = {"added": -3.4028235e38, "seen": -1.0}.get(kind, mask[0, 0, 5])
    mask[:, :, 6] = {"added": -torch.inf, "filled": 1.0}.get(kind, mask[0, 0, 6])
    compiled = torch.compile(as_written)
    with torch.no_grad():
        compiled(q, k, v, mask, kind)
        pyborch.devices.backend().synchronize()  # until then the second call would be eager
        wanted, found = as_written(q, k, v, mask, kind), compiled(q, k, v, mask, kind)
    assert "attention(" in repr(compiled.programs[0]), kind
    assert bool(wanted.isnan().any()) is (kind in ("added", "filled")) and torch.equal(wanted.isnan(), found.isnan()), kind
    check(wanted.nan_to_num(7.0), found.nan_to_num(7.0), 1e-5)


def step(x, w):
    y = F.layer_norm((x * 2 + 1).relu(), (x.shape[-1],), w, w)
    return (y @ y.transpose(-2, -1)).softmax(-1).tanh() * 0.5, y.mean(0), (y > 0.5).sum(1), y.var(0)


for dtype, tolerance in ((torch.float32, 1e-5), (torch.float16, 1e-2))[:1 + HALF]:
    if dtype is torch.float16:
        attend(heads(2, 3, 20, 16, dtype=dtype), heads(2, 3, 40, 16, dtype=dtype), heads(2, 3, 40, 16, dtype=dtype), tolerance)
    x, w = heads(40, 300, dtype=dtype), heads(300, dtype=dtype)
    compiled = torch.compile(step)
    with torch.no_grad():
        compiled(x, w)
        for wanted, found in zip(step(x, w), compiled(x, w)):
            check(wanted, found, tolerance * max(1.0, wanted.float().abs().max().item()))
print(f"{count} comparisons, float16 {HALF}")
