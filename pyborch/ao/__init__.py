"""Architecture optimisation: quantisation (torch.ao)."""
from . import quantization  # noqa: F401

__all__ = ["quantization"]
