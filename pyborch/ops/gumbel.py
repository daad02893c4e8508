"""Samples of a categorical distribution that gradients pass through."""
from __future__ import annotations

import warnings

from ..autograd import no_grad
from .random import random_of
from .registry import function


@function(to="F")
def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """softmax((logits + Gumbel noise) / tau) along ``dim`` (Jang et al. 2017); ``hard`` gives vectors with a single 1 and keeps the soft gradient."""
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    with no_grad():
        noise = -random_of("exponential", logits.shape, logits.meta.dtype, logits.meta.device, 1.0, 0.0).log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.detach().argmax(dim, keepdim=True)
    whole = soft.new_zeros(soft.shape).scatter(dim, index, 1.0)
    return whole - soft.detach() + soft
