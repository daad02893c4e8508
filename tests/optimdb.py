"""PyTorch's own optimizer database (optim_db) against pyborch on the CPU: weights after each of some steps, and the state afterwards.

    .cache/torch/bin/python tests/optimdb.py [names, as Adam]
"""
import pathlib
import sys
import types
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.modules.setdefault("expecttest", types.SimpleNamespace(TestCase=object))     # a dependency of torch.testing that nothing here calls

import torch  # noqa: E402
from torch.testing._internal.common_optimizers import optim_db  # noqa: E402

import pyborch  # noqa: E402

warnings.simplefilter("ignore")
pyborch.set_default_device("cpu")
TOLERANCE = {"Muon": 2e-2}      # PyTorch's is computed in bfloat16
SHAPES = [(4, 3), (3, 5)]


def given(value):
    """Options with PyTorch's tensors as pyborch's."""
    if isinstance(value, dict):
        return {k: given(v) for k, v in value.items()}
    if isinstance(value, tuple):
        return tuple(given(v) for v in value)
    return pyborch.tensor(value.tolist()) if isinstance(value, torch.Tensor) else value


def run(library, name, options, steps, dtype):
    """[weights and state after each step]."""
    draw = torch.Generator().manual_seed(3)
    shapes = SHAPES if name == "Muon" else [*SHAPES, (4,), (1,)]
    params = [library.tensor(torch.randn(s, generator=draw, dtype=torch.float64).tolist(), dtype=getattr(library, dtype), requires_grad=True) for s in shapes]
    options = options if library is torch else given(options)
    optimizer, found = getattr(library.optim, name)(params, **options), []

    def closure():
        optimizer.zero_grad()
        loss = sum((p * p * p).sum() + (p.sin() * 2).sum() for p in params) ** 2 / 100
        loss.backward()
        return loss
    for _ in range(steps):
        if name == "LBFGS":
            optimizer.step(closure)
        else:
            closure()
            optimizer.step()
        found.append([p.detach().reshape(-1).tolist() for p in params])
    return found, {i: sorted(s) for i, s in optimizer.state_dict()["state"].items()}


def differs(name, options, dtype):
    """What is different, as text; empty where nothing is."""
    (wanted, state), (found, our_state) = run(torch, name, options, 6, dtype), run(pyborch, name, options, 6, dtype)
    tolerance = TOLERANCE.get(name, 1e-8 if dtype == "float64" else 1e-4)
    for step, (a, b) in enumerate(zip(wanted, found)):
        for k, (x, y) in enumerate(zip(a, b)):
            if not torch.allclose(torch.tensor(y, dtype=torch.float64), torch.tensor(x, dtype=torch.float64), tolerance, tolerance, equal_nan=True):
                return f"step {step}, parameter {k}: {y[:3]} instead of {x[:3]}"
    return "" if state == our_state or name == "LBFGS" else f"state {our_state} instead of {state}"


def main(names):
    right = total = 0
    for info in optim_db:
        name = info.optim_cls.__name__
        if names and name not in names or name == "SparseAdam":
            continue
        for sample in info.optim_inputs_func("cpu"):
            for dtype in ("float64", "float32"):
                total += 1
                try:
                    problem = differs(name, sample.kwargs, dtype)
                except Exception as error:  # noqa: BLE001 counted and shown
                    problem = f"{type(error).__name__}: {error}"
                right += not problem
                if problem:
                    print(name, dtype, sample.kwargs, problem[:300])
        for sample in info.optim_error_inputs_func("cpu", torch.float32) if info.optim_error_inputs_func else ():
            if "complex" in str(sample.optimizer_error_input.desc):
                continue
            total += 1
            found, wanted = [raised(library, name, sample) for library in (pyborch, torch)]     # PyTorch changes the sample's groups
            right += wanted == found
            if wanted != found:
                print(name, sample.optimizer_error_input.kwargs, f"raises {found} instead of {wanted}")
    print(f"{right} of {total} as in PyTorch")


def given_params(value, seen):
    """PyTorch's parameters as pyborch's; the same one stays the same."""
    if isinstance(value, torch.Tensor):
        return seen.setdefault(value, pyborch.nn.Parameter(pyborch.tensor(value.tolist())))
    if isinstance(value, dict):
        return {k: given_params(v, seen) for k, v in value.items()}
    return type(value)(given_params(v, seen) for v in value) if isinstance(value, (list, tuple)) else value


def raised(library, name, sample):
    """(type, message) of what the constructor raises."""
    sample_input = sample.optimizer_error_input
    params = sample_input.params if sample_input.params is not None else [torch.ones(2, 2)]
    try:
        if library is pyborch:
            params = given_params(params, {})
        options = sample_input.kwargs if library is torch else given(sample_input.kwargs)
        getattr(library.optim, name)(params, **options)
    except Exception as error:  # noqa: BLE001 the exception is the result
        return type(error).__name__, str(error)
    return None


main(sys.argv[1:])
