"""Sequences of different lengths: packed for recurrent layers, or padded to one length (torch.nn.utils.rnn)."""
from __future__ import annotations

from collections import namedtuple

from ... import dtypes
from ...ops import registry
from ..._tensor import Tensor

__all__ = ["PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence", "pad_sequence", "unpack_sequence",
           "unpad_sequence"]
torch = registry.namespace("torch")
_Fields = namedtuple("_Fields", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])


class PackedSequence(_Fields):
    """Steps of many sequences one after the other: ``data`` (rows, *), of which the first ``batch_sizes[0]`` are first steps, and so on.

    Longer sequences come first: ``sorted_indices`` says which they were before, ``unsorted_indices`` is the inverse.
    """

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    @property
    def sizes(self) -> list:
        """``batch_sizes`` as a list; read once."""
        found = self.__dict__.get("_sizes")
        if found is None:
            found = self.__dict__["_sizes"] = [int(n) for n in self.batch_sizes.tolist()]
        return found

    def with_data(self, data):
        """The same sequences of other rows."""
        made = type(self)(data, *self[1:])
        made.__dict__.update(self.__dict__)
        return made

    def to(self, *args, **kwargs):
        """``data`` on another device or in another dtype, as Tensor.to; itself where nothing changes."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        moved = self.with_data(data)
        if data.device == self.data.device or self.sorted_indices is None:
            return moved
        made = type(self)(data, self.batch_sizes, self.sorted_indices.to(data.device), self.unsorted_indices.to(data.device))
        made.__dict__.update(moved.__dict__)
        return made

    def cpu(self):
        """On the cpu device."""
        return self.to("cpu")

    def double(self):
        """In float64."""
        return self.to(dtype=dtypes.float64)

    def float(self):
        """In float32."""
        return self.to(dtype=dtypes.float32)

    def half(self):
        """In float16."""
        return self.to(dtype=dtypes.float16)

    def long(self):
        """In int64."""
        return self.to(dtype=dtypes.int64)

    def int(self):
        """In int32."""
        return self.to(dtype=dtypes.int32)

    def short(self):
        """In int16."""
        return self.to(dtype=dtypes.int16)

    def char(self):
        """In int8."""
        return self.to(dtype=dtypes.int8)

    def byte(self):
        """In uint8."""
        return self.to(dtype=dtypes.uint8)

    @property
    def is_cuda(self) -> bool:
        """False: there is no CUDA here."""
        return False

    def is_pinned(self) -> bool:
        """False: no memory is pinned."""
        return False


def _packed(data, sizes, order):
    """A PackedSequence of rows, rows per step, and which sequence comes where (None: as they were)."""
    index = None if order is None else torch["tensor"](order, dtype=dtypes.int64, device=data.device)
    made = PackedSequence(data, torch["tensor"](sizes, dtype=dtypes.int64, device=data.device), index,
                          None if order is None else torch["tensor"](_inverse(order), dtype=dtypes.int64, device=data.device))
    made.__dict__["_sizes"] = sizes
    made.__dict__["_order"] = order
    return made


def _inverse(order):
    found = [0] * len(order)
    for place, index in enumerate(order):
        found[index] = place
    return found


def invert_permutation(permutation):
    """The permutation that undoes ``permutation`` (1-d, int64); None for None."""
    if permutation is None:
        return None
    places = torch["arange"](permutation.numel(), device=permutation.device)
    return torch["zeros_like"](permutation).scatter(0, permutation, places.to(permutation.dtype))


def pack_padded_sequence(input, lengths, batch_first: bool = False, enforce_sorted: bool = True):
    """Pack a padded batch (T, B, *), or (B, T, *) where ``batch_first``, of sequences of these ``lengths``.

    With ``enforce_sorted`` lengths must fall, else the sequences are sorted. RuntimeError for lengths below 1 or of another number than B.
    """
    if isinstance(lengths, Tensor) and lengths.dim() != 1 or not isinstance(lengths, Tensor) and any(isinstance(n, (list, tuple)) for n in lengths):
        raise RuntimeError(f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim() if isinstance(lengths, Tensor) else 2}D cpu Long tensor")
    lengths = [int(n) for n in (lengths.tolist() if isinstance(lengths, Tensor) else lengths)]
    order = None
    if not enforce_sorted:
        order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
        lengths = [lengths[i] for i in order]
    x = input.transpose(0, 1) if batch_first else input
    if x.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    steps, batch = x.shape[:2]
    if len(lengths) != batch:
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} (batch_size={batch})")
    if any(n <= 0 for n in lengths):
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    if any(a < b for a, b in zip(lengths, lengths[1:])):
        raise RuntimeError("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass `enforce_sorted=False` to "
                           "pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not need ONNX exportability.")
    sizes = [sum(n > t for n in lengths) for t in range(lengths[0])]
    places = [t * batch + (b if order is None else order[b]) for t, n in enumerate(sizes[:steps]) for b in range(n)]
    rows = x.reshape(steps * batch, *x.shape[2:]).index_select(0, torch["tensor"](places, device=x.device))
    return _packed(rows, sizes, order)


def pad_packed_sequence(sequence, batch_first: bool = False, padding_value: float = 0.0, total_length=None):
    """(padded (T, B, *), lengths) of a PackedSequence, in the order before sorting; T is ``total_length`` or the longest."""
    sizes = sequence.sizes
    steps, batch = len(sizes), sizes[0]
    if total_length is not None:
        if total_length < steps:
            raise ValueError("Expected total_length to be at least the length of the longest sequence in input, but got "
                             f"total_length={total_length} and max sequence length being {steps}")
        steps = total_length
    order = sequence.__dict__.get("_order")
    if order is None and sequence.sorted_indices is not None:
        order = [int(i) for i in sequence.sorted_indices.tolist()]
    places, rows = [[sequence.data.shape[0]] * batch for _ in range(steps)], 0
    for t, n in enumerate(sizes):
        for b in range(n):
            places[t][b if order is None else order[b]] = rows
            rows += 1
    data = sequence.data
    padding = torch["full"]((1, *data.shape[1:]), padding_value, dtype=data.dtype, device=data.device)
    index = torch["tensor"]([i for step in places for i in step], device=data.device)
    padded = torch["cat"]([data, padding]).index_select(0, index).reshape(steps, batch, *data.shape[1:])
    found = [sum(i != data.shape[0] for i in column) for column in zip(*places)]
    return padded.transpose(0, 1) if batch_first else padded, torch["tensor"](found, dtype=dtypes.int64, device=data.device)


def pad_sequence(sequences, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"):
    """Tensors (L, *) stacked along a new dim and padded to the longest: (T, B, *), or (B, T, *) where ``batch_first``."""
    if not (isinstance(sequences, Tensor) or hasattr(sequences, "__iter__")):
        raise RuntimeError(f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}")
    sequences = list(sequences.unbind(0)) if isinstance(sequences, Tensor) else list(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    longest = max(s.shape[0] for s in sequences)
    padded = []
    for s in sequences:
        missing = longest - s.shape[0]
        if missing:
            filling = torch["full"]((missing, *s.shape[1:]), padding_value, dtype=s.dtype, device=s.device)
            s = torch["cat"]([filling, s] if padding_side == "left" else [s, filling])
        padded.append(s)
    return torch["stack"](padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first: bool = False) -> list:
    """The sequences of a padded batch, each with its length."""
    x = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[:int(n)] for row, n in zip(x.unbind(0), lengths.tolist() if isinstance(lengths, Tensor) else lengths)]


def pack_sequence(sequences, enforce_sorted: bool = True):
    """Pack tensors (L, *) of falling lengths (any with ``enforce_sorted=False``)."""
    return pack_padded_sequence(pad_sequence(sequences), [s.shape[0] for s in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences) -> list:
    """The sequences of a PackedSequence."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
