"""Ready-made parametrizations: weight and spectral norm, orthogonal matrices (torch.nn.utils.parametrizations)."""
from __future__ import annotations

from ...autograd import no_grad
from ...ops import registry
from ..._tensor import Tensor
from .. import functional as F
from ..module import Module
from .parametrize import register_parametrization

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]
torch = registry.namespace("torch")
MAPS = ("matrix_exp", "cayley", "householder")


def norm_except(v, dim):
    """The 2-norm of every slice along ``dim`` (of all where -1), with dims of size 1 for the others."""
    if dim == -1:
        return v.norm()
    dims = [d for d in range(v.dim()) if d != dim % v.dim()]
    return v.square().sum(dims, keepdim=True).sqrt() if dims else v.abs()


class _WeightNorm(Module):
    """weight = g * v / norm(v)."""

    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return weight_v * (weight_g / norm_except(weight_v, self.dim))

    def right_inverse(self, weight):
        return norm_except(weight, self.dim), weight


def weight_norm(module, name: str = "weight", dim: int = 0):
    """Split a weight into its norms along ``dim`` (original0) and a direction (original1), both learned (Salimans & Kingma 2016)."""
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def older_names(module, state_dict, prefix, *rest):
        old = f"{prefix}{name}_g", f"{prefix}{name}_v"
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)
    module.register_load_state_dict_pre_hook(older_names)
    return module


class _SpectralNorm(Module):
    """weight / its largest singular value, which a power iteration estimates: one step at each use in training."""

    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        ndim = weight.dim()
        if not -ndim <= dim < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.dim, self.eps = dim % ndim, eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight.detach(), self.dim)
            for key, size in zip(("_u", "_v"), matrix.shape):
                self.register_buffer(key, F.normalize(matrix.new_empty(size).normal_(0, 1), dim=0, eps=eps))
            power_steps(matrix, self._u, self._v, 15, eps)

    def forward(self, weight):
        if weight.dim() == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            power_steps(matrix.detach(), self._u, self._v, self.n_power_iterations, self.eps)
        return weight / self._u.clone().dot(matrix.mv(self._v.clone()))

    def right_inverse(self, value):
        return value


def as_matrix(weight, dim):
    """``dim`` as rows, the others together as columns."""
    if dim != 0:
        weight = weight.permute(dim, *[d for d in range(weight.dim()) if d != dim])
    return weight.flatten(1)


def power_steps(matrix, u, v, count, eps):
    """Improve the largest singular vectors u and v of a matrix in place."""
    with no_grad():
        for _ in range(count):
            u.copy_(F.normalize(matrix.mv(v), dim=0, eps=eps))
            v.copy_(F.normalize(matrix.t().mv(u), dim=0, eps=eps))


def _weight_of(module, name):
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


def output_dim(module, dim):
    """The dim of a weight that counts outputs: 1 for transposed convolutions, else 0, unless given."""
    return (1 if getattr(module, "transposed", False) else 0) if dim is None else dim


def spectral_norm(module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim=None):
    """Divide a weight by its largest singular value (Miyato et al. 2018)."""
    weight = _weight_of(module, name)
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, output_dim(module, dim), eps))


def _orthogonal_from(matrix):
    """Q of the QR decomposition with a positive diagonal of R."""
    reflections, tau = torch["geqrf"](matrix)
    q = registry.namespace("linalg")["householder_product"](reflections, tau)
    return q * reflections.diagonal(dim1=-2, dim2=-1).sign().unsqueeze(-2)


class _Orthogonal(Module):
    """A matrix with orthonormal columns (or rows, where there are fewer) from any matrix."""

    def __init__(self, weight, orthogonal_map, *, use_trivialization=True):
        super().__init__()
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x):
        wide = x.shape[-2] < x.shape[-1]
        x = x.mT if wide else x
        n, k = x.shape[-2:]
        if self.orthogonal_map == "householder":
            a = x.tril(-1)
            tau = 2.0 / (1.0 + (a * a).sum(-2))
            q = registry.namespace("linalg")["householder_product"](a, tau) * x.diagonal(dim1=-2, dim2=-1).trunc().unsqueeze(-2)
        else:
            x = x.tril()
            if n != k:
                x = torch["cat"]([x, torch["zeros"]((*x.shape[:-2], n, n - k), dtype=x.dtype, device=x.device)], -1)
            q = self._mapped(x - x.mT)[..., :k]
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if wide else q

    def _mapped(self, a):
        """exp of an antisymmetric matrix, or its Cayley transform."""
        if self.orthogonal_map == "matrix_exp":
            return torch["matrix_exp"](a)
        one = torch["eye"](a.shape[-1], dtype=a.dtype, device=a.device)
        return registry.namespace("linalg")["solve"](one - a * 0.5, one + a * 0.5)

    def right_inverse(self, q):
        if q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {q.shape}.")
        given, wide = q, q.shape[-2] < q.shape[-1]
        with no_grad():
            q = q.mT if wide else q
            n, k = q.shape[-2:]
            if not hasattr(self, "base"):
                return self._reflections(q, wide)
            if n == k:
                square = q.mT @ q
                one = torch["eye"](k, dtype=q.dtype, device=q.device).expand(square.shape)
                least = 10.0 * n * (2.0 ** -52 if q.dtype.name == "float64" else 2.0 ** -23)
                self.base = q.clone() if torch["allclose"](square, one, atol=least) else _orthogonal_from(q)
            else:
                more = torch["randn"]((*q.shape[:-2], n, n - k), dtype=q.dtype, device=q.device)
                self.base = _orthogonal_from(torch["cat"]([q, more], -1))
            start = torch["zeros_like"](given)
            start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
            return start

    def _reflections(self, q, wide):
        if self.orthogonal_map != "householder":
            raise NotImplementedError("It is not possible to assign to the matrix exponential or the Cayley parametrizations when use_trivialization=False.")
        a, tau = torch["geqrf"](q)
        a = a.clone()
        diagonal = a.diagonal(dim1=-2, dim2=-1)
        diagonal.copy_(torch["where"](tau == 0.0, -diagonal.sign(), diagonal.sign()))
        return a.mT if wide else a


def orthogonal(module, name: str = "weight", orthogonal_map=None, *, use_trivialization: bool = True):
    """Keep a weight orthogonal: by "matrix_exp" (for square ones), "cayley" or "householder" (Lezcano-Casado 2019)."""
    weight = _weight_of(module, name)
    if weight.dim() < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions.")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.shape[-2] == weight.shape[-1] else "householder"
    if orthogonal_map not in MAPS:
        raise ValueError(f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}')
    return register_parametrization(module, name, _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization), unsafe=True)
