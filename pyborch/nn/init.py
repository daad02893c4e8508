"""Starting values for parameters (torch.nn.init); every function fills its tensor in place and returns it."""
from __future__ import annotations

import math
import warnings

from ..autograd import no_grad


def calculate_gain(nonlinearity: str, param=None) -> float:
    """The gain that keeps the scale of activations after ``nonlinearity``; ``param`` is leaky_relu's slope."""
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "selu":
        return 3.0 / 4
    if nonlinearity == "leaky_relu":
        if param is not None and (isinstance(param, bool) or not isinstance(param, (int, float))):
            raise ValueError(f"negative_slope {param} not a valid number")
        slope = 0.01 if param is None else param
        return math.sqrt(2.0 / (1 + slope ** 2))
    if nonlinearity in ("linear", "sigmoid") or nonlinearity in (f"conv{t}{n}d" for t in ("", "_transpose") for n in (1, 2, 3)):
        return 1.0
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def _fans(tensor):
    """(fan_in, fan_out) of a weight: inputs and outputs of one unit, times the kernel's area."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    area = math.prod(tensor.shape[2:])
    return tensor.shape[1] * area, tensor.shape[0] * area


def _fan(tensor, mode):
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _fans(tensor)[mode == "fan_out"]


def uniform_(tensor, a: float = 0.0, b: float = 1.0, generator=None):
    """Values from U(a, b)."""
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor, mean: float = 0.0, std: float = 1.0, generator=None):
    """Values from N(mean, std^2)."""
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator=None):
    """Values from N(mean, std^2) cut off at a and b, by the inverse of the distribution."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn("mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect.",
                      stacklevel=2)

    def below(x):
        return (1.0 + math.erf((x - mean) / std / math.sqrt(2.0))) / 2.0

    with no_grad():
        tensor.uniform_(2 * below(a) - 1, 2 * below(b) - 1, generator=generator)
        return tensor.erfinv_().mul_(std * math.sqrt(2.0)).add_(mean).clamp_(a, b)


def constant_(tensor, val: float):
    """``val`` everywhere."""
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor):
    """Ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor):
    """Zeros."""
    return constant_(tensor, 0.0)


def eye_(tensor):
    """The identity matrix; ValueError unless 2-d."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        tensor.fill_(0)
        tensor.diagonal().fill_(1)
    return tensor


def dirac_(tensor, groups: int = 1):
    """A convolution that passes its channels through; weights of 3 to 5 dimensions."""
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = tensor.shape[0] // groups
    middle = [n // 2 for n in tensor.shape[2:]]
    with no_grad():
        tensor.fill_(0)
        for group in range(groups):
            for i in range(min(per_group, tensor.shape[1])):
                tensor[(group * per_group + i, i, *middle)] = 1
    return tensor


def xavier_uniform_(tensor, gain: float = 1.0, generator=None):
    """U(-a, a), a = gain * sqrt(6 / (fan_in + fan_out)) (Glorot & Bengio 2010)."""
    bound = gain * math.sqrt(6.0 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain: float = 1.0, generator=None):
    """N(0, std^2), std = gain * sqrt(2 / (fan_in + fan_out)) (Glorot & Bengio 2010)."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_fans(tensor))), generator)


def kaiming_uniform_(tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator=None):
    """U(-b, b), b = gain * sqrt(3 / fan) (He et al. 2015)."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    bound = math.sqrt(3.0) * calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator=None):
    """N(0, std^2), std = gain / sqrt(fan) (He et al. 2015)."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode)), generator)


def orthogonal_(tensor, gain: float = 1, generator=None):
    """A (semi-)orthogonal matrix, dims after the first flattened (Saxe et al. 2013); Gram-Schmidt, twice for precision."""
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    with no_grad():
        rows, columns = tensor.shape[0], tensor.numel() // tensor.shape[0]
        vectors = tensor.new_empty((min(rows, columns), max(rows, columns))).normal_(0, 1, generator=generator)
        for i in range(vectors.shape[0]):
            v = vectors[i]
            for _ in range(2 if i else 0):
                v = v - (vectors[:i] @ v) @ vectors[:i]
            vectors[i] = v / v.norm()
        matrix = vectors if rows <= columns else vectors.t()
        return tensor.copy_(matrix.reshape(tensor.shape).mul(gain))


def sparse_(tensor, sparsity: float, std: float = 0.01, generator=None):
    """N(0, std^2) with a fraction ``sparsity`` of every column zero (Martens 2010); ValueError unless 2-d."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    zeros = math.ceil(sparsity * tensor.shape[0])
    with no_grad():
        order = tensor.new_empty(tensor.shape).uniform_(0, 1, generator=generator).argsort(0).argsort(0)
        tensor.normal_(0, std, generator=generator)
        return tensor.masked_fill_(order < zeros, 0)


def _deprecated(name):
    def function(*args, **kwargs):
        warnings.warn(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning, stacklevel=2)
        return globals()[name + "_"](*args, **kwargs)
    function.__name__, function.__doc__ = name, f"The old name of {name}_."
    return function


for _name in ("uniform", "normal", "constant", "eye", "dirac", "xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal", "orthogonal", "sparse"):
    globals()[_name] = _deprecated(_name)


def __getattr__(name):
    from ..errors import absent
    raise absent(__name__, name, globals())
