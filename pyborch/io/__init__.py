"""Reading and writing tensors: safetensors files, bytes and URLs."""
from __future__ import annotations

import builtins

from . import safetensors

__all__ = ["load", "safetensors", "save"]


def save(obj, f):
    """Write a dict of tensors (a state_dict) to a safetensors file: a path or a binary file object."""
    data = safetensors.save(obj)
    if hasattr(f, "write"):
        f.write(data)
    else:
        with builtins.open(f, "wb") as file:
            file.write(data)


def load(f, map_location=None):
    """The dict of tensors of a safetensors file (a path or a binary file object). PyTorch's own pickles are refused: they can run code."""
    if hasattr(f, "read"):
        data = f.read()
    else:
        with builtins.open(f, "rb") as file:
            data = file.read()
    if data[:2] == b"PK" or data[:1] == b"\x80":
        raise safetensors.SafetensorError("load: this is a PyTorch pickle file, which can run code when it is read; save it as safetensors in PyTorch "
                                          "(safetensors.torch.save_file) and load that")
    return safetensors.load(data, map_location)
