"""torch.utils: the data tools under their usual address."""
from __future__ import annotations

from . import data

__all__ = ["data"]
