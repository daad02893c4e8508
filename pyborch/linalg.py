"""The registry's linalg functions (torch.linalg)."""
from __future__ import annotations

from .errors import LinAlgError  # noqa: F401
from .ops.registry import namespace

globals().update(namespace("linalg"))
__all__ = sorted(["LinAlgError", *namespace("linalg")])


def __getattr__(name):
    from .errors import absent
    raise absent(__name__, name, __all__)
