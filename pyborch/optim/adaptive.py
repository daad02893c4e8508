"""Optimizers that scale by past gradients without momentum of their own: RMSprop, Adagrad, Adadelta, Rprop."""
from __future__ import annotations

from ..ops.registry import pointwise
from .optimizer import Optimizer, check, zeros_like

# alpha, rest: weights of the past and of the new squared gradient


def _rmsprop(m, p, g, sq, *, sign, l2, lr, alpha, rest, eps):
    g = g * sign + p * l2
    sq = sq * alpha + g * g * rest
    return p - g / (m.sqrt(sq) + eps) * lr, sq


def _rmsprop_momentum(m, p, g, sq, buffer, *, sign, l2, lr, alpha, rest, eps, momentum):
    g = g * sign + p * l2
    sq = sq * alpha + g * g * rest
    buffer = buffer * momentum + g / (m.sqrt(sq) + eps)
    return p - buffer * lr, sq, buffer


def _rmsprop_centered(m, p, g, sq, mean, *, sign, l2, lr, alpha, rest, eps):
    g = g * sign + p * l2
    sq = sq * alpha + g * g * rest
    mean = mean + (g - mean) * rest
    return p - g / (m.sqrt(sq - mean * mean) + eps) * lr, sq, mean


def _rmsprop_centered_momentum(m, p, g, sq, buffer, mean, *, sign, l2, lr, alpha, rest, eps, momentum):
    g = g * sign + p * l2
    sq = sq * alpha + g * g * rest
    mean = mean + (g - mean) * rest
    buffer = buffer * momentum + g / (m.sqrt(sq - mean * mean) + eps)
    return p - buffer * lr, sq, buffer, mean


def _adagrad(m, p, g, total, *, sign, l2, rate, eps):
    g = g * sign + p * l2
    total = total + g * g
    return p - g / (m.sqrt(total) + eps) * rate, total


def _adadelta(m, p, g, sq, delta_sq, *, sign, l2, lr, rho, rest, eps):
    g = g * sign + p * l2
    sq = sq * rho + g * g * rest
    delta = m.sqrt(delta_sq + eps) / m.sqrt(sq + eps) * g
    return p - delta * lr, sq, delta_sq * rho + delta * delta * rest


def _rprop(m, p, g, before, size, *, sign, shrink, grow, least, most):
    g = g * sign
    agreement = g * before
    factor = m.where(agreement > 0.0, grow, m.where(agreement < 0.0, shrink, 1.0))
    size = m.minimum(m.maximum(size * factor, least), most)
    g = m.where(agreement < 0.0, 0.0, g)
    return p - m.sign(g) * size, g, size


RMSPROP = {(centered, momentum): pointwise(formula.__name__[1:] + "_step", formula, to="", inplace=False)
           for (centered, momentum), formula in {(False, False): _rmsprop, (False, True): _rmsprop_momentum,
                                                 (True, False): _rmsprop_centered, (True, True): _rmsprop_centered_momentum}.items()}
ADAGRAD = pointwise("adagrad_step", _adagrad, to="", inplace=False)
ADADELTA = pointwise("adadelta_step", _adadelta, to="", inplace=False)
RPROP = pointwise("rprop_step", _rprop, to="", inplace=False)


def _sign(group):
    return -1.0 if group["maximize"] else 1.0


class RMSprop(Optimizer):
    """``p -= lr * g / (sqrt(mean(g^2)) + eps)`` (Hinton's lecture 6e); ``centered`` subtracts the squared mean (Graves 2013)."""

    def __init__(self, params, lr=1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0, momentum: float = 0,
                 centered: bool = False, capturable: bool = False, foreach=None, maximize: bool = False, differentiable: bool = False):
        check(lr=lr, eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        super().__init__(params, dict(lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered, weight_decay=weight_decay,
                                      capturable=capturable, foreach=foreach, maximize=maximize, differentiable=differentiable))

    def start(self, parameter, group):
        names = ["square_avg"] + ["momentum_buffer"] * (group["momentum"] > 0) + ["grad_avg"] * bool(group["centered"])
        return {name: zeros_like(parameter) for name in names}

    def numbers(self, group, state):
        alpha = float(group["alpha"])
        found = {"sign": _sign(group), "l2": float(group["weight_decay"]), "lr": float(group["lr"]), "alpha": alpha, "rest": 1.0 - alpha,
                 "eps": float(group["eps"])}
        return {**found, "momentum": float(group["momentum"])} if group["momentum"] > 0 else found

    def record(self, group):
        return RMSPROP[bool(group["centered"]), group["momentum"] > 0]


class Adagrad(Optimizer):
    """``p -= lr * g / (sqrt(sum of g^2) + eps)`` (Duchi et al. 2011); lr falls as ``1 / (1 + (step - 1) * lr_decay)``."""

    def __init__(self, params, lr=1e-2, lr_decay: float = 0, weight_decay: float = 0, initial_accumulator_value: float = 0,
                 eps: float = 1e-10, foreach=None, *, maximize: bool = False, differentiable: bool = False, fused=None):
        check(lr=lr, lr_decay=lr_decay, weight_decay=weight_decay, initial_accumulator_value=initial_accumulator_value, eps=eps)
        super().__init__(params, dict(lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay,
                                      initial_accumulator_value=initial_accumulator_value, foreach=foreach, maximize=maximize,
                                      differentiable=differentiable, fused=fused))
        for group in self.param_groups:
            for p in group["params"]:
                self._state_of(p, group)

    def start(self, parameter, group):
        return {"sum": zeros_like(parameter).add(group["initial_accumulator_value"])}

    def numbers(self, group, state):
        rate = float(group["lr"]) / (1 + (state["step"] - 1) * group["lr_decay"])
        return {"sign": _sign(group), "l2": float(group["weight_decay"]), "rate": rate, "eps": float(group["eps"])}

    def record(self, group):
        return ADAGRAD


class Adadelta(Optimizer):
    """Steps in the units of the weights: scaled by the root mean square of past steps over that of gradients (Zeiler 2012)."""

    def __init__(self, params, lr=1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0, foreach=None, *,
                 capturable: bool = False, maximize: bool = False, differentiable: bool = False):
        check(lr=lr, eps=eps, weight_decay=weight_decay)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        super().__init__(params, dict(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize, capturable=capturable,
                                      foreach=foreach, differentiable=differentiable))

    def start(self, parameter, group):
        zeros = zeros_like(parameter)
        return {"square_avg": zeros, "acc_delta": zeros.clone()}

    def numbers(self, group, state):
        rho = float(group["rho"])
        return {"sign": _sign(group), "l2": float(group["weight_decay"]), "lr": float(group["lr"]), "rho": rho, "rest": 1.0 - rho,
                "eps": float(group["eps"])}

    def record(self, group):
        return ADADELTA


class Rprop(Optimizer):
    """Step sizes per weight that grow while the gradient keeps its sign and shrink when it turns (Riedmiller & Braun 1993)."""

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, capturable: bool = False, foreach=None,
                 maximize: bool = False, differentiable: bool = False):
        check(lr=lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, dict(lr=lr, etas=etas, step_sizes=step_sizes, foreach=foreach, maximize=maximize,
                                      differentiable=differentiable, capturable=capturable))

    def start(self, parameter, group):
        zeros = zeros_like(parameter)
        return {"prev": zeros, "step_size": zeros.add(group["lr"])}

    def numbers(self, group, state):
        (shrink, grow), (least, most) = group["etas"], group["step_sizes"]
        return {"sign": _sign(group), "shrink": float(shrink), "grow": float(grow), "least": float(least), "most": float(most)}

    def record(self, group):
        return RPROP
