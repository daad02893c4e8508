"""The layers under the addresses that they have in PyTorch: ``torch.nn.modules.batchnorm._BatchNorm`` and so on."""
from __future__ import annotations

import sys

from .. import activation, attention, containers, conv, dropout, embedding, hooks, lazy, linear, losses, module, norm, padding, pooling, rnn, transformer

_ADDRESSES = {"activation": activation, "batchnorm": norm, "container": containers, "conv": conv, "dropout": dropout, "flatten": linear, "instancenorm": norm,
              "lazy": lazy, "linear": linear, "loss": losses, "module": module, "normalization": norm, "padding": padding, "pixelshuffle": padding,
              "pooling": pooling, "rnn": rnn, "sparse": embedding, "transformer": transformer, "upsampling": padding}
for _name, _module in _ADDRESSES.items():
    globals()[_name] = _module
    sys.modules[f"{__name__}.{_name}"] = _module
conv._ConvNd = conv._Conv  # type: ignore[attr-defined]
norm._NormBase = norm._StatNorm  # type: ignore[attr-defined]
activation.MultiheadAttention = attention.MultiheadAttention  # type: ignore[attr-defined]
for _name in vars(hooks):
    if _name.startswith("register_module_"):
        setattr(module, _name, getattr(hooks, _name))


def __getattr__(name):
    from .. import __dict__ as layers
    if name in layers and isinstance(layers[name], type):
        return layers[name]
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
