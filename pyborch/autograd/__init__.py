"""apply(op, ...), the tape, backward(), grad(), gradient modes and custom Functions (torch.autograd)."""
from __future__ import annotations

from .backward import backward, grad, run_backward
from .function import Context, Function
from .modes import Live, enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled, state
from .run import apply, autocasts, forget_plans
from .tape import Node, OpNode, ViewNode, edge_of, rebase, refresh_view

__all__ = ["Context", "Function", "Live", "Node", "OpNode", "ViewNode", "apply", "autocasts", "backward", "edge_of", "enable_grad", "forget_plans",
           "grad", "inference_mode", "is_grad_enabled", "no_grad", "rebase", "refresh_view", "run_backward", "set_grad_enabled", "state"]


def __getattr__(name):
    if name == "functional":
        from importlib import import_module
        return import_module(".functional", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
