"""max_unpool in 1 to 3 dims: the values of a max pooling back where they came from, zeros elsewhere."""
from __future__ import annotations

from .. import dtypes
from .. import shape as shapes
from .registry import S, T, function


def _target(rank, input, kernel, stride, padding, output_size):
    """The spatial size of the result; None gives the one that the pooling's input most likely had."""
    default = [(n - 1) * s - 2 * p + k for n, k, s, p in zip(input.shape[-rank:], kernel, stride, padding)]
    if output_size is None:
        return default
    if len(output_size) == rank + 2:
        output_size = output_size[2:]
    if len(output_size) != rank:
        raise ValueError(f"output_size should be a sequence containing {rank} or {rank + 2} elements, but it has a length of '{len(output_size)}'")
    for d in range(rank):
        low, high = default[d] - stride[d], default[d] + stride[d]
        if not low < output_size[d] < high:
            raise ValueError(f'invalid output_size "{tuple(output_size)}" (dim {d} must be between {low} and {high})')
    return list(output_size)


def _check(rank, input, indices, stride):
    flat = max(rank, 2)
    x = [*input.shape, 1] if rank == 1 else list(input.shape)
    if len(x) not in (flat + 1, flat + 2):
        raise RuntimeError(f"Input to max_unpooling{flat}d should be a {flat + 1}d or {flat + 2}d Tensor, but got a tensor with {len(x)} dimensions.")
    if indices.dtype is not dtypes.int64:
        given = "" if rank == 3 else f" but got: {indices.dtype.title}"
        raise RuntimeError(f"elements in indices should be type int64{given}")
    if input.shape != indices.shape:
        other = [*indices.shape, 1] if rank == 1 else list(indices.shape)
        raise RuntimeError(f"Expected shape of indices to be same as that of the input tensor ({x}) but got indices tensor with shape: {other}")
    if rank == 3 and min(stride) <= 0:
        raise RuntimeError(f"strides should be greater than zero, but got stride: {list(stride)}")
    for d in range(1, len(x)) if len(x) == flat + 2 else range(len(x)):
        if x[d] == 0:
            raise RuntimeError(f"max_unpooling{flat}d_forward_out_cpu(): Expected input to have non-zero size for non-batch dimensions, but got {x} with "
                               f"dimension {d} being empty.")


def _check_values(indices, size):
    """On the CPU device, where looking costs nothing: indices lie in the result."""
    if indices.meta.device.type != "cpu" or not indices.numel():
        return
    at = indices.detach().numpy()
    bad = at[(at < 0) | (at >= shapes.numel(size))]
    if bad.size:
        raise RuntimeError(f"Found an invalid max index: {bad.flat[0]} (output volumes are of size {'x'.join(map(str, size))})")


def _unpool(rank, input, indices, kernel_size, stride, padding, output_size):
    spread = lambda v: (v,) * rank if isinstance(v, int) else tuple(v) * (rank if len(v) == 1 else 1)  # noqa: E731
    kernel, padding = spread(kernel_size), spread(padding)
    size = _target(rank, input, kernel, kernel if stride is None else spread(stride), padding, output_size)
    _check(rank, input, indices, kernel if stride is None else spread(stride))
    _check_values(indices, [*size, 1] if rank == 1 else size)
    lead = tuple(input.shape[:-rank])
    planes = shapes.numel(lead)
    flat = lambda t: t.reshape(planes, shapes.numel(input.shape[-rank:]))  # noqa: E731
    return input.new_zeros((planes, shapes.numel(size))).scatter(1, flat(indices), flat(input)).reshape((*lead, *size))


AT = T(1, 2, 2, 2, dtype="int64", values=(0, 3, 9, 10, 5, 2, 12, 15))


@function(to="F", samples=[S(T(2, 3), T(2, 3, dtype="int64", values=(1, 2, 4, 0, 3, 5)), 2),
                           S(T(1, 1, 2), T(1, 1, 2, dtype="int64", values=(1, 3)), 2, output_size=(5,))])
def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """The inverse of max_pool1d() as far as there is one: ``input`` (N, C, L) or (C, L) at ``indices``, zero elsewhere."""
    return _unpool(1, input, indices, kernel_size, stride, padding, output_size)


@function(to="F", samples=[S(T(1, 2, 2, 2), AT, 2), S(T(1, 2, 2, 2), AT, 2, output_size=(1, 2, 5, 5)), S(T(0, 2, 2, 2), T(0, 2, 2, 2, dtype="int64"), (2, 1), (1, 2))])
def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """The inverse of max_pool2d() as far as there is one: ``input`` (N, C, H, W) or (C, H, W) at ``indices``, zero elsewhere."""
    return _unpool(2, input, indices, kernel_size, stride, padding, output_size)


@function(to="F", samples=[S(T(1, 2, 2, 2), AT, 2), S(T(1, 1, 2, 1, 2), T(1, 1, 2, 1, 2, dtype="int64", values=(0, 3, 9, 10)), 2, 2)])
def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """The inverse of max_pool3d() as far as there is one: ``input`` (N, C, D, H, W) or (C, D, H, W) at ``indices``, zero elsewhere."""
    return _unpool(3, input, indices, kernel_size, stride, padding, output_size)
