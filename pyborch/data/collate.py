"""default_collate: a list of samples becomes one batch of the same structure; default_convert: numpy arrays become tensors."""
from __future__ import annotations

from .. import devices
from .. import dtypes
from ..ops import registry
from .._tensor import Tensor

torch = registry.namespace("torch")


def default_collate(batch):
    """Stack tensors, numpy arrays and numbers; go into tuples, lists and dicts; leave strings and bytes as they are.

    Python floats become float64 as in PyTorch, float32 where the default device has no float64. TypeError for other objects.
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return torch["stack"](list(batch), 0)
    if type(first).__module__ == "numpy":
        return _numpy(batch, first)
    if isinstance(first, float):
        return torch["tensor"](list(batch), dtype=dtypes.float64 if devices.backend().type == "cpu" else dtypes.float32)
    if isinstance(first, int):
        return torch["tensor"](list(batch))
    if isinstance(first, (str, bytes)):
        return batch
    if hasattr(first, "keys"):
        columns = {key: default_collate([sample[key] for sample in batch]) for key in first}
        return columns if type(first) is dict else type(first)(columns)
    if isinstance(first, (tuple, list)):
        return _sequence(batch, first)
    raise TypeError(f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {type(first)}")


def _sequence(batch, first):
    if any(len(sample) != len(first) for sample in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    columns = [default_collate(list(column)) for column in zip(*batch)]
    if hasattr(first, "_fields"):
        return type(first)(*columns)
    return columns      # PyTorch gives a list for tuples too


def _numpy(batch, first):
    if first.dtype.kind not in "fiub":
        raise TypeError(f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {first.dtype}")
    import numpy
    stacked = numpy.stack(batch)
    if stacked.dtype == numpy.float64 and devices.backend().type != "cpu":
        stacked = stacked.astype(numpy.float32)
    return torch["tensor"](stacked)


def default_convert(data):
    """``data`` with numpy arrays and numbers as tensors, inside tuples, lists and dicts too; all else stays as it is."""
    if type(data).__module__ == "numpy" and data.dtype.kind in "fiub":
        return torch["tensor"](data)
    if isinstance(data, dict):
        return {k: default_convert(v) for k, v in data.items()}
    if isinstance(data, (tuple, list)):
        parts = [default_convert(v) for v in data]
        return type(data)(*parts) if hasattr(data, "_fields") else parts
    return data
