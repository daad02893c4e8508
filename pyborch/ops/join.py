"""Copies that rearrange: cat, stack, flip, pad, repeat, tile. All are writes of views into a new tensor."""
from __future__ import annotations

from .. import shape as shapes
from ..autograd import apply
from .registry import Op, S, T, function

GRID = T(2, 3, 4)


def _cat_shape(*tensors, dim):
    first = tensors[0]
    for i, m in enumerate(tensors[1:], 1):
        if len(m.shape) != len(first.shape):
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first.shape)} and {len(m.shape)}")
        for d, (a, b) in enumerate(zip(first.shape, m.shape)):
            if d != dim and a != b:
                raise RuntimeError(f"Sizes of tensors must match except in dimension {dim}. Expected size {a} but got size {b} for tensor number {i} in the list.")
    shape = list(first.shape)
    shape[dim] = sum(m.shape[dim] for m in tensors)
    return tuple(shape), first.dtype


def _cat_run(plan, *operands, dim):
    from ..devices import meta
    from ..kernels import Operand
    from .pointwise_plan import copy
    output, start = operands[-1], 0
    m = output.meta
    for x in operands[:-1]:
        length = x.meta.shape[dim]
        part = meta(x.meta.shape, m.dtype, m.device, m.strides, m.offset + start * m.strides[dim])
        copy(plan, x, Operand(part, output.slot))
        start += length


def _cat_gradient(g, metas, dim):
    starts = [sum(m.shape[dim] for m in metas[:i]) for i in range(len(metas))]
    return [g.narrow(dim, start, m.shape[dim]) for start, m in zip(starts, metas)]


CAT = Op("cat", _cat_shape, _cat_run, lambda np, *arrays, dim: np.concatenate(arrays, dim), grad={"tensors": _cat_gradient},
         doc="Tensors joined along a dim.")


@function(to="torch", samples=[S([T(2, 3), T(4, 3)]), S([T(2, 3), T(2, 1), T(2, 2)], 1), S([T(2, 3, view=lambda t: t.t()), T(3, 1)], dim=-1),
                               S([T(2, dtype="int64", low=0, high=9), T(3)]), S([T(0), T(2, 3)])])
def cat(tensors, dim=0, *, out=None):
    """Tensors joined along ``dim``; other sizes must match, dtypes promote, 1-d tensors of size 0 are skipped."""
    from ..dtypes import promote_types
    from .arithmetic import cast
    tensors = list(tensors)
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    kept = [x for x in tensors if tuple(x.meta.shape) != (0,)] or tensors[:1]
    if not kept[0].meta.shape:
        raise RuntimeError("zero-dimensional tensor (at position 0) cannot be concatenated")
    dtype = tensors[0].meta.dtype
    for x in tensors[1:]:
        dtype = promote_types(dtype, x.meta.dtype)
    dim = shapes.normalize_dim(dim, len(kept[0].meta.shape))
    return apply(CAT, *[cast(x, dtype) for x in kept], out=out, dim=dim)


@function(to="torch", samples=[S([T(2, 3), T(2, 3)]), S([T(2, 3), T(2, 3), T(2, 3)], dim=-1), S([T(), T()])])
def stack(tensors, dim=0, *, out=None):
    """Tensors of one shape joined along a new dim."""
    tensors = list(tensors)
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tensors[0].meta.shape
    for i, x in enumerate(tensors):
        if x.meta.shape != first:
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and {list(x.meta.shape)} at entry {i}")
    return cat([x.unsqueeze(dim) for x in tensors], shapes.normalize_dim(dim, len(first) + 1), out=out)


def _joiner(name, promote, dim, samples):
    def join(tensors, *, out=None):
        return cat([promote(x) for x in tensors], dim(tensors[0]), out=out)
    join.__doc__ = f"Join tensors as torch.{name}: each is first raised to enough dims."
    function(to="torch", name=name, samples=samples)(join)


