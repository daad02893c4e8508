"""Pooling layers over (N, C, L), (N, C, H, W) and (N, C, D, H, W), batch dim optional."""
from __future__ import annotations

from . import functional as F
from .conv import spread
from .module import Module


class _MaxPool(Module):
    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices: bool = False, ceil_mode: bool = False):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def _arguments(self, input):
        return (input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices)

    def extra_repr(self):
        return (f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
                f"ceil_mode={self.ceil_mode}")


class MaxPool1d(_MaxPool):
    """The largest value of each window of a (N, C, L) tensor."""

    def forward(self, input):
        return F.max_pool1d(*self._arguments(input))


class MaxPool2d(_MaxPool):
    """The largest value of each window of a (N, C, H, W) tensor."""

    def forward(self, input):
        return F.max_pool2d(*self._arguments(input))


class MaxPool3d(_MaxPool):
    """The largest value of each window of a (N, C, D, H, W) tensor."""

    def forward(self, input):
        return F.max_pool3d(*self._arguments(input))


class AvgPool1d(Module):
    """The mean of each window of a (N, C, L) tensor."""

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode: bool = False, count_include_pad: bool = True):
        super().__init__()
        self.kernel_size = spread(kernel_size, 1)
        self.stride = spread(stride if stride is not None else kernel_size, 1)
        self.padding = spread(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input):
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(Module):
    """The mean of each window of a (N, C, H, W) tensor; ``divisor_override`` replaces the window's size."""

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode: bool = False, count_include_pad: bool = True,
                 divisor_override=None):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input):
        return F.avg_pool2d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
                            self.divisor_override)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool3d(Module):
    """The mean of each window of a (N, C, D, H, W) tensor; ``divisor_override`` replaces the window's size."""

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode: bool = False, count_include_pad: bool = True,
                 divisor_override=None):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input):
        return F.avg_pool3d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
                            self.divisor_override)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _Adaptive(Module):
    def __init__(self, output_size):
        super().__init__()
        self.output_size = output_size

    def extra_repr(self):
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_Adaptive):
    """Means over windows chosen so that the length becomes ``output_size``."""

    def forward(self, input):
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_Adaptive):
    """Means over windows chosen so that height and width become ``output_size``; None keeps a size."""

    def forward(self, input):
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_Adaptive):
    """Means over windows chosen so that depth, height and width become ``output_size``; None keeps a size."""

    def forward(self, input):
        return F.adaptive_avg_pool3d(input, self.output_size)


class _AdaptiveMax(_Adaptive):
    def __init__(self, output_size, return_indices: bool = False):
        super().__init__(output_size)
        self.return_indices = return_indices


class AdaptiveMaxPool1d(_AdaptiveMax):
    """Largest values over windows chosen so that the length becomes ``output_size``."""

    def forward(self, input):
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMax):
    """Largest values over windows chosen so that height and width become ``output_size``."""

    def forward(self, input):
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMax):
    """Largest values over windows chosen so that depth, height and width become ``output_size``."""

    def forward(self, input):
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class _MaxUnpool(Module):
    rank: int

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        self.kernel_size = spread(kernel_size, self.rank)
        self.stride = spread(stride if stride is not None else kernel_size, self.rank)
        self.padding = spread(padding, self.rank)

    def forward(self, input, indices, output_size=None):
        """``input`` at ``indices`` (of a max pooling), zeros elsewhere."""
        unpool = getattr(F, f"max_unpool{self.rank}d")
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """The inverse of MaxPool1d as far as there is one."""
    rank = 1


class MaxUnpool2d(_MaxUnpool):
    """The inverse of MaxPool2d as far as there is one."""
    rank = 2


class MaxUnpool3d(_MaxUnpool):
    """The inverse of MaxPool3d as far as there is one."""
    rank = 3


class _LPPool(Module):
    rank: int

    def __init__(self, norm_type: float, kernel_size, stride=None, ceil_mode: bool = False):
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def forward(self, input):
        return getattr(F, f"lp_pool{self.rank}d")(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self):
        return f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, ceil_mode={self.ceil_mode}"


class LPPool1d(_LPPool):
    """The power mean of windows of (N, C, L), times their size."""
    rank = 1


class LPPool2d(_LPPool):
    """The power mean of windows of (N, C, H, W), times their size."""
    rank = 2


class LPPool3d(_LPPool):
    """The power mean of windows of (N, C, D, H, W), times their size."""
    rank = 3
