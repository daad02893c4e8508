"""Tools for layers: clipping, vectors of parameters, packed sequences, parametrizations, pruning (torch.nn.utils)."""
from __future__ import annotations

import importlib

from . import rnn
from .clip import clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from .vectors import parameters_to_vector, vector_to_parameters

# imported when first used
_MODULES = ("parametrizations", "parametrize", "prune", "stateless")
_NAMES = {**dict.fromkeys(("convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format", "fuse_conv_bn_eval", "fuse_conv_bn_weights",
                           "fuse_linear_bn_eval", "fuse_linear_bn_weights", "skip_init"), "fusion"),
          **dict.fromkeys(("remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"), "renewed")}
__all__ = sorted(["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm", "parameters_to_vector", "rnn",
                  "vector_to_parameters", *_MODULES, *_NAMES])


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module("." + name, __name__)
    if name in _NAMES:
        found = globals()[name] = getattr(importlib.import_module("." + _NAMES[name], __name__), name)
        return found
    from ...errors import absent
    raise absent(__name__, name, __all__)
