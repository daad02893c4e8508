"""Weight and spectral norm in their older form: a hook computes the weight before each call (torch.nn.utils.weight_norm)."""
from __future__ import annotations

import warnings

from ...autograd import no_grad
from .. import functional as F
from ..parameter import Parameter, is_lazy
from .parametrizations import as_matrix, norm_except, output_dim, power_steps


def hook_of(module, kind, name):
    """(id, hook) of a kind among the hooks before forward, or (None, None)."""
    for key, (hook, _, _) in module._hooks.forward_pre.items() if module._hooks is not None else ():
        if isinstance(hook, kind) and hook.name == name:
            return key, hook
    return None, None


class WeightNorm:
    """The hook of weight_norm."""

    def __init__(self, name, dim):
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module):
        """g * v / norm(v)."""
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return v * (g / norm_except(v, self.dim))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module))


class SpectralNorm:
    """The hook of spectral_norm."""

    def __init__(self, name, n_power_iterations, dim, eps):
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.name, self.n_power_iterations, self.dim, self.eps = name, n_power_iterations, dim, eps

    def compute_weight(self, module, do_power_iteration):
        """The weight over its largest singular value."""
        weight, u, v = (getattr(module, f"{self.name}_{key}") for key in ("orig", "u", "v"))
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            power_steps(matrix.detach(), u, v, self.n_power_iterations, self.eps)
            u, v = u.clone(), v.clone()
        return weight / u.dot(matrix.mv(v))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module, module.training))


def weight_norm(module, name: str = "weight", dim: int = 0):
    """Split a weight into ``NAME_g`` and ``NAME_v``; deprecated for parametrizations.weight_norm."""
    warnings.warn("`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.", FutureWarning, stacklevel=2)
    if hook_of(module, WeightNorm, name)[1] is not None:
        raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    weight, hook = getattr(module, name), WeightNorm(name, dim)
    if is_lazy(weight):
        raise ValueError("The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run the dummy forward before applying "
                         "weight normalization")
    del module._parameters[name]
    with no_grad():
        module.register_parameter(name + "_g", Parameter(norm_except(weight.detach(), hook.dim)))
    module.register_parameter(name + "_v", Parameter(weight.detach()))
    setattr(module, name, hook.compute_weight(module))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module, name: str = "weight"):
    """Make the weight one parameter again."""
    key, hook = hook_of(module, WeightNorm, name)
    if hook is None:
        raise ValueError(f"weight_norm of '{name}' not found in {module}")
    weight = hook.compute_weight(module).detach()
    delattr(module, name)
    del module._parameters[name + "_g"], module._parameters[name + "_v"], module._hooks.forward_pre[key]
    setattr(module, name, Parameter(weight))
    return module


def spectral_norm(module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim=None):
    """Divide a weight by its largest singular value before each call: ``NAME_orig``, buffers ``NAME_u`` and ``NAME_v``."""
    if hook_of(module, SpectralNorm, name)[1] is not None:
        raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    hook = SpectralNorm(name, n_power_iterations, output_dim(module, dim), eps)
    weight = module._parameters[name]
    if weight is None:
        raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
    if is_lazy(weight):
        raise ValueError("The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run the dummy forward before applying "
                         "spectral normalization")
    matrix = as_matrix(weight.detach(), hook.dim)
    del module._parameters[name]
    module.register_parameter(name + "_orig", weight)
    setattr(module, name, weight.detach())
    for key, size in zip("uv", matrix.shape):
        module.register_buffer(f"{name}_{key}", F.normalize(matrix.new_empty(size).normal_(0, 1), dim=0, eps=eps))
    module.register_forward_pre_hook(hook)
    return module


def remove_spectral_norm(module, name: str = "weight"):
    """Make the weight an ordinary parameter again, of its present value."""
    key, hook = hook_of(module, SpectralNorm, name)
    if hook is None:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    with no_grad():
        weight = hook.compute_weight(module, False)
    for part in (name, name + "_u", name + "_v", name + "_orig"):
        delattr(module, part)
    del module._hooks.forward_pre[key]
    module.register_parameter(name, Parameter(weight.detach()))
    return module
