"""How far f32 results on WebGPU are from f64 ones, with the kernels of software and of hardware adapters.

Bounds, eps = 2^-24: sums and products of K terms 2 sqrt(K) eps of the sum of absolute terms (the worst case would be K eps); softmax and norms
32 eps of the largest value of a row; attention 64 eps of the largest value.
"""
import sys

import numpy as np

import pyborch as torch
import pyborch.devices
from pyborch.nn import functional as F

EPS = 2.0 ** -24
backend = pyborch.devices.backend("webgpu")
software, failures, count = backend.software, [], 0
rng = np.random.default_rng(0)


def draw(*shape):
    """The same numbers as f32 tensor on the GPU and as f64 array."""
    x = rng.standard_normal(shape).astype("float32")
    return torch.tensor(x, device="webgpu"), x.astype("float64")


def check(name, found, wanted, bound):
    global count
    count += 1
    ratio = (np.abs(found.cpu().numpy() - wanted) / bound).max()
    print(f"{name:<40} {ratio:6.1%} of its bound")
    if not ratio <= 1:
        failures.append(name)


def columns(x, kernel):
    """Images (n, c, h, w) as (n, c k k, h w) for a convolution of stride 1 that keeps the size."""
    n, c, h, w = x.shape
    padded, k = np.pad(x, ((0, 0), (0, 0), (kernel // 2,) * 2, (kernel // 2,) * 2)), kernel
    return np.stack([padded[:, :, i:i + h, j:j + w] for i in range(k) for j in range(k)], 2).reshape(n, c * k * k, h * w)


def products():
    for m, k, n in ((33, 64, 40), (40, 1000, 70), (20, 5000, 33), (70, 515, 130)):
        (a, a64), (b, b64) = draw(m, k), draw(k, n)
        bound = 2 * k ** 0.5 * EPS * (np.abs(a64) @ np.abs(b64))
        check(f"matmul {m}x{k}x{n}", a @ b, a64 @ b64, bound)
        check(f"linear {m}x{k}x{n}", F.linear(a, b.t().contiguous()), a64 @ b64, bound)
        check(f"transposed {m}x{k}x{n}", a.t().contiguous().t() @ b, a64 @ b64, bound)
    (x, x64), (w, w64) = draw(2, 40, 9, 11), draw(70, 40, 3, 3)
    flat, unrolled = w64.reshape(70, -1), columns(x64, 3)
    terms = np.abs(flat) @ np.abs(unrolled)
    check("convolution 40 to 70, 3x3", F.conv2d(x, w, padding=1), (flat @ unrolled).reshape(2, 70, 9, 11),
          2 * 360 ** 0.5 * EPS * terms.reshape(2, 70, 9, 11))


def rows():
    for shape in ((3, 100000), (200, 1000), (40, 33)):
        x, x64 = draw(*shape)
        for dim in (0, 1):
            check(f"sum of {shape} over {dim}", x.sum(dim), x64.sum(dim), 2 * shape[dim] ** 0.5 * EPS * np.abs(x64).sum(dim))
        e = np.exp(x64 - x64.max(1, keepdims=True))
        wanted = e / e.sum(1, keepdims=True)
        check(f"softmax of {shape}", x.softmax(1), wanted, 32 * EPS * wanted.max(1, keepdims=True))
        normed = (x64 - x64.mean(1, keepdims=True)) / np.sqrt(x64.var(1, keepdims=True) + 1e-5)
        check(f"layer norm of {shape}", F.layer_norm(x, shape[1:]), normed, 32 * EPS * np.abs(normed).max(1, keepdims=True))


def attention():
    for queries, keys, size in ((40, 70, 64), (5, 300, 32)):
        (q, q64), (k, k64), (v, v64) = draw(1, 2, queries, size), draw(1, 2, keys, size), draw(1, 2, keys, size)
        s = q64 @ k64.swapaxes(-1, -2) / size ** 0.5
        e = np.exp(s - s.max(-1, keepdims=True))
        wanted = e / e.sum(-1, keepdims=True) @ v64
        check(f"attention {queries}x{keys}x{size}", F.scaled_dot_product_attention(q, k, v), wanted, 64 * EPS * np.abs(v64).max())


for backend.software in sorted({software, False}, reverse=True):
    print("with the kernels of", "software" if backend.software else "hardware", "adapters, on", backend.name)
    torch.autograd.forget_plans()
    products()
    rows()
    attention()
print(f"{count} results")
print(*failures, sep="\n")
sys.exit(1 if failures or not count else 0)
