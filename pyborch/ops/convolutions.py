"""conv1d, conv2d, conv_transpose1d and conv_transpose2d with PyTorch's arguments and errors."""
from __future__ import annotations

from ..autograd import apply, autocasts
from .conv import CONVOLVE, TRANSPOSED
from .matmul import CPP_NAMES
from .registry import S, T, function


def spread(value, rank, name):
    """An int or a list of ``rank`` ints (or of one) as a tuple of ``rank``."""
    if isinstance(value, int):
        return (value,) * rank
    value = tuple(value)
    if len(value) == 1:
        return value * rank
    if len(value) != rank:
        raise RuntimeError(f"expected {name} to be a single integer value or a list of {rank} values to match the convolution dimensions, "
                           f"but got {name}={list(value)}")
    return value


def _check_operands(where, input, weight, bias, rank, stride, padding, dilation, groups, transposed, wanted=None):
    x, w = input.meta.shape, weight.meta.shape
    if len(x) not in (rank + 1, rank + 2):
        raise RuntimeError(f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to {where}, but got input of size: {list(x)}")
    if len(w) < 3:
        raise RuntimeError("weight should have at least three dimensions")
    if len(w) != rank + 2 and isinstance(wanted, str):
        raise RuntimeError(f"Expected {len(w)}-dimensional input for {len(w)}-dimensional weight{list(w)}, but got {len(x)}-dimensional input of size {list(x)} instead")
    if len(w) != rank + 2:
        raise RuntimeError(f"expected stride to be a single integer value or a list of {len(w) - 2} values to match the convolution "
                           f"dimensions, but got stride={list(stride)}")
    for bad, words in ((min(padding) < 0, "negative padding is not supported"), (min(stride) <= 0, "non-positive stride is not supported"),
                       (groups <= 0, "non-positive groups is not supported")):
        if bad:
            raise RuntimeError(words)
    if min(dilation) <= 0:
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")
    _check_channels((1, *x)[-(rank + 2):], x, w, bias, groups, transposed)
    _check_dtypes(input, weight, bias)


def _check_channels(batched, x, w, bias, groups, transposed):
    given = f"transposed={int(transposed)}" if transposed else f"groups={groups}"
    if w[0] < groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size {list(w)} instead")
    if w[0] % groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size "
                           f"[{list(w)}] instead")
    expected = w[0] if transposed else w[1] * groups
    if batched[1] != expected:
        raise RuntimeError(f"Given {given}, weight of size {list(w)}, expected input{list(batched)} to have {expected} channels, but got "
                           f"{batched[1]} channels instead")
    out = w[1] * groups if transposed else w[0]
    if bias is not None and bias.meta.shape != (out,):
        words = f"Given {given}, weight" if transposed else "Given weight"
        raise RuntimeError(f"{words} of size {list(w)}, expected bias to be 1-dimensional with {out} elements, but got bias of size "
                           f"{list(bias.meta.shape)} instead")


def _check_dtypes(input, weight, bias):
    if autocasts(input, weight, bias):
        return
    if input.meta.dtype is not weight.meta.dtype:
        raise RuntimeError(f"expected scalar type {input.meta.dtype.title} but found {weight.meta.dtype.title}")
    if bias is not None and bias.meta.dtype is not input.meta.dtype:
        names = [CPP_NAMES[t.meta.dtype.name] for t in (input, bias)]
        raise RuntimeError(f"Input type ({names[0]}) and bias type ({names[1]}) should be the same")


def _sizes(words, sizes):
    return f"{words}: ({' x '.join(map(str, sizes))})"


