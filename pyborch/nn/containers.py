"""Modules that hold others: Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""
from __future__ import annotations

from operator import index as as_index

from .._tensor import Tensor
from .module import Module, indent
from .parameter import Parameter, typename


class _Numbered(Module):
    """What Sequential and ModuleList share: children named "0", "1", ... and used as a list."""

    def _position(self, index):
        index = as_index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range")
        return index % len(self)

    def _renumber(self, modules):
        for module in modules:
            if module is not None and not isinstance(module, Module):
                raise TypeError(f"{typename(module)} is not a Module subclass")
        self._modules.clear()
        for i, module in enumerate(modules):
            self.register_module(str(i), module)

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(dict(list(self._modules.items())[index]))
        return list(self)[self._position(index)]

    def __setitem__(self, index, module):
        setattr(self, list(self._modules)[self._position(index)], module)

    def __delitem__(self, index):
        modules = list(self)
        del modules[index if isinstance(index, slice) else self._position(index)]
        self._renumber(modules)

    def append(self, module):
        """Add ``module`` at the end."""
        self.register_module(str(len(self)), module)
        return self

    def pop(self, key):
        """Remove the module at ``key`` and return it."""
        module = self[key]
        del self[key]
        return module


class Sequential(_Numbered):
    """Calls its modules one after another: ``Sequential(a, b)(x)`` is ``b(a(x))``; also takes one ordered dict of names."""

    def __init__(self, *args):
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], dict) else ((str(i), m) for i, m in enumerate(args))
        for name, module in named:
            self.register_module(name, module)

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input

    def insert(self, index: int, module):
        """Put ``module`` before position ``index``."""
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def extend(self, sequential):
        """Add all modules of an iterable at the end."""
        for module in list(sequential):
            self.append(module)
        return self

    def __add__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return Sequential(*self, *other)

    def __iadd__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return self.extend(other)

    def __mul__(self, times):
        if not isinstance(times, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(times)}")
        if times <= 0:
            raise ValueError(f"Non-positive multiplication factor {times} for {type(self)}")
        return Sequential(*list(self) * times)

    __rmul__ = __mul__


class ModuleList(_Numbered):
    """A list of modules that registers them as children."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.extend(modules.values() if isinstance(modules, dict) else modules)

    def insert(self, index: int, module) -> None:
        """Put ``module`` before position ``index``, as list.insert."""
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)

    def extend(self, modules):
        """Add all modules of an iterable at the end."""
        if not hasattr(modules, "__iter__"):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        return ModuleList([*self, *other])

    def __repr__(self):
        lines, first, texts = [], 0, [repr(m) for m in self]
        for i, text in enumerate(texts):
            if i + 1 < len(texts) and texts[i + 1] == text:
                continue
            many = i > first
            lines.append(f"({first}-{i}): {i - first + 1} x {indent(text)}" if many else f"({i}): {indent(text)}")
            first = i + 1
        return f"{self._get_name()}(" + "".join(f"\n  {line}" for line in lines) + ("\n)" if lines else ")")


class ModuleDict(Module):
    """A dictionary of modules that registers them as children."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.register_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self) -> None:
        """Remove all."""
        self._modules.clear()

    def pop(self, key: str):
        """Remove ``key`` and return its module."""
        return self._modules.pop(key)

    def keys(self):
        """The names."""
        return self._modules.keys()

    def items(self):
        """Pairs (name, module)."""
        return self._modules.items()

    def values(self):
        """The modules."""
        return self._modules.values()

    def update(self, modules) -> None:
        """Add or replace modules from a mapping or an iterable of pairs."""
        for key, module in _pairs(modules, "ModuleDict"):
            self[key] = module


def _pairs(given, what):
    """Key/value pairs of a mapping or an iterable of pairs, with PyTorch's complaints."""
    if not hasattr(given, "__iter__"):
        raise TypeError(f"{what}.update should be called with an iterable of key/value pairs, but got {type(given).__name__}")
    if hasattr(given, "items"):
        return list(given.items())
    pairs = list(given)
    for i, pair in enumerate(pairs):
        if not hasattr(pair, "__iter__"):
            raise TypeError(f"{what} update sequence element #{i} should be Iterable; is{type(pair).__name__}")
        if len(pair) != 2:
            raise ValueError(f"{what} update sequence element #{i} has length {len(pair)}; 2 is required")
    return pairs


