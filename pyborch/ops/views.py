"""Views: other geometry over the same memory. Each is a new Meta (cached) and, where gradients flow, one tape node."""
from __future__ import annotations

from .. import devices
from .. import shape as shapes
from ..autograd import ViewNode, edge_of, state
from .registry import S, T, function

GRID = T(2, 3, 4)
TURNED = T(2, 3, 4, view=lambda t: t.transpose(0, 2))


def view(x, shape, strides, offset, rule=None, label="AsStrided"):
    """A tensor over the memory of ``x``; ``rule(g)`` gives the gradient of ``x``, by default a scatter into its shape."""
    m = x.meta
    return view_of(x, devices.meta(shape, m.dtype, m.device, tuple(strides), offset), rule, label)


def view_of(x, meta, rule=None, label="AsStrided"):
    """A tensor with ``meta`` over the memory of ``x``."""
    result = state.tensor(x.storage, meta)
    base = x if x.base is None else x.base
    result.base, result.rebased = base, base.rebased
    if state.grad and edge_of(x) is not None:
        result.tracked, result.node = True, ViewNode(x, meta, rule, label)
    return result


def _back_into(m, again):
    """The gradient rule of a view of elements that share memory (an expanded tensor, windows): each has a gradient of its own. None for others."""
    if m.contiguous or not _may_share(m.shape, m.strides):
        return None

    def rule(g):
        zeros = g.new_zeros(m.shape)
        again(zeros).copy_(g)
        return zeros
    return rule


def _sizes(size):
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size


def _whole(size, where, name="size"):
    """Sizes as Python ints."""
    result = []
    for i, n in enumerate(size):
        if type(n) is not int:
            if hasattr(n, "__index__"):
                n = n.__index__()
            else:
                raise TypeError(f"{where}(): argument '{name}' must be tuple of ints, but found element of type {type(n).__name__} at pos {i}")
        result.append(n)
    return tuple(result)


@function(to="Tensor", name="view", samples=[S(GRID, 6, 4), S(GRID, -1), S(T(3, 4), 2, 1, 6)])
def tensor_view(self, *size):
    """The same elements in another shape, without a copy; RuntimeError where strides do not allow it. A dtype of equal size is a cast of bits."""
    if len(size) == 1 and hasattr(size[0], "wgsl"):
        raise NotImplementedError("Tensor.view(dtype): reinterpreting bits is not supported; use .to(dtype) to convert values")
    m, size = self.meta, shapes.infer_size(_whole(_sizes(size), "view"), self.meta.numel)
    strides = shapes.view_strides(m.shape, m.strides, size)
    if strides is None:
        raise RuntimeError("view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
                           "subspaces). Use .reshape(...) instead.")
    before = m.shape
    return view(self, size, strides, m.offset, lambda g: g.reshape(before), "View")


@function(to="torch Tensor", samples=[S(GRID, (6, 4)), S(TURNED, (2, 12)), S(T(0, 3), (3, 0)), S(T(3, 4), (-1,))])
def reshape(input, *shape):
    """The same elements in another shape: a view where strides allow it, else a copy. One size may be -1."""
    m, shape = input.meta, shapes.infer_size(_whole(_sizes(shape), "reshape", "shape"), input.meta.numel)
    strides = shapes.view_strides(m.shape, m.strides, shape)
    if strides is None:
        return input.contiguous().view(shape)
    before = m.shape
    return view(input, shape, strides, m.offset, lambda g: g.reshape(before), "View")


@function(to="Tensor")
def view_as(self, other):
    """``self.view(other.size())``."""
    return self.view(other.shape)


@function(to="Tensor")
def reshape_as(self, other):
    """``self.reshape(other.size())``."""
    return self.reshape(other.shape)


@function(to="torch Tensor", samples=[S(GRID), S(GRID, 1), S(GRID, 0, 1), S(T())])
def flatten(input, start_dim=0, end_dim=-1):
    """Merge the dims from ``start_dim`` to ``end_dim`` into one."""
    rank = len(input.meta.shape)
    first, last = shapes.normalize_dim(start_dim, rank), shapes.normalize_dim(end_dim, rank)
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if rank == 0:
        return input.reshape((1,))
    shape = input.meta.shape
    return input if first == last else input.reshape(tuple(shape[:first]) + (shapes.numel(shape[first:last + 1]),) + tuple(shape[last + 1:]))


