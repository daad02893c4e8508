"""The registry's linalg functions (torch.linalg)."""
from __future__ import annotations

from .errors import LinAlgError  # noqa: F401
from .ops.registry import namespace

globals().update(namespace("linalg"))
__all__ = sorted(["LinAlgError", *namespace("linalg")])
