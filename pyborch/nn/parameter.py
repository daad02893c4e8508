"""Parameter and Buffer: the tensors that a Module owns."""
from __future__ import annotations

from .. import devices
from .._tensor import Tensor


def typename(value) -> str:
    """The type's name as PyTorch writes it in messages."""
    kind = type(value)
    if isinstance(value, Tensor):
        return value._kind() if kind is Tensor else f"torch.nn.parameter.{kind.__name__}"
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


class Parameter(Tensor):
    """A Tensor that a Module counts among its parameters when it is assigned as an attribute; requires gradients unless told otherwise."""

    def __init__(self, data=None, requires_grad=True):
        if data is None:
            from ..ops.create import tensor
            data = tensor([])
        super().__init__(data.storage, data.meta)
        self.requires_grad_(requires_grad)

    @classmethod
    def _plain(cls, storage, meta):
        return Tensor(storage, meta)

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        result = type(self)(self.detach().clone(), self.tracked)
        memo[id(self)] = result
        return result

    def __reduce_ex__(self, protocol):
        restore, arguments = super().__reduce_ex__(protocol)
        return _restored, (type(self), restore, arguments)

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()


def _restored(kind, restore, arguments):
    return kind(restore(*arguments).detach(), arguments[-1])


class Buffer(Tensor):
    """A Tensor that a Module counts among its buffers when it is assigned as an attribute; ``persistent`` ones are saved."""

    def __init__(self, data=None, *, persistent=True):
        if data is None:
            from ..ops.create import tensor
            data = tensor([])
        super().__init__(data.storage, data.meta)
        self.persistent = persistent


def empty_parameter(shape, device=None, dtype=None, requires_grad=True) -> Parameter:
    """A Parameter whose values an initialiser is about to write."""
    from .. import dtypes
    backend = devices.backend() if device is None else devices.backend(devices.device(device).type)
    dtype = dtype or dtypes.get_default_dtype()
    shape = tuple(shape)
    return Parameter(Tensor(backend.allocate(dtype, devices.shapes.numel(shape)), devices.meta(shape, dtype, backend)), requires_grad)
