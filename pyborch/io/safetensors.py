"""The safetensors format (https://github.com/huggingface/safetensors): 8 bytes of header length, a JSON header, the tensors' bytes.

A file is checked as strictly as the format's own library checks it; duplicate names, which that library lets pass, are refused too.
bfloat16 and float8 tensors are read as float32, which holds each of their values. Files on the web: :func:`load_url`.
"""
from __future__ import annotations

import json
import math

from .. import dtypes
from .._tensor import Tensor
from ..ops.create import frombuffer, _backend
from ..ops.fill import full_of
from . import _narrow
from ._web import load_url_bytes

HEADER_LIMIT = 100_000_000
SIZES = {"BOOL": 1, "U8": 1, "I8": 1, "I16": 2, "U16": 2, "F16": 2, "BF16": 2, "I32": 4, "U32": 4, "F32": 4, "F64": 8, "I64": 8, "U64": 8,
         "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1, "C64": 8}
NAMES = {"bool": "BOOL", "uint8": "U8", "int8": "I8", "int16": "I16", "int32": "I32", "uint32": "U32", "int64": "I64", "float16": "F16", "float32": "F32",
         "float64": "F64"}
DTYPES = {code: dtypes.BY_NAME[name] for name, code in NAMES.items()}


class SafetensorError(Exception):
    """The bytes are not a valid safetensors file; the message says where."""


def _fail(kind, detail):
    raise SafetensorError(f"Error while deserializing header: {kind}: {detail}")


def _unique(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [k for k, _ in pairs]
        _fail("invalid JSON in header", f"duplicate key {next(k for k in names if names.count(k) > 1)!r}")
    return found


def read_header(data):
    """({name: {"dtype", "shape", "data_offsets"}}, metadata, where the tensors' bytes start) of the first bytes of a file."""
    if len(data) < 8:
        _fail("header too small", f"{len(data)} bytes, a file has at least 8")
    length = int.from_bytes(data[:8], "little")
    if length > HEADER_LIMIT:
        _fail("header too large", f"{length} bytes, the limit is {HEADER_LIMIT}")
    if 8 + length > len(data):
        _fail("invalid header length", f"{length} bytes announced, {len(data) - 8} are there")
    try:
        text = bytes(data[8:8 + length]).decode("utf-8")
    except UnicodeDecodeError as error:
        _fail("invalid UTF-8 in header", error)
    if not text.startswith("{"):
        _fail("invalid start character in header", f"must start with '{{', got {text[:1]!r}")
    try:
        header = json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        _fail("invalid JSON in header", error)
    metadata = header.pop("__metadata__", None)
    if metadata is not None and not (isinstance(metadata, dict) and all(isinstance(v, str) for v in metadata.values())):
        _fail("invalid JSON in header", "__metadata__ must map strings to strings")
    return header, metadata, 8 + length


def check_header(header, size) -> None:
    """Whether the entries describe ``size`` bytes completely: known dtypes, right sizes, no hole, no overlap."""
    entries = []
    for name, entry in header.items():
        if not isinstance(entry, dict) or not {"dtype", "shape", "data_offsets"} <= set(entry):
            _fail("invalid JSON in header", f"tensor {name!r} needs dtype, shape and data_offsets")
        shape, offsets = entry["shape"], entry["data_offsets"]
        if not isinstance(entry["dtype"], str) or entry["dtype"] not in SIZES:
            _fail("invalid JSON in header", f"tensor {name!r}: unknown dtype {entry['dtype']!r}")
        for what, numbers in (("shape", shape), ("data_offsets", offsets)):
            if not isinstance(numbers, list) or not all(type(n) is int and 0 <= n < 1 << 64 for n in numbers):
                _fail("invalid JSON in header", f"tensor {name!r}: {what} must be a list of whole numbers, got {numbers!r}")
        if len(offsets) != 2:
            _fail("invalid JSON in header", f"tensor {name!r}: data_offsets must be two numbers")
        count = math.prod(shape)
        if count >= 1 << 64:
            _fail("overflow computing buffer size from shape and/or element type", f"tensor {name!r}: shape {shape}")
        if offsets[1] - offsets[0] != count * SIZES[entry["dtype"]]:
            _fail("invalid shape, data type, or offset for tensor", f"{name!r}: {entry['dtype']} {shape} needs {count * SIZES[entry['dtype']]} bytes, "
                  f"data_offsets {offsets} hold {offsets[1] - offsets[0]}")
        entries.append((*offsets, name))
    at = 0
    for start, end, name in sorted(entries):
        if start != at:
            _fail("invalid offset for tensor", f"{name!r} starts at {start}, the bytes before it end at {at}")
        at = end
    if at != size:
        _fail("incomplete metadata, file not fully covered", f"the tensors end at {at}, the file has {size} bytes of data")


def _tensor(entry, data, device):
    shape, code = tuple(entry["shape"]), entry["dtype"]
    if code in _narrow.WIDENED:
        data, code = _narrow.WIDENED[code](data), "F32"
    if code not in DTYPES:
        raise TypeError(f"safetensors: dtype {code} has no counterpart here")
    dtype = DTYPES[code]
    if not len(data):
        return full_of(shape, 0, dtype, _backend(device))
    return frombuffer(data, dtype=dtype, device=device).reshape(shape)


def load(data, device=None) -> dict:
    """{name: tensor} of the bytes of a safetensors file; SafetensorError where they are not one."""
    header, _, start = read_header(data)
    view = memoryview(data)[start:]
    check_header(header, len(view))
    return {name: _tensor(entry, view[entry["data_offsets"][0]:entry["data_offsets"][1]], device) for name, entry in header.items()}


def load_file(filename, device=None) -> dict:
    """{name: tensor} of a safetensors file."""
    with open(filename, "rb") as file:
        return load(file.read(), device)


def _header_of(tensors, metadata):
    header: dict = {} if metadata is None else {"__metadata__": dict(metadata)}
    at = 0
    order = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))  # large elements first: every tensor is aligned
    for name in order:
        t = tensors[name]
        header[name] = {"dtype": NAMES[t.dtype.name], "shape": list(t.shape), "data_offsets": [at, at + t.nbytes]}
        at += t.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    return order, text + b" " * (-len(text) % 8)


