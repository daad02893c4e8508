"""New tensors: from Python data, buffers and numpy, filled, counted."""
from __future__ import annotations

import math
import struct

from .. import devices
from .. import dtypes
from .. import shape as shapes
from ..autograd import state
from .fill import full_of, sequence_of
from .registry import FUNCTIONS, S, T, function


def _backend(device):
    if device is None:
        return devices.backend()
    return device if isinstance(device, devices.Backend) else devices.backend(devices.device(device).type)


def _shape(size, name="zeros"):
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = size[0]
    result = tuple(n if type(n) is int else n.__index__() for n in size)
    if any(n < 0 for n in result):
        raise RuntimeError(f"{name}: Dimension size must be non-negative.")
    return result


def _made(x, requires_grad):
    return x.requires_grad_() if requires_grad else x


def from_bytes(data, shape, dtype, device):
    """A tensor of packed little-endian elements."""
    numel = shapes.numel(shape)
    storage = device.allocate(dtype, numel)
    if numel:
        device.write(storage, 0, data)
    if state.recorder is not None:
        state.recorder.constant(storage)
    return state.tensor(storage, devices.meta(shape, dtype, device))


@function(to="torch")
def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor copied from numbers, nested lists, a numpy array or another tensor; dtype inferred as PyTorch does (int64, float32, bool)."""
    if isinstance(data, state.tensor):
        with_device = data if device is None else data.to(device)
        return _made(with_device.detach().to(dtype or data.dtype).clone(), requires_grad)
    backend = _backend(device)
    if hasattr(data, "__array_interface__") or hasattr(data, "__array__"):
        return _made(_from_array(data, dtype, backend), requires_grad)
    if isinstance(data, memoryview) or type(data).__name__ == "array":
        data = data.tolist()
    shape, flat = _flattened(data)
    if dtype is None:
        dtype = _inferred(flat)
    return _made(from_bytes(_packed(flat, dtype), shape, dtype, backend), requires_grad)


def _flattened(data):
    """(shape, flat list) of nested sequences; ValueError where they are ragged."""
    shape = []
    level = data
    while isinstance(level, (list, tuple)):
        shape.append(len(level))
        if not level:
            return tuple(shape), []
        level = level[0]
    flat = [data]
    for depth, n in enumerate(shape):
        grown = []
        for part in flat:
            if not isinstance(part, (list, tuple)):
                raise TypeError(f"expected a sequence at dim {depth}, got {type(part).__name__}")
            if len(part) != n:
                raise ValueError(f"expected sequence of length {n} at dim {depth} (got {len(part)})")
            grown.extend(part)
        flat = grown
    return tuple(shape), [_number(v) for v in flat]


def _number(v):
    if isinstance(v, (bool, int, float)):
        return v
    if hasattr(v, "item"):
        return v.item()
    if isinstance(v, (list, tuple)):
        raise ValueError("expected a number, got a sequence: nested lists must all have the same depth")
    if isinstance(v, str):
        raise TypeError("new(): invalid data type 'str'")
    if v is None:
        raise RuntimeError("Could not infer dtype of NoneType")
    raise RuntimeError(f"Could not infer dtype of {type(v).__name__}")


def _inferred(flat):
    if any(isinstance(v, float) for v in flat) or not flat:
        return dtypes.get_default_dtype()
    return dtypes.bool_ if all(isinstance(v, bool) for v in flat) else dtypes.int64


def _packed(flat, dtype):
    if dtype.kind == "f":
        if dtype.itemsize < 8:
            flat = [_rounded(v, dtype) for v in flat]
    elif dtype.kind == "b":
        return bytes(1 if v else 0 for v in flat)
    else:
        flat = [int(v) for v in flat]
    try:
        return struct.pack(f"<{len(flat)}{dtype.code}", *flat)
    except struct.error:
        limit = next(v for v in flat if not -(1 << 8 * dtype.itemsize - 1) <= v < 1 << 8 * dtype.itemsize - (dtype.name not in ("uint8", "uint32")))
        raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow: {limit}") from None


def _rounded(v, dtype):
    """A float that struct can pack: too large becomes infinite."""
    limit = 65519.999 if dtype.itemsize == 2 else 3.4028235677973366e38
    return math.copysign(math.inf, v) if abs(v) >= limit else v


def _from_array(data, dtype, backend):
    import numpy
    array = numpy.asarray(data)
    if array.dtype.name not in dtypes.BY_NAME:
        raise TypeError(f"can't convert np.ndarray of type {array.dtype}. The only supported types are: float64, float32, float16, int64, int32, "
                        "int16, int8, uint32, uint8, and bool.")
    dtype = dtype or dtypes.BY_NAME[array.dtype.name]
    return from_bytes(numpy.ascontiguousarray(array.astype(dtype.name, copy=False)).tobytes(), array.shape, dtype, backend)


@function(to="torch")
def as_tensor(data, dtype=None, device=None):
    """``data`` itself where it is a tensor of that dtype and device, else ``tensor(data)``; numpy arrays share memory on the CPU device."""
    if isinstance(data, state.tensor):
        return data.to(dtype=dtype, device=device)
    if hasattr(data, "__array_interface__") and _backend(device).type == "cpu":
        shared = from_numpy(data)
        return shared if dtype is None else shared.to(dtype)
    return tensor(data, dtype=dtype, device=device)


@function(to="torch")
def from_numpy(ndarray):
    """A tensor of a numpy array: shares memory on the CPU device, is a copy on WebGPU."""
    backend = devices.backend()
    if not hasattr(ndarray, "__array_interface__"):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    if backend.type != "cpu" or not ndarray.flags.c_contiguous or ndarray.dtype.name not in dtypes.BY_NAME or ndarray.dtype.byteorder == ">":
        return _from_array(ndarray, None, backend)
    dtype = dtypes.BY_NAME[ndarray.dtype.name]
    storage = devices.Storage(backend.form(dtype, ndarray.size), ndarray.reshape(-1))
    return state.tensor(storage, devices.meta(ndarray.shape, dtype, backend))


@function(to="torch")
def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False, device=None):
    """A 1-d tensor copied from ``count`` elements of a bytes-like object, from byte ``offset`` on. ValueError where it is too short."""
    view = memoryview(buffer).cast("B")
    if not len(view):
        raise ValueError("both buffer length (0) and count (-1) must not be 0")
    if not 0 <= offset < len(view):
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({len(view)} bytes) - 1")
    if count < 0:
        if (len(view) - offset) % dtype.itemsize:
            raise ValueError(f"buffer length ({len(view) - offset} bytes) after offset ({offset} bytes) must be a multiple of element size "
                             f"({dtype.itemsize})")
        count = (len(view) - offset) // dtype.itemsize
    if offset + count * dtype.itemsize > len(view):
        raise ValueError(f"requested buffer length ({count} * {dtype.itemsize} bytes) after offset ({offset} bytes) must not be greater than actual "
                         f"buffer length ({len(view)} bytes)")
    return _made(from_bytes(view[offset:offset + count * dtype.itemsize], (count,), dtype, _backend(device)), requires_grad)


# filled
@function(to="torch", samples=[S((2, 3), 1.5), S((2,), 7), S((), True)])
def full(size, fill_value, *, out=None, dtype=None, device=None, requires_grad=False):
    """A tensor of one value; dtype from the value unless given."""
    dtype = dtype or dtypes.of_number(type(fill_value))
    return _made(full_of(_shape(size if isinstance(size, (tuple, list)) else (size,)), fill_value, dtype, _backend(device)), requires_grad)


def _filler(name, value):
    def make(*size, out=None, dtype=None, device=None, requires_grad=False, pin_memory=False, **named):
        size = named.get("size", size) if "size" in named else size
        size = (size,) if isinstance(size, int) else size
        return _made(full_of(_shape(size, name), value, dtype or dtypes.get_default_dtype(), _backend(device)), requires_grad)

    def like(input, *, dtype=None, device=None, requires_grad=False, memory_format=None):
        m = input.meta
        return _made(full_of(m.shape, value, dtype or m.dtype, m.device if device is None else _backend(device)), requires_grad)

    def new(self, *size, dtype=None, device=None, requires_grad=False):
        m = self.meta
        return _made(full_of(_shape(size), value, dtype or m.dtype, m.device if device is None else _backend(device)), requires_grad)
    make.__doc__ = f"A tensor of the given sizes filled with {value}" + (" (PyTorch leaves it uninitialised)." if name == "empty" else ".")
    like.__doc__ = f"{name}() with the shape, dtype and device of ``input``."
    new.__doc__ = f"{name}() with the dtype and device of ``self``."
    function(to="torch", name=name, samples=[] if name == "empty" else [S(2, 3), S((0, 2))])(make)
    function(to="torch", name=name + "_like", samples=[] if name == "empty" else [S(T(2, 3))])(like)
    function(to="Tensor", name="new_" + name, samples=[] if name == "empty" else [S(T(1), 2, 3)])(new)


for _name, _value in (("zeros", 0), ("ones", 1), ("empty", 0)):
    _filler(_name, _value)


@function(to="torch", samples=[S(T(2, 3), 2.5)])
def full_like(input, fill_value, *, dtype=None, device=None, requires_grad=False, memory_format=None):
    """full() with the shape, dtype and device of ``input``."""
    m = input.meta
    return _made(full_of(m.shape, fill_value, dtype or m.dtype, m.device if device is None else _backend(device)), requires_grad)


@function(to="Tensor", samples=[S(T(1), (2, 3), 2.5)])
def new_full(self, size, fill_value, *, dtype=None, device=None, requires_grad=False):
    """full() with the dtype and device of ``self``."""
    m = self.meta
    return _made(full_of(_shape((size,)), fill_value, dtype or m.dtype, m.device if device is None else _backend(device)), requires_grad)


@function(to="Tensor")
def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
    """tensor() with the dtype and device of ``self``."""
    return tensor(data, dtype=dtype or self.meta.dtype, device=self.meta.device if device is None else device, requires_grad=requires_grad)


# counted
@function(to="torch", samples=[S(5), S(1, 10, 3), S(0.0, 1.0, 0.25), S(5, 0, -2), S(3, 3)])
def arange(start, end=None, step=1, *, out=None, dtype=None, device=None, requires_grad=False):
    """start, start + step, ... below ``end``; int64 for whole arguments, else the default float dtype."""
    start, end = (0, start) if end is None else (start, end)
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if dtype is None:
        dtype = dtypes.get_default_dtype() if any(isinstance(v, float) for v in (start, end, step)) else dtypes.int64
    count = max(0, math.ceil((end - start) / step))
    return _made(sequence_of(count, start, step, end, dtype, _backend(device)), requires_grad)


@function(to="torch", samples=[S(0.0, 1.0, 5), S(-2, 3, 7), S(1, 1, 1)])
def linspace(start, end, steps, *, out=None, dtype=None, device=None, requires_grad=False):
    """``steps`` values evenly from ``start`` to ``end``, both included."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    step = (end - start) / (steps - 1) if steps > 1 else 0.0
    if steps == 1:
        end = start
    return _made(sequence_of(steps, start, step, end, dtype or dtypes.get_default_dtype(), _backend(device), halves=True), requires_grad)


@function(to="torch", samples=[S(0.0, 2.0, 5), S(-1, 1, 3, 2.0)])
def logspace(start, end, steps, base=10.0, *, out=None, dtype=None, device=None, requires_grad=False):
    """``base`` raised to linspace(start, end, steps)."""
    whole = dtype is not None and dtype.kind not in "fc"
    powers = linspace(start, end, steps, dtype=None if whole else dtype, device=device)
    powers = powers.double() if whole and powers.device.type == "cpu" else powers
    found = FUNCTIONS["torch"]["pow"](base, powers)
    return _made(found.to(dtype) if whole else found, requires_grad)


@function(to="torch", samples=[S(3), S(2, 4)])
def eye(n, m=None, *, out=None, dtype=None, device=None, requires_grad=False):
    """The n x m identity matrix."""
    for count, name in ((n, "n"), (n if m is None else m, "m")):
        if count < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {count}")
    rows, columns = arange(n, device=device), arange(n if m is None else m, device=device)
    return _made((rows.unsqueeze(1) == columns).to(dtype or dtypes.get_default_dtype()), requires_grad)
