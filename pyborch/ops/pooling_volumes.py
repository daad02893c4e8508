"""Pooling in 3 dims. Windows of a volume are windows of its planes and, of those results, windows along the depth, so that both steps are
the kernels of 2-d pooling (pool.py): maxima of maxima, and means of means, whose divisors multiply."""
from __future__ import annotations

from .. import shape as shapes
from ..autograd import apply
from .pool import ADAPTIVE, AVERAGE, MAX, PICK
from .pooling import _length, _power_mean
from .registry import FUNCTIONS, S, T, function


def _triple(value, words):
    """An int or 1 or 3 ints as three."""
    if isinstance(value, int):
        return (value,) * 3
    value = tuple(value)
    if len(value) not in (1, 3):
        raise RuntimeError(words)
    return value * 3 if len(value) == 1 else value


def _check_image(where, x):
    if len(x) not in (4, 5):
        raise RuntimeError("non-empty 4D or 5D (batch mode) tensor expected for input")
    if 0 in x[len(x) - 4:]:
        raise RuntimeError(f"{where}: Expected input's non-batch dimensions to have positive length, but input has a shape of {list(x)} and non-batch dimension "
                           f"{x[len(x) - 4:].index(0) if where.startswith('avg') else 0} has length zero!")


def _check_window(kernel, padding, dilation):
    for p, k, d in zip(padding, kernel, dilation):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > (d * (k - 1) + 1) // 2:
            raise RuntimeError(f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}")


def _geometry(where, input, kernel_size, stride, padding, dilation, ceil_mode, must, omitted):
    """(kernel, stride, padding, dilation, output size) as triples; raises as PyTorch does. ``must``, ``omitted``: its words differ a little."""
    words = f"{where.split('3d')[0]}3d: {{}} must {{}}a single int, or a tuple of three ints".format
    kernel = _triple(kernel_size, words("kernel_size", must))
    stride = kernel if stride is None or stride == () or stride == [] else _triple(stride, words("stride", omitted))
    padding, dilation = _triple(padding, words("padding", must)), _triple(dilation, words("dilation", must))
    x = input.meta.shape
    if 0 in stride:
        raise RuntimeError("stride should not be zero")
    for values, what, short in ((kernel, "kernel size", "k"), (dilation, "dilation", "dilation")):
        if min(values) <= 0:
            raise RuntimeError(f"{what} should be greater than zero, but got " + " ".join(f"{short}{n}: {v}" for n, v in zip("THW", values)))
    _check_image(where, x)
    _check_window(kernel, padding, dilation)
    size = tuple(_length(*v, ceil_mode) for v in zip(x[-3:], kernel, stride, padding, dilation))
    if where.startswith("avg") and any(n + 2 * p < k for n, p, k in zip(x[-3:], padding, kernel)):
        named = [" ".join(f"{a}{n}: {v}" for n, v in zip("THW", values)) for a, values in (("", x[-3:]), ("k", kernel))]
        raise RuntimeError(f"input image ({named[0]}) smaller than kernel size ({named[1]})")
    if min(size) < 1:
        raise RuntimeError(f"Given input size: ({'x'.join(map(str, x[-4:]))}). Calculated output size: ({'x'.join(map(str, (x[-4], *size)))}). "
                           "Output size is too small")
    return kernel, stride, padding, dilation, size


def _planes(values):
    """The window in the planes, and the one along the depth of images (depth, height * width)."""
    kernel, stride, padding, dilation = values
    return ((*(v[1:] for v in (kernel, stride, padding, dilation)), False),
            ((kernel[0], 1), (stride[0], 1), (padding[0], 0), (dilation[0], 1), False))


