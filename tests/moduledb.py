"""PyTorch's own module database (module_db) against pyborch on the CPU: outputs and gradients of every input it has for every layer.

    .cache/torch/bin/python tests/moduledb.py [names, as nn.LSTM] [-v]
"""
import pathlib
import sys
import types
import warnings

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
sys.modules.setdefault("expecttest", types.SimpleNamespace(TestCase=object))     # a dependency of torch.testing that nothing here calls

import torch  # noqa: E402
from torch.testing._internal.common_modules import module_db  # noqa: E402

import pyborch  # noqa: E402
import pyborch.nn  # noqa: E402

warnings.simplefilter("ignore")
pyborch.set_default_device("cpu")


def given(value):
    """PyTorch's argument as pyborch's: tensors, dtypes, devices, functions and what holds them."""
    if isinstance(value, torch.Tensor):
        made = pyborch.tensor(value.detach().numpy().copy())
        return made.requires_grad_() if value.requires_grad else made
    if isinstance(value, torch.dtype):
        return getattr(pyborch, str(value).split(".")[1])
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, dict):
        return {k: given(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)(given(v) for v in value)
    if isinstance(value, torch.nn.Module):
        return twin(value)
    if callable(value) and getattr(torch.nn.functional, getattr(value, "__name__", ""), None) is value:
        return getattr(pyborch.nn.functional, value.__name__)
    return value


def leaf(value):
    """PyTorch's argument, every tensor in it made anew."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if isinstance(value, dict):
        return {k: leaf(v) for k, v in value.items()}
    return type(value)(leaf(v) for v in value) if isinstance(value, (list, tuple)) else value


def twin(module):
    """A transformer's layer, which is given to TransformerEncoder."""
    attention = module.self_attn
    made = getattr(pyborch.nn, type(module).__name__)(
        attention.embed_dim, attention.num_heads, module.linear1.out_features, module.dropout.p, given(module.activation), module.norm1.eps,
        attention.batch_first, module.norm_first, module.linear1.bias is not None, dtype=given(module.linear1.weight.dtype))
    return made


def tensors(value):
    """The tensors in a value, in order."""
    if hasattr(value, "requires_grad"):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [t for part in parts for t in tensors(part)]


def outcome(module, call, inputs):
    """Outputs, then gradients of inputs and parameters."""
    outputs = tensors(call())
    wanted = [t for t in outputs if t.requires_grad]
    leaves = [*[t for t in tensors(inputs) if t.requires_grad], *module.parameters()]
    if wanted:
        sum(((t * t).sum() for t in wanted[1:]), (wanted[0] * wanted[0]).sum()).backward()
    return [*outputs, *[leaf.grad for leaf in leaves]]


def differs(found, wanted):
    """What is different, as text; empty where nothing is."""
    if len(found) != len(wanted):
        return f"{len(found)} results instead of {len(wanted)}"
    for k, (f, w) in enumerate(zip(found, wanted)):
        if f is None or w is None:
            if f is not None or w is not None:
                return f"result {k}: {f} instead of {w}"
            continue
        f = torch.from_numpy(f.detach().numpy().copy())
        if f.dtype != w.dtype or f.shape != w.shape:
            return f"result {k}: {f.dtype}{tuple(f.shape)} instead of {w.dtype}{tuple(w.shape)}"
        if not torch.allclose(f, w.detach(), 1e-6, 1e-7, equal_nan=True):
            return f"result {k}: off by {(f - w).abs().max().item():.3g}"
    return ""


def check(info, sample, training):
    """What is wrong with a sample, as text."""
    built, forward = sample.constructor_input, sample.forward_input
    forward.args, forward.kwargs = leaf(forward.args), leaf(forward.kwargs)
    try:
        theirs = info.module_cls(*built.args, **built.kwargs).double().train(training)
        before = [given(forward.args), given(forward.kwargs)]
        state = None if info.name.startswith("nn.Lazy") else {k: given(v) for k, v in theirs.state_dict().items()}
        torch.manual_seed(0)
        wanted = outcome(theirs, lambda: theirs(*forward.args, **forward.kwargs), [forward.args, forward.kwargs])
    except Exception as error:  # noqa: BLE001 PyTorch itself refuses it
        return f"PyTorch raises {error}" if "-v" in sys.argv else ""
    ours = getattr(pyborch.nn, info.name[3:])(*given(built.args), **given(built.kwargs)).double().train(training)
    if state is None:
        ours(*before[0], **before[1])
        ours.load_state_dict({k: given(v) for k, v in theirs.state_dict().items()})
    else:
        ours.load_state_dict(state)
    return differs(outcome(ours, lambda: ours(*before[0], **before[1]), before), wanted)


def main(names):
    count, right = 0, 0
    for info in module_db:
        if names and info.name not in names:
            continue
        problems, total = {}, 0
        for training in (True, False):
            torch.manual_seed(5)
            for sample in info.module_inputs_func(info, "cpu", torch.float64, True, training):
                if sample.forward_input is None:
                    continue
                total += 1
                try:
                    problem = check(info, sample, training)
                except Exception as error:  # noqa: BLE001 counted and shown
                    problem = f"{type(error).__name__}: {error}"
                if problem:
                    problems.setdefault(problem, f"{sample.constructor_input.args} {sample.constructor_input.kwargs}")
        count, right = count + 1, right + (not problems)
        if problems:
            print(info.name, f"{total} samples,", len(problems), "kinds of problem:")
            for problem, sample in list(problems.items())[:20 if "-v" in sys.argv else 3]:
                print("   ", problem[:300], "|", sample[:200])
    print(f"{right} of {count} layers as in PyTorch")


main([a for a in sys.argv[1:] if a != "-v"])
