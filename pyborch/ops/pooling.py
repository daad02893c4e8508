"""max_pool, avg_pool, adaptive pooling and lp_pool in 1 and 2 dims, with PyTorch's arguments and errors."""
from __future__ import annotations

from ..autograd import apply
from .pool import ADAPTIVE, AVERAGE, MAX
from .registry import FUNCTIONS, S, T, function


def _pair(value, where, name):
    """An int or 1 or 2 ints as a pair."""
    if isinstance(value, int):
        return (value, value)
    value = tuple(value)
    if len(value) not in (1, 2):
        raise RuntimeError(f"{where}: {name} must either be a single int, or a tuple of two ints")
    return value * 2 if len(value) == 1 else value


def _length(n, k, s, pad, d, ceil_mode):
    """How many windows there are; in ceil mode the last one may leave the image, but must begin inside it or its left padding."""
    count = (n + 2 * pad - d * (k - 1) - 1 + (s - 1 if ceil_mode else 0)) // s + 1
    return count - 1 if ceil_mode and (count - 1) * s >= n + pad else count


def _window_2d(where, input, kernel_size, stride, padding, dilation, ceil_mode):
    """(window, size) for 2-d pooling; raises as PyTorch does."""
    kernel = _pair(kernel_size, where, "kernel_size")
    stride = kernel if stride is None or stride == () or stride == [] else _pair(stride, where, "stride")
    padding, dilation, x = _pair(padding, where, "padding"), _pair(dilation, where, "dilation"), input.meta.shape
    if 0 in stride:
        raise RuntimeError("stride should not be zero")
    if min(kernel) <= 0:
        raise RuntimeError(f"kernel size should be greater than zero, but got kH: {kernel[0]} kW: {kernel[1]}")
    if min(dilation) <= 0:
        raise RuntimeError(f"dilation should be greater than zero, but got dilationH: {dilation[0]} dilationW: {dilation[1]}")
    if len(x) not in (3, 4):
        raise RuntimeError("non-empty 3D or 4D (batch mode) tensor expected for input")
    if 0 in x[-3:]:
        raise RuntimeError(f"Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:{list(x)}")
    for p, k, d in zip(padding, kernel, dilation):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > (d * (k - 1) + 1) // 2:
            raise RuntimeError(f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}")
    size = tuple(_length(*v, ceil_mode) for v in zip(x[-2:], kernel, stride, padding, dilation))
    if min(size) < 1:
        given = "x".join(map(str, x[-3:]))
        raise RuntimeError(f"Given input size: ({given}). Calculated output size: ({x[-3]}x{size[0]}x{size[1]}). Output size is too small")
    return (kernel, stride, padding, dilation, False), size


def _max(input, window, size, return_indices):
    y, at = apply(MAX, input, window=window, size=size)
    return (y, at) if return_indices else y


IMAGE = T(2, 3, 7, 6)
LINE = T(2, 3, 11)
HOLES = T(1, 1, 2, 4, values=(1.0, float("nan"), 3.0, float("-inf"), 2.0, 0.0, -1.0, float("-inf")), grad=False)


@function(to="F torch", samples=[
    S(IMAGE, 2), S(IMAGE, 3, 2, 1), S(IMAGE, (3, 2), (1, 2), (1, 0)), S(IMAGE, 3, 2, 1, 1, True), S(IMAGE, 2, 1, 0, 2),
    S(IMAGE, 2, 2, 1, (1, 3), True),
    S(IMAGE, 3, 1, return_indices=True), S(T(3, 7, 6), 2), S(T(0, 3, 6, 6), 2), S(HOLES, 2), S(HOLES, (1, 2), return_indices=True),
    S(T(2, 6, 7, 3, view=lambda t: t.permute(0, 3, 2, 1)), 2), S(T(1, 1, 4, 4, dtype="int64", low=-9, high=9), 2)])
