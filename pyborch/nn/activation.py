"""Activation layers, each a call of the function of the same name in functional.py."""
from __future__ import annotations

import warnings

from . import functional as F
from . import init
from .module import Module
from .parameter import empty_parameter


class _Activation(Module):
    """Shows its attributes in the order they were set; ``inplace`` only when it is on."""

    def extra_repr(self):
        shown = ((k, v) for k, v in self.__dict__.items() if not k.startswith("_") and k != "training")
        return ", ".join(f"{k}={v!r}" for k, v in shown if k != "inplace" or v)


class _InPlace(_Activation):
    def __init__(self, inplace: bool = False):
        super().__init__()
        self.inplace = inplace


class ReLU(_InPlace):
    """max(0, x)."""

    def forward(self, input):
        return F.relu(input, inplace=self.inplace)


class ReLU6(_InPlace):
    """min(max(0, x), 6)."""

    def forward(self, input):
        return F.relu6(input, self.inplace)


class SELU(_InPlace):
    """1.0507 * (x if x > 0 else 1.6733 * (exp(x) - 1)) (Klambauer et al. 2017)."""

    def forward(self, input):
        return F.selu(input, self.inplace)


class SiLU(_InPlace):
    """x * sigmoid(x), also called swish."""

    def forward(self, input):
        return F.silu(input, inplace=self.inplace)


class Mish(_InPlace):
    """x * tanh(softplus(x)) (Misra 2019)."""

    def forward(self, input):
        return F.mish(input, inplace=self.inplace)


class Hardswish(_InPlace):
    """x * relu6(x + 3) / 6 (Howard et al. 2019)."""

    def forward(self, input):
        return F.hardswish(input, self.inplace)


class Hardsigmoid(_InPlace):
    """relu6(x + 3) / 6."""

    def forward(self, input):
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self):
        return ""


class LeakyReLU(_Activation):
    """x where positive, negative_slope * x elsewhere."""

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False):
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input):
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class ELU(_Activation):
    """x where positive, alpha * (exp(x) - 1) elsewhere (Clevert et al. 2015)."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False):
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input):
        return F.elu(input, self.alpha, self.inplace)


class CELU(_Activation):
    """x where positive, alpha * (exp(x / alpha) - 1) elsewhere (Barron 2017)."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False):
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input):
        return F.celu(input, self.alpha, self.inplace)


class PReLU(Module):
    """x where positive, weight * x elsewhere; weight is learned, one or one per channel (He et al. 2015)."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = empty_parameter((num_parameters,), device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight ``init`` everywhere."""
        init.constant_(self.weight, self.init)

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"


class RReLU(_Activation):
    """Leaky ReLU whose slope is drawn from U(lower, upper) per element in training, their mean in evaluation."""

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False):
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class GELU(_Activation):
    """x * Phi(x), Phi the normal distribution function; ``approximate="tanh"`` uses its tanh form (Hendrycks & Gimpel 2016)."""

    def __init__(self, approximate: str = "none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, input):
        return F.gelu(input, approximate=self.approximate)


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, input):
        return input.sigmoid()


class Tanh(Module):
    """Hyperbolic tangent."""

    def forward(self, input):
        return input.tanh()


class Softsign(Module):
    """x / (1 + |x|)."""

    def forward(self, input):
        return F.softsign(input)


class Tanhshrink(Module):
    """x - tanh(x)."""

    def forward(self, input):
        return F.tanhshrink(input)


class LogSigmoid(Module):
    """log(1 / (1 + exp(-x))), without overflow."""

    def forward(self, input):
        return F.logsigmoid(input)


class Softplus(_Activation):
    """log(1 + exp(beta * x)) / beta; x itself where beta * x > threshold."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0):
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input):
        return F.softplus(input, self.beta, self.threshold)


class _Shrink(Module):
    def __init__(self, lambd: float = 0.5):
        super().__init__()
        self.lambd = lambd

    def extra_repr(self):
        return str(self.lambd)


class Softshrink(_Shrink):
    """x moved towards 0 by lambd, 0 within."""

    def forward(self, input):
        return F.softshrink(input, self.lambd)


class Hardshrink(_Shrink):
    """x where |x| > lambd, else 0."""

    def forward(self, input):
        return F.hardshrink(input, self.lambd)


class Hardtanh(_Activation):
    """x clamped to [min_val, max_val]."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False, min_value=None, max_value=None):
        super().__init__()
        for name, value in (("min", min_value), ("max", max_value)):
            if value is not None:
                warnings.warn(f"keyword argument `{name}_value` is deprecated and rename to `{name}_val`", FutureWarning, stacklevel=2)
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input):
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


class Threshold(_Activation):
    """x where x > threshold, else value."""

    def __init__(self, threshold: float, value: float, inplace: bool = False):
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input):
        return F.threshold(input, self.threshold, self.value, self.inplace)


class GLU(_Activation):
    """First half along dim times sigmoid of the second half (Dauphin et al. 2016)."""

    def __init__(self, dim: int = -1):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return F.glu(input, self.dim)


class _AlongDim(_Activation):
    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim


class Softmax(_AlongDim):
    """exp(x) / sum(exp(x)) along dim."""

    def forward(self, input):
        return F.softmax(input, self.dim)


class LogSoftmax(_AlongDim):
    """log(softmax(x)) along dim."""

    def forward(self, input):
        return F.log_softmax(input, self.dim)


class Softmin(_AlongDim):
    """softmax(-x) along dim."""

    def forward(self, input):
        return F.softmin(input, self.dim)


class Softmax2d(Module):
    """Softmax over the channels at each place of (N, C, H, W) or (C, H, W)."""

    def forward(self, input):
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)
