"""Kullback and Leibler's divergence of pairs of distributions."""
from __future__ import annotations

from ..ops.registry import namespace
from .continuous import Exponential, Laplace, Normal
from .discrete import Bernoulli, Categorical

_RULES: dict = {}


def register_kl(type_p, type_q):
    """A decorator: the function gives kl_divergence of such a pair."""
    def register(fn):
        _RULES[type_p, type_q] = fn
        return fn
    return register


def kl_divergence(p, q):
    """KL(p || q), of the batch's shape; NotImplementedError for pairs without a rule."""
    for a in type(p).__mro__:
        for b in type(q).__mro__:
            if (a, b) in _RULES:
                return _RULES[a, b](p, q)
    raise NotImplementedError(f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}")


@register_kl(Normal, Normal)
def _normal(p, q):
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


@register_kl(Exponential, Exponential)
def _exponential(p, q):
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(Laplace, Laplace)
def _laplace(p, q):
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p, q):
    plus = namespace("F")["softplus"]
    return p.probs * (p.logits - q.logits) - plus(p.logits) + plus(q.logits)


@register_kl(Categorical, Categorical)
def _categorical(p, q):
    return (p.probs * (p.logits - q.logits)).sum(-1)
