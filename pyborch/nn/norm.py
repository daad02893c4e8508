"""Normalisation layers: batch, instance, layer, group and RMS norm, local response."""
from __future__ import annotations

import warnings

from .. import dtypes
from ..autograd import no_grad
from ..ops import registry
from . import functional as F
from . import init
from .module import Module
from .parameter import empty_parameter

torch = registry.namespace("torch")


class _StatNorm(Module):
    """Batch and instance norm: optional affine parameters, optional running mean and variance (unbiased)."""

    _version = 2     # 2: num_batches_tracked

    def __init__(self, num_features: int, eps: float = 1e-5, momentum=0.1, affine: bool = True, track_running_stats: bool = True,
                 device=None, dtype=None, *, bias: bool = True):
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        self.register_parameter("weight", empty_parameter((num_features,), device, dtype) if affine else None)
        self.register_parameter("bias", empty_parameter((num_features,), device, dtype) if affine and bias else None)
        if track_running_stats:
            self.register_buffer("running_mean", torch["zeros"](num_features, device=device, dtype=dtype))
            self.register_buffer("running_var", torch["ones"](num_features, device=device, dtype=dtype))
            self.register_buffer("num_batches_tracked", torch["zeros"]((), dtype=dtypes.int64, device=device))
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Running mean 0, variance 1, no batches seen."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0, fresh running statistics."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input):
        if input.dim() not in self.dims:
            wanted = " or ".join(f"{d}D" for d in self.dims)
            raise ValueError(f"expected {wanted} input (got {input.dim()}D input)")

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
        key = prefix + "num_batches_tracked"
        if (local_metadata.get("version") or 1) < 2 and self.track_running_stats and key not in state_dict:
            state_dict[key] = self.num_batches_tracked.detach().clone()     # files older than the buffer
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def extra_repr(self):
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, bias={self.bias is not None}, "
                f"track_running_stats={self.track_running_stats}")


class _BatchNorm(_StatNorm):
    def forward(self, input):
        self._check_input_dim(input)
        if not self.training:
            uses_batch = self.running_mean is None
            return F.batch_norm(input, self.running_mean, self.running_var, self.weight, self.bias, uses_batch, 0.0, self.eps)
        if not self.track_running_stats or self.running_mean is None:
            return F.batch_norm(input, None, None, self.weight, self.bias, True, 0.0, self.eps)
        with no_grad():
            self.num_batches_tracked.add_(1)
        if self.momentum is not None:
            return F.batch_norm(input, self.running_mean, self.running_var, self.weight, self.bias, True, self.momentum, self.eps)
        return self._cumulative(input)

    def _cumulative(self, input):
        """momentum=None: plain averages over all batches; the count stays on the device, so that nothing is read."""
        mean, variance = torch["zeros_like"](self.running_mean), torch["zeros_like"](self.running_var)
        output = F.batch_norm(input, mean, variance, self.weight, self.bias, True, 1.0, self.eps)
        with no_grad():
            for running, batch in ((self.running_mean, mean), (self.running_var, variance)):
                running.add_((batch - running) / self.num_batches_tracked)
        return output


class BatchNorm1d(_BatchNorm):
    """Per channel of (N, C) or (N, C, L): ``(x - mean) / sqrt(var + eps) * weight + bias`` (Ioffe & Szegedy 2015)."""
    dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch norm over (N, C, H, W)."""
    dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch norm over (N, C, D, H, W)."""
    dims = (5,)


class _InstanceNorm(_StatNorm):
    _version = 2

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
                 track_running_stats: bool = False, device=None, dtype=None, *, bias: bool = True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input):
        self._check_input_dim(input)
        if input.shape[-self.dims[0]] != self.num_features:
            if self.affine:
                raise ValueError(f"expected input's size at dim={input.dim() - self.dims[0]} to match num_features ({self.num_features}), "
                                 f"but got: {input.shape[-self.dims[0]]}.")
            warnings.warn(f"input's size at dim={input.dim() - self.dims[0]} does not match num_features. You can silence this warning by "
                          "not passing in num_features, which is not used because affine=False", stacklevel=2)
        batched = input if input.dim() == self.dims[1] else input.unsqueeze(0)
        output = F.instance_norm(batched, self.running_mean, self.running_var, self.weight, self.bias,
                                 self.training or not self.track_running_stats, self.momentum or 0.0, self.eps)
        return output if batched is input else output.squeeze(0)


class InstanceNorm1d(_InstanceNorm):
    """Normalises every channel of every sample of (N, C, L) by itself (Ulyanov et al. 2016)."""
    dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalises every channel of every sample of (N, C, H, W) by itself."""
    dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalises every channel of every sample of (N, C, D, H, W) by itself."""
    dims = (4, 5)


def _shape(normalized_shape):
    return (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)


class LayerNorm(Module):
    """Normalises over the last dims (``normalized_shape``) of each sample (Ba et al. 2016)."""

    def __init__(self, normalized_shape, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.register_parameter("weight", empty_parameter(self.normalized_shape, device, dtype) if elementwise_affine else None)
        self.register_parameter("bias", empty_parameter(self.normalized_shape, device, dtype) if elementwise_affine and bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"


class RMSNorm(Module):
    """``x / sqrt(mean(x^2) + eps) * weight`` over the last dims (Zhang & Sennrich 2019); eps None is the dtype's epsilon."""

    def __init__(self, normalized_shape, eps=None, elementwise_affine: bool = True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.register_parameter("weight", empty_parameter(self.normalized_shape, device, dtype) if elementwise_affine else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x):
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Normalises over groups of channels of each sample of (N, C, *) (Wu & He 2018)."""

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device=None, dtype=None, *,
                 bias: bool = True):
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self.register_parameter("weight", empty_parameter((num_channels,), device, dtype) if affine else None)
        self.register_parameter("bias", empty_parameter((num_channels,), device, dtype) if affine and bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class LocalResponseNorm(Module):
    """Divides by a power of the mean square over ``size`` neighbouring channels (Krizhevsky et al. 2012)."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0):
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input):
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self):
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
