"""pyborch: PyTorch's shape in a browser tab. ``import pyborch as torch`` and go on as usual.

Functions come from the ops registry; ``nn``, ``optim``, ``data``, ``io`` and ``compile`` are imported when first used.
"""
from __future__ import annotations

import importlib

from . import autograd, ops, random
from .autograd import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from .devices import device, get_default_device, init, set_default_device
from .dtypes import (bool_, can_cast, dtype, float16, float32, float64, get_default_dtype, int8, int16, int32, int64, promote_types,
                    set_default_dtype, uint8, uint32)
from .errors import CaptureError, DeviceError, DeviceLost, SyncReadError, absent
from .ops import registry
from .printing import set_printoptions
from .random import Generator, default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from .shape import Size
from ._tensor import Tensor, install

__version__ = "0.1.0"

install()
bool = bool_  # noqa: A001
half, float, double, short, int, long = float16, float32, float64, int16, int32, int64  # noqa: A001
inf, nan, pi, e = 1e999, 1e999 - 1e999, 3.141592653589793, 2.718281828459045
newaxis = None
globals().update({name: function for name, function in registry.namespace("torch").items() if name not in globals()})

_LAZY = {"nn": ".nn", "optim": ".optim", "data": ".data", "io": ".io", "utils": ".utils", "linalg": ".linalg", "special": ".special", "masked": ".masked",
         "compiler": ".compiler", "amp": ".amp", "ao": ".ao", "tuner": ".tuner", "export": ".export", "func": ".func",
         "distributions": ".distributions"}
_LAZY_NAMES = {"compile": "compiler", "profile": "profiler", "save": "io", "load": "io", "autocast": "amp",
               "install_as_torch": "as_torch", "vmap": "func"}


def __getattr__(name):
    if name in _LAZY:
        return importlib.import_module(_LAZY[name], __name__)
    if name in _LAZY_NAMES:
        found = getattr(importlib.import_module("." + _LAZY_NAMES[name], __name__), name)
        globals()[name] = found
        return found
    raise absent(__name__, name, __all__)


def is_tensor(obj):
    """Whether ``obj`` is a Tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input):
    """Whether the dtype of ``input`` is a float."""
    return input.dtype.kind == "f"


def numel(input):
    """The number of elements of ``input``."""
    return input.meta.numel


def result_type(tensor1, tensor2):
    """The dtype of an operation on both (tensors or numbers), by PyTorch's promotion rules."""
    from . import dtypes as rules
    groups = ([], [], [])
    for x in (tensor1, tensor2):
        if isinstance(x, Tensor):
            groups[0 if x.meta.shape else 1].append(x.meta.dtype)
        else:
            groups[2].append(rules.of_number(type(x)))
    return rules.result_type(*groups)


_HIDDEN = {"annotations", "absent", "importlib", "install", "registry", "ops", "bool_", "errors", "formula"}
__all__ = sorted({*[name for name in globals() if not name.startswith("_") and name not in _HIDDEN], *_LAZY, *_LAZY_NAMES})
