"""Arguments and results as a flat list of tensors and a hashable description of the rest."""
from __future__ import annotations

from .._tensor import Tensor


class Same:
    """An object that must be the very same at the next call."""
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, Same) and other.value is self.value

    def __hash__(self):
        return id(self.value)


def flatten(value, tensors: list):
    """Append the tensors inside ``value`` to ``tensors``; returns what else there is, as nested tuples."""
    if isinstance(value, Tensor):
        tensors.append(value)
        return "tensor"
    kind = type(value)
    if isinstance(value, (tuple, list)):
        return (kind, tuple(flatten(v, tensors) for v in value))
    if kind is dict:
        return (dict, tuple((k, flatten(v, tensors)) for k, v in value.items()))
    return (kind, value if isinstance(value, (int, float, str, bytes, type(None))) else Same(value))


def rebuild(spec, tensors):
    """The value that :func:`flatten` described, with tensors taken from an iterator."""
    if spec == "tensor":
        return next(tensors)
    kind, content = spec
    if kind is dict:
        return {k: rebuild(v, tensors) for k, v in content}
    if isinstance(content, tuple):
        parts = [rebuild(v, tensors) for v in content]
        return kind(*parts) if hasattr(kind, "_fields") else kind(parts)
    return content.value if isinstance(content, Same) else content
