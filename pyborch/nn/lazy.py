"""Layers that take the number of their input's features from the first input (torch.nn.LazyLinear and siblings)."""
from __future__ import annotations

import warnings

from .. import dtypes
from ..autograd import no_grad
from ..ops import registry
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .linear import Linear
from .module import Module
from .norm import BatchNorm1d, BatchNorm2d, BatchNorm3d, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d, _InstanceNorm
from .parameter import UninitializedBuffer, UninitializedParameter, is_lazy


class LazyModuleMixin:
    """A layer some of whose parameters have no shape yet: the first call gives them one and makes it a ``cls_to_become``."""

    cls_to_become: type | None = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        warnings.warn("Lazy modules are a new feature under heavy development so changes to the API or functionality can happen at any moment.", stacklevel=2)

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer waits for its shape."""
        return any(is_lazy(t) for t in (*self._parameters.values(), *self._buffers.values()))  # type: ignore[attr-defined]

    def initialize_parameters(self, *args, **kwargs) -> None:
        """Give the parameters their shapes, from the arguments of forward; a subclass writes this."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def _call(self, *args, **kwargs):
        self.initialize_parameters(*args, **kwargs)
        if self.has_uninitialized_params():
            raise RuntimeError(f"module {type(self).__name__} has not been fully initialized")
        if self.cls_to_become is None:
            return super()._call(*args, **kwargs)  # type: ignore[misc]
        self.__class__ = self.cls_to_become
        return self._call(*args, **kwargs)


class _Lazy(LazyModuleMixin, Module):
    """What the lazy layers here share: ``counted`` is the attribute that holds the number of features, 0 until it is known."""

    counted = "in_channels"

    def reset_parameters(self) -> None:
        """The starting values of ``cls_to_become``, once there are shapes."""
        if getattr(self, self.counted) and not self.has_uninitialized_params():
            super().reset_parameters()  # type: ignore[misc]

    def _forget_shapes(self, parameters, buffers=(), device=None, dtype=None):
        for name in parameters:
            self._parameters[name] = UninitializedParameter(device=device, dtype=dtype)
        for name in buffers:
            self._buffers[name] = UninitializedBuffer(device=device, dtype=dtype)

    def initialize_parameters(self, input, *args, **kwargs) -> None:
        """Shapes and starting values for an input like this."""
        features = self._features(input)
        if self.has_uninitialized_params():
            with no_grad():
                setattr(self, self.counted, features)
                for table in (self._parameters, self._buffers):
                    for name, tensor in table.items():
                        if is_lazy(tensor):
                            tensor.materialize(self._shape_of(name))
                self.reset_parameters()
        elif not getattr(self, self.counted):
            setattr(self, self.counted, features)

    def _features(self, input):
        return input.shape[-1]

    def _shape_of(self, name):
        raise NotImplementedError


class LazyLinear(_Lazy, Linear):
    """A Linear whose ``in_features`` are the last size of its first input."""

    cls_to_become = Linear
    counted = "in_features"

    def __init__(self, out_features: int, bias: bool = True, device=None, dtype=None):
        super().__init__(0, 0, False)
        self.out_features = out_features
        self._forget_shapes(("weight", "bias") if bias else ("weight",), device=device, dtype=dtype)

    def _shape_of(self, name):
        return (self.out_features, self.in_features) if name == "weight" else (self.out_features,)


class _LazyConv(_Lazy):
    def _features(self, input):
        dims = input.dim()
        if dims not in (self.rank + 1, self.rank + 2):
            raise RuntimeError(f"Expected {self.rank + 1}D (unbatched) or {self.rank + 2}D (batched) input to {type(self).__name__}, "
                               f"but got input of size: {input.shape}")
        return input.shape[dims - self.rank - 1]

    def _shape_of(self, name):
        if name == "bias":
            return (self.out_channels,)
        channels = (self.in_channels, self.out_channels // self.groups) if self.transposed else (self.out_channels, self.in_channels // self.groups)
        return channels + self.kernel_size

    def _begin(self, out_channels, bias, device, dtype):
        self.out_channels = out_channels
        self._forget_shapes(("weight", "bias") if bias else ("weight",), device=device, dtype=dtype)


class _LazyForwardConv(_LazyConv):
    def __init__(self, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, padding_mode="zeros", device=None, dtype=None):
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode)
        self._begin(out_channels, bias, device, dtype)


class _LazyTransposedConv(_LazyConv):
    def __init__(self, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1, padding_mode="zeros", device=None,
                 dtype=None):
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode)
        self._begin(out_channels, bias, device, dtype)


class LazyConv1d(_LazyForwardConv, Conv1d):
    """A Conv1d whose ``in_channels`` come from its first input."""
    cls_to_become = Conv1d


class LazyConv2d(_LazyForwardConv, Conv2d):
    """A Conv2d whose ``in_channels`` come from its first input."""
    cls_to_become = Conv2d


class LazyConv3d(_LazyForwardConv, Conv3d):
    """A Conv3d whose ``in_channels`` come from its first input."""
    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyTransposedConv, ConvTranspose1d):
    """A ConvTranspose1d whose ``in_channels`` come from its first input."""
    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposedConv, ConvTranspose2d):
    """A ConvTranspose2d whose ``in_channels`` come from its first input."""
    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposedConv, ConvTranspose3d):
    """A ConvTranspose3d whose ``in_channels`` come from its first input."""
    cls_to_become = ConvTranspose3d


class _LazyNorm(_Lazy):
    counted = "num_features"

    def __init__(self, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None, *, bias=True):
        super().__init__(0, eps, momentum, False, False)
        self.affine = affine
        self.track_running_stats = track_running_stats
        self._forget_shapes((("weight", "bias") if bias else ("weight",)) if affine else (), ("running_mean", "running_var") if track_running_stats else (),
                            device, dtype)
        if track_running_stats:
            self._buffers["num_batches_tracked"] = registry.namespace("torch")["zeros"]((), dtype=dtypes.int64, device=device)

    def _features(self, input):
        self._check_input_dim(input)
        return input.shape[-self.dims[0]] if isinstance(self, _InstanceNorm) else input.shape[1]

    def _shape_of(self, name):
        return (self.num_features,)


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """A BatchNorm1d whose ``num_features`` come from its first input."""
    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """A BatchNorm2d whose ``num_features`` come from its first input."""
    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """A BatchNorm3d whose ``num_features`` come from its first input."""
    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """An InstanceNorm1d whose ``num_features`` come from its first input."""
    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """An InstanceNorm2d whose ``num_features`` come from its first input."""
    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """An InstanceNorm3d whose ``num_features`` come from its first input."""
    cls_to_become = InstanceNorm3d