def _check_saved(tensors, metadata):
    if not isinstance(tensors, dict):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    owners: dict = {}
    for name, t in tensors.items():
        if not isinstance(t, Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected torch.Tensor but received {type(t)}")
        owners.setdefault(id(t.storage), []).append(name)
    shared = [names for names in owners.values() if len(names) > 1]
    if shared:
        raise RuntimeError(f"Some tensors share memory, this will lead to duplicate memory on disk and potential differences when loading them again: {shared}. "
                           "Save one of each, or clone() them first.")
    if metadata is not None and not all(isinstance(k, str) and isinstance(v, str) for k, v in metadata.items()):
        raise ValueError("metadata must map strings to strings")


def save(tensors, metadata=None) -> bytes:
    """The bytes of a safetensors file with these tensors; waits for the GPU."""
    _check_saved(tensors, metadata)
    order, header = _header_of(tensors, metadata)
    return b"".join([len(header).to_bytes(8, "little"), header, *[tensors[name].detach().tobytes() for name in order]])


async def save_async(tensors, metadata=None) -> bytes:
    """:func:`save` for places that cannot wait."""
    _check_saved(tensors, metadata)
    order, header = _header_of(tensors, metadata)
    return b"".join([len(header).to_bytes(8, "little"), header, *[await tensors[name].detach().tobytes_async() for name in order]])


def save_file(tensors, filename, metadata=None) -> None:
    """Write a safetensors file."""
    data = save(tensors, metadata)
    with open(filename, "wb") as file:
        file.write(data)


class safe_open:  # noqa: N801 the library's name
    """A safetensors file opened for reading single tensors: ``with safe_open(path) as f: f.get_tensor(name)``."""

    def __init__(self, filename, framework="pt", device=None):
        self._device = device
        self._file = open(filename, "rb")  # noqa: SIM115 closed by __exit__
        size = self._file.seek(0, 2)
        self._file.seek(0)
        first = self._file.read(8)
        length = min(int.from_bytes(first, "little"), HEADER_LIMIT, max(size - 8, 0))
        head = first + self._file.read(length)
        try:
            self._header, self._metadata, self._start = read_header(head if len(first) < 8 or length == int.from_bytes(first, "little") else first)
            check_header(self._header, size - self._start)
        except SafetensorError:
            self._file.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._file.close()

    def keys(self):
        """The tensors' names."""
        return list(self._header)

    def metadata(self):
        """The strings saved beside the tensors, or None."""
        return self._metadata

    def get_tensor(self, name):
        """One tensor; SafetensorError for an unknown name."""
        if name not in self._header:
            raise SafetensorError(f"File does not contain tensor {name}")
        entry = self._header[name]
        start, end = entry["data_offsets"]
        self._file.seek(self._start + start)
        return _tensor(entry, self._file.read(end - start), self._device)

    def get_slice(self, name):
        """A tensor to be read in part: ``f.get_slice(name)[10:20]`` reads these rows alone."""
        if name not in self._header:
            raise SafetensorError(f"File does not contain tensor {name}")
        return Slice(self, self._header[name])

    def read_rows(self, entry, first, last):
        """Rows ``first`` to ``last`` of a tensor with at least one dimension."""
        row = math.prod(entry["shape"][1:]) * SIZES[entry["dtype"]]
        self._file.seek(self._start + entry["data_offsets"][0] + first * row)
        return _tensor(entry | {"shape": [last - first, *entry["shape"][1:]]}, self._file.read((last - first) * row), self._device)


class Slice:
    """What ``get_slice`` returns."""

    def __init__(self, file, entry):
        self._file, self._entry = file, entry

    def get_shape(self):
        """The whole tensor's shape, a list."""
        return list(self._entry["shape"])

    def get_dtype(self):
        """The format's name of the dtype, such as "F32"."""
        return self._entry["dtype"]

    def __getitem__(self, index):
        shape = self._entry["shape"]
        first, *rest = index if isinstance(index, tuple) else (index,)
        if not shape or not isinstance(first, slice):
            return self._file.read_rows({**self._entry, "shape": [1, *shape]}, 0, 1)[0][index]
        start, stop, step = first.indices(shape[0])
        return self._file.read_rows(self._entry, start, max(start, stop))[(slice(None, None, step), *rest)]


async def load_url(url, device=None, *, progress=None, cache=True) -> dict:
    """{name: tensor} of a safetensors file on the web. ``progress(bytes so far, bytes in all or None)`` is called as they come.

    In a browser the file is kept in the browser's cache storage once it has come whole and sound, and read from there the next time;
    ``cache=False`` fetches it anew. OSError where the server refuses, SafetensorError where the file is not one.
    """
    def check(data):
        header, _, start = read_header(data)
        check_header(header, len(data) - start)
    return load(await load_url_bytes(str(url), progress, cache, check), device)
