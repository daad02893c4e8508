"""torch.ops.aten: the registry's functions under PyTorch's inner names, with overloads (``aten.add.Tensor``), and some that have no other name."""
from __future__ import annotations

from .registry import FUNCTIONS


def _pool_backward(grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices):
    """The gradient of max_pool2d(): ``grad_output`` added up at ``indices``, in the shape of ``self``, whose own gradient is zero."""
    *batch, height, width = self.shape
    flat = grad_output.new_zeros((*batch, height * width)).scatter_add(-1, indices.flatten(-2), grad_output.flatten(-2))
    found = flat.reshape(self.shape)
    if not self.requires_grad:
        return found
    return FUNCTIONS["torch"]["where"](self.detach().isnan() & False, self, found)


def _softmax_backward(grad_output, output, dim, input_dtype):
    """The gradient of softmax() from its output."""
    return ((grad_output - (grad_output * output).sum(dim, keepdim=True)) * output).to(input_dtype)


def _safe(self, dim, dtype=None):
    """softmax() with zeros, not NaN, for rows that are minus infinity throughout."""
    found = self.softmax(dim, dtype=dtype)
    return found.masked_fill((self == -1e999).all(dim, keepdim=True), 0)


def _dropout_backward(grad_output, mask, scale):
    """The gradient of dropout: ``grad_output`` where ``mask`` is True, times ``scale``."""
    return grad_output * mask * scale


def _slice(self, dim=0, start=None, end=None, step=1):
    """self[start:end:step] along ``dim``."""
    index = [slice(None)] * self.dim()
    index[dim] = slice(start, end, step)
    return self[tuple(index)]


OWN = {"max_pool2d_with_indices_backward": _pool_backward, "_softmax_backward_data": _softmax_backward, "_safe_softmax": _safe,
       "native_dropout_backward": _dropout_backward, "slice": _slice}


class Overloads:
    """A function; its overloads are the same function."""

    def __init__(self, name, function):
        self.name, self.function = name, function

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self.function


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    function = OWN.get(name) or next((FUNCTIONS[space][name] for space in ("torch", "F", "linalg", "special") if name in FUNCTIONS[space]), None)
    if function is None:
        from ..errors import absent
        raise absent("torch.ops.aten", name.lstrip("_"), FUNCTIONS["torch"])
    return Overloads(name, function)
