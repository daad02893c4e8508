"""Module, the base class of every layer: parameters, buffers and children by attribute, and their state."""
from __future__ import annotations

from ..autograd import state as mode
from ..ops import registry
from .._tensor import Tensor
from . import hooks as _hooks
from ._state import StateDict
from ._table import Table
from .hooks import EVERY
from .parameter import Buffer, Parameter, typename


class Module(StateDict, _hooks.Hooked):
    """Base class of layers: assign parameters and child modules as attributes, write ``forward`` (torch.nn.Module)."""

    _compiled = None     # what compile() made of the call
    dump_patches = False
    call_super_init = False
    training: bool

    def __init__(self):
        attributes = self.__dict__        # past __setattr__, which would look for what is made here
        attributes["training"] = True
        attributes["_parameters"] = Table()
        attributes["_buffers"] = Table()
        attributes["_non_persistent_buffers_set"] = set()
        attributes["_modules"] = Table()

    def forward(self, *args, **kwargs):
        """What the module computes; every subclass writes its own."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args, **kwargs):
        if self._compiled is not None and mode.recorder is None:
            return self._compiled(*args, **kwargs)
        return self._call(*args, **kwargs)

    def _call(self, *args, **kwargs):
        if mode.recorder is not None:
            mode.recorder.visit(self)
        if self._hooks is None and not EVERY.used:
            return self.forward(*args, **kwargs)
        return _hooks.call(self, args, kwargs)

    # -- attributes -----------------------------------------------------------------------------------------------

    def __getattr__(self, name):
        attributes = self.__dict__
        for table in ("_parameters", "_modules", "_buffers"):
            found = attributes.get(table)
            if found is not None and name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name, value):
        attributes = self.__dict__
        if isinstance(value, Parameter):
            if "_parameters" not in attributes:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name)
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if "_modules" not in attributes:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, keep="_modules")
            self._modules[name] = EVERY.registered("add_module", self, name, value)
        elif name in attributes.get("_parameters", ()):
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)")
            self._parameters[name] = None
        elif name in attributes.get("_modules", ()):
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None expected)")
            self._modules[name] = None
        elif isinstance(value, Buffer):
            self._forget(name, keep="_buffers")
            self._buffers.pop(name, None)
            self.register_buffer(name, value, value.persistent)
        elif name in attributes.get("_buffers", ()):
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)")
            self._buffers[name] = value
        else:
            if name == "training":
                mode.changes += 1
            object.__setattr__(self, name, value)

    def __delattr__(self, name):
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self):
        return sorted({*object.__dir__(self), *self._parameters, *self._buffers, *self._modules})

    def _forget(self, name, keep="_parameters"):
        """Drop ``name`` wherever an earlier assignment put it, except in ``keep`` (its place in the order stays)."""
        attributes = self.__dict__
        attributes.pop(name, None)
        for table in ("_parameters", "_buffers", "_modules"):
            if table != keep:
                attributes.get(table, {}).pop(name, None)
        attributes.get("_non_persistent_buffers_set", set()).discard(name)

    def _check_name(self, kind, name, table):
        if table not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."' + (f", got: {name}" if kind == "module" else ""))
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if name not in self.__dict__[table] and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name: str, param) -> None:
        """Add a Parameter (or None) under ``name``; KeyError for a taken or dotted name, TypeError for other values."""
        self._check_name("parameter", name, "_parameters")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)")
        if param is not None and param.grad_fn is not None:
            raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. "
                             f"To express '{name}' as a function of another Tensor, compute the value in the forward() method.")
        self._parameters[name] = EVERY.registered("add_parameter", self, name, param)

    def register_buffer(self, name: str, tensor, persistent: bool = True) -> None:
        """Add a tensor that is state but not learned; ``persistent=False`` leaves it out of state_dict."""
        self._check_name("buffer", name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)")
        self._buffers[name] = EVERY.registered("add_buffer", self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_module(self, name: str, module) -> None:
        """Add a child module (or None) under ``name``."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_name("module", name, "_modules")
        self._modules[name] = EVERY.registered("add_module", self, name, module)

    add_module = register_module

    # -- walking --------------------------------------------------------------------------------------------------

    def named_modules(self, memo=None, prefix: str = "", remove_duplicate: bool = True):
        """Pairs (dotted name, module) of this module and all below it."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, child in self._modules.items():
            if child is not None:
                yield from child.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self, remove_duplicate: bool = True):
        """This module and all below it."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self):
        """Pairs (name, module) of the direct children."""
        seen = set()
        for name, child in self._modules.items():
            if child is not None and child not in seen:
                seen.add(child)
                yield name, child

    def children(self):
        """The direct children."""
        for _, child in self.named_children():
            yield child

    def _named_members(self, table, prefix, recurse, remove_duplicate):
        seen = set()
        for path, module in self.named_modules(None, prefix, remove_duplicate) if recurse else [(prefix, self)]:
            for name, value in module.__dict__[table].items():
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield f"{path}.{name}" if path else name, value

    def named_parameters(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True):
        """Pairs (dotted name, Parameter); a tied parameter comes once unless ``remove_duplicate=False``."""
        return self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True):
        """The parameters, each once; what an optimizer takes."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True):
        """Pairs (dotted name, buffer)."""
        return self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True):
        """The buffers, each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target: str):
        """The module at a dotted path; AttributeError where there is none."""
        module = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module, strict: bool = False) -> None:
        """Put ``module`` at a dotted path; with ``strict`` there must be one already (AttributeError)."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def _get_member(self, target, is_one, what):
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        if not is_one(module, name):
            raise AttributeError(f"`{name}` is not {what}")
        return getattr(module, name)

    def get_parameter(self, target: str):
        """The Parameter at a dotted path; AttributeError where there is none."""
        return self._get_member(target, lambda module, name: name in module._parameters, "an nn.Parameter")

    def get_buffer(self, target: str):
        """The buffer at a dotted path; AttributeError where there is none."""
        return self._get_member(target, lambda module, name: name in module._buffers, "a buffer")

    # -- changing all at once -------------------------------------------------------------------------------------

    def apply(self, fn):
        """Call ``fn(module)`` on every module, children first."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True):
        """Switch dropout, batch norm and their like between training and evaluation."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self):
        """``train(False)``."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True):
        """Let every parameter gather gradients, or freeze them all."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients; ``set_to_none=False`` fills them with zeros instead."""
        for parameter in self.parameters():
            if set_to_none:
                parameter.grad = None
            elif parameter.grad is not None:
                parameter.grad = parameter.grad.detach().zero_()

    def compile(self, *args, **kwargs) -> None:
        """Have calls of this module compiled, with the arguments of torch.compile."""
        from ..compiler import compile
        self._compiled = compile(self._call, *args, **kwargs)

    def _apply(self, fn, recurse: bool = True):
        """Replace every parameter's data, its gradient and every buffer by ``fn`` of it; parameters stay the same objects."""
        for child in self.children() if recurse else ():
            child._apply(fn)
        for parameter in self._parameters.values():
            if parameter is not None:
                parameter.data = fn(parameter.data)
                if parameter.grad is not None:
                    parameter.grad = fn(parameter.grad.detach())
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to_empty(self, *, device, recurse: bool = True):
        """Move to a device without the values: parameters and buffers are memory as it comes."""
        empty_like = registry.namespace("torch")["empty_like"]
        return self._apply(lambda t: empty_like(t, device=device or t.device), recurse)

    def share_memory(self):
        """The module itself: there is one process."""
        return self

    def to(self, *args, **kwargs):
        """Move to a device and/or convert floating-point state to a dtype: ``to(device, dtype)``, ``to(dtype)`` or ``to(tensor)``."""
        device, dtype = _destination(args, kwargs)
        if dtype is not None and not dtype.is_floating_point:
            raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")
        return self._apply(lambda t: t.to(device=device or t.device,
                                          dtype=dtype if dtype is not None and t.is_floating_point() else t.dtype))

    def type(self, dst_type):
        """Convert all parameters and buffers to ``dst_type``."""
        return self._apply(lambda t: t.to(dtype=dst_type))

    def float(self):
        """Convert floating-point state to float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self):
        """Convert floating-point state to float64 (cpu device only)."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self):
        """Convert floating-point state to float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def cpu(self):
        """Move to the cpu device."""
        return self.to("cpu")

    # -- printing -------------------------------------------------------------------------------------------------

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self) -> str:
        """What the printed form shows between the brackets."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {indent(repr(child))}" for name, child in self._modules.items()]
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({extra})"
        body = "".join(f"\n  {line}" for line in lines + children)
        return f"{self._get_name()}({body}\n)" if body else f"{self._get_name()}()"


def indent(text: str) -> str:
    """``text`` with all lines but the first moved two spaces in."""
    return text.replace("\n", "\n  ")


def _destination(args, kwargs):
    """(device, dtype) out of the arguments of ``to``; either may be None."""
    device, dtype = kwargs.get("device"), kwargs.get("dtype")
    for argument in (*args, kwargs.get("tensor")):
        if isinstance(argument, Tensor):
            device, dtype = argument.device, argument.dtype
        elif hasattr(argument, "is_floating_point"):
            dtype = argument
        elif argument is not None and not isinstance(argument, bool):
            device = argument
    return device, dtype
