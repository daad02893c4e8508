"""The registry's special functions (torch.special)."""
from __future__ import annotations

from .ops.registry import namespace

globals().update(namespace("special"))
__all__ = sorted(namespace("special"))


def __getattr__(name):
    from .errors import absent
    raise absent(__name__, name, __all__)
