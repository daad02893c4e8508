"""Kernels as contracts: each one with a card made from its record, correctness cases that test it, and a folder that it can be written to."""
from __future__ import annotations

from .kernel import Kernel, get, list
from .package import load

__all__ = ["Kernel", "get", "list", "load"]
