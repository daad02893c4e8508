"""The Adam family: Adam, AdamW, Adamax, NAdam, RAdam (torch.optim.Adam and its siblings)."""
from __future__ import annotations

import math

from ..ops.registry import pointwise
from .._tensor import Tensor
from .optimizer import Optimizer, check, zeros_like

# In the formulas: l2 adds weight decay to the gradient, keep (1 - lr * decay) shrinks the weight itself;
# w1, w2 are 1 - beta1, 1 - beta2, computed in double precision on the host.


def _moments(g, avg, sq, w1, beta2, w2):
    return avg + (g - avg) * w1, sq * beta2 + g * g * w2


def _adam(m, p, g, avg, sq, *, sign, l2, keep, w1, beta2, w2, eps, rate, correction):
    avg, sq = _moments(g * sign + p * l2, avg, sq, w1, beta2, w2)
    return p * keep - avg / (m.sqrt(sq) / correction + eps) * rate, avg, sq


def _amsgrad(m, p, g, avg, sq, most, *, sign, l2, keep, w1, beta2, w2, eps, rate, correction):
    avg, sq = _moments(g * sign + p * l2, avg, sq, w1, beta2, w2)
    most = m.maximum(most, sq)
    return p * keep - avg / (m.sqrt(most) / correction + eps) * rate, avg, sq, most


def _adamax(m, p, g, avg, most, *, sign, l2, w1, beta2, eps, rate):
    g = g * sign + p * l2
    avg = avg + (g - avg) * w1
    most = m.maximum(most * beta2, m.abs(g) + eps)
    return p - avg / most * rate, avg, most


def _nadam(m, p, g, avg, sq, *, sign, l2, keep, w1, beta2, w2, eps, rate_g, rate_avg, correction):
    p, g = p * keep, g * sign + p * l2
    avg, sq = _moments(g, avg, sq, w1, beta2, w2)
    denominator = m.sqrt(sq / correction) + eps
    return p - g / denominator * rate_g - avg / denominator * rate_avg, avg, sq


def _radam(m, p, g, avg, sq, *, sign, l2, keep, w1, beta2, w2, eps, rate, plain, rectified):
    avg, sq = _moments(g * sign + p * l2, avg, sq, w1, beta2, w2)
    return p * keep - avg * rate * (plain + rectified / (m.sqrt(sq) + eps)), avg, sq


ADAM = pointwise("adam_step", _adam, to="", inplace=False)
AMSGRAD = pointwise("amsgrad_step", _amsgrad, to="", inplace=False)
ADAMAX = pointwise("adamax_step", _adamax, to="", inplace=False)
NADAM = pointwise("nadam_step", _nadam, to="", inplace=False)
RADAM = pointwise("radam_step", _radam, to="", inplace=False)


class _Moments(Optimizer):
    """Optimizers with running means of the gradient and of its square."""

    def start(self, parameter, group):
        zeros = zeros_like(parameter)
        return {"exp_avg": zeros, "exp_avg_sq": zeros.clone()}

    def common(self, group):
        beta1, beta2 = map(float, group["betas"])
        decay = float(group["weight_decay"])
        decoupled = group.get("decoupled_weight_decay", False)
        return {"sign": -1.0 if group["maximize"] else 1.0, "l2": 0.0 if decoupled else decay,
                "keep": 1.0 - float(group["lr"]) * decay if decoupled else 1.0,
                "w1": 1.0 - beta1, "beta2": beta2, "w2": 1.0 - beta2, "eps": float(group["eps"])}


