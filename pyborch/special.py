"""The registry's special functions (torch.special)."""
from __future__ import annotations

from .ops.registry import namespace

globals().update(namespace("special"))
__all__ = sorted(namespace("special"))
