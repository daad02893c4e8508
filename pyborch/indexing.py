"""tensor[...] for reading and writing: basic indices are views, tensors and masks go to ops/advanced.py."""
from __future__ import annotations

from .autograd import state
from .ops import views


def read(x, index):
    """The value of ``x[index]``."""
    view, tensors = _basic(x, index)
    if tensors is None:
        return view
    from .ops import advanced
    return advanced.index(view, tensors)


def write(x, index, value) -> None:
    """``x[index] = value``; value is a number or a tensor that broadcasts."""
    view, tensors = _basic(x, index)
    if tensors is not None:
        from .ops import advanced
        if not hasattr(value, "meta"):
            value = _as_tensor(value, x)
        advanced.index_put_(view, tensors, value)
    elif hasattr(value, "meta"):
        view.copy_(_trimmed(value, view))
    elif isinstance(value, (int, float)):
        view.fill_(value)
    else:
        view.copy_(_as_tensor(value, x))


def _trimmed(value, view):
    """PyTorch drops leading dims of size 1 of an assigned value."""
    extra = len(value.meta.shape) - len(view.meta.shape)
    if extra > 0 and all(n == 1 for n in value.meta.shape[:extra]):
        return value.reshape(value.meta.shape[extra:])
    return value


def _as_tensor(value, like):
    from .ops.create import tensor
    return tensor(value, dtype=like.meta.dtype, device=like.meta.device)


def _is_tensor(i):
    return isinstance(i, state.tensor)


def _normalized(index):
    if not isinstance(index, tuple):
        index = (index,)
    result = []
    for i in index:
        if isinstance(i, range):
            i = list(i)
        if isinstance(i, list) or type(i).__name__ == "ndarray":
            from .ops.create import tensor
            found = tensor(i, device=None)
            i = found.to(_INDEX_DTYPE()) if isinstance(i, list) and not i else found
        elif _is_tensor(i) and not i.meta.shape and i.meta.dtype.kind != "f" and i.meta.dtype.name not in ("bool", "uint8") and i.meta.device.type == "cpu":
            i = int(i.item()) if state.recorder is None and not i.tracked else i
        if isinstance(i, str):
            raise TypeError("new(): invalid data type 'str'")
        result.append(i)
    return result


def _INDEX_DTYPE():  # noqa: N802
    from .dtypes import int64
    return int64


def _consumes(i) -> int:
    """How many dims of the input an index entry takes."""
    if i is None or i is Ellipsis or isinstance(i, bool):
        return 0
    if _is_tensor(i) and i.meta.dtype.name in ("bool", "uint8"):
        return len(i.meta.shape)
    return 1


def _basic(x, index):
    """(view by the basic entries, None or a tuple of tensors and Nones for the rest)."""
    entries = _normalized(index)
    rank = len(x.meta.shape)
    if sum(i is Ellipsis for i in entries) > 1:  # a further one stands for no dims, as in PyTorch
        first = entries.index(Ellipsis)
        entries = entries[:first + 1] + [i for i in entries[first + 1:] if i is not Ellipsis]
    used = sum(_consumes(i) for i in entries)
    if not rank and entries and hasattr(entries[0], "__index__") and not isinstance(entries[0], bool) and not _is_tensor(entries[0]):
        raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim tensor to a number")
    if used > rank:
        raise IndexError(f"too many indices for tensor of dimension {rank}")
    view, dim, tensors = x, 0, []
    for i in entries:
        if i is Ellipsis:
            dim += rank - used
            tensors += [None] * (rank - used)
        elif i is None:
            view = view.unsqueeze(dim)
            dim += 1
            tensors.append(None)
        elif isinstance(i, bool):
            from .ops.create import tensor
            view = view.unsqueeze(dim)
            dim += 1
            tensors.append(tensor([i], device=x.meta.device))
        elif _is_tensor(i):
            _check_index_dtype(i)
            dim += _consumes(i)
            tensors.append(i)
        elif isinstance(i, slice):
            view = _slice(view, dim, i)
            dim += 1
            tensors.append(None)
        else:
            view = _select(view, dim, i)
    return (view, None) if all(t is None for t in tensors) else (view, tuple(tensors))


def _check_index_dtype(i):
    if i.meta.dtype.kind == "f":
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")


def _slice(view, dim, s):
    if s.step is not None and s.step.__index__() <= 0:
        raise ValueError("step must be greater than zero")
    n = view.meta.shape[dim]
    start, stop, step = s.indices(n)
    if start == 0 and stop == n and step == 1 and view.base is not None:
        return view
    return views.slice_dim(view, dim, start, stop, step)


def _select(view, dim, i):
    if not hasattr(i, "__index__"):
        raise IndexError("only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
                         f"{type(i).__name__})")
    i, n = i.__index__(), view.meta.shape[dim] if view.meta.shape else 0
    if not -n <= i < n:
        raise IndexError(f"index {i} is out of bounds for dimension {dim} with size {n}")
    return view.select(dim, i)
