"""Shapes put together and taken apart: stacks, splits, copies of views, tensors with a part replaced, windows of signals. Made of views, cat and copies."""
from __future__ import annotations

import itertools
import math

from .. import dtypes
from .. import shape as shapes
from .index import _written
from .registry import FUNCTIONS, S, T, function

TORCH, TENSOR = FUNCTIONS["torch"], FUNCTIONS["Tensor"]
GRID = T(2, 3, 4)


def _several(tensors):
    """Tensors given one by one or as one sequence."""
    return list(tensors[0]) if len(tensors) == 1 and not hasattr(tensors[0], "meta") else list(tensors)


# names of what is there
for _name, _target in (("moveaxis", "movedim"), ("swapaxes", "transpose"), ("swapdims", "transpose"), ("concat", "cat"), ("concatenate", "cat"), ("row_stack", "vstack")):
    for _space in (("torch",) if _target in ("cat", "vstack") else ("torch", "Tensor")):
        FUNCTIONS[_space][_name] = FUNCTIONS[_space].get(_target) or TENSOR[_target]


@function(to="torch Tensor", samples=[S(T(2, 3, view=lambda t: t.t()))])
def ravel(input):
    """All elements as a vector; a view where memory allows."""
    return input.reshape(-1)


def _at_least(rank, place):
    def call(*tensors):
        found = [place(t) if len(t.shape) < rank else t for t in _several(tensors)]
        return found[0] if len(tensors) == 1 and hasattr(tensors[0], "meta") else tuple(found)
    call.__doc__ = f"Views with at least {rank} dims, of one tensor or of each of several."
    function(to="torch", name=f"atleast_{rank}d", samples=[S(T()), S(T(3)), S(T(2, 3))])(call)


_at_least(1, lambda t: t.reshape(1))
_at_least(2, lambda t: t.reshape(1, 1) if not t.shape else t.unsqueeze(0))
_at_least(3, lambda t: t.reshape(1, 1, 1) if not t.shape else t.reshape(1, t.shape[0], 1) if len(t.shape) == 1 else t.unsqueeze(-1))


@function(to="torch", samples=[S([T(2), T(2, 3)])])
def column_stack(tensors, *, out=None):
    """Tensors side by side; vectors and numbers as columns."""
    return TORCH["cat"]([t.reshape(t.numel(), 1) if len(t.shape) < 2 else t for t in tensors], 1, out=out)


@function(to="torch", samples=[S(T(2, 3), T(1), T(2, 2))])
def block_diag(*tensors):
    """A matrix with the given ones (vectors as rows, numbers as 1 x 1) along its diagonal."""
    parts = [t.reshape((1,) * (2 - len(t.shape)) + tuple(t.shape)) for t in tensors]
    if not parts:
        return TORCH["empty"](1, 0)
    width, rows, at = sum(t.shape[1] for t in parts), [], 0
    kind = parts[0].meta.dtype
    for t in parts[1:]:
        kind = dtypes.promote_types(kind, t.meta.dtype)
    for t in parts:
        rows.append(_widened(t.to(kind), at, width))
        at += t.shape[1]
    return TORCH["cat"](rows, 0)


def _widened(t, before, width):
    """Columns with zeros on both sides."""
    return TORCH["cat"]([t.new_zeros(t.shape[0], before), t, t.new_zeros(t.shape[0], width - before - t.shape[1])], 1)


@function(to="torch", samples=[S(T(2), T(3))])
def cartesian_prod(*tensors):
    """All combinations of elements of vectors, (count, number of vectors)."""
    tensors = _several(tensors)
    grids = TORCH["meshgrid"](*tensors, indexing="ij")
    return tensors[0] if len(tensors) == 1 else TORCH["stack"]([g.reshape(-1) for g in grids], 1)