def _max(input, plane, depth, size, return_indices):
    """``plane`` and ``depth``: windows; ``size``: of the result."""
    lead, (_, h, w), inner = input.shape[:-3], input.shape[-3:], size[1] * size[2]
    y, at = apply(MAX, input, window=plane, size=size[1:])
    image = (*lead, input.shape[-3], inner)
    y, below = apply(MAX, y.reshape(image), window=depth, size=(size[0], inner))
    y = y.reshape((*lead, *size))
    if not return_indices:
        return y
    at = apply(PICK, at.reshape(image), below, window=depth, size=(size[0], inner)) + below // max(inner, 1) * (h * w)
    return y, at.reshape((*lead, *size))


VOLUME = T(1, 2, 4, 5, 6)


@function(to="F torch", samples=[S(VOLUME, 2), S(VOLUME, (1, 2, 3), 2, (0, 1, 1), 1, True), S(T(2, 3, 4, 4), 2, 1), S(T(0, 2, 3, 3, 3), 2)])
def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest value of each window of (N, C, D, H, W) or (C, D, H, W); NaN wins. With ``return_indices`` also where in its volume (int64)."""
    where = "max_pool3d_with_indices_out_cpu_template()"
    *window, size = _geometry(where, input, kernel_size, stride, padding, dilation, ceil_mode, "either be ", "either be omitted, ")
    if input.meta.dtype.name == "bool":
        raise NotImplementedError("\"max_pool3d\" not implemented for 'Bool'")
    return _max(input, *_planes(window), size, return_indices)


@function(to="F", samples=[S(VOLUME, (2, 3, 2), 1, (1, 0, 1), (1, 2, 1))])
def max_pool3d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """max_pool3d() with the indices."""
    return max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def _means(input, plane, depth, size, include_pad=True, divisor=0):
    """Means of the windows in planes and, of those, along the depth."""
    lead, inner, more = input.shape[:-3], size[1] * size[2], {"include_pad": include_pad}
    y = apply(AVERAGE, input, window=plane, size=size[1:], divisor=divisor, **more)
    y = apply(AVERAGE, y.reshape((*lead, input.shape[-3], inner)), window=depth, size=(size[0], inner), divisor=1 if divisor else 0, **more)
    return y.reshape((*lead, *size))


@function(to="F", samples=[S(VOLUME, 2), S(VOLUME, (2, 3, 2), 2, (1, 1, 0), True, False), S(VOLUME, 2, 1, 1), S(VOLUME, 2, divisor_override=3), S(T(2, 3, 4, 4), 2, 1)])
def avg_pool3d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    """The mean of each window of (N, C, D, H, W) or (C, D, H, W); padding counts as zeros unless ``count_include_pad`` is False."""
    *window, size = _geometry("avg_pool3d()", input, kernel_size, stride, padding, 1, ceil_mode, "be ", "be omitted, ")
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    dtype, planes, include = input.meta.dtype, _planes(window), bool(count_include_pad)
    if dtype.kind == "f":
        return _means(input, *planes, size, include, divisor_override or 0)
    if dtype.name != "int64":
        raise NotImplementedError(f"\"avg_pool3d_out_frame\" not implemented for '{dtype.title}'")
    total = _means(input, *planes, size, include, 1)      # whole numbers are divided once, at the end
    ones = input.new_ones(input.shape[-3:]).unsqueeze(0)
    count = divisor_override or (_padded_counts(input, window, size) if include else _means(ones, *planes, size, True, 1))
    return FUNCTIONS["torch"]["div"](total, count, rounding_mode="trunc").to(dtype)


def _padded_counts(input, window, size):
    """How many elements, padding included, each window has."""
    kernel, stride, padding, _ = window
    counts = None
    for d, (n, k, s, p, m) in enumerate(zip(input.shape[-3:], kernel, stride, padding, size)):
        spans = [min(o * s - p + k, n + p) - (o * s - p) for o in range(m)]
        along = FUNCTIONS["torch"]["tensor"](spans, dtype=input.dtype, device=input.meta.device).reshape([m if i == d else 1 for i in range(3)])
        counts = along if counts is None else counts * along
    return counts


def _target(where, input, output_size, colon, words):
    x = input.meta.shape
    if len(x) not in (4, 5):
        raise RuntimeError(f"{where}(): Expected 4D or 5D tensor, but got{colon} {list(x)}")
    size = (output_size,) * 3 if output_size is None or isinstance(output_size, int) else tuple(output_size)
    if len(size) != 3:
        raise RuntimeError(f"{where}{words}")
    for d in range(1, len(x)) if len(x) == 5 else range(len(x)):
        if x[d] == 0:
            raise RuntimeError(f"{where}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes {list(x)} with dimension {d} being empty")
    return tuple(n if s is None else s for s, n in zip(size, x[-3:]))


@function(to="F", samples=[S(VOLUME, 2), S(VOLUME, (3, None, 1)), S(T(2, 3, 4, 4), 5)])
def adaptive_avg_pool3d(input, output_size):
    """Means over windows that cut depth, height and width into ``output_size`` parts; None keeps a size."""
    size = _target("adaptive_avg_pool3d", input, output_size, ",", ": output_size must be 3")
    if min(size) < 0:
        raise RuntimeError(f"adaptive_avg_pool3d: elements of output_size must be greater than or equal to 0 but received {{{size[0]}, {size[1]},{size[2]}}}")
    if input.meta.dtype.kind != "f":
        raise NotImplementedError(f"\"adaptive_avg_pool3d_cpu\" not implemented for '{input.meta.dtype.title}'")
    if size == (1, 1, 1):
        return input.mean((-3, -2, -1), keepdim=True)
    return _means(input, ADAPTIVE, ADAPTIVE, size) if shapes.numel(size) else input.new_zeros((*input.shape[:-3], *size))


@function(to="F", samples=[S(VOLUME, 2), S(VOLUME, (3, None, 1), True), S(T(2, 3, 4, 4), 5)])
def adaptive_max_pool3d(input, output_size, return_indices=False):
    """Largest values over windows that cut depth, height and width into ``output_size`` parts; None keeps a size."""
    size = _target("adaptive_max_pool3d", input, output_size, ":", "(): internal error: output_size.size() must be 3")
    if min(size) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: {[*input.shape[:-3], *size]}")
    if input.meta.dtype.kind != "f":
        raise NotImplementedError(f"\"adaptive_max_pool3d_cpu\" not implemented for '{input.meta.dtype.title}'")
    if not shapes.numel(size):
        y = input.new_zeros((*input.shape[:-3], *size))
        return (y, y.to(FUNCTIONS["torch"]["tensor"](0).dtype)) if return_indices else y
    return _max(input, ADAPTIVE, ADAPTIVE, size, return_indices)


def _with_indices(name, rank, sample):
    def call(input, output_size, return_indices=False):
        return FUNCTIONS["F"][name](input, output_size, True)
    call.__doc__ = f"{name}() with the indices."
    function(to="F", name=f"{name}_with_indices", samples=[sample])(call)


_with_indices("adaptive_max_pool1d", 1, S(T(2, 3, 9), 4))
_with_indices("adaptive_max_pool2d", 2, S(T(2, 3, 5, 4), (2, 3)))
_with_indices("adaptive_max_pool3d", 3, S(T(2, 3, 5, 4), (2, 3, 1)))


@function(to="F", samples=[S(T(1, 2, 4, 4, 5, low=0.1), 2.0, 2), S(T(2, 4, 4, 5, low=0.1), 3, (2, 3, 2), 1, True)])
def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """(sum of x^norm_type)^(1 / norm_type) over each window of a volume."""
    kernel = _triple(kernel_size, "lp_pool3d: kernel_size must be a single int, or a tuple of three ints")
    return _power_mean(avg_pool3d(input.pow(norm_type), kernel, stride, 0, ceil_mode), shapes.numel(kernel), norm_type)
