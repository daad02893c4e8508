"""Distributions to draw from and to take logarithms of densities of (torch.distributions): the commonest."""
from __future__ import annotations

from .distribution import Distribution
from .discrete import Bernoulli, Categorical
from .continuous import Exponential, Laplace, Normal, Uniform
from .kl import kl_divergence, register_kl

__all__ = ["Bernoulli", "Categorical", "Distribution", "Exponential", "Laplace", "Normal", "Uniform", "kl_divergence", "register_kl"]


def __getattr__(name):
    from ..errors import absent
    raise absent(__name__, name, __all__)
