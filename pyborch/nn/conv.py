"""Convolutions: Conv1d, Conv2d, Conv3d and their transposes (torch.nn.Conv2d)."""
from __future__ import annotations

import math

from . import functional as F
from . import init
from .module import Module
from .parameter import empty_parameter

PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


def spread(value, rank) -> tuple:
    """A number repeated ``rank`` times, or a sequence as a tuple."""
    return tuple(value) if hasattr(value, "__iter__") else (value,) * rank


class _Conv(Module):
    """What all convolutions share; ``rank`` is the number of spatial dims."""

    rank: int
    transposed = False

    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding, groups, bias, padding_mode,
                 device, dtype):
        super().__init__()
        _check(in_channels, out_channels, stride, padding, groups, padding_mode)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = spread(kernel_size, self.rank)
        self.stride = spread(stride, self.rank)
        self.padding = padding if isinstance(padding, str) else spread(padding, self.rank)
        self.dilation = spread(dilation, self.rank)
        self.output_padding = spread(output_padding, self.rank)
        self.groups = groups
        self.padding_mode = padding_mode
        channels = (in_channels, out_channels // groups) if self.transposed else (out_channels, in_channels // groups)
        self.weight = empty_parameter(channels + self.kernel_size, device, dtype)
        self.register_parameter("bias", empty_parameter((out_channels,), device, dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight and bias from U(-1/sqrt(fan_in), 1/sqrt(fan_in))."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._fans(self.weight)
            if fan_in:
                init.uniform_(self.bias, -1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))

    def _padded(self, input):
        """The input padded by ``padding_mode``, for modes that the convolution itself does not know."""
        sides = []
        for kernel, dilation, padding in zip(self.kernel_size, self.dilation, self._paddings()):
            total = dilation * (kernel - 1)
            sides[:0] = (total // 2, total - total // 2) if padding == "same" else (padding, padding)
        return F.pad(input, sides, mode=self.padding_mode)

    def _paddings(self):
        return {"same": ("same",) * self.rank, "valid": (0,) * self.rank}[self.padding] if isinstance(self.padding, str) else self.padding

    def extra_repr(self):
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if isinstance(self.padding, str) or any(self.padding):
            text += f", padding={self.padding}"
        if any(d != 1 for d in self.dilation):
            text += f", dilation={self.dilation}"
        if any(self.output_padding):
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


def _check(in_channels, out_channels, stride, padding, groups, padding_mode):
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups:
        raise ValueError("out_channels must be divisible by groups")
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
        if padding == "same" and any(s != 1 for s in spread(stride, 1)):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if padding_mode not in PADDING_MODES:
        raise ValueError(f"padding_mode must be one of {set(PADDING_MODES)}, but got padding_mode='{padding_mode}'")


class _ForwardConv(_Conv):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode="zeros", device=None, dtype=None):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, 0, groups, bias, padding_mode, device, dtype)


class Conv1d(_ForwardConv):
    """Convolution over (N, C, L) or (C, L); weight (out_channels, in_channels / groups, kernel)."""
    rank = 1

    def forward(self, input):
        if self.padding_mode == "zeros":
            return F.conv1d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)
        return F.conv1d(self._padded(input), self.weight, self.bias, self.stride, 0, self.dilation, self.groups)


class Conv2d(_ForwardConv):
    """Convolution over (N, C, H, W) or (C, H, W); weight (out_channels, in_channels / groups, kernel height, width)."""
    rank = 2

    def forward(self, input):
        if self.padding_mode == "zeros":
            return F.conv2d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)
        return F.conv2d(self._padded(input), self.weight, self.bias, self.stride, 0, self.dilation, self.groups)


class Conv3d(_ForwardConv):
    """Convolution over (N, C, D, H, W) or (C, D, H, W); weight (out_channels, in_channels / groups, kernel depth, height, width)."""
    rank = 3

    def forward(self, input):
        if self.padding_mode == "zeros":
            return F.conv3d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)
        return F.conv3d(self._padded(input), self.weight, self.bias, self.stride, 0, self.dilation, self.groups)


class _TransposedConv(_Conv):
    transposed = True

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1,
                 padding_mode="zeros", device=None, dtype=None):
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding, groups, bias, padding_mode,
                         device, dtype)

    def _output_padding(self, input, output_size):
        """The output padding that yields ``output_size``; ValueError when no padding does."""
        if output_size is None:
            return self.output_padding
        rank = self.rank
        spatial = list(output_size)[-rank:] if len(output_size) in (rank, rank + 1, rank + 2) else None
        if spatial is None:
            raise ValueError(f"{type(self).__name__}: for {input.dim()}D input, output_size must have {rank} or {input.dim()} elements "
                             f"(got {len(output_size)})")
        least = [(input.shape[input.dim() - rank + d] - 1) * self.stride[d] - 2 * self.padding[d]
                 + self.dilation[d] * (self.kernel_size[d] - 1) + 1 for d in range(rank)]
        most = [least[d] + self.stride[d] - 1 for d in range(rank)]
        if any(not low <= size <= high for low, size, high in zip(least, spatial, most)):
            raise ValueError(f"requested an output size of {spatial}, but valid sizes range from {least} to {most} "
                             f"(for an input of {input.shape[2:]})")
        return tuple(size - low for size, low in zip(spatial, least))


class ConvTranspose1d(_TransposedConv):
    """The gradient of Conv1d as a layer: upsamples (N, C, L); weight (in_channels, out_channels / groups, kernel)."""
    rank = 1

    def forward(self, input, output_size=None):
        return F.conv_transpose1d(input, self.weight, self.bias, self.stride, self.padding, self._output_padding(input, output_size),
                                  self.groups, self.dilation)


class ConvTranspose2d(_TransposedConv):
    """The gradient of Conv2d as a layer: upsamples (N, C, H, W); weight (in_channels, out_channels / groups, height, width)."""
    rank = 2

    def forward(self, input, output_size=None):
        return F.conv_transpose2d(input, self.weight, self.bias, self.stride, self.padding, self._output_padding(input, output_size),
                                  self.groups, self.dilation)


class ConvTranspose3d(_TransposedConv):
    """The gradient of Conv3d as a layer: upsamples (N, C, D, H, W); weight (in_channels, out_channels / groups, depth, height, width)."""
    rank = 3

    def forward(self, input, output_size=None):
        return F.conv_transpose3d(input, self.weight, self.bias, self.stride, self.padding, self._output_padding(input, output_size),
                                  self.groups, self.dilation)