def _forward_size(have, kernel, stride, before, after, dilation):
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
    padded = [h + b + a for h, b, a in zip(have, before, after)]
    if any(p < r for p, r in zip(padded, reach)):
        raise RuntimeError(f"{_sizes('Calculated padded input size per channel', padded)}. {_sizes('Kernel size', reach)}. "
                           "Kernel size can't be greater than actual input size")
    return tuple((p - r) // s + 1 for p, r, s in zip(padded, reach, stride))


def _paddings(padding, rank, kernel, stride, dilation):
    """Padding before and after, per dim; "same" puts the odd one after."""
    if not isinstance(padding, str):
        padding = spread(padding, rank, "padding")
        return padding, padding
    if padding == "valid":
        return (0,) * rank, (0,) * rank
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    totals = [d * (k - 1) for k, d in zip(kernel, dilation)]
    return tuple(t // 2 for t in totals), tuple(t - t // 2 for t in totals)


def _flat(t, rank):
    """A 1-d image as one of height 1."""
    return t if rank == 2 else t.unsqueeze(-2)


def _run(op, input, weight, bias, rank, stride, padding, dilation, groups, size):
    batched = len(input.meta.shape) == rank + 2
    x = input if batched else input.unsqueeze(0)
    if rank == 1:
        stride, padding, dilation, size = (1, *stride), (0, *padding), (1, *dilation), (1, *size)
    y = apply(op, _flat(x, rank), _flat(weight, rank), bias, stride=stride, padding=padding, dilation=dilation, groups=groups, size=size)
    y = y if rank == 2 else y.squeeze(-2)
    return y if batched else y.squeeze(0)


_checked: dict = {}
CHECKED_LIMIT = 1024


def _forward(where, rank, input, weight, bias, stride, padding, dilation, groups):
    """One call; a geometry that has been checked once is not checked again."""
    key = (where, input.meta, weight.meta, bias if bias is None else bias.meta, *[tuple(v) if type(v) is list else v for v in (stride, padding, dilation)], groups)
    found = _checked.get(key)
    if found is None:
        if len(_checked) >= CHECKED_LIMIT:
            _checked.clear()
        found = _checked[key] = checked_geometry(where, rank, input, weight, bias, stride, padding, dilation, groups)
    stride, before, dilation, size = found
    if rank == 2 and len(input.meta.shape) == 4:
        return apply(CONVOLVE, input, weight, bias, stride=stride, padding=before, dilation=dilation, groups=groups, size=size)
    return _run(CONVOLVE, input, weight, bias, rank, stride, before, dilation, groups, size)


def checked_geometry(where, rank, input, weight, bias, stride, padding, dilation, groups):
    """(stride, padding before, dilation, output size) as tuples; raises PyTorch's errors."""
    stride, dilation = spread(stride, rank, "stride"), spread(dilation, rank, "dilation")
    kernel = weight.meta.shape[2:]
    before, after = _paddings(padding, rank, kernel, stride, dilation)
    _check_operands(where, input, weight, bias, rank, stride, before, dilation, groups, False, padding)
    return stride, before, dilation, _forward_size(input.meta.shape[-rank:], kernel, stride, before, after, dilation)


def checked_transposed(where, rank, input, weight, bias, stride, padding, output_padding, groups, dilation):
    """(stride, padding, dilation, output size) as tuples; raises PyTorch's errors."""
    stride, dilation = spread(stride, rank, "stride"), spread(dilation, rank, "dilation")
    padding, extra = spread(padding, rank, "padding"), spread(output_padding, rank, "output_padding")
    _check_operands(where, input, weight, bias, rank, stride, padding, dilation, groups, True)
    if any(e >= s and e >= d for e, s, d in zip(extra, stride, dilation)):
        flat = [((1,) * (2 - rank) + v) for v in (extra, stride, dilation)]
        flat[0] = (0,) * (2 - rank) + extra
        dims = ("depth", "height", "width")[-max(rank, 2):]
        words = [" ".join(f"{name}_{d}: {n}" for d, n in zip(dims, v)) for name, v in zip(("output_padding", "stride", "dilation"), flat)]
        raise RuntimeError("output padding must be smaller than either stride or dilation, but got " + " ".join(words))
    have, kernel = input.meta.shape[-rank:], weight.meta.shape[2:]
    size = tuple((h - 1) * s - 2 * p + d * (k - 1) + e + 1 for h, s, p, d, k, e in zip(have, stride, padding, dilation, kernel, extra))
    if min(size) < 1:
        raise RuntimeError(f"{_sizes('Given input size per channel', have)}. {_sizes('Calculated output size per channel', size)}. "
                           "Output size is too small")
    return stride, padding, dilation, size


def _backward(where, rank, input, weight, bias, stride, padding, output_padding, groups, dilation):
    stride, padding, dilation, size = checked_transposed(where, rank, input, weight, bias, stride, padding, output_padding, groups, dilation)
    return _run(TRANSPOSED, input, weight, bias, rank, stride, padding, dilation, groups, size)


IMAGE, TAPS = T(2, 3, 7, 6), T(5, 3, 3, 2)


@function(to="torch F", samples=[
    S(IMAGE, TAPS), S(IMAGE, TAPS, T(5)), S(IMAGE, TAPS, T(5), 2, 1), S(IMAGE, TAPS, None, (1, 2), (2, 0), (2, 1)),
    S(IMAGE, T(4, 3, 4, 3), padding="same"), S(IMAGE, TAPS, padding="valid"), S(T(2, 4, 6, 6), T(6, 2, 3, 3), T(6), 1, 1, 1, 2),
    S(T(2, 4, 6, 6), T(4, 1, 3, 3), T(4), 1, 1, groups=4), S(T(2, 3, 6, 5), T(6, 1, 3, 3), None, 2, 1, groups=3), S(T(3, 7, 6), TAPS, T(5)),
    S(T(0, 3, 7, 6), TAPS, T(5)), S(IMAGE, T(2, 3, 1, 1), T(2)), S(T(1, 20, 9, 9), T(18, 20, 3, 3), T(18), padding=1, tol=1e-4),
    S(T(2, 6, 7, 3, view=lambda t: t.permute(0, 3, 2, 1)), TAPS, T(5)), S(IMAGE, T(3, 5, 2, 3, view=lambda t: t.permute(1, 0, 3, 2)), T(5)),
    S(T(9, 2, 8, 8), T(3, 2, 5, 5), padding=2, tol=1e-4)])
def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Convolution of (N, C, H, W) or (C, H, W) with weight (out, C / groups, kh, kw) and bias (out).

    ``padding`` is ints, "same" or "valid". RuntimeError where channels, sizes or dtypes do not fit (torch.nn.functional.conv2d).
    """
    return _forward("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


@function(to="torch F", samples=[
    S(T(2, 3, 10), T(4, 3, 3), T(4)), S(T(2, 3, 10), T(4, 3, 3), None, 2, 1), S(T(3, 10), T(4, 3, 3), T(4), 1, 2, 2),
    S(T(2, 4, 9), T(4, 1, 4), padding="same", groups=4),
    S(T(2, 9, 4, view=lambda t: t.transpose(1, 2)), T(2, 4, 1), T(2))])
def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Convolution of (N, C, L) or (C, L) with weight (out, C / groups, k) and bias (out)."""
    return _forward("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


@function(to="torch F", samples=[
    S(T(2, 3, 4, 5), T(3, 4, 3, 2)), S(T(2, 3, 4, 5), T(3, 4, 3, 2), T(4), 2, 1, 1),
    S(T(2, 4, 4, 3), T(4, 2, 3, 3), T(4), (2, 1), 1, (1, 0), 2), S(T(3, 4, 5), T(3, 4, 3, 3), T(4), 1, 1, 0, 1, 2),
    S(T(2, 3, 3, 3), T(3, 1, 2, 2), None, 3, groups=3), S(T(0, 3, 4, 5), T(3, 4, 3, 2)),
    S(T(1, 2, 3, 4), T(2, 3, 3, 2), T(3), 2, 1, 1, 1, 2), S(T(1, 2, 4, 3), T(2, 3, 4, 3), T(3), (2, 3), (0, 1), (1, 0), 1, (2, 1)),
    S(T(1, 2, 3, 3), T(2, 1, 5, 5), None, 2, 2)])
def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The gradient of conv2d with respect to its input: upsamples (N, C, H, W) with weight (C, out / groups, kh, kw)."""
    return _backward("conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation)


@function(to="torch F", samples=[
    S(T(2, 3, 5), T(3, 4, 3), T(4)), S(T(2, 4, 5), T(4, 2, 3), T(4), 2, 1, 1, 2), S(T(3, 5), T(3, 4, 3), None, 3, 0, 0, 1, 2)])
def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The gradient of conv1d with respect to its input: upsamples (N, C, L) with weight (C, out / groups, k)."""
    return _backward("conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation)
