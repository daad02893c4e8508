"""Tensor: a Storage and a Meta. Its operations come from the ops registry; here are identity, transfer, indexing and operators."""
from __future__ import annotations

from . import autograd
from . import devices
from . import dtypes
from . import indexing, printing
from .autograd import apply, state
from .errors import UnsupportedError
from .ops import registry
from .ops.arithmetic import cast
from .ops.fill import full_of
from .ops import views

OPS = registry.OPS


class Tensor:
    """An n-dimensional array on a device, with PyTorch's semantics. Make one with ``torch.tensor``, ``zeros``, ``rand`` and friends."""

    # instances set only what differs: a plain result is two attributes
    tracked = False
    node = None
    index = 0
    _grad = None
    base = None
    rebased = 0
    hooks = None
    retains = False
    __hash__ = object.__hash__
    __array_priority__ = 1000

    def __init__(self, storage, meta):
        self.storage, self.meta = storage, meta

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        raise UnsupportedError("torch.Tensor", name, dir(type(self)))

    # what it is
    @property
    def shape(self):
        """The sizes, a ``torch.Size``."""
        return self.meta.shape

    @property
    def dtype(self):
        """The element type."""
        return self.meta.dtype

    @property
    def device(self):
        """Where the memory is."""
        kind = self.meta.device.type
        return devices.device(kind, None if kind == "cpu" else 0)

    @property
    def ndim(self):
        """The number of dims."""
        return len(self.meta.shape)

    @property
    def itemsize(self):
        """Bytes of one element."""
        return self.meta.dtype.itemsize

    @property
    def nbytes(self):
        """Bytes of all elements."""
        return self.meta.numel * self.meta.dtype.itemsize

    @property
    def is_leaf(self):
        """Whether it was made by the user rather than by a recorded operation."""
        return self.grad_fn is None

    @property
    def grad_fn(self):
        """The tape node that made it, or None."""
        edge = autograd.edge_of(self)
        return None if edge is None or edge[1] < 0 else edge[0]

    @property
    def requires_grad(self):
        """Whether gradients flow to or through it."""
        return autograd.edge_of(self) is not None

    @requires_grad.setter
    def requires_grad(self, value):
        self.requires_grad_(value)

    @property
    def grad(self):
        """The accumulated gradient of a leaf, or None."""
        if state.recorder is not None:
            state.recorder.touch_grad(self, reads=True)
        return self._grad

    @grad.setter
    def grad(self, value):
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
            if value.meta.shape != self.meta.shape:
                raise RuntimeError(f"assigned grad has data of a different size: expected {list(self.meta.shape)}, got {list(value.meta.shape)}")
        if state.recorder is not None:
            state.recorder.touch_grad(self, reads=False)
        self._grad = value

    def requires_grad_(self, requires_grad=True):
        """Start or stop recording operations on this leaf; RuntimeError for integer dtypes and non-leaves."""
        if not requires_grad and self.grad_fn is not None:
            raise RuntimeError("you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph "
                               "that doesn't require differentiation use var_no_grad = var.detach().")
        if requires_grad and self.meta.dtype.kind != "f":
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        self.tracked = bool(requires_grad)
        return self

    @property
    def data(self):
        """The same memory without history; assignment takes over another tensor's memory."""
        return self.detach()

    @data.setter
    def data(self, other):
        self.storage, self.meta = other.storage, other.meta

    @property
    def T(self):  # noqa: N802
        """Dims in reverse order."""
        return self.permute(tuple(range(len(self.meta.shape) - 1, -1, -1)))

    @property
    def mT(self):  # noqa: N802
        """The last two dims swapped."""
        if not self.meta.shape:
            return self
        if len(self.meta.shape) < 2:
            raise RuntimeError(f"tensor.mT is only supported on matrices or batches of matrices. Got {len(self.meta.shape)}-D tensor.")
        return self.transpose(-2, -1)

    @property
    def mH(self):  # noqa: N802
        """The last two dims swapped, and complex numbers conjugated."""
        return self.adjoint()

    @property
    def H(self):  # noqa: N802
        """A matrix transposed, and complex numbers conjugated."""
        if len(self.meta.shape) not in (0, 2):
            raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {len(self.meta.shape)}-D tensor."
                               + " For batches of matrices, consider using tensor.mH" * (len(self.meta.shape) > 2))
        return self.adjoint() if self.meta.shape else self

    @property
    def _version(self):
        return self.storage.version

    def dim(self):
        """The number of dims."""
        return len(self.meta.shape)

    ndimension = dim

    def numel(self):
        """The number of elements."""
        return self.meta.numel

    nelement = numel

    def size(self, dim=None):
        """The shape, or the size of one dim."""
        if dim is None:
            return self.meta.shape
        return self.meta.shape[devices.shapes.normalize_dim(dim, len(self.meta.shape))]

    def stride(self, dim=None):
        """Strides in elements, or of one dim."""
        return self.meta.strides if dim is None else self.meta.strides[devices.shapes.normalize_dim(dim, len(self.meta.shape))]

    def storage_offset(self):
        """The position of the first element in the storage."""
        return self.meta.offset

    def element_size(self):
        """Bytes of one element."""
        return self.meta.dtype.itemsize

    def is_contiguous(self, memory_format=None):
        """Whether elements lie in row-major order without gaps."""
        return self.meta.contiguous

    def is_floating_point(self):
        """Whether the dtype is a float."""
        return self.meta.dtype.kind == "f"

    def is_complex(self):
        """False: there are no complex dtypes."""
        return False

    def is_signed(self):
        """Whether the dtype has negative values."""
        return self.meta.dtype.is_signed

    def is_set_to(self, tensor):
        """Whether both are the same view of the same memory."""
        return self.storage is tensor.storage and self.meta is tensor.meta

    def data_ptr(self):
        """A number that identifies memory and offset (there are no addresses on a GPU)."""
        return (id(self.storage) << 32) + self.meta.offset * self.meta.dtype.itemsize

    def get_device(self):
        """-1 on the CPU, 0 on WebGPU."""
        return -1 if self.meta.device.type == "cpu" else 0

    def _kind(self):
        prefix = "torch" if self.meta.device.type == "cpu" else f"torch.{self.meta.device.type}"
        return f"{prefix}.{self.meta.dtype.title}Tensor"

    def type(self, dtype=None):
        """The type as text, or a cast."""
        return self._kind() if dtype is None else self.to(dtype)

    # other forms of it
    def detach(self):
        """The same memory without history."""
        return type(self)._plain(self.storage, self.meta)

    @classmethod
    def _plain(cls, storage, meta):
        return Tensor(storage, meta)

    def detach_(self):
        """Forget the history in place."""
        self.tracked, self.node, self.index, self.base = False, None, 0, None
        return self

    def contiguous(self, memory_format=None):
        """Itself where row-major, else a row-major copy."""
        return self if self.meta.contiguous else apply(OPS["clone"], self)

    def to(self, *args, dtype=None, device=None, copy=False, non_blocking=False, memory_format=None):
        """In another dtype and/or on another device; itself where nothing changes (unless ``copy``)."""
        for x in args:
            if isinstance(x, dtypes.dtype):
                dtype = x
            elif isinstance(x, (str, devices.device, devices.Backend)):
                device = x
            elif isinstance(x, Tensor):
                dtype, device = x.meta.dtype, x.meta.device
        result = self
        if device is not None and devices.backend(_type_of(device)) is not self.meta.device:
            result = _moved(self, devices.backend(_type_of(device)))
        if dtype is not None:
            result = cast(result, dtype)
        return result.clone() if copy and result is self else result

    def cpu(self):
        """On the numpy device."""
        return self.to("cpu")

    def type_as(self, other):
        """In the dtype and on the device of ``other``."""
        return self.to(other)

    def item(self):
        """The only element as a Python number; waits for the GPU."""
        return self._only(self._bytes())

    def item_async(self):
        """``item()`` to be awaited. The read begins at the call, so that awaiting it later, after more work, need not wait."""
        return _read(self._bytes_async(), self._only)

    def _only(self, data):
        if self.meta.numel != 1:
            raise RuntimeError(f"a Tensor with {self.meta.numel} elements cannot be converted to Scalar")
        return _values(data, self.meta.dtype)[0]

    def tolist(self):
        """Nested lists of Python numbers; waits for the GPU."""
        return _nested(_values(self._bytes(), self.meta.dtype), self.meta.shape)

    def tolist_async(self):
        """``tolist()`` to be awaited; the read begins at the call."""
        return _read(self._bytes_async(), lambda data: _nested(_values(data, self.meta.dtype), self.meta.shape))

    def tobytes(self):
        """Elements in row-major order, little-endian, in the logical dtype; waits for the GPU."""
        return self._bytes()

    def tobytes_async(self):
        """``tobytes()`` to be awaited; the read begins at the call."""
        return self._bytes_async()

    def _reader(self):
        if state.recorder is not None:
            state.recorder.refuse("reading a value (item, tolist, numpy, bool, print, a mask as index)")
        whole = self.meta.contiguous and self.meta.numel == self.storage.numel
        return (self if whole else apply(OPS["clone"], self.detach())).storage

    def _bytes(self):
        return self.meta.device.read(self._reader())

    def _bytes_async(self):
        return self.meta.device.read_async(self._reader())

    def numpy(self, *, force=False):
        """A numpy array: shares memory on the CPU device, is a copy elsewhere. RuntimeError where it requires grad, unless ``force``."""
        if self.requires_grad and not force:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if self.meta.device.type == "cpu":
            return self.meta.device.array(self.storage, self.meta)
        return _array(self._bytes(), self.meta)

    def numpy_async(self):
        """``numpy()`` to be awaited; the read begins at the call."""
        return _read(self._bytes_async(), lambda data: _array(data, self.meta))

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    # autograd
    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Accumulate gradients of this tensor into the leaves' ``.grad``; ``gradient`` weighs a non-scalar."""
        autograd.backward(self, gradient, retain_graph, create_graph, inputs)

    def register_hook(self, hook):
        """Call ``hook(grad)`` when the gradient of this tensor is known; a returned tensor replaces it. Returns a handle with remove()."""
        edge = autograd.edge_of(self)
        if edge is None:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if edge[1] < 0:
            self.hooks = {} if self.hooks is None else self.hooks
            return _Handle(self.hooks, hook)
        node, index = edge
        node.hooks = {} if node.hooks is None else node.hooks
        return _Handle(node.hooks.setdefault(index, {}), hook)

    def retain_grad(self):
        """Keep ``.grad`` of a non-leaf too."""
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if self.is_leaf or self.retains:
            return
        self.retains = True
        import weakref
        me = weakref.ref(self)

        def keep(g):
            tensor = me()
            if tensor is not None:
                tensor.grad = g.detach() if tensor.grad is None else tensor.grad + g.detach()
        self.register_hook(keep)

    @property
    def retains_grad(self):
        """Whether retain_grad() was called on this non-leaf."""
        return self.retains

    @staticmethod
    def _zeros_like_meta(meta):
        return full_of(meta.shape, 0, meta.dtype, meta.device)

    @staticmethod
    def _ones_like_meta(meta):
        return full_of(meta.shape, 1, meta.dtype, meta.device)

    _scatter_view, _read_view, _clear_view = staticmethod(views.scatter_view), staticmethod(views.read_view), staticmethod(views.clear_view)

    # protocol
    def __repr__(self):
        return printing.text(self)

    def __format__(self, spec):
        return format(self.item(), spec) if not self.meta.shape else object.__format__(self, spec)

    def __len__(self):
        if not self.meta.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.meta.shape[0]

    def __bool__(self):
        if self.meta.numel == 0:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        if self.meta.numel > 1:
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self.item())

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __index__(self):
        if self.meta.numel != 1 or self.meta.dtype.kind == "f":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __iter__(self):
        if not self.meta.shape:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, element):
        return bool((self == element).any().item())

    def __getitem__(self, index):
        return indexing.read(self, index)

    def __setitem__(self, index, value):
        indexing.write(self, index, value)

    def __deepcopy__(self, memo):
        if not self.is_leaf:
            raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If you were "
                               "attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see "
                               "https://github.com/pytorch/pytorch/pull/103001")
        with autograd.no_grad():
            result = self.clone()
        copied = type(self)._plain(result.storage, result.meta)
        copied.__dict__.update({k: v for k, v in self.__dict__.items() if k not in ("storage", "meta", "base", "rebased", "hooks", "_grad")})
        if self.grad is not None:
            copied.grad = self.grad.__deepcopy__(memo)
        memo[id(self)] = copied
        return copied

    def __reduce_ex__(self, protocol):
        return _restored, (self._bytes(), self.meta.dtype.name, tuple(self.meta.shape), self.tracked)