def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest value of each window of (N, C, H, W) or (C, H, W); NaN wins. With ``return_indices`` also where in its plane (int64).

    RuntimeError as in torch.nn.functional.max_pool2d. Gradients of overlapping windows add up, in a fixed order.
    """
    window, size = _window_2d("max_pool2d", input, kernel_size, stride, padding, dilation, ceil_mode)
    return _max(input, window, size, return_indices)


@function(to="F", samples=[S(IMAGE, 2), S(IMAGE, 3, 1, 1)])
def max_pool2d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """max_pool2d() with the indices."""
    return max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def _one(value, where, name):
    if isinstance(value, int):
        return value
    value = tuple(value)
    if len(value) != 1:
        raise RuntimeError(f"{where}() {name} must be an int, list of ints or tuple of ints of size 1 but got size {len(value)}")
    return value[0]


def _flat_window(k, s, pad, d, adaptive=False):
    return (1, k), (1, s), (0, pad), (1, d), adaptive


@function(to="F torch", samples=[
    S(LINE, 2), S(LINE, 3, 2, 1), S(LINE, 3, 1, 0, 2), S(LINE, 3, 2, 1, 1, True), S(T(3, 11), 2),
    S(LINE, 4, 1, 2, return_indices=True), S(T(0, 3, 8), 2)])
def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest value of each window of (N, C, L) or (C, L)."""
    x, where = input.meta.shape, "max_pool1d"
    if len(x) not in (2, 3):
        raise RuntimeError(f"max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:{list(x)}")
    k = _one(kernel_size, where, "kernel_size")
    s = k if stride is None else _one(stride, where, "stride")
    pad, d = _one(padding, where, "padding"), _one(dilation, where, "dilation")
    for value, name in ((k, "kernel_size"), (s, "stride"), (d, "dilation")):
        if value <= 0:
            raise RuntimeError(f"max_pool1d() {name} must be greater than zero, but got {value}")
    if pad < 0 or pad > k // 2:
        words = "non-negative, but got padding=" if pad < 0 else f"at most half of kernel size, but got padding={pad} and kernel_size="
        raise RuntimeError(f"max_pool1d() padding {'must' if pad < 0 else 'should'} be {words}{pad if pad < 0 else k}")
    size = _length(x[-1], k, s, pad, d, ceil_mode)
    if size < 1:
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {size}")
    found = _max(input.unsqueeze(-2), _flat_window(k, s, pad, d), (1, size), return_indices)
    return tuple(t.squeeze(-2) for t in found) if return_indices else found.squeeze(-2)


@function(to="F torch", samples=[S(LINE, 2), S(LINE, 3, 1)])
def max_pool1d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """max_pool1d() with the indices."""
    return max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


@function(to="F", samples=[
    S(IMAGE, 2), S(IMAGE, 3, 2, 1), S(IMAGE, 3, 2, 1, False, False), S(IMAGE, 3, 2, 1, True), S(IMAGE, (3, 2), (2, 1), (1, 0), True, False),
    S(IMAGE, 3, 1, 0, divisor_override=4), S(T(3, 7, 6), 2), S(T(0, 3, 6, 6), 2), S(T(1, 2, 5, 5, dtype="int64", low=0, high=9), 2)])
def avg_pool2d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    """The mean of each window of (N, C, H, W) or (C, H, W); padding counts as zeros unless ``count_include_pad`` is False."""
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    window, size = _window_2d("avg_pool2d", input, kernel_size, stride, padding, 1, ceil_mode)
    return apply(AVERAGE, input, window=window, size=size, include_pad=bool(count_include_pad), divisor=divisor_override or 0)


def _line(where, input):
    if len(input.meta.shape) not in (2, 3):
        raise RuntimeError(f"Expected 2 to 3 dimensions, but got {len(input.meta.shape)}-dimensional tensor for argument #1 'self' "
                           f"(while checking "
                           f"arguments for {where})")


def _single(value, where, name):
    if isinstance(value, int):
        return value
    value = tuple(value)
    if len(value) != 1:
        raise RuntimeError(f"{where}() argument '{name}' should contain one int (got {len(value)})")
    return value[0]


@function(to="torch F", samples=[S(LINE, 2), S(LINE, 3, 2, 1), S(LINE, 3, 2, 1, True, False), S(T(3, 11), (4,)), S(LINE, 3, 2, 1, True)])
def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """The mean of each window of (N, C, L) or (C, L)."""
    where = "avg_pool1d"
    _line(where, input)
    k = _single(kernel_size, where, "kernel_size")
    s = k if stride is None or stride == () else _single(stride, where, "stride")
    pad = _single(padding, where, "padding")
    _, size = _window_2d(where, input.unsqueeze(-2), (1, k), (1, s), (0, pad), 1, ceil_mode)
    window = _flat_window(k, s, pad, 1)
    return apply(AVERAGE, input.unsqueeze(-2), window=window, size=size, include_pad=bool(count_include_pad), divisor=0).squeeze(-2)


def _target(where, input, output_size, colon=""):
    """The output size of 2-d adaptive pooling; None keeps a size."""
    x = input.meta.shape
    if len(x) not in (3, 4):
        raise RuntimeError(f"{where}(): Expected 3D or 4D tensor, but got{colon} {list(x)}")
    size = (output_size, output_size) if output_size is None or isinstance(output_size, int) else tuple(output_size)
    if len(size) != 2:
        raise RuntimeError(f"{where}: output_size must be 2")
    size = tuple(n if s is None else s for s, n in zip(size, x[-2:]))
    for dim in range(1 - len(x), 0):
        if x[dim] == 0:
            raise RuntimeError(f"{where}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                               f"{list(x)} with "
                               f"dimension {len(x) + dim} being empty")
    return size


