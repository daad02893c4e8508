"""The registry's linalg functions (torch.linalg)."""
from __future__ import annotations

from .ops.registry import namespace

globals().update(namespace("linalg"))
__all__ = sorted(namespace("linalg"))
