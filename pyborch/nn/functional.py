"""Functions behind the layers (torch.nn.functional): the registry's namespace F."""
from __future__ import annotations

from ..ops.registry import namespace

globals().update(namespace("F"))
globals().update({name: namespace("torch")[name] for name in ("tanh", "sigmoid") if name not in globals()})
__all__ = sorted(namespace("F"))


def __getattr__(name):
    from ..errors import absent
    raise absent(__name__, name, __all__)