def _check_tensors(lr, betas, foreach, capturable):
    """ValueError for tensors among the numbers where PyTorch refuses them."""
    tensors = [isinstance(value, Tensor) for value in (lr, *betas)]
    if tensors[0] and foreach and not capturable:
        raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
    if tensors[1] != tensors[2]:
        raise ValueError("betas must be either both floats or both Tensors")
    for i, beta in enumerate(betas):
        if tensors[1 + i] and foreach and not capturable:
            raise ValueError(f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True")
        if tensors[1 + i] and beta.numel() != 1:
            raise ValueError(f"Tensor betas[{i}] must be 1-element")


class Adam(_Moments):
    """Steps of ``lr * mean(g) / (sqrt(mean(g^2)) + eps)``, both means exponential and bias corrected (Kingma & Ba 2014).

    ``amsgrad`` divides by the largest mean so far (Reddi et al. 2018); ``weight_decay`` is added to the gradient unless decoupled.
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0, amsgrad: bool = False, *,
                 foreach=None, maximize: bool = False, capturable: bool = False, differentiable: bool = False, fused=None,
                 decoupled_weight_decay: bool = False):
        _check_tensors(lr, betas, foreach, capturable)
        check(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize,
                                      foreach=foreach, capturable=capturable, differentiable=differentiable, fused=fused,
                                      decoupled_weight_decay=decoupled_weight_decay))

    def start(self, parameter, group):
        found = super().start(parameter, group)
        if group["amsgrad"]:
            found["max_exp_avg_sq"] = found["exp_avg"].clone()
        return found

    def numbers(self, group, state):
        beta1, beta2 = map(float, group["betas"])
        return {**self.common(group), "rate": float(group["lr"]) / (1 - beta1 ** state["step"]),
                "correction": math.sqrt(1 - beta2 ** state["step"])}

    def numbers_on_device(self, group, state):
        beta1, beta2 = map(float, group["betas"])
        return {**self.common(group), "lr": float(group["lr"]), "log1": math.log(beta1) if beta1 else -1e4, "log2": math.log(beta2) if beta2 else -1e4,
                "step": float(state["step"])}

    @staticmethod
    def from_step(m, t, numbers):
        """Bias corrections 1 - beta ** t, without cancellation."""
        lr, log1, log2 = (numbers.pop(name) for name in ("lr", "log1", "log2"))
        return {**numbers, "rate": lr / -m.expm1(t * log1), "correction": m.sqrt(-m.expm1(t * log2))}

    def record(self, group):
        return AMSGRAD if group["amsgrad"] else ADAM


class AdamW(Adam):
    """Adam whose weight decay shrinks the weights themselves: ``p *= 1 - lr * weight_decay`` (Loshchilov & Hutter 2017)."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False, *,
                 maximize: bool = False, foreach=None, capturable: bool = False, differentiable: bool = False, fused=None):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
                         differentiable=differentiable, fused=fused, decoupled_weight_decay=True)


class Adamax(_Moments):
    """Adam with the infinity norm: divides by a decaying maximum of |g| (Kingma & Ba 2014)."""

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0, foreach=None, *,
                 maximize: bool = False, differentiable: bool = False, capturable: bool = False):
        check(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, foreach=foreach, maximize=maximize,
                                      differentiable=differentiable, capturable=capturable))

    def start(self, parameter, group):
        zeros = zeros_like(parameter)
        return {"exp_avg": zeros, "exp_inf": zeros.clone()}

    def numbers(self, group, state):
        common = self.common(group)
        rate = float(group["lr"]) / (1 - float(group["betas"][0]) ** state["step"])
        return {**{k: common[k] for k in ("sign", "l2", "w1", "beta2", "eps")}, "rate": rate}

    def record(self, group):
        return ADAMAX


class NAdam(_Moments):
    """Adam with Nesterov momentum whose coefficient grows by ``momentum_decay`` (Dozat 2016)."""

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0, momentum_decay: float = 4e-3,
                 decoupled_weight_decay: bool = False, *, foreach=None, maximize: bool = False, capturable: bool = False,
                 differentiable: bool = False):
        check(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay, momentum_decay=momentum_decay)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay,
                                      decoupled_weight_decay=decoupled_weight_decay, maximize=maximize, foreach=foreach,
                                      capturable=capturable, differentiable=differentiable))

    def start(self, parameter, group):
        return {"mu_product": 1.0, **super().start(parameter, group)}

    def _mu(self, group, step):
        return float(group["betas"][0]) * (1.0 - 0.5 * 0.96 ** (step * group["momentum_decay"]))

    def count(self, group, state):
        state["step"] += 1
        state["mu_product"] *= self._mu(group, state["step"])

    def numbers(self, group, state):
        lr, step, product = float(group["lr"]), state["step"], state["mu_product"]
        mu, following = self._mu(group, step), self._mu(group, step + 1)
        return {**self.common(group), "rate_g": lr * (1 - mu) / (1 - product), "rate_avg": lr * following / (1 - product * following),
                "correction": 1 - float(group["betas"][1]) ** step}

    def record(self, group):
        return NADAM


class RAdam(_Moments):
    """Adam that waits with dividing until the variance of its estimate is known to be finite (Liu et al. 2019)."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
                 decoupled_weight_decay: bool = False, *, foreach=None, maximize: bool = False, capturable: bool = False,
                 differentiable: bool = False):
        check(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize, foreach=foreach,
                                      capturable=capturable, decoupled_weight_decay=decoupled_weight_decay,
                                      differentiable=differentiable))

    def numbers(self, group, state):
        step, (beta1, beta2) = state["step"], map(float, group["betas"])
        correction2 = 1 - beta2 ** step
        longest = 2 / (1 - beta2) - 1                           # length of the longest average
        length = longest - 2 * step * beta2 ** step / correction2
        rectified = 0.0
        if length > 5:
            ratio = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
            rectified = math.sqrt(ratio) * math.sqrt(correction2)
        return {**self.common(group), "rate": float(group["lr"]) / (1 - beta1 ** step), "plain": 0.0 if rectified else 1.0,
                "rectified": rectified}

    def record(self, group):
        return RADAM