@function(to="F", samples=[S(IMAGE, 3), S(IMAGE, (3, 4)), S(IMAGE, (None, 2)), S(IMAGE, 1), S(T(3, 7, 6), 2), S(T(2, 1, 3, 3), 5),
                           S(T(0, 3, 6, 6), 2),
                           S(IMAGE, (7, 6)), S(T(2, 6, 7, 3, view=lambda t: t.permute(0, 3, 2, 1)), 1)])
def adaptive_avg_pool2d(input, output_size):
    """Means over windows that cut height and width into ``output_size`` parts; None keeps a size."""
    size = _target("adaptive_avg_pool2d", input, output_size)
    if min(size) < 0:
        raise RuntimeError(f"adaptive_avg_pool2d: elements of output_size must be greater than or equal to 0 but received "
                           f"{{{size[0]}, {size[1]}}}")
    if input.meta.dtype.kind != "f":
        raise NotImplementedError(f"\"adaptive_avg_pool2d\" not implemented for '{input.meta.dtype.title}'")
    if size == (1, 1):
        return input.mean((-2, -1), keepdim=True)
    return apply(AVERAGE, input, window=ADAPTIVE, size=size, include_pad=True, divisor=0)


@function(to="torch F", samples=[S(LINE, 4), S(LINE, 1), S(T(3, 11), (5,)), S(T(1, 2, 3), 7)])
def adaptive_avg_pool1d(input, output_size):
    """Means over windows that cut the length into ``output_size`` parts."""
    _line("adaptive_avg_pool1d", input)
    return adaptive_avg_pool2d(input.unsqueeze(-2), (1, _single(output_size, "adaptive_avg_pool1d", "output_size"))).squeeze(-2)


@function(to="F", samples=[S(IMAGE, 3), S(IMAGE, (3, None), True), S(IMAGE, 1), S(T(2, 1, 3, 3), 5), S(T(3, 7, 6), 2), S(HOLES, 2)])
def adaptive_max_pool2d(input, output_size, return_indices=False):
    """Largest values over windows that cut height and width into ``output_size`` parts; None keeps a size."""
    size = _target("adaptive_max_pool2d", input, output_size, ":")
    if min(size) < 0:
        shape = [*input.meta.shape[:-2], *size]
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: {shape}")
    return _max(input, ADAPTIVE, size, return_indices)


@function(to="F", samples=[S(LINE, 4), S(LINE, 1, True), S(T(3, 11), (5,))])
def adaptive_max_pool1d(input, output_size, return_indices=False):
    """Largest values over windows that cut the length into ``output_size`` parts."""
    _line("adaptive_max_pool1d", input)
    found = adaptive_max_pool2d(input.unsqueeze(-2), (1, _single(output_size, "adaptive_max_pool1d", "output_size")), return_indices)
    return tuple(t.squeeze(-2) for t in found) if return_indices else found.squeeze(-2)


@function(to="torch", name="adaptive_max_pool1d", samples=[S(LINE, 4)])
def _adaptive_max_pool1d(input, output_size):
    """torch.adaptive_max_pool1d always gives the indices too."""
    return adaptive_max_pool1d(input, output_size, True)


def _power_mean(pooled, count, norm_type):
    torch = FUNCTIONS["torch"]
    return (torch["sign"](pooled) * torch["relu"](pooled.abs()) * count).pow(1.0 / norm_type)


@function(to="F", samples=[S(T(2, 3, 6, 6, low=0.1), 2.0, 2), S(T(2, 3, 7, 6, low=0.1), 3, (3, 2), 1, True)])
def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """(sum of x^norm_type)^(1 / norm_type) over each window."""
    kh, kw = _pair(kernel_size, "lp_pool2d", "kernel_size")
    return _power_mean(avg_pool2d(input.pow(norm_type), (kh, kw), stride, 0, ceil_mode), kh * kw, norm_type)


@function(to="F", samples=[S(T(2, 3, 9, low=0.1), 2.0, 3), S(T(2, 3, 9, low=0.1), 1, 2, 3)])
def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """(sum of x^norm_type)^(1 / norm_type) over each window of the last dim."""
    k = _single(kernel_size, "lp_pool1d", "kernel_size")
    return _power_mean(avg_pool1d(input.pow(norm_type), k, stride, 0, ceil_mode), k, norm_type)
