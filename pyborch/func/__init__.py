"""Functions of functions: gradients, Jacobians, products with them, and functions over batches (torch.func)."""
from __future__ import annotations

from ..nn.utils.stateless import functional_call
from .batching import stack_module_state, vmap
from .gradients import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp

__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "stack_module_state", "vjp", "vmap"]


def __getattr__(name):
    from ..errors import absent
    raise absent(__name__, name, __all__)
