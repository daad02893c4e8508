"""autocast: which ops run in float16 and which in float32, as PyTorch's tables for CUDA have it."""
from __future__ import annotations

import warnings

from .. import devices
from ..autograd import state
from ..autograd.modes import _decorated
from ..dtypes import dtype as dtype_type
from ..dtypes import float16, float32
from ..ops.arithmetic import cast

LOW = frozenset("matmul linear attention attention_training convolution convolution_transposed prelu".split())
HIGH = frozenset("acos asin cosh sinh tan exp expm1 log log2 log10 log1p pow reciprocal rsqrt softplus cumsum cumprod sum prod norm2 softmax "
                 "log_softmax nll normalize_rows _squared_error _absolute_error _smooth_l1 _huber".split())
DEVICES = ("webgpu", "cpu")


class autocast:
    """Inside it, on tensors of ``device_type``, products (matmul, linear, convolutions, attention) run in float16 with float32 sums; norms, softmax,
    losses, exponentials and sums run in float32; everything else in the widest dtype of its arguments (torch.autocast).

    Weights stay float32; their float16 copies are made once per outermost block (``cache_enabled``). Works as a context manager and as a
    decorator, and inside compiled functions. Where the device has no float16 a warning says so and nothing is cast. Leave the block before
    ``backward()``. RuntimeError for other device types.
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        _known(device_type)
        if dtype is not None and not isinstance(dtype, dtype_type):
            raise ValueError(f"Expected `dtype` to be a dtype, got: `{type(dtype)}`")
        self.device, self.fast_dtype = device_type, dtype or float16
        self.enabled, self.caches = bool(enabled), cache_enabled is not False
        self.outside: list = []
        if self.enabled and self.fast_dtype is not float16:
            warnings.warn(f"In {device_type} autocast, but the target dtype is not supported. Disabling autocast.\n{device_type} autocast only "
                          "supports dtypes of torch.float16 currently.", stacklevel=2)
            self.enabled = False
        if self.enabled and not is_autocast_available(device_type):
            warnings.warn(f"autocast: device '{device_type}' has no float16 here. Disabling autocast.", stacklevel=2)
            self.enabled = False

    def __enter__(self):
        before = state.autocast
        self.outside.append(before)
        if self.enabled:
            copies = before.copies if before is not None and before.device == self.device else {}
            state.autocast = Policy(self.device, copies if self.caches else None)
        elif before is not None and before.device == self.device:
            state.autocast = None
        return self

    def __exit__(self, *error):
        state.autocast = self.outside.pop()

    def __call__(self, fn):
        return _decorated(lambda: autocast(self.device, self.fast_dtype, self.enabled, self.caches), fn)


class Policy:
    """What apply() asks inside an autocast block. ``copies`` holds float16 copies of leaves: {id: (leaf, version, copy)}."""
    __slots__ = ("device", "copies")

    def __init__(self, device, copies):
        self.device, self.copies = device, copies

    def operands(self, op, operands):
        """The operands in the dtype that the op runs in here."""
        if op.name in LOW:
            return [self._low(x) if self._eligible(x, float32) else x for x in operands]
        if op.name in HIGH:
            return [cast(x, float32) if self._eligible(x, float16) else x for x in operands]
        return operands

    def _eligible(self, x, dtype):
        return isinstance(x, state.tensor) and x.meta.dtype is dtype and x.meta.device.type == self.device

    def _low(self, x):
        if self.copies is None or state.recorder is not None or not (x.tracked and x.node is None and x.base is None):
            return cast(x, float16)
        found = self.copies.get(id(x))
        if found is None or found[0] is not x or found[1] != x.storage.version or found[2].tracked is not state.grad:
            found = self.copies[id(x)] = (x, x.storage.version, cast(x, float16))
        return found[2]


def _known(device_type):
    if device_type not in DEVICES:
        raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")


def is_autocast_enabled(device_type="webgpu") -> bool:
    """Whether an autocast block for this device type is active."""
    _known(device_type)
    return state.autocast is not None and state.autocast.device == device_type


def get_autocast_dtype(device_type):
    """The dtype that products run in under autocast: float16."""
    _known(device_type)
    return float16


def is_autocast_available(device_type) -> bool:
    """Whether the device computes in float16."""
    _known(device_type)
    if device_type == "cpu":
        return devices.has_cpu()
    try:
        return devices.backend("webgpu").has_f16
    except RuntimeError:
        return False
