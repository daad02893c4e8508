"""vmap, and the parameters of several models as one batch."""
from __future__ import annotations

from .._tensor import Tensor
from ..compiler.tree import flatten, rebuild
from ..ops.join import stack

__all__ = ["stack_module_state", "vmap"]


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """``func`` over the slices of its arguments along ``in_dims`` (None: the same for all), results stacked along ``out_dims``.

    It costs a call of ``func`` for each slice, with the operations of each, then a stack: results and gradients are PyTorch's, the speed is a
    loop's. Random functions draw anew for each slice whatever ``randomness`` says.
    """
    def batched(*args, **kwargs):
        tensors: list = []
        spec = flatten(args, tensors)
        dims = _dims(args, in_dims, True)
        for k, v in kwargs.items():
            if isinstance(v, Tensor):
                raise NotImplementedError(f"vmap: the tensor '{k}' came as a keyword argument; pass it by position")
        sizes = {t.shape[d] for t, d in zip(tensors, dims) if d is not None}
        if not sizes:
            raise ValueError(f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): at least one input must have a dimension to map over")
        if len(sizes) > 1:
            raise ValueError(f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                             f"{[t.shape[d] for t, d in zip(tensors, dims) if d is not None]} for the mapped dimension")
        found, out_spec = [], None
        for i in range(sizes.pop()):
            parts = [t if d is None else t.select(d, i) for t, d in zip(tensors, dims)]
            results: list = []
            out_spec = flatten(func(*rebuild(spec, iter(parts)), **kwargs), results)
            found.append(results)
        if not found:
            raise RuntimeError("vmap over a dimension of size 0 is not supported: the shape of the results is not known")
        where = _out_dims(out_dims, out_spec, len(found[0]))
        return rebuild(out_spec, iter([found[0][k] if d is None else stack([r[k] for r in found], d) for k, d in enumerate(where)]))
    return batched


def _name(func):
    return getattr(func, "__name__", repr(func))


def _dims(value, dims, top=False):
    """The mapped dimension of each tensor inside ``value``, in the order of flatten()."""
    if isinstance(value, Tensor):
        if dims is not None and not -value.dim() <= dims < value.dim():
            raise ValueError(f"vmap: Got in_dim={dims} for an input of dimensionality {value.dim()}, expected it to be in [-{value.dim()}, {value.dim()})")
        return [dims]
    if isinstance(value, (tuple, list)):
        if isinstance(dims, (tuple, list)):
            if len(dims) != len(value):
                raise ValueError("vmap: in_dims is not compatible with the structure of inputs")
            return [d for v, k in zip(value, dims) for d in _dims(v, k)]
        return [d for v in value for d in _dims(v, dims)]
    if type(value) is dict:
        return [d for k, v in value.items() for d in _dims(v, dims[k] if isinstance(dims, dict) else dims)]
    return []


def _out_dims(dims, spec, count):
    if isinstance(dims, (tuple, list)):
        if len(dims) != count:
            raise ValueError(f"vmap: out_dims has {len(dims)} entries for {count} outputs")
        return list(dims)
    return [dims] * count


def stack_module_state(models):
    """(parameters, buffers) of alike models, each a dictionary of tensors with the models along a first dimension; they are leaves."""
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    tables = [dict(m.named_parameters()) for m in models]
    parameters = {k: stack([t[k].detach() for t in tables]).requires_grad_(p.requires_grad) for k, p in tables[0].items()}
    tables = [dict(m.named_buffers()) for m in models]
    return parameters, {k: stack([t[k] for t in tables]) for k in tables[0]}
