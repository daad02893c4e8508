"""``install_as_torch()``: code that says ``import torch`` gets pyborch."""
from __future__ import annotations

import sys
from importlib import import_module

_PLACES = {"utils.data.dataloader": "data.loader", "utils.data": "data"}


class _Aliases:
    """Finds ``torch.x.y`` where ``pyborch.x.y`` is, and gives that very module."""

    def find_spec(self, name, path=None, target=None):
        if not name.startswith("torch."):
            return None
        from importlib.machinery import ModuleSpec
        module = _module(name[len("torch."):])
        return None if module is None else ModuleSpec(name, _Loader(module))


class _Loader:
    """Puts a module that there is in the place of the one that is being imported."""

    def __init__(self, module):
        self.module = module

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        sys.modules[module.__name__] = self.module


def _module(path):
    for place, own in _PLACES.items():
        if path.startswith(place):
            path = own + path[len(place):]
            break
    name = "pyborch." + path
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not name.startswith(error.name):
            raise
        return None


def install_as_torch():
    """Let ``import torch`` and ``from torch.x import y`` give pyborch in this process, for code that is written so.

    >>> import pyborch; pyborch.install_as_torch()
    >>> import torch.nn.functional as F   # pyborch.nn.functional

    Modules are the same under both names. RuntimeError where the real torch is imported already; a second call changes nothing.
    """
    present = sys.modules.get("torch")
    own = import_module("pyborch")
    if present is own:
        return
    if present is not None:
        raise RuntimeError("install_as_torch: torch is imported already; call install_as_torch() first, or import pyborch as torch")
    sys.modules["torch"] = own
    sys.meta_path.insert(0, _Aliases())