class _Handle:
    """Removes a hook."""

    def __init__(self, hooks, hook):
        self.hooks = hooks
        hooks[id(self)] = hook

    def remove(self):
        """Take the hook away."""
        self.hooks.pop(id(self), None)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()


def _restored(data, dtype, shape, tracked):
    from .ops.create import frombuffer
    result = frombuffer(data, dtype=dtypes.BY_NAME[dtype]).reshape(shape) if data else full_of(shape, 0, dtypes.BY_NAME[dtype], devices.backend())
    result.tracked = tracked
    return result


def _type_of(device):
    return device if isinstance(device, devices.Backend) else devices.device(device).type


class _Move(autograd.Node):
    """Gradients return to the device that a tensor came from."""
    __slots__ = ("view_meta", "base_meta")

    def __init__(self, source, meta):
        super().__init__([autograd.edge_of(source)])
        self.base_meta, self.view_meta = source.meta, meta

    def name(self):
        return "ToCopyBackward0"

    def compute(self, gs):
        return [gs[0].to(self.base_meta.device.type)]


def _moved(x, backend):
    storage = backend.allocate(x.meta.dtype, x.meta.numel)
    if x.meta.numel:
        backend.write(storage, 0, x._bytes())
    result = Tensor(storage, devices.meta(x.meta.shape, x.meta.dtype, backend))
    if state.grad and autograd.edge_of(x) is not None:
        result.tracked, result.node = True, _Move(x, result.meta)
    return result