class _Parameters(Module):
    """What ParameterList and ParameterDict share: values by key, tensors turned into Parameters, other objects kept."""

    def _put(self, key, value):
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, key, value)

    def forward(self, *args, **kwargs):
        raise RuntimeError(f"{self._get_name()} should not be called.")

    __call__ = forward

    def _describe(self, rows, size):
        lines = []
        for key, value in rows:
            if isinstance(value, Tensor):
                kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
                where = "" if value.device.type == "cpu" else f" ({value.device})"
                shape = "x".join(str(n) for n in value.shape)
                lines.append(f"  ({key}): {kind} containing: [{size(value)} of size {shape}{where}]")
            else:
                lines.append(f"  ({key}): Object of type: {type(value).__name__}")
        return "\n".join(lines)


class ParameterList(_Parameters):
    """A list of parameters that registers them; plain tensors in it become Parameters."""

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _key(self, index):
        index = as_index(index)
        if not -self._size <= index < self._size:
            raise IndexError(f"index {index} is out of range")
        return str(index % self._size)

    def __len__(self):
        return self._size

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return getattr(self, self._key(index))

    def __setitem__(self, index, value):
        self._put(self._key(index), value)

    def __iter__(self):
        return iter([getattr(self, str(i)) for i in range(self._size)])

    def append(self, value):
        """Add ``value`` at the end."""
        self._size += 1
        self._put(str(self._size - 1), value)
        return self

    def extend(self, values):
        """Add all values of an iterable at the end."""
        if isinstance(values, Tensor) or not hasattr(values, "__iter__"):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    __iadd__ = extend

    def extra_repr(self):
        return self._describe(enumerate(self), lambda value: value.dtype)


class ParameterDict(_Parameters):
    """A dictionary of parameters that registers them; plain tensors in it become Parameters."""

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key):
        return getattr(self, str(key))

    def __setitem__(self, key, value):
        if not isinstance(key, str):
            raise TypeError(f"Index given to ParameterDict cannot be used as a key as it is not a string (type is '{typename(key)}'). "
                            "Open an issue on github if you need non-string keys.")
        self._keys[key] = None
        self._put(key, value)

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, key)

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __contains__(self, key):
        return key in self._keys

    def keys(self):
        """The names."""
        return self._keys.keys()

    def values(self):
        """The values."""
        return [self[key] for key in self._keys]

    def items(self):
        """Pairs (name, value)."""
        return [(key, self[key]) for key in self._keys]

    def get(self, key, default=None):
        """The value of ``key``, or ``default``."""
        return self[key] if key in self._keys else default

    def pop(self, key):
        """Remove ``key`` and return its value."""
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Remove the last key and return (key, value)."""
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def setdefault(self, key, default=None):
        """The value of ``key``, which becomes ``default`` where there is none."""
        if key not in self._keys:
            self[key] = default
        return self[key]

    def fromkeys(self, keys, default=None):
        """A new ParameterDict with ``default`` under each key."""
        return type(self)({key: default for key in keys})

    def clear(self) -> None:
        """Remove all."""
        for key in list(self._keys):
            del self[key]

    def update(self, parameters) -> None:
        """Add or replace values from a mapping or an iterable of pairs."""
        for key, value in _pairs(parameters, "ParameterDict"):
            self[key] = value

    def copy(self):
        """A new ParameterDict of the same values."""
        return type(self)(dict(self.items()))

    def __reversed__(self):
        return reversed(self._keys)

    def __or__(self, other):
        return type(self)({**dict(self.items()), **dict(other.items())})

    def __ror__(self, other):
        return type(self)({**dict(other.items()), **dict(self.items())})

    def __ior__(self, other):
        self.update(other)
        return self

    def extra_repr(self):
        return self._describe(self.items(), lambda value: typename(value.detach()))
