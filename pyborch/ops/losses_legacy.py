"""The arguments size_average and reduce of losses, which PyTorch had before ``reduction`` and still takes."""
from __future__ import annotations

import warnings

from . import losses, losses_margin  # noqa: F401 all losses must be there
from .registry import FUNCTIONS


def reduction_of(size_average, reduce):
    """The ``reduction`` that the old arguments mean, with PyTorch's warning."""
    reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
    warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.", stacklevel=4)
    return reduction


def _with_old_arguments(plain):
    names = plain.__code__.co_varnames[:plain.__code__.co_argcount]
    positions = {n: names.index(n) for n in ("size_average", "reduce")}
    last = max(positions.values())

    def loss(*args, **kwargs):
        if len(args) <= min(positions.values()) and "size_average" not in kwargs and "reduce" not in kwargs:
            return plain(*args, **kwargs)
        old = [args[at] if at < len(args) else kwargs.pop(n, None) for n, at in positions.items()]
        if old != [None, None]:
            kwargs["reduction"] = reduction_of(*old)
            args = args[:last + 1] + args[last + 2:] if names[last + 1:last + 2] == ("reduction",) else args
        return plain(*args, **kwargs)
    loss.__name__ = loss.__qualname__ = plain.__name__
    loss.__doc__, loss.__wrapped__ = plain.__doc__, plain
    return loss


for _name, _plain in list(FUNCTIONS["F"].items()):
    _code = getattr(_plain, "__code__", None)
    if _code is not None and {"size_average", "reduce"} <= set(_code.co_varnames[:_code.co_argcount]):
        FUNCTIONS["F"][_name] = _with_old_arguments(_plain)