def _values(data, dtype):
    """A flat list of Python numbers."""
    import struct
    return list(struct.unpack(f"<{len(data) // dtype.itemsize}{dtype.code}", data))


async def _read(data, convert):
    return convert(await data)


def _nested(flat, shape):
    if not shape:
        return flat[0]
    for n in reversed(shape[1:]):
        flat = [flat[i:i + n] for i in range(0, len(flat), n)] if n else [[] for _ in range(devices.shapes.numel(shape[:-1]))]
    return flat if shape[0] or len(shape) == 1 else []


def _array(data, meta):
    import numpy
    return numpy.frombuffer(bytearray(data), meta.dtype.name).reshape(meta.shape)


def _caster(name, dtype):
    def method(self, memory_format=None):
        return cast(self, dtype)
    method.__name__, method.__doc__ = name, f"In dtype {dtype.name}."
    return method


for _name, _dtype in {**dtypes.ALIASES, "bool": dtypes.bool_, "byte": dtypes.uint8, "char": dtypes.int8}.items():
    setattr(Tensor, _name, _caster(_name, _dtype))


def _operators():
    """Python's operators go straight to the op records; reflected and in-place ones too."""
    def plain(op):
        def operator(self, other):
            return apply(op, self, other) if isinstance(other, _OPERANDS) or hasattr(other, "item") else NotImplemented
        return operator

    def reflected(op):
        def operator(self, other):
            if not isinstance(self, Tensor):
                raise TypeError(f"descriptor '{operator.__name__}' for 'torch._C.TensorBase' objects doesn't apply to a '{type(self).__name__}' object")
            return apply(op, other, self) if isinstance(other, _OPERANDS) or hasattr(other, "item") else NotImplemented
        return operator

    def inplace(op):
        return lambda self, other: apply(op, self, other, out=self)

    for operator, name in _OPERATORS.items():
        setattr(Tensor, f"__{operator}__", plain(OPS[name]))
        setattr(Tensor, f"__r{operator}__", reflected(OPS[name]))
        getattr(Tensor, f"__r{operator}__").__name__ = f"__r{operator}__"
        setattr(Tensor, f"__i{operator}__", inplace(OPS[name]))
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(Tensor, f"__{name}__", plain(OPS[name]))
    methods = registry.namespace("Tensor")
    Tensor.__neg__, Tensor.__abs__, Tensor.__pos__, Tensor.__invert__ = (methods[n] for n in ("neg", "abs", "positive", "bitwise_not"))
    Tensor.__pow__, Tensor.__div__, Tensor.__rdiv__ = methods["pow"], Tensor.__truediv__, Tensor.__rtruediv__
    Tensor.__matmul__ = methods["matmul"]
    Tensor.__rmatmul__ = lambda self, other: methods["matmul"](other, self)


_OPERANDS = (Tensor, int, float)
_OPERATORS = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "true_divide", "floordiv": "floor_divide", "mod": "remainder", "pow": "pow",
              "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift"}


def install() -> None:
    """Give Tensor the methods of the registry."""
    for name, function in registry.namespace("Tensor").items():
        setattr(Tensor, name, function)
    _operators()


state.tensor = Tensor
