"""Stochastic gradient descent with momentum (torch.optim.SGD)."""
from __future__ import annotations

from ..autograd import no_grad
from ..ops.registry import pointwise
from .optimizer import Optimizer, check, zeros_like

# l2: weight decay added to the gradient; weight: 1 - dampening
PLAIN = pointwise("sgd_step", lambda m, p, g, *, sign, l2, lr: p - (g * sign + p * l2) * lr, to="", inplace=False)


def _momentum(m, p, g, buffer, *, sign, l2, lr, momentum, weight):
    buffer = buffer * momentum + (g * sign + p * l2) * weight
    return p - buffer * lr, buffer


def _nesterov(m, p, g, buffer, *, sign, l2, lr, momentum, weight):
    g = g * sign + p * l2
    buffer = buffer * momentum + g * weight
    return p - (g + buffer * momentum) * lr, buffer


MOMENTUM = pointwise("sgd_momentum_step", _momentum, to="", inplace=False)
NESTEROV = pointwise("sgd_nesterov_step", _nesterov, to="", inplace=False)


class SGD(Optimizer):
    """``p -= lr * (g + weight_decay * p)``, or with momentum ``buf = momentum * buf + (1 - dampening) * g; p -= lr * buf``.

    ``nesterov`` looks one step ahead; ``maximize`` climbs instead (Sutskever et al. 2013).
    """

    counts_steps = False

    def __init__(self, params, lr=1e-3, momentum: float = 0, dampening: float = 0, weight_decay: float = 0, nesterov: bool = False, *,
                 maximize: bool = False, foreach=None, differentiable: bool = False, fused=None):
        check(lr=lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov,
                                      maximize=maximize, foreach=foreach, differentiable=differentiable, fused=fused))

    def start(self, parameter, group):
        if group["momentum"] == 0:
            return {}
        if group["dampening"] == 0:
            return {"momentum_buffer": zeros_like(parameter)}
        # PyTorch's first step takes the gradient undampened: this start makes the common formula do so
        with no_grad():
            g = (-parameter.grad if group["maximize"] else parameter.grad) + group["weight_decay"] * parameter
            return {"momentum_buffer": g * (group["dampening"] / group["momentum"])}

    def numbers(self, group, state):
        found = {"sign": -1.0 if group["maximize"] else 1.0, "l2": float(group["weight_decay"]), "lr": float(group["lr"])}
        if group["momentum"] != 0:
            found.update(momentum=float(group["momentum"]), weight=1.0 - group["dampening"])
        return found

    def record(self, group):
        return PLAIN if group["momentum"] == 0 else NESTEROV if group["nesterov"] else MOMENTUM
