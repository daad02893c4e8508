"""Tensors of a module computed from others by modules of their own, at each use (torch.nn.utils.parametrize)."""
from __future__ import annotations

import copy

from ...autograd import no_grad
from ..._tensor import Tensor
from ..containers import ModuleDict, ModuleList
from ..parameter import Parameter

__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
           "transfer_parametrizations_and_params", "type_before_parametrizations"]
_depth = 0
_cache: dict = {}


class cached:
    """Inside this context a parametrized tensor is computed once, at its first use."""

    def __enter__(self):
        global _depth
        _depth += 1

    def __exit__(self, *exc):
        global _depth
        _depth -= 1
        if not _depth:
            _cache.clear()


def _register(module, name, value):
    module.register_parameter(name, value) if isinstance(value, Parameter) else module.register_buffer(name, value)


def _same(new, old, what, old_name, new_name, flag="unless `unsafe` flag is enabled"):
    """ValueError unless both have one dtype and one shape."""
    for kind in ("dtype", "shape"):
        if getattr(new, kind) != getattr(old, kind):
            raise ValueError(f"{what.format(kind)}, {flag}.\n{old_name.format(kind)}: {getattr(old, kind)}\n{new_name.format(kind)}: {getattr(new, kind)}")


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied one after another to ``original`` (or to ``original0``, ``original1``, ...).

    ``right_inverse`` of each, where it has one, gives the original that assigning a value means.
    """

    def __init__(self, modules, original, unsafe: bool = False):
        modules = list(modules)
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape_and_dtype = original.detach()
        new = original
        with no_grad():
            for module in reversed(modules):
                if hasattr(module, "right_inverse"):
                    try:
                        new = module.right_inverse(new)
                    except NotImplementedError:
                        pass
        if not isinstance(new, (Tensor, list, tuple)):
            raise ValueError(f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got {type(new).__name__}")
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if isinstance(new, Tensor):
            for kind in ("dtype", "device"):
                if getattr(original, kind) != getattr(new, kind):
                    raise ValueError(f"When `right_inverse` outputs one tensor, it may not change the {kind}.\noriginal.{kind}: {getattr(original, kind)}\n"
                                     f"right_inverse(original).{kind}: {getattr(new, kind)}")
            original.data = new.detach()
            _register(self, "original", original)
        else:
            self._register_many(new, original)
        if not unsafe:
            value = self()
            if not isinstance(value, Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(value).__name__}.")
            _same(value, shape_and_dtype, "Registering a parametrization may not change the {} of the tensor", "unparametrized {}", "parametrized {}")

    def _register_many(self, values, original):
        for i, value in enumerate(values):
            if not isinstance(value, Tensor):
                raise ValueError("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                                 f"Got element {i} of the sequence with type {type(value).__name__}.")
            if isinstance(original, Parameter):
                value = Parameter(value.detach(), original.requires_grad)
            _register(self, f"original{i}", value)

    def right_inverse(self, value) -> None:
        """Set the original(s) so that the parametrized tensor becomes ``value``."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            if self.is_tensor:
                if not isinstance(value, Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
                if value.dtype != self.original.dtype:
                    raise ValueError(f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` has dtype {self.original.dtype}")
                self.original.data = value.detach()
                return
            if not isinstance(value, (list, tuple)):
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}.")
            if len(value) != self.ntensors:
                raise ValueError(f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of length {len(value)}.")
            for i, tensor in enumerate(value):
                original = getattr(self, f"original{i}")
                if original.dtype != tensor.dtype:
                    raise ValueError(f"Tensor {i} returned by `right_inverse` has dtype {tensor.dtype} while `original{i}` has dtype {original.dtype}")
                original.data = tensor.detach()

    def forward(self):
        first, *rest = self
        x = first(self.original) if self.is_tensor else first(*[getattr(self, f"original{i}") for i in range(self.ntensors)])
        for module in rest:
            x = module(x)
        return x


def _deepcopy(self, memo):
    if id(self) in memo:
        return memo[id(self)]
    replica = memo[id(self)] = object.__new__(_subclass(type(self).__bases__[0]))
    replica.__dict__.update(copy.deepcopy(self.__dict__, memo))
    for name in self.parametrizations:
        setattr(type(replica), name, _property(name))
    return replica


def _getstate(self):
    raise RuntimeError("Serialization of parametrized modules is only supported through state_dict(). See:\n"
                       "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
                       "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training")


def _subclass(cls):
    """A class of one module, which gets properties for its parametrized tensors."""
    return type(f"Parametrized{cls.__name__}", (cls,), {"__getstate__": _getstate, "__deepcopy__": _deepcopy})


def _property(name):
    def value(self):
        parametrization = self.parametrizations[name]
        if not _depth:
            return parametrization()
        key = id(self), name
        if key not in _cache:
            _cache[key] = parametrization()
        return _cache[key]

    def assign(self, tensor):
        self.parametrizations[name].right_inverse(tensor)
    return property(value, assign, doc=f"The parametrized {name}.")


def register_parametrization(module, tensor_name: str, parametrization, *, unsafe: bool = False):
    """Have ``module.tensor_name`` computed by ``parametrization`` (after those it has); what it was is ``parametrizations.NAME.original``.

    ValueError where the result would have another shape or dtype, unless ``unsafe``. Returns the module.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_another(module, tensor_name, parametrization)
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        parametrizations = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            module.__class__ = _subclass(type(module))
            module.parametrizations = ModuleDict()
        setattr(type(module), tensor_name, _property(tensor_name))
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'")
    return module


def _check_another(module, name, parametrization):
    before = getattr(module, name)
    after = parametrization(before)
    if not isinstance(after, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
    flag = "unless the `unsafe` flag is enabled"
    _same(after, before, "Registering a parametrization may not change the {} of the tensor", f"module.{name}.{{}}", f"parametrization(module.{name}).{{}}", flag)
    if hasattr(parametrization, "right_inverse"):
        try:
            back = parametrization.right_inverse(after)
        except NotImplementedError:
            return
        if not isinstance(back, Tensor):
            raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
        _same(back, before, f"The tensor returned by parametrization.right_inverse must have the same {{}} as module.{name}", f"module.{name}.{{}}",
              "returned {}", flag)


def is_parametrized(module, tensor_name=None) -> bool:
    """Whether the module has parametrizations (of ``tensor_name``)."""
    found = module.__dict__.get("_modules", {}).get("parametrizations")
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module, tensor_name: str, leave_parametrized: bool = True):
    """Make ``tensor_name`` an ordinary tensor again: of its parametrized value, or of the original one. Returns the module."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        kept = parametrizations.original
        if leave_parametrized:
            with no_grad():
                kept.data = getattr(module, tensor_name).detach()
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        kept = Parameter(value.detach()) if value.requires_grad else value
    else:
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of tensors.")
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, kept)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module) -> type:
    """The module's class, without what parametrizations added."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """Give ``to_module`` the parametrizations (of ``tensor_name``) and their originals. Returns it."""
    if is_parametrized(from_module):
        for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
            if not hasattr(to_module, name):
                setattr(to_module, name, Parameter(getattr(from_module, name).detach()))
            source = from_module.parametrizations[name]
            for parametrization in source:
                register_parametrization(to_module, name, parametrization)
            for key in ["original"] if source.is_tensor else [f"original{i}" for i in range(source.ntensors)]:
                setattr(to_module.parametrizations[name], key, getattr(source, key))
    return to_module