_joiner("hstack", lambda x: x if x.dim() else x.reshape(1), lambda first: 0 if first.dim() <= 1 else 1, [S([T(2), T(3)]), S([T(2, 1), T(2, 2)])])
_joiner("vstack", lambda x: x.reshape(1, -1) if x.dim() < 2 else x, lambda first: 0, [S([T(3), T(3)])])
_joiner("dstack", lambda x: x.reshape(1, -1, 1) if x.dim() < 2 else x.unsqueeze(-1) if x.dim() == 2 else x, lambda first: 2, [S([T(3), T(3)])])


# flip
def _flip_run(plan, x, y, *, dims):
    from ..kernels import from_file
    rank, m = len(x.meta.shape), x.meta
    if not m.numel:
        return
    steps = [-m.strides[d] if d in dims else m.strides[d] for d in range(rank)]
    start = m.offset + sum((m.shape[d] - 1) * m.strides[d] for d in dims)
    sizes, (steps,) = shapes.collapse(m.shape, [steps])
    words = [m.numel, start]
    for axis in range(6):
        words += [sizes[axis - 6 + len(sizes)], steps[axis - 6 + len(sizes)] & 0xFFFFFFFF] if axis >= 6 - len(sizes) else [1, 0]
    plan.dispatch(from_file("walk", types={"T": m.dtype.wgsl}), [x, y], words, -(-m.numel // 256))


def _flip_reference(np, x, *, dims):
    return np.flip(x, dims)


FLIP = Op("flip", lambda x, *, dims: (x.shape, x.dtype), _flip_run, _flip_reference, grad={"x": lambda g, dims: g.flip(dims)},
          doc="Elements in reverse order along dims.")


@function(to="torch Tensor", samples=[S(GRID, (0,)), S(GRID, (1, 2)), S(T(2, 3, view=lambda t: t.t()), (-1,))])
def flip(input, *args, dims=None):
    """A copy with the order reversed along ``dims``."""
    dims = args if dims is None else (dims,)
    dims = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
    return apply(FLIP, input, dims=shapes.normalize_dims(dims, len(input.meta.shape)) if dims else ())


@function(to="torch Tensor", samples=[S(T(2, 3))])
def fliplr(input):
    """Columns in reverse order."""
    return input.flip(1)


@function(to="torch Tensor", samples=[S(T(2, 3))])
def flipud(input):
    """Rows in reverse order."""
    return input.flip(0)


# padding
def _pad_shape(x, *, low, high):
    return tuple(n + a + b for n, a, b in zip(x.shape, low, high)), x.dtype


def _pad_run(plan, x, y, *, low, high):
    from ..devices import meta
    from ..kernels import Operand
    from .fill import plan_fill
    from .pointwise_plan import copy
    m = y.meta
    plan_fill(plan, y, plan.named("value"))
    inside = meta(x.meta.shape, m.dtype, m.device, m.strides, m.offset + sum(a * s for a, s in zip(low, m.strides)))
    copy(plan, x, Operand(inside, y.slot))


def _pad_reference(np, x, *, low, high, value):
    return np.pad(x, list(zip(low, high)), constant_values=value)


def _pad_gradient(g, low, x):
    for d, (start, n) in enumerate(zip(low, x.shape)):
        if g.shape[d] != n:
            g = g.narrow(d, start, n)
    return g


PAD = Op("constant_pad", _pad_shape, _pad_run, _pad_reference, grad={"x": _pad_gradient}, scalars=("value",),
         doc="Borders of one number added or cut off.")


@function(to="F", samples=[S(T(2, 3), (1, 2)), S(GRID, (1, 0, 0, 2), value=1.5), S(GRID, (-1, 1)), S(T(1, 2, 5), (2, 3), "reflect"),
                           S(T(1, 2, 3, 4), (1, 2, 2, 1), "reflect"), S(T(1, 2, 5), (2, 3), "replicate"), S(T(1, 2, 3, 4), (1, 2, 2, 1), "circular")])
def pad(input, pad, mode="constant", value=None):
    """Padding from the last dim backwards: (left, right, top, bottom, ...). Modes constant, reflect, replicate, circular; negative crops."""
    rank, pad = len(input.meta.shape), tuple(pad)
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) // 2 > rank:
        raise RuntimeError(f"Padding length should be less than or equal to two times the input dimension but got padding length {len(pad)} and "
                           f"input of dimension {rank}")
    if mode == "constant":
        return _pad_constant(input, pad, 0.0 if value is None else value)
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    for k in range(len(pad) // 2):
        input = _pad_edges(input, rank - 1 - k, pad[2 * k], pad[2 * k + 1], mode)
    return input


def _pad_constant(input, pad, value):
    rank = len(input.meta.shape)
    low, high = [0] * rank, [0] * rank
    for k in range(len(pad) // 2):
        d, (a, b) = rank - 1 - k, pad[2 * k:2 * k + 2]
        n = input.meta.shape[d]
        if n + a + b < 0:
            raise RuntimeError(f"The input size {n}, plus negative padding {a} and {b} resulted in a negative output size, which is invalid. "
                               f"Check dimension {d} of your input.")
        if a < 0 or b < 0:
            input = input.narrow(d, max(-a, 0), n - max(-a, 0) - max(-b, 0))
        low[d], high[d] = max(a, 0), max(b, 0)
    return apply(PAD, input, low=tuple(low), high=tuple(high), value=value) if any(low) or any(high) else input.clone()


def _pad_edges(x, d, low, high, mode):
    n = x.shape[d]
    if mode == "reflect" and (low >= n or high >= n):
        raise RuntimeError(f"Padding size should be less than the corresponding input dimension, but got: padding ({low}, {high}) at dimension {d} of "
                           f"input {list(x.shape)}")
    if mode == "circular" and (low > n or high > n):
        raise RuntimeError("Padding value causes wrapping around more than once.")
    if mode == "reflect":
        left, right = x.narrow(d, 1, max(low, 0)).flip(d), x.narrow(d, n - 1 - max(high, 0), max(high, 0)).flip(d)
    elif mode == "circular":
        left, right = x.narrow(d, n - max(low, 0), max(low, 0)), x.narrow(d, 0, max(high, 0))
    else:
        repeat = lambda edge, count: edge.expand([max(count, 0) if i == d else -1 for i in range(x.dim())])  # noqa: E731
        left, right = repeat(x.narrow(d, 0, 1), low), repeat(x.narrow(d, n - 1, 1), high)
    middle = x.narrow(d, max(-low, 0), n - max(-low, 0) - max(-high, 0))
    return cat([part for part in (left, middle, right) if part.shape[d]] or [middle], d)


# repetition
@function(to="Tensor", samples=[S(T(2, 3), 2, 1), S(T(3), 2, 2), S(T(2, 3), 0, 1)])
def repeat(self, *repeats):
    """A copy repeated along each dim (leading dims are added)."""
    repeats = tuple(repeats[0]) if len(repeats) == 1 and not isinstance(repeats[0], int) else repeats
    lead = len(repeats) - len(self.meta.shape)
    if lead < 0:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    shape = (1,) * lead + tuple(self.meta.shape)
    apart = [n for pair in zip((1,) * len(shape), shape) for n in pair]
    grown = [n for pair in zip(repeats, shape) for n in pair]
    return self.reshape(apart).expand(grown).contiguous().reshape([r * n for r, n in zip(repeats, shape)])


@function(to="torch Tensor", samples=[S(T(2, 3), (2,)), S(T(2, 3), (2, 1, 2))])
def tile(input, *dims):
    """repeat() with missing leading repeats taken as 1."""
    dims = tuple(dims[0]) if len(dims) == 1 and not isinstance(dims[0], int) else dims
    return input.repeat((1,) * (len(input.meta.shape) - len(dims)) + dims)
