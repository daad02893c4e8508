"""The dicts in which a Module keeps its parameters, buffers and children."""
from __future__ import annotations

from ..autograd import state


class Table(dict):
    """A dict whose changes are counted (``state.changes``): a compiled function looks at modules again only after one."""


def _counted(name):
    change = getattr(dict, name)

    def method(self, *args, **kwargs):
        state.changes += 1
        return change(self, *args, **kwargs)
    return method


for _name in ("__setitem__", "__delitem__", "__ior__", "clear", "pop", "popitem", "setdefault", "update"):
    setattr(Table, _name, _counted(_name))
