"""Data types, their storage on each device, and PyTorch's promotion rules."""
from __future__ import annotations

import struct


class dtype:
    """An element type. ``itemsize`` is in bytes; ``wgsl`` is the GPU storage type, ``compute`` the GPU arithmetic type."""
    __slots__ = ("name", "itemsize", "kind", "order", "wgsl", "compute", "code", "title")

    def __init__(self, name, itemsize, kind, order, wgsl, compute, code, title):
        self.name, self.itemsize, self.kind, self.order = name, itemsize, kind, order
        self.wgsl, self.compute, self.code, self.title = wgsl, compute, code, title

    @property
    def is_floating_point(self) -> bool:
        return self.kind == "f"

    @property
    def is_complex(self) -> bool:
        return False

    @property
    def is_signed(self) -> bool:
        return self.kind in "fi"

    def __repr__(self):
        return f"torch.{self.name}"

    def __reduce__(self):
        return (_by_name, (self.name,))


# title: PyTorch's spelling in error messages (torch.FloatTensor, "expected scalar type Float")
bool_ = dtype("bool", 1, "b", 0, "u32", "bool", "?", "Bool")
uint8 = dtype("uint8", 1, "u", 1, "i32", "i32", "B", "Byte")
int8 = dtype("int8", 1, "i", 2, "i32", "i32", "b", "Char")
int16 = dtype("int16", 2, "i", 3, "i32", "i32", "h", "Short")
uint32 = dtype("uint32", 4, "u", 4, "u32", "u32", "I", "UInt32")
int32 = dtype("int32", 4, "i", 5, "i32", "i32", "i", "Int")
int64 = dtype("int64", 8, "i", 6, "i32", "i32", "q", "Long")
float16 = dtype("float16", 2, "f", 7, "f16", "f32", "e", "Half")
float32 = dtype("float32", 4, "f", 8, "f32", "f32", "f", "Float")
float64 = dtype("float64", 8, "f", 9, "", "", "d", "Double")

ALL = (bool_, uint8, int8, int16, uint32, int32, int64, float16, float32, float64)
BY_NAME = {d.name: d for d in ALL}
ALIASES = {"half": float16, "float": float32, "double": float64, "short": int16, "int": int32, "long": int64}

_default = [float32]


def _by_name(name):
    return BY_NAME[name]


def get_default_dtype() -> dtype:
    """The dtype of tensors made from Python floats (float32 unless changed)."""
    return _default[0]


def set_default_dtype(d: dtype) -> None:
    """Set the dtype of tensors made from Python floats; TypeError unless it is a floating-point dtype."""
    if not isinstance(d, dtype) or d.kind != "f":
        raise TypeError(f"only floating-point types are supported as the default type, got {d}")
    _default[0] = d


def promote_types(a: dtype, b: dtype) -> dtype:
    """The smallest dtype that both convert to, by PyTorch's table."""
    if a is b:
        return a
    low, high = (a, b) if a.order < b.order else (b, a)
    if low is uint8 and high is int8:
        return int16
    if low is uint32 and high is int32:
        return int64
    return high


_CATEGORY = {"b": 0, "u": 1, "i": 1, "f": 2}


def of_number(value_type) -> dtype:
    """The dtype a Python number takes: bool, int64 or the default float."""
    if value_type is bool:
        return bool_
    return int64 if value_type is int else _default[0]


def result_type(dimensioned, zero_dim, numbers):
    """Promotion over three priorities (dtypes of tensors with dims, of 0-d tensors, of Python numbers), as torch.result_type."""
    result = None
    candidate = None
    for group in (dimensioned, zero_dim, numbers):
        if not group:
            continue
        candidate = group[0]
        for d in group[1:]:
            candidate = promote_types(candidate, d)
        if result is None:
            result = candidate
        elif _CATEGORY[candidate.kind] > _CATEGORY[result.kind]:
            result = promote_types(result, candidate)
    return result


def can_cast(source: dtype, target: dtype) -> bool:
    """Whether a result of dtype ``source`` may be written into ``target`` (in place or out=)."""
    return _CATEGORY[source.kind] <= _CATEGORY[target.kind]


def word_of(value, kind="") -> int:
    """A number as the 32 bits that a shader reads; floats, and all of ``kind`` "f", as f32."""
    if kind == "f" or not kind and isinstance(value, float):
        return struct.unpack("<I", struct.pack("<f", value))[0]
    return int(value) & 0xFFFFFFFF
