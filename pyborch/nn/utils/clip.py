"""Gradient clipping (torch.nn.utils.clip_grad_norm_)."""
from __future__ import annotations

import warnings

from ...autograd import no_grad
from ...ops import registry
from ..._tensor import Tensor


def _gradients(parameters):
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [p.grad for p in parameters if p.grad is not None]


def get_total_norm(tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach=None):
    """The ``norm_type``-norm of all tensors as if they were one vector; a 0-d tensor."""
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    torch = registry.namespace("torch")
    if not tensors:
        return torch["tensor"](0.0)
    norms = [t.norm(float(norm_type)) for t in tensors]
    total = torch["stack"](norms).norm(float(norm_type)) if len(norms) > 1 else norms[0]
    if error_if_nonfinite and not total.isfinite().item():
        raise RuntimeError(f"The total norm of order {float(norm_type)} for gradients from `parameters` is non-finite, so it cannot be "
                           "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
                           "`error_if_nonfinite=False`")
    return total


def clip_grads_with_norm_(parameters, max_norm: float, total_norm, foreach=None) -> None:
    """Scale the gradients by max_norm / (total_norm + 1e-6) where that is below 1."""
    scale = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    with no_grad():
        for grad in _gradients(parameters):
            grad.mul_(scale)


def clip_grad_norm_(parameters, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach=None):
    """Scale gradients in place so that their common norm is at most ``max_norm``; returns the norm before, a 0-d tensor.

    ``error_if_nonfinite`` reads that norm and raises RuntimeError when it is nan or infinite.
    """
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    with no_grad():
        total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite)
        clip_grads_with_norm_(parameters, max_norm, total)
    return total


def clip_grad_value_(parameters, clip_value: float, foreach=None) -> None:
    """Clamp gradients in place to [-clip_value, clip_value]."""
    with no_grad():
        for grad in _gradients(parameters):
            grad.clamp_(-float(clip_value), float(clip_value))


def clip_grad_norm(parameters, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach=None):
    """The old name of clip_grad_norm_."""
    warnings.warn("`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.", FutureWarning, stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)