@function(to="torch", samples=[S(T(4)), S(T(3), 2, with_replacement=True)])
def combinations(input, r=2, with_replacement=False):
    """Combinations of ``r`` elements of a vector, (count, r)."""
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = [i for chosen in choose(range(input.shape[0]), r) for i in chosen]
    index = TORCH["tensor"](places, dtype=dtypes.int64, device=input.meta.device)
    return input.index_select(0, index).reshape(len(places) // r if r else 0, r)


@function(to="torch Tensor", samples=[S(T(2, 3)), S(GRID, 3, (1, 2)), S(GRID, 2, (0, 2))])
def rot90(input, k=1, dims=(0, 1)):
    """Turned by 90 degrees ``k`` times, from the first of two dims towards the second."""
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if len(input.shape) < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {len(input.shape)}")
    a, b = (shapes.normalize_dim(d, len(input.shape)) for d in dims)
    if a == b:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    return {0: lambda: input.clone(), 1: lambda: input.flip(b).transpose(a, b).contiguous(), 2: lambda: input.flip(a, b),
            3: lambda: input.flip(a).transpose(a, b).contiguous()}[k % 4]()


@function(to="torch Tensor", samples=[S(T(5), [2, 3])])
def split_with_sizes(input, split_sizes, dim=0):
    """Views of the given sizes along ``dim``."""
    return tuple(input.split(list(split_sizes), dim))


@function(to="torch Tensor", samples=[S(T(2, 2), 1)])
def diagflat(input, offset=0):
    """A matrix with all elements along a diagonal."""
    return input.reshape(-1).diag_embed(offset)


def _splits(name, dim_of, least):
    def call(input, indices_or_sections):
        if len(input.shape) < least:
            raise RuntimeError(f"torch.{name} requires a tensor with at least {least} dimension{'s' if least > 1 else ''}, but got a tensor with "
                               f"{len(input.shape)} dimensions!")
        dim = dim_of(input)
        if isinstance(indices_or_sections, int) and (not indices_or_sections or input.shape[dim] % indices_or_sections):
            raise RuntimeError(f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {input.shape[dim]} is not divisible by the "
                               f"split_size {indices_or_sections}!")
        return input.tensor_split(indices_or_sections, dim)
    call.__doc__ = "Views of equal parts, or of parts that end at the given places."
    function(to="torch Tensor", name=name, samples=[S(T(2, 4, 2), 2)])(call)


_splits("hsplit", lambda t: 0 if len(t.shape) == 1 else 1, 1)
_splits("vsplit", lambda t: 0, 2)
_splits("dsplit", lambda t: 2, 3)


# copies of views
def _copying(name, target, to="torch"):
    def call(input, *args, out=None, **kwargs):
        found = TENSOR[target](input, *args, **kwargs) if target in TENSOR else getattr(input, target)(*args, **kwargs)
        copy = lambda t: t.clone().contiguous()  # noqa: E731
        return tuple(map(copy, found)) if isinstance(found, (tuple, list)) else copy(found)
    call.__doc__ = f"{target}() as a copy."
    for space in to.split():
        FUNCTIONS[space].setdefault(name, call)


for _name in "alias as_strided detach diagonal expand permute select slice split split_with_sizes squeeze t transpose unbind unfold unsqueeze view".split():
    _copying(_name + "_copy", _name)
_copying("narrow_copy", "narrow", "torch Tensor")
for _name, _target in (("unsafe_chunk", "chunk"), ("unsafe_split", "split"), ("unsafe_split_with_sizes", "split_with_sizes")):
    _copying(_name, _target, "torch Tensor")


# a copy with a part replaced
def _replacing(name, part, samples):
    def call(input, src, *args, **kwargs):
        result = input.clone().contiguous()
        view = part(result, *args, **kwargs)
        if tuple(view.shape) != tuple(src.shape):
            raise RuntimeError(f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = {list(view.shape)}")
        view.copy_(src)
        return result
    call.__doc__ = "A copy of ``input`` with ``src`` in place of a part of it."
    function(to="torch Tensor", name=name, samples=samples)(call)


def _slice(t, dim=0, start=None, end=None, step=1):
    return t[(slice(None),) * shapes.normalize_dim(dim, len(t.shape)) + (slice(start, end, step),)]


_replacing("diagonal_scatter", lambda t, offset=0, dim1=0, dim2=1: t.diagonal(offset, dim1, dim2), [S(T(3, 3), T(2), 1)])
_replacing("select_scatter", lambda t, dim, index: t.select(dim, index), [S(T(2, 3), T(2), 1, -1)])
_replacing("slice_scatter", _slice, [S(T(4, 3), T(2, 3), 0, 0, 4, 2)])


def _places(t):
    """Each element's place in the flattened tensor."""
    return TORCH["arange"](t.numel(), device=t.meta.device).reshape(tuple(t.shape))


@function(to="torch Tensor")
def as_strided_scatter(input, src, size, stride, storage_offset=0):
    """A copy of ``input`` with ``src`` at the places of as_strided()."""
    return put(input, _places(input).as_strided(tuple(size), tuple(stride), storage_offset or 0), src)


@function(to="torch Tensor", samples=[S(T(2, 3), T(2, 3, dtype="bool", values=(True, False, True, False, False, True)), T(4))])
def masked_scatter(input, mask, source):
    """A copy with the elements of ``source``, in their order, where ``mask`` (broadcast) holds."""
    if mask.meta.dtype.name != "bool":
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.meta.dtype.title}")
    shape = shapes.broadcast(tuple(input.shape), tuple(mask.shape))
    mask, input = mask.expand(shape), input.expand(shape)
    order = (mask.reshape(-1).to(dtypes.int64).cumsum(0) - 1).clamp(0, max(0, source.numel() - 1))
    picked = source.reshape(-1).index_select(0, order).reshape(shape) if source.numel() else input
    return TORCH["where"](mask, picked, input)


@function(to="torch Tensor", samples=[S(T(2, 3), T(3, dtype="int64", values=(0, 5, 0)), T(3), accumulate=True), S(T(2, 3), T(2, dtype="int64", values=(4, -1)), T(2))])
def put(input, index, source, accumulate=False):
    """A copy with ``source`` written (or added) at places of the flattened tensor."""
    n = input.numel()
    places = index.reshape(-1)
    places = TORCH["where"](places < 0, places + n, places)
    flat, values = input.reshape(-1), source.reshape(-1)
    return (flat.index_add(0, places, values) if accumulate else flat.index_copy(0, places, values)).reshape(tuple(input.shape))


@function(to="torch Tensor", samples=[S(T(2, 3), [T(2, dtype="int64", values=(0, 1)), T(2, dtype="int64", values=(2, 0))], T(2))])
def index_put(input, indices, values, accumulate=False):
    """A copy with ``values`` written (or added) where the index tensors say."""
    where = tuple(slice(None) if i is None else i for i in indices)
    place = _places(input)[where]
    return put(input, place, values.expand(tuple(place.shape)), accumulate)


for _name in ("masked_scatter", "put", "index_put"):
    TENSOR[_name + "_"] = _written(TENSOR[_name])
TORCH["index_put_"] = TENSOR["index_put_"]


@function(to="torch Tensor", samples=[S(T(3, 2), 0, T(2, dtype="int64", values=(2, 0)), T(2, 2), "amax"),
                                      S(T(3, low=0.5), 0, T(2, dtype="int64", values=(1, 1)), T(2, low=0.5), "prod")])
def index_reduce(input, dim, index, source, reduce, *, include_self=True):
    """A copy with the slices of ``source`` joined at ``index`` along ``dim`` by prod, mean, amax or amin."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either prod, mean, amax or amin, got {reduce}.")
    dim = shapes.normalize_dim(dim, len(input.shape))
    places = index.reshape([-1 if d == dim else 1 for d in range(max(1, len(source.shape)))]).expand(tuple(source.shape) or (1,))
    flat = input.reshape(1) if not input.shape else input
    return flat.scatter_reduce(dim, places, source.reshape(1) if not source.shape else source, reduce, include_self=include_self).reshape(tuple(input.shape))


TENSOR["index_reduce_"] = _written(index_reduce)


@function(to="torch", samples=[S(T(2, 3), (1, 2, 0, 1), 0.5)])
def constant_pad_nd(input, pad, value=0):
    """Constant padding from the last dim backwards."""
    return FUNCTIONS["F"]["pad"](input, tuple(pad), "constant", value)


def _triangle_indices(name, keep):
    def call(row, col, offset=0, *, dtype=None, device=None, layout=None):
        places = [(r, c) for r in range(row) for c in range(col) if keep(r, c - offset)]
        flat = [p[0] for p in places] + [p[1] for p in places]
        return TORCH["tensor"](flat, dtype=dtype or dtypes.int64, device=device).reshape(2, len(places))
    call.__doc__ = f"Rows and columns of a triangle ({name[:4]}) of a matrix, (2, count) int64."
    function(to="torch", name=name, samples=[S(3, 4), S(2, 3, -1)])(call)


_triangle_indices("tril_indices", lambda r, c: c <= r)
_triangle_indices("triu_indices", lambda r, c: c >= r)


@function(to="torch", samples=[S(T(4, dtype="int64", values=(5, 0, 3, 2)), (2, 3))])
def unravel_index(indices, shape):
    """Coordinates, a tensor per dim, of places in a flattened tensor of ``shape``."""
    shape, found, step = (shape,) if isinstance(shape, int) else tuple(shape), [], 1
    for n in reversed(shape):
        found.insert(0, (indices // step) % n)
        step *= n
    return tuple(found)


TORCH["broadcast_shapes"] = lambda *given: shapes.Size(shapes.broadcast(*[(s,) if isinstance(s, int) else tuple(s) for s in given]))
TORCH["broadcast_shapes"].__doc__ = "The shape that shapes broadcast to."
TORCH["scalar_tensor"] = lambda s, *, dtype=None, device=None, requires_grad=False: TORCH["full"](
    (), s, dtype=dtype or dtypes.get_default_dtype(), device=device, requires_grad=requires_grad)
TORCH["scalar_tensor"].__doc__ = "A 0-d tensor of a number."


@function(to="torch Tensor", samples=[S(T(1))])
def is_nonzero(input):
    """Whether the only element is not zero."""
    if input.numel() != 1:
        raise RuntimeError(f"Boolean value of Tensor with {'no values' if not input.numel() else 'more than one value'} is ambiguous")
    return bool(input.item() != 0)


@function(to="torch Tensor", samples=[S(T(2, 3), T(2, 3))])
def is_same_size(input, other):
    """Whether both have the same shape."""
    return tuple(input.shape) == tuple(other.shape)


@function(to="torch Tensor", samples=[S(T(3, 5), 1), S(T(4, values=(100.0, -200.0, 3.0, 150.0)), 0)])
def logcumsumexp(input, dim):
    """Running logarithms of sums of exp along ``dim``, without overflow."""
    top = input.detach().cummax(dim)[0] if input.shape else input.detach()
    dim = shapes.normalize_dim(dim, len(input.shape))
    if not input.shape or not input.shape[dim]:
        return input.clone()
    n = input.shape[dim]
    moved, tops = input.movedim(dim, -1), top.movedim(dim, -1)
    safe = TORCH["where"](tops.isinf(), 0.0, tops)
    lower = TORCH["ones"](n, n, device=input.meta.device, dtype=input.meta.dtype).tril() > 0
    terms = TORCH["where"](lower, moved.unsqueeze(-2) - safe.unsqueeze(-1), -math.inf).exp()
    return (terms.sum(-1).log() + safe).movedim(-1, dim)


# windows
def _cosines(n, terms, dtype, device):
    """Sum over k of (-1)^k a_k cos(2 pi k i / (n - 1))."""
    kind = dtype or dtypes.get_default_dtype()
    if n <= 1:
        return TORCH["ones"](max(0, n), dtype=kind, device=device)
    angle = TORCH["arange"](n, dtype=kind, device=device) * (2 * math.pi / (n - 1))
    return sum(((-1) ** k * a * TORCH["cos"](angle * k) for k, a in enumerate(terms)), TORCH["zeros"](n, dtype=kind, device=device))


def _window(name, terms, doc):
    def call(window_length, periodic=True, *args, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, **kwargs):
        if window_length < 0:
            raise RuntimeError(f"{name}_window requires non-negative window_length, got window_length={window_length}")
        n = window_length + 1 if periodic and window_length > 1 else window_length
        return _cosines(n, terms(*args, **kwargs), dtype, device)[:window_length].requires_grad_(requires_grad)
    call.__doc__ = f"{doc} window; ``periodic`` leaves out the last point."
    function(to="torch", name=f"{name}_window", samples=[S(5), S(6, False)])(call)


_window("hann", lambda: (0.5, 0.5), "Hann's")
_window("hamming", lambda alpha=0.54, beta=0.46: (alpha, beta), "Hamming's")
_window("blackman", lambda: (0.42, 0.5, 0.08), "Blackman's")


@function(to="torch", samples=[S(5), S(6, False)])
def bartlett_window(window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """A triangle; ``periodic`` leaves out the last point."""
    n = window_length + 1 if periodic and window_length > 1 else window_length
    places = TORCH["arange"](n, dtype=dtype or dtypes.get_default_dtype(), device=device)
    found = 1 - (places * (2 / (n - 1)) - 1).abs() if n > 1 else places * 0 + 1
    return found[:window_length].requires_grad_(requires_grad)
