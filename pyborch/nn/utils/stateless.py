"""Calls of a module with other parameters (torch.func.functional_call)."""
from __future__ import annotations

__all__ = ["functional_call"]


def functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights: bool = True, strict: bool = False):
    """``module(*args, **kwargs)`` with tensors of these dotted names in the place of its own; tied ones change together.

    ``strict``: RuntimeError unless all are given and no others. The module is as before afterwards.
    """
    if isinstance(parameters_and_buffers, (tuple, list)):
        merged: dict = {}
        for part in parameters_and_buffers:
            if set(part) & set(merged):
                raise ValueError(f"{sorted(set(part) & set(merged))} appeared in multiple dictionaries; behavior of functional call is ambiguous")
            merged.update(part)
        parameters_and_buffers = merged
    own = {**dict(module.named_parameters(remove_duplicate=False)), **dict(module.named_buffers(remove_duplicate=False))}
    given = dict(parameters_and_buffers)
    if tie_weights:
        for name in list(given):
            for other, tensor in own.items():
                if other not in given and name in own and tensor is own[name]:
                    given[other] = given[name]
    if strict and (unexpected := [k for k in given if k not in own]) + (missing := [k for k in own if k not in given]):
        problems = [f"{what} key(s): {', '.join(map(repr, keys))}." for what, keys in (("Unexpected", unexpected), ("Missing", missing)) if keys]
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(problems))
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    swapped = []
    try:
        for path, tensor in given.items():
            prefix, _, name = path.rpartition(".")
            owner = module.get_submodule(prefix)
            table = next((t for t in (owner._parameters, owner._buffers) if name in t), None)
            if table is not None:
                swapped.append((table, name, table[name]))
                table[name] = tensor
        return module(*args, **(kwargs or {}))
    finally:
        for table, name, tensor in reversed(swapped):
            table[name] = tensor