@function(to="torch Tensor", samples=[S(T(2, 12), 1, (3, 4)), S(T(2, 12), -1, (-1, 4))])
def unflatten(input, dim, sizes):
    """Split one dim into several; one size may be -1."""
    dim = shapes.normalize_dim(dim, len(input.meta.shape))
    shape = tuple(input.meta.shape)
    known = shapes.numel(n for n in sizes if n != -1)
    if (-1 in sizes and (known == 0 or shape[dim] % known)) or (-1 not in sizes and known != shape[dim]):
        raise RuntimeError(f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({shape[dim]}) in the input tensor")
    return input.reshape(shape[:dim] + shapes.infer_size(sizes, shape[dim]) + shape[dim + 1:])


@function(to="torch Tensor", samples=[S(GRID, (2, 0, 1)), S(GRID, (-1, 0, 1))])
def permute(input, *dims):
    """Dims in another order."""
    m, dims = input.meta, _sizes(dims)
    rank = len(m.shape)
    if len(dims) != rank:
        raise RuntimeError("permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of "
                           f"dimensions i.e. input.dim() = {rank} is not equal to len(dims) = {len(dims)}")
    order = [shapes.normalize_dim(d, rank) for d in dims]
    if len(set(order)) != rank:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    back = tuple(order.index(d) for d in range(rank))
    return view(input, [m.shape[d] for d in order], [m.strides[d] for d in order], m.offset, lambda g: g.permute(back), "Permute")


@function(to="torch Tensor", samples=[S(GRID, 0, 2), S(GRID, -1, 1), S(T(), 0, -1)])
def transpose(input, dim0, dim1):
    """Swap two dims."""
    m = input.meta
    rank = len(m.shape)
    a, b = shapes.normalize_dim(dim0, rank), shapes.normalize_dim(dim1, rank)
    shape, strides = list(m.shape), list(m.strides)
    if rank:
        shape[a], shape[b], strides[a], strides[b] = shape[b], shape[a], strides[b], strides[a]
    return view(input, shape, strides, m.offset, lambda g: g.transpose(a, b), "Transpose")


@function(to="torch Tensor", samples=[S(T(2, 3)), S(T(3))])
def t(input):
    """Transpose of a matrix; vectors and scalars as they are."""
    rank = len(input.meta.shape)
    if rank > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {rank}D")
    return input.transpose(0, 1) if rank == 2 else input.view(input.shape)


@function(to="torch Tensor", samples=[S(GRID, 0, -1), S(GRID, (0, 1), (2, 0))])
def movedim(input, source, destination):
    """Move dims to other positions; the others keep their order."""
    rank = len(input.meta.shape)
    source = [shapes.normalize_dim(d, rank) for d in ((source,) if isinstance(source, int) else source)]
    destination = [shapes.normalize_dim(d, rank) for d in ((destination,) if isinstance(destination, int) else destination)]
    if len(source) != len(destination):
        raise RuntimeError("movedim: Invalid source or destination dims: source (" f"{source} dims) should contain the same number of dims as "
                           f"destination ({destination} dims)")
    order: list = [None] * rank
    for a, b in zip(source, destination):
        order[b] = a
    rest = iter(d for d in range(rank) if d not in source)
    return input.permute([next(rest) if d is None else d for d in order])


@function(to="torch Tensor", samples=[S(T(2, 1, 3, 1)), S(T(2, 1, 3, 1), 1), S(T(2, 1, 3), 0), S(T(2, 1, 1), (1, 2))])
def squeeze(input, dim=None):
    """Without dims of size 1 (all of them, or those named)."""
    m = input.meta
    rank = len(m.shape)
    dims = range(rank) if dim is None else {shapes.normalize_dim(d, rank) for d in ((dim,) if isinstance(dim, int) else dim)}
    kept = [d for d in range(rank) if d not in dims or m.shape[d] != 1]
    before = m.shape
    return view(input, [m.shape[d] for d in kept], [m.strides[d] for d in kept], m.offset, lambda g: g.reshape(before), "Squeeze")


@function(to="torch Tensor", samples=[S(T(2, 3), 0), S(T(2, 3), -1), S(T(), 0)])
def unsqueeze(input, dim):
    """With a dim of size 1 at ``dim``."""
    m = input.meta
    rank = len(m.shape) + 1
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
    d = dim + rank if dim < 0 else dim
    step = m.shape[d] * m.strides[d] if d < rank - 1 else 1
    before = m.shape
    return view(input, m.shape[:d] + (1,) + m.shape[d:], m.strides[:d] + (step,) + m.strides[d:], m.offset, lambda g: g.reshape(before), "Unsqueeze")


@function(to="Tensor", samples=[S(T(3, 1), 2, 3, 4), S(T(1, 3), -1, 3), S(T(), 2, 2)])
def expand(self, *sizes):
    """Repeat dims of size 1 without copying; -1 keeps a size."""
    m, sizes = self.meta, _whole(_sizes(sizes), "expand")
    lead = len(sizes) - len(m.shape)
    if lead < 0:
        raise RuntimeError(f"expand({self._kind()}{{{list(m.shape)}}}, size={list(sizes)}): the number of sizes provided ({len(sizes)}) must be greater "
                           f"or equal to the number of dimensions in the tensor ({len(m.shape)})")
    shape = []
    for i, n in enumerate(sizes):
        have = m.shape[i - lead] if i >= lead else 1
        if n == -1 and i < lead:
            raise RuntimeError(f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {i}")
        if n not in (-1, have) and have != 1:
            raise RuntimeError(f"The expanded size of the tensor ({n}) must match the existing size ({have}) at non-singleton dimension {i}.  "
                               f"Target sizes: {list(sizes)}.  Tensor sizes: {list(m.shape)}")
        shape.append(have if n == -1 else n)
    if tuple(shape) == m.shape:
        return self if self.base is not None or not lead else self
    before = m.shape
    return view(self, shape, shapes.broadcast_strides(m.shape, m.strides, shape), m.offset, lambda g: g.sum_to_size(before), "Expand")


@function(to="Tensor")
def expand_as(self, other):
    """``self.expand(other.size())``."""
    return self.expand(other.shape)


@function(to="torch Tensor", samples=[S(T(3, 1), (2, 3, 4))])
def broadcast_to(input, size):
    """``input.expand(size)``."""
    return input.expand(size)


@function(to="torch")
def broadcast_tensors(*tensors):
    """All tensors expanded to their common shape."""
    shape = shapes.broadcast(*[x.meta.shape for x in tensors])
    return tuple(x.expand(shape) for x in tensors)


@function(to="torch Tensor", samples=[S(GRID, 1, 2), S(GRID, -1, -1), S(TURNED, 0, 3)])
def select(input, dim, index):
    """The slice at ``index`` of ``dim``, without that dim."""
    m = input.meta
    if not m.shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d = shapes.normalize_dim(dim, len(m.shape))
    n = m.shape[d]
    if not -n <= index < n:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(m.shape)} at dimension {d}")
    index = index + n if index < 0 else index
    rule = _back_into(m, lambda zeros: select(zeros, d, index))
    return view(input, m.shape[:d] + m.shape[d + 1:], m.strides[:d] + m.strides[d + 1:], m.offset + index * m.strides[d], rule, "Select")


def slice_dim(input, dim, start, stop, step):
    """input[start:stop:step] along ``dim``; bounds already within 0..size."""
    m = input.meta
    length = max(0, -(-(stop - start) // step))
    strides = list(m.strides)
    strides[dim] *= step
    rule = _back_into(m, lambda zeros: slice_dim(zeros, dim, start, stop, step))
    return view(input, m.shape[:dim] + (length,) + m.shape[dim + 1:], strides, m.offset + (start * m.strides[dim] if length else 0), rule, "Slice")


@function(to="torch Tensor", samples=[S(GRID, 1, 1, 2), S(GRID, 2, -3, 2), S(TURNED, 0, 1, 2), S(T(1, 3, view=lambda t: t.expand(4, 3)), 0, 1, 2),
                                      S(T(7, view=lambda t: t.unfold(0, 3, 2)), 1, 0, 2)])
def narrow(input, dim, start, length):
    """``length`` elements of ``dim`` from ``start`` on."""
    d = shapes.normalize_dim(dim, len(input.meta.shape))
    n = input.meta.shape[d]
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -n <= start <= n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n}], but got {start})")
    start = start + n if start < 0 else start
    if start + length > n:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return slice_dim(input, d, start, start + length, 1)


