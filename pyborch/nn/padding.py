"""Layers that move or repeat elements: padding, pixel shuffle, upsampling, windows as columns."""
from __future__ import annotations

from . import functional as F
from .conv import spread
from .module import Module


class _Pad(Module):
    """``padding`` counts (left, right, top, bottom, ...) elements; one number pads every side alike."""

    rank: int
    mode = "constant"
    value = 0.0

    def __init__(self, padding):
        super().__init__()
        self.padding = spread(padding, 2 * self.rank)

    def forward(self, input):
        return F.pad(input, self.padding, self.mode, self.value if self.mode == "constant" else None)

    def extra_repr(self):
        return str(self.padding)


class ZeroPad1d(_Pad):
    """Zeros beside (N, C, L)."""
    rank = 1


class ZeroPad2d(_Pad):
    """Zeros around (N, C, H, W)."""
    rank = 2


class ZeroPad3d(_Pad):
    """Zeros around (N, C, D, H, W)."""
    rank = 3


class _ConstantPad(_Pad):
    def __init__(self, padding, value: float):
        super().__init__(padding)
        self.value = value

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """``value`` beside (N, C, L)."""
    rank = 1


class ConstantPad2d(_ConstantPad):
    """``value`` around (N, C, H, W)."""
    rank = 2


class ConstantPad3d(_ConstantPad):
    """``value`` around (N, C, D, H, W)."""
    rank = 3


class ReflectionPad1d(_Pad):
    """The tensor mirrored at its edges, edge not repeated; (N, C, L)."""
    rank, mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """The tensor mirrored at its edges, edge not repeated; (N, C, H, W)."""
    rank, mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """The tensor mirrored at its edges, edge not repeated; (N, C, D, H, W)."""
    rank, mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """The edge repeated; (N, C, L)."""
    rank, mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """The edge repeated; (N, C, H, W)."""
    rank, mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """The edge repeated; (N, C, D, H, W)."""
    rank, mode = 3, "replicate"


class CircularPad1d(_Pad):
    """The tensor continued from its other side; (N, C, L)."""
    rank, mode = 1, "circular"


class CircularPad2d(_Pad):
    """The tensor continued from its other side; (N, C, H, W)."""
    rank, mode = 2, "circular"


class CircularPad3d(_Pad):
    """The tensor continued from its other side; (N, C, D, H, W)."""
    rank, mode = 3, "circular"


class PixelShuffle(Module):
    """(*, C r^2, H, W) -> (*, C, H r, W r): channels become pixels (Shi et al. 2016)."""

    def __init__(self, upscale_factor: int):
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input):
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self):
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """(*, C, H r, W r) -> (*, C r^2, H, W): the inverse of PixelShuffle."""

    def __init__(self, downscale_factor: int):
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input):
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self):
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Interleaves ``groups`` groups of channels (Zhang et al. 2017)."""

    def __init__(self, groups: int):
        super().__init__()
        self.groups = groups

    def forward(self, input):
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self):
        return f"groups={self.groups}"


class Upsample(Module):
    """Resizes (N, C, *) to ``size`` or by ``scale_factor``; modes as :func:`functional.interpolate`."""

    def __init__(self, size=None, scale_factor=None, mode: str = "nearest", align_corners=None, recompute_scale_factor=None):
        super().__init__()
        self.size = size
        if scale_factor is not None:
            scale_factor = tuple(float(f) for f in scale_factor) if isinstance(scale_factor, (tuple, list)) else float(scale_factor)
        self.scale_factor = scale_factor
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input):
        return F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor)

    def extra_repr(self):
        what = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{what}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Upsample with mode "nearest"."""

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """Upsample with mode "bilinear" and aligned corners."""

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, "bilinear", True)


class Unfold(Module):
    """Sliding blocks of (N, C, H, W) as columns (N, C * kh * kw, blocks)."""

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input):
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Module):
    """The sum of columns (N, C * kh * kw, blocks) at their places in images of ``output_size``."""

    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        self.output_size, self.kernel_size, self.dilation, self.padding, self.stride = output_size, kernel_size, dilation, padding, stride

    def forward(self, input):
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self):
        return (f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}")
