"""Tools for layers: clipping, vectors of parameters, packed sequences (torch.nn.utils)."""
from __future__ import annotations

from . import rnn
from .clip import clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from .vectors import parameters_to_vector, vector_to_parameters

__all__ = ["clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm", "parameters_to_vector", "rnn", "vector_to_parameters"]
