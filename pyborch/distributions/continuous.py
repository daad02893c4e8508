"""Continuous distributions of one variable, drawn so that gradients reach their parameters."""
from __future__ import annotations

import math

from .distribution import Distribution, tensors


class Normal(Distribution):
    """The normal distribution of mean ``loc`` and standard deviation ``scale``."""
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = tensors(loc, scale)
        super().__init__(self.loc.shape)

    mean = mode = property(lambda self: self.loc)
    stddev = property(lambda self: self.scale)
    variance = property(lambda self: self.scale ** 2)

    def rsample(self, sample_shape=()):
        return self.loc + self.scale * self.loc.new_empty(self._shape(sample_shape)).normal_()

    def log_prob(self, value):
        return -((value - self.loc) ** 2) / (2 * self.variance) - self.scale.log() - 0.5 * math.log(2 * math.pi)

    def entropy(self):
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()

    def cdf(self, value):
        return 0.5 * (1 + ((value - self.loc) / (self.scale * math.sqrt(2))).erf())


class Uniform(Distribution):
    """The uniform distribution on [low, high)."""
    has_rsample = True

    def __init__(self, low, high, validate_args=None):
        self.low, self.high = tensors(low, high)
        super().__init__(self.low.shape)

    mean = property(lambda self: (self.high + self.low) / 2)
    variance = property(lambda self: (self.high - self.low) ** 2 / 12)

    def rsample(self, sample_shape=()):
        return self.low + (self.high - self.low) * self.low.new_empty(self._shape(sample_shape)).uniform_()

    def log_prob(self, value):
        inside = (self.low <= value) & (self.high > value)
        return inside.to(self.low.dtype).log() - (self.high - self.low).log()

    def entropy(self):
        return (self.high - self.low).log()

    def cdf(self, value):
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value):
        return value * (self.high - self.low) + self.low


class Exponential(Distribution):
    """The exponential distribution of ``rate``."""
    has_rsample = True

    def __init__(self, rate, validate_args=None):
        self.rate, = tensors(rate)
        super().__init__(self.rate.shape)

    mean = stddev = property(lambda self: 1 / self.rate)
    variance = property(lambda self: self.rate ** -2)

    def rsample(self, sample_shape=()):
        return -(-self.rate.new_empty(self._shape(sample_shape)).uniform_()).log1p() / self.rate

    def log_prob(self, value):
        return self.rate.log() - self.rate * value

    def entropy(self):
        return 1 - self.rate.log()

    def cdf(self, value):
        return 1 - (-self.rate * value).exp()

    def icdf(self, value):
        return -(-value).log1p() / self.rate


class Laplace(Distribution):
    """Laplace's distribution around ``loc``."""
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = tensors(loc, scale)
        super().__init__(self.loc.shape)

    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: 2 * self.scale ** 2)

    def rsample(self, sample_shape=()):
        u = self.loc.new_empty(self._shape(sample_shape)).uniform_() - 0.5
        return self.loc - self.scale * u.sign() * (-2 * u.abs()).clamp(min=-1 + 1e-7).log1p()

    def log_prob(self, value):
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def entropy(self):
        return 1 + (2 * self.scale).log()

    def cdf(self, value):
        d = value - self.loc
        return 0.5 - 0.5 * d.sign() * (-d.abs() / self.scale).expm1()
