"""Parameters as one vector and back (torch.nn.utils.parameters_to_vector)."""
from __future__ import annotations

from ...autograd import no_grad
from ...ops import registry
from ..._tensor import Tensor


def parameters_to_vector(parameters):
    """All parameters as one vector (differentiable)."""
    return registry.namespace("torch")["cat"]([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec, parameters) -> None:
    """Copy consecutive parts of ``vec`` into the parameters."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    start = 0
    with no_grad():
        for p in parameters:
            p.copy_(vec[start:start + p.numel()].view_as(p))
            start += p.numel()
