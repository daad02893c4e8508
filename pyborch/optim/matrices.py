"""Optimizers that treat a matrix as a whole: Adafactor, Muon."""
from __future__ import annotations

import math

from ..ops import registry
from .optimizer import Optimizer, zeros_like

torch = registry.namespace("torch")
COEFFICIENTS = (3.4445, -4.7750, 2.0315)


def _check(**values):
    for name, (value, least) in values.items():
        if value is not None and not value >= least:
            raise ValueError(f"{name} should be >= {least} but is: {value}")


class _Whole(Optimizer):
    """An optimizer whose update is no elementwise record: ``update(p, state, group, numbers)`` in tensor operations."""

    def update(self, p, state, group, numbers):
        """Change ``p`` and the tensors of ``state`` in place."""
        raise NotImplementedError

    def _update(self, group, params, values, unless):
        if unless:
            raise NotImplementedError(f"{type(self).__name__}: steps that the device may leave out (GradScaler inside compile) are not supported; step outside")
        for p in params:
            self.update(p, self.state[p], group, values)


class Adafactor(_Whole):
    """Adam without momentum whose second moments are kept as a row and a column for each matrix (Shazeer & Stern 2018).

    Steps are relative to the weights' size, at least ``eps[1]``; updates are clipped to a root mean square of ``d``.
    """

    def __init__(self, params, lr=1e-2, beta2_decay: float = -0.8, eps=(None, 1e-3), d: float = 1.0, weight_decay: float = 0.0, *, foreach=None,
                 maximize: bool = False):
        if getattr(lr, "numel", lambda: 1)() != 1:
            raise ValueError("Tensor lr must be 1-element")
        _check(**{"Learning rate": (lr, 0.0)})
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        names = {"epsilon1": (eps[0], 0), "epsilon2": (eps[1], 0), "Clipping threshold d": (d, 1), "weight_decay": (weight_decay, 0)}
        _check(**names)
        super().__init__(params, dict(lr=lr, beta2_decay=beta2_decay, eps=eps, d=d, weight_decay=weight_decay, foreach=foreach, maximize=maximize))

    def start(self, parameter, group):
        if parameter.dim() < 2:
            return {"variance": zeros_like(parameter)}
        *batch, rows, columns = parameter.shape
        return {"row_var": parameter.new_zeros((*batch, rows, 1)), "col_var": parameter.new_zeros((*batch, 1, columns))}

    def numbers(self, group, state):
        step, lr = state["step"], float(group["lr"])
        return {"rest": step ** group["beta2_decay"], "rate": -min(lr, 1 / math.sqrt(step)), "keep": 1 - lr * group["weight_decay"]}

    def update(self, p, state, group, numbers):
        least = _epsilon(p.dtype) if group["eps"][0] is None else group["eps"][0]
        g = -p.grad if group["maximize"] else p.grad
        root = math.sqrt(p.numel())
        size = (p.norm(2) / root).clamp(min=group["eps"][1])
        if group["weight_decay"] != 0:
            p.mul_(numbers["keep"])
        if "variance" in state:
            variance = state["variance"].lerp_(g * g, numbers["rest"])
        else:
            squares = g * g
            row = state["row_var"].lerp_(squares.mean(-1, keepdim=True), numbers["rest"])
            column = state["col_var"].lerp_(squares.mean(-2, keepdim=True), numbers["rest"])
            variance = row * column / row.mean(-2, keepdim=True).clamp(min=least)
        update = variance.clamp(min=least * least).rsqrt() * g
        clipped = (update.norm(2) / (root * group["d"])).clamp(min=1.0)
        p.add_(update * torch["mul"](size / clipped, numbers["rate"]))


def _epsilon(dtype):
    return {"float16": 2.0 ** -10, "float64": 2.0 ** -52}.get(dtype.name, 2.0 ** -23)


class Muon(_Whole):
    """Momentum whose matrix is made (nearly) orthogonal by Newton-Schulz steps before it is applied (Jordan et al. 2024); for 2-d parameters.

    The steps are computed in the parameter's dtype (PyTorch: bfloat16). ``adjust_lr_fn``: "original", or "match_rms_adamw".
    """

    counts_steps = False

    def __init__(self, params, lr: float = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95, nesterov: bool = True, ns_coefficients=COEFFICIENTS,
                 eps: float = 1e-7, ns_steps: int = 5, adjust_lr_fn=None):
        if getattr(lr, "numel", lambda: 1)() != 1:
            raise ValueError("Tensor lr must be 1-element")
        _check(**{"Learning rate": (lr, 0.0)})
        names = {"momentum": (momentum, 0), "weight decay": (weight_decay, 0)}
        _check(**names)
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(params, dict(lr=lr, weight_decay=weight_decay, momentum=momentum, nesterov=nesterov, ns_coefficients=ns_coefficients, eps=eps,
                                      ns_steps=ns_steps, adjust_lr_fn=adjust_lr_fn))
        for p in [p for group in self.param_groups for p in group["params"]]:
            if p.dim() != 2:
                raise ValueError(f"Muon only supports 2D parameters whereas we found a parameter with size: {p.shape}")

    def start(self, parameter, group):
        return {"momentum_buffer": zeros_like(parameter)}

    def numbers(self, group, state):
        lr = float(group["lr"])
        return {"lr": -lr, "keep": 1 - lr * group["weight_decay"], "momentum": float(group["momentum"]), "rest": 1.0 - group["momentum"]}

    def update(self, p, state, group, numbers):
        buffer = state["momentum_buffer"].lerp_(p.grad, numbers["rest"])
        update = torch["lerp"](p.grad, buffer, numbers["momentum"]) if group["nesterov"] else buffer
        update = _orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        rows, columns = p.shape
        scale = 0.2 * math.sqrt(max(rows, columns)) if group["adjust_lr_fn"] == "match_rms_adamw" else math.sqrt(max(1, rows / columns))
        p.mul_(numbers["keep"])
        p.add_(torch["mul"](update * scale, numbers["lr"]))


def _orthogonal(x, coefficients, steps, eps):
    """The matrix with its singular values driven towards 1 by an odd polynomial of degree 5."""
    a, b, c = coefficients
    tall = x.shape[0] > x.shape[1]
    x = x.t() if tall else x
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.t()
        x = x * a + (gram * b + (gram @ gram) * c) @ x
    return x.t() if tall else x
