"""Sorting, running results and writes by index on WebGPU against the CPU device's: with the kernels of software adapters and of hardware adapters."""
import sys

import pyborch as torch
import pyborch.devices

torch.set_default_device("cpu")      # also beside a hardware adapter
torch.manual_seed(0)
failures, count = [], 0


def check(name, make, x, tolerance=0.0):
    """The same on both devices; ``make`` gives a tuple of tensors."""
    global count
    for wanted, found in zip(make(x), make(x.to("webgpu"))):
        count += wanted.numel()
        if not torch.allclose(wanted.float(), found.cpu().float(), rtol=tolerance, atol=tolerance, equal_nan=True):
            failures.append(f"{name} of {list(x.shape)} {x.dtype}")


def order():
    for shape in ((257,), (1000,), (3, 700), (700, 3), (2, 513, 2), (2049,), (9000,)):
        x = (torch.randn(*shape) * 4).round()                   # with many equal ones
        x.reshape(-1)[::50] = torch.nan
        for dim in range(x.dim()):
            for descending in (False, True):
                check("sort", lambda x: tuple(x.sort(dim, descending)), x)
            check("sort", lambda x: tuple(x.sort(dim)), (x.nan_to_num() * 100).to(torch.int64))
            check("cummax", lambda x: tuple(x.cummax(dim)), x)
            check("cummin", lambda x: tuple(x.cummin(dim)), x)
    check("sort", lambda x: tuple(x.sort(0)), torch.randn(600) > 0)
    check("topk", lambda x: tuple(x.topk(5)), torch.randn(2, 5000))
    for shape in ((1500,), (5, 3000), (2000, 2)):
        for dim in range(len(shape)):
            check("cumsum", lambda x: (x.cumsum(dim),), torch.randn(*shape), 2e-4)
            check("cumsum", lambda x: (x.cumsum(dim),), torch.randint(-9, 9, shape))
            check("cumprod", lambda x: (x.cumprod(dim),), 1 + torch.randn(*shape) / 100, 2e-4)
            check("cummax", lambda x: tuple(x.cummax(dim)), torch.randn(*shape))



def writes():
    """Many indices for few rows, few for many, all the same, none in reach; a vector of them for all columns, and one for each."""
    for m, n, inner, outer in ((1000, 7, 5, 1), (3000, 100, 3, 2), (600, 5000, 1, 1), (2049, 1, 2, 1), (700, 40, 64, 1)):
        index = torch.randint(0, n, (m,))
        x, source = torch.randn(outer, n, inner), torch.randn(outer, m, inner)
        for how in ("index_add", "index_copy"):
            check(how, lambda x: (getattr(x, how)(1, index.to(x.device), source.to(x.device)),), x, 1e-4)
        wide = torch.randint(0, n, (outer, m, inner))
        for how in ("sum", "amax", "amin"):
            check(how, lambda x: (x.scatter_reduce(1, wide.to(x.device), source.to(x.device), how),), x, 1e-4)
        check("integers", lambda x: (x.scatter_add(1, wide.to(x.device), wide.to(x.device)),), x.round().to(torch.int64))
        check("assign", lambda x: (x.scatter(1, wide.to(x.device), source.to(x.device)),), x)
        check("x[i]", lambda x: (gradient(lambda x: x[0, (index - n // 2).to(x.device)].square().sum(), x),), x, 1e-4)


def gradient(function, x):
    x = x.clone().requires_grad_()
    return torch.autograd.grad(function(x), x)[0]


backend = pyborch.devices.backend("webgpu")
torch.set_default_device(None)
torch.zeros(1)
assert pyborch.devices.backend("webgpu") is backend   # choosing a default device starts no second one
torch.set_default_device("cpu")
software = backend.software
for backend.software in (True, False):
    torch.autograd.forget_plans()
    order()
    writes()
backend.software = software
print(f"{count} numbers")
print(*failures, sep="\n")
sys.exit(1 if failures else 0)