@function(to="torch Tensor", samples=[S(T(6, 4), (2, 3), (4, 1), 1), S(T(6, 4), (2, 3), (2, 1), 1)])
def as_strided(input, size, stride, storage_offset=None):
    """A view by explicit strides (in elements) over the same memory; IndexError-free use is the caller's duty, memory bounds are checked."""
    offset = input.meta.offset if storage_offset is None else storage_offset
    last = offset + sum((n - 1) * s for n, s in zip(size, stride)) if shapes.numel(size) else 0
    if last >= max(input.storage.numel, 1) or offset < 0 or any(s < 0 for s in stride):
        raise RuntimeError(f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset} are out of bounds for storage of "
                           f"{input.storage.numel} elements")
    return view(input, tuple(size), tuple(stride), offset)


@function(to="torch Tensor", samples=[S(T(7, 2), 3), S(T(7, 2), (2, 1, 4)), S(T(2, 4), 2, 1)])
def split(tensor, split_size_or_sections, dim=0):
    """Views of ``split_size`` (the last may be smaller) or of the given sizes along ``dim``, as a tuple."""
    d = shapes.normalize_dim(dim, len(tensor.meta.shape))
    n = tensor.meta.shape[d]
    if isinstance(split_size_or_sections, int):
        size = split_size_or_sections
        if size < 0 or (size == 0 and n):
            raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}" if size < 0 else
                               f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}")
        sections = [min(size, n - i) for i in range(0, n, size)] if n else [0]
    else:
        sections = list(split_size_or_sections)
        if sum(sections) != n:
            raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at dimension {d}), but got "
                               f"split_sizes={sections}")
    starts = [sum(sections[:i]) for i in range(len(sections))]
    return tuple(narrow(tensor, d, start, length) for start, length in zip(starts, sections))


