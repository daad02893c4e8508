"""Datasets, samplers and DataLoader (torch.utils.data); they live in pyborch.data."""
from __future__ import annotations

from .. import data as _data

globals().update({name: getattr(_data, name) for name in _data.__all__})
__all__ = list(_data.__all__)
