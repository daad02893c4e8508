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


_UNSHAPED = ("Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` when trying to load an "
             "uninitialized parameter into an initialized one. Call `forward` to initialize the parameters before accessing their attributes.")


class UninitializedTensorMixin:
    """A tensor of a lazy layer: it has a device and a dtype, and gets its shape from the first input."""

    cls_to_become: type = Tensor

    @property
    def shape(self):
        """RuntimeError: it is not known yet."""
        raise RuntimeError(_UNSHAPED)

    def materialize(self, shape, device=None, dtype=None) -> None:
        """Give it memory of ``shape``, as it comes, and make it an ordinary parameter or buffer; it stays the same object."""
        self.data = empty_parameter(shape, device or self.device, dtype or self.dtype)  # type: ignore[attr-defined]
        self.__class__ = self.cls_to_become

    def share_memory_(self):
        """RuntimeError: there is no memory yet."""
        raise RuntimeError("Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters before calling "
                           "`module.share_memory()`.")

    def __repr__(self):
        return f"<{type(self).__name__}>"


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter of a lazy layer before its first call."""

    cls_to_become = Parameter

    def __init__(self, requires_grad=True, device=None, dtype=None):
        super().__init__(empty_parameter((0,), device, dtype), requires_grad)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.tracked, self.device, self.dtype)
        return memo[id(self)]


class UninitializedBuffer(UninitializedTensorMixin, Buffer):
    """A buffer of a lazy layer before its first call."""

    def __init__(self, requires_grad=False, device=None, dtype=None, persistent=True):
        super().__init__(empty_parameter((0,), device, dtype, False), persistent=persistent)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(False, self.device, self.dtype, self.persistent)
        return memo[id(self)]


def is_lazy(param) -> bool:
    """Whether ``param`` waits for its shape."""
    return isinstance(param, UninitializedTensorMixin)
