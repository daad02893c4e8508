"""Averaged stochastic gradient descent (torch.optim.ASGD)."""
from __future__ import annotations

from ..ops.registry import pointwise
from .optimizer import Optimizer, check, zeros_like


def _asgd(m, p, g, average, *, sign, l2, eta, keep, mu):
    p = p * keep - (g * sign + p * l2) * eta
    return p, average + (p - average) * mu


ASGD_STEP = pointwise("asgd_step", _asgd, to="", inplace=False)


class ASGD(Optimizer):
    """Gradient descent with a decay ``lambd`` and a falling rate ``eta``, whose weights are averaged in ``ax`` from step ``t0`` on (Polyak & Juditsky 1992)."""

    def __init__(self, params, lr=1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6, weight_decay: float = 0, foreach=None,
                 maximize: bool = False, differentiable: bool = False, capturable: bool = False):
        check(lr=lr, weight_decay=weight_decay)
        super().__init__(params, dict(lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay, foreach=foreach, maximize=maximize,
                                      differentiable=differentiable, capturable=capturable))
        self._now = (0.0, 0.0)

    def start(self, parameter, group):
        return {"eta": float(group["lr"]), "mu": 1.0, "ax": zeros_like(parameter)}

    def count(self, group, state):
        self._now = state["eta"], state["mu"]        # what this step takes; the state is that of the next
        state["step"] += 1
        lr, step = float(group["lr"]), state["step"]
        state["eta"] = lr / (1 + group["lambd"] * lr * step) ** group["alpha"]
        state["mu"] = 1 / max(1, step - group["t0"])

    def numbers(self, group, state):
        eta, mu = self._now
        return {"sign": -1.0 if group["maximize"] else 1.0, "l2": float(group["weight_decay"]), "eta": eta, "keep": 1 - group["lambd"] * eta, "mu": mu}

    def record(self, group):
        return ASGD_STEP
