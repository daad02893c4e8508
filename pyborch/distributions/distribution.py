"""The base of distributions."""
from __future__ import annotations

from .. import autograd
from .._tensor import Tensor
from ..ops.registry import namespace
from ..shape import Size


def tensors(*values):
    """Numbers and tensors as tensors of one shape."""
    if not any(isinstance(v, Tensor) for v in values):
        return tuple(namespace("torch")["tensor"](float(v)) for v in values)
    like = next(v for v in values if isinstance(v, Tensor))
    values = tuple(v if isinstance(v, Tensor) else like.new_full((), float(v)) for v in values)
    return namespace("torch")["broadcast_tensors"](*values) if len(values) > 1 else values


class Distribution:
    """Base: ``batch_shape`` (independent distributions at once), ``event_shape`` (of one draw), ``sample``, ``log_prob``.

    Values and parameters are not checked, since that would wait for the GPU: ``validate_args`` is accepted and has no effect.
    """
    has_rsample = False
    has_enumerate_support = False

    def __init__(self, batch_shape=(), event_shape=(), validate_args=None):
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)

    @property
    def batch_shape(self):
        return self._batch_shape

    @property
    def event_shape(self):
        return self._event_shape

    def _shape(self, sample_shape):
        return (*sample_shape, *self._batch_shape, *self._event_shape)

    def rsample(self, sample_shape=()):
        """A draw of shape (*sample_shape, *batch_shape, *event_shape), with gradients to the parameters."""
        raise NotImplementedError

    def sample(self, sample_shape=()):
        """A draw of shape (*sample_shape, *batch_shape, *event_shape), without gradients."""
        with autograd.no_grad():
            return self.rsample(sample_shape)

    def log_prob(self, value):
        """The logarithm of the density (or probability) at ``value``."""
        raise NotImplementedError

    def entropy(self):
        """The entropy in nats, of the batch's shape."""
        raise NotImplementedError

    @property
    def mean(self):
        raise NotImplementedError

    @property
    def variance(self):
        raise NotImplementedError

    @property
    def stddev(self):
        return self.variance.sqrt()

    def perplexity(self):
        """The exponential of the entropy."""
        return self.entropy().exp()
