"""conv3d and conv_transpose3d as convolutions of planes: the kernel's depth goes to the channels, the image's depth to the batch."""
from __future__ import annotations

from ..autograd import apply
from .conv import CONVOLVE, TRANSPOSED
from .convolutions import checked_geometry, checked_transposed
from .index import SCATTER
from .registry import FUNCTIONS, S, T, function


def _flat(geometry):
    """What concerns the planes, without the depth."""
    stride, padding, dilation, groups, size = geometry
    return {"stride": stride[1:], "padding": padding[1:], "dilation": dilation[1:], "groups": groups, "size": size[1:]}


def _convolve(x, w, bias, geometry):
    (stride, *_), (padding, *_), (dilation, *_), _, (depth, *_) = geometry
    (n, channels, d, h, width), (out, _, taps, kh, kw) = x.shape, w.shape
    reach = dilation * (taps - 1) + 1
    after = max(0, (depth - 1) * stride + reach - padding - d)
    if padding or after:
        x = FUNCTIONS["F"]["pad"](x, (0, 0, 0, 0, padding, after))
    span = (depth - 1) * stride + 1
    windows = FUNCTIONS["torch"]["stack"]([x[:, :, k * dilation:k * dilation + span:stride] for k in range(taps)], 3) if taps > 1 else x[:, :, :span:stride]
    planes = windows.transpose(1, 2).reshape(n * depth, channels * taps, h, width)
    y = apply(CONVOLVE, planes, w.reshape(out, w.shape[1] * taps, kh, kw), bias, **_flat(geometry))
    return y.reshape(n, depth, *y.shape[1:]).transpose(1, 2).contiguous()


def _transposed(x, w, bias, geometry):
    (stride, *_), (padding, *_), (dilation, *_), groups, (depth, *_) = geometry
    (n, channels, d, h, width), (_, out, taps, kh, kw) = x.shape, w.shape
    planes = x.transpose(1, 2).reshape(n * d, channels, h, width)
    y = apply(TRANSPOSED, planes, w.reshape(channels, out * taps, kh, kw), None, **_flat(geometry))
    tall, wide = y.shape[-2:]
    y = y.reshape(n, d, groups * out, taps, tall, wide).permute(0, 2, 1, 3, 4, 5).reshape(n, groups * out, d * taps, tall, wide)
    arange = FUNCTIONS["torch"]["arange"]
    places = (arange(d, device=x.meta.device).unsqueeze(1) * stride + arange(taps, device=x.meta.device) * dilation).reshape(-1)
    whole = max((d - 1) * stride + dilation * (taps - 1) + 1, padding + depth)
    zeros = x.new_zeros((n, groups * out, whole, tall, wide))
    y = apply(SCATTER, zeros, places, y, dim=2, spread=True, wrap=False, how="sum").narrow(2, padding, depth)
    return y.contiguous() if bias is None else y + bias.reshape(-1, 1, 1, 1)


def _batched(run, input, *rest):
    return run(input, *rest) if len(input.shape) == 5 else run(input.unsqueeze(0), *rest).squeeze(0)


VOLUME = T(2, 2, 4, 3, 5)


@function(to="torch F", samples=[S(VOLUME, T(3, 2, 2, 3, 2), T(3)), S(VOLUME, T(4, 1, 2, 2, 2), T(4), (2, 1, 1), (1, 0, 1), (2, 1, 1), 2),
                                 S(T(2, 4, 3, 3), T(3, 2, 3, 2, 1), padding="same"), S(T(0, 2, 4, 3, 5), T(3, 2, 2, 3, 2), T(3)), S(VOLUME, T(3, 2, 1, 1, 1))])
def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Convolution of (N, C, D, H, W) or (C, D, H, W) with weight (out, C / groups, kd, kh, kw) and bias (out)."""
    stride, before, dilation, size = checked_geometry("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)
    return _batched(_convolve, input, weight, bias, (stride, before, dilation, groups, size))


@function(to="torch F", samples=[S(VOLUME, T(2, 3, 2, 2, 3), T(3)), S(VOLUME, T(2, 2, 2, 3, 2), T(4), (2, 1, 2), (1, 0, 1), (1, 0, 0), 2),
                                 S(T(2, 3, 2, 2), T(2, 1, 2, 2, 2), None, 1, 0, 0, 1, (2, 1, 1)), S(T(0, 2, 4, 3, 5), T(2, 3, 2, 2, 3))])
def conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The gradient of conv3d with respect to its input: upsamples (N, C, D, H, W) with weight (C, out / groups, kd, kh, kw)."""
    geometry = checked_transposed("conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation)
    return _batched(_transposed, input, weight, bias, (*geometry[:3], groups, geometry[3]))


@function(to="torch F", samples=[S(T(5, 2, 3), T(3, 3, 4), T(4), 1)])
def conv_tbc(input, weight, bias, pad=0):
    """Convolution along the first dim of (time, batch, channels) with weight (k, channels, out) and bias (out)."""
    if input.dim() != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if weight.dim() != 3:
        raise RuntimeError("Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")
    if bias.dim() != 1:
        raise RuntimeError("Bias must be 1-D")
    if input.shape[2] != weight.shape[1]:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if weight.shape[2] != bias.shape[0]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    y = FUNCTIONS["F"]["conv1d"](input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad)
    return y.permute(2, 0, 1).contiguous()
