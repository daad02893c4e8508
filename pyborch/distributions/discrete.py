"""Discrete distributions."""
from __future__ import annotations

from .. import autograd
from ..ops.registry import namespace
from .distribution import Distribution, tensors


class Bernoulli(Distribution):
    """One with probability ``probs`` (or that of ``logits``), else zero."""

    def __init__(self, probs=None, logits=None, validate_args=None):
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        if probs is not None:
            self.probs, = tensors(probs)
            p = self.probs.clamp(1.1920929e-07, 1 - 1.1920929e-07)
            self.logits = p.log() - (-p).log1p()
        else:
            self.logits, = tensors(logits)
            self.probs = self.logits.sigmoid()
        super().__init__(self.probs.shape)

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    def sample(self, sample_shape=()):
        with autograd.no_grad():
            return namespace("torch")["bernoulli"](self.probs.expand(self._shape(sample_shape)))

    def log_prob(self, value):
        return value * self.logits - namespace("F")["softplus"](self.logits)

    def entropy(self):
        return namespace("F")["softplus"](self.logits) - self.logits * self.probs


class Categorical(Distribution):
    """An index along the last dimension of ``probs`` (weights that need not sum to one) or ``logits``."""

    def __init__(self, probs=None, logits=None, validate_args=None):
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        given = probs if probs is not None else logits
        if given.dim() < 1:
            raise ValueError(f"`{'probs' if logits is None else 'logits'}` parameter must be at least one-dimensional.")
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
            self.logits = self.probs.clamp(1.1920929e-07, 1 - 1.1920929e-07).log()
        else:
            self.logits = logits - logits.logsumexp(-1, keepdim=True)
            self.probs = self.logits.softmax(-1)
        super().__init__(given.shape[:-1])

    mode = property(lambda self: self.probs.argmax(-1))

    def sample(self, sample_shape=()):
        count = 1
        for n in sample_shape:
            count *= n
        with autograd.no_grad():
            rows = self.probs.reshape(-1, self.probs.shape[-1])
            return namespace("torch")["multinomial"](rows, count, True).t().reshape(self._shape(sample_shape))

    def log_prob(self, value):
        value, logits = namespace("torch")["broadcast_tensors"](value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self):
        return -(self.logits.clamp(min=-3.4028234e38) * self.probs).sum(-1)