@function(to="torch Tensor", samples=[S(T(7, 2), 3), S(T(2, 4), 2, 1)])
def chunk(input, chunks, dim=0):
    """At most ``chunks`` views of equal size (the last may be smaller) along ``dim``."""
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    n = input.meta.shape[shapes.normalize_dim(dim, len(input.meta.shape))]
    return split(input, max(1, -(-n // chunks)), dim)


@function(to="torch Tensor", samples=[S(T(7, 2), 3), S(T(7, 2), (2, 5))])
def tensor_split(input, indices_or_sections, dim=0):
    """Views split at indices, or into a number of nearly equal parts."""
    n = input.meta.shape[shapes.normalize_dim(dim, len(input.meta.shape))]
    if isinstance(indices_or_sections, int):
        k = indices_or_sections
        if k <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {k}")
        return split(input, [n // k + (i < n % k) for i in range(k)], dim)
    bounds = [0, *[min(max(i + n if i < 0 else i, 0), n) for i in indices_or_sections], n]
    return tuple(narrow(input, dim, a, max(b - a, 0)) for a, b in zip(bounds, bounds[1:]))


@function(to="torch Tensor", samples=[S(GRID), S(GRID, 1)])
def unbind(input, dim=0):
    """All slices along ``dim``, as a tuple."""
    d = shapes.normalize_dim(dim, len(input.meta.shape))
    return tuple(select(input, d, i) for i in range(input.meta.shape[d]))


@function(to="torch Tensor", samples=[S(T(4, 4)), S(T(3, 5), 1), S(T(2, 3, 3), 0, 1, 2)])
def diagonal(input, offset=0, dim1=0, dim2=1):
    """The diagonal over two dims, as the last dim of a view."""
    m = input.meta
    a, b = shapes.normalize_dim(dim1, len(m.shape)), shapes.normalize_dim(dim2, len(m.shape))
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    length = max(0, min(m.shape[a], m.shape[b] - offset) if offset >= 0 else min(m.shape[a] + offset, m.shape[b]))
    start = m.offset + (offset * m.strides[b] if offset >= 0 else -offset * m.strides[a]) if length else m.offset
    kept = [d for d in range(len(m.shape)) if d not in (a, b)]
    rule = _back_into(m, lambda zeros: diagonal(zeros, offset, a, b))
    return view(input, [m.shape[d] for d in kept] + [length], [m.strides[d] for d in kept] + [m.strides[a] + m.strides[b]], start, rule, "Diagonal")


@function(to="Tensor", samples=[S(T(8, 2), 0, 3, 2), S(T(2, 7), 1, 3, 3)])
def unfold(self, dimension, size, step):
    """Windows of ``size`` every ``step`` elements of ``dimension``, as a new last dim (a view)."""
    m = self.meta
    d = shapes.normalize_dim(dimension, len(m.shape))
    n = m.shape[d] if m.shape else 1
    if size > n:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {n} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    count = (n - size) // step + 1
    shape, strides = list(m.shape), list(m.strides)
    shape[d], strides[d] = count, m.strides[d] * step

    def rule(g):
        return sum_windows(g, m.shape, d, step)
    return view(self, shape + [size], strides + [m.strides[d]], m.offset, rule, "Unfold")


def sum_windows(g, shape, dim, step):
    """The gradient of unfold: windows added back where they came from."""
    total = g.new_zeros(shape)
    for i in range(g.shape[-1]):
        window = g.select(-1, i)
        padded = g.new_zeros(shape)
        target = slice_dim(padded, dim, i, i + (window.shape[dim] - 1) * step + 1, step)
        target.copy_(window)
        total = total + padded
    return total


def _memory_like(base_meta, like):
    """Zeros that a base with ``base_meta`` can lie in, from offset 0."""
    extent = 1 + sum((n - 1) * s for n, s in zip(base_meta.shape, base_meta.strides)) if base_meta.numel else 0
    return like.new_zeros((extent,))


def _as_base(g, base_meta):
    """``g`` in the memory layout of a base, from offset 0."""
    if base_meta.contiguous:
        return g.contiguous()
    laid = view(_memory_like(base_meta, g), base_meta.shape, base_meta.strides, 0)
    laid.copy_(g)
    return laid


def scatter_view(g, base_meta, view_meta):
    """The gradient of a base: ``g`` where the view lies, zero elsewhere."""
    overlapping = [d for d, (n, s) in enumerate(zip(view_meta.shape, view_meta.strides)) if s == 0 and n > 1]
    if overlapping:
        g = g.sum(overlapping, keepdim=True)
    flat = _memory_like(base_meta, g)
    if _may_share(g.shape, view_meta.strides):
        flat = _added(flat, g, view_meta.strides, view_meta.offset - base_meta.offset)
    else:
        view(flat, g.shape, view_meta.strides, view_meta.offset - base_meta.offset).copy_(g)
    return view(flat, base_meta.shape, base_meta.strides, 0)


def _may_share(shape, strides):
    """Whether two elements of a view may lie in one place (windows, diagonals of as_strided)."""
    reach = 1
    for step, n in sorted((s, n) for n, s in zip(shape, strides) if n > 1):
        if step < reach:
            return True
        reach += (n - 1) * step
    return False


def _added(flat, g, strides, offset):
    """``flat`` with the elements of ``g`` added where a view of these strides has them; several may share a place."""
    from .registry import FUNCTIONS
    places = None
    for d, (n, step) in enumerate(zip(g.shape, strides)):
        along = FUNCTIONS["torch"]["arange"](n, device=g.meta.device).reshape([n if i == d else 1 for i in range(g.dim())]) * step
        places = along + offset if places is None else places + along
    return flat.index_add(0, places.reshape(-1), g.reshape(-1))


def read_view(g, base_meta, view_meta):
    """The part of a base's gradient that lies in a view of it."""
    g = _as_base(g, base_meta)
    return view(g, view_meta.shape, view_meta.strides, g.meta.offset + view_meta.offset - base_meta.offset)


def clear_view(g, base_meta, view_meta):
    """A base's gradient with zeros in a view of it."""
    g = _as_base(g.clone(), base_meta)
    view(g, view_meta.shape, view_meta.strides, g.meta.offset + view_meta.offset - base_meta.offset).zero_()
    return g
