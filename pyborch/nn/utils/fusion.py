"""Batch norm folded into the layer before it, and layers without starting values (torch.nn.utils.fuse_conv_bn_eval, skip_init)."""
from __future__ import annotations

import copy

from ...ops import registry
from ..module import Module
from ..parameter import Parameter

torch = registry.namespace("torch")


def _fused(w, b, mean, variance, eps, weight, bias, shape):
    scale = (variance + eps).rsqrt()
    scale = scale if weight is None else scale * weight
    shift = -mean if b is None else b - mean
    new = (w * scale.reshape(shape)).to(dtype=w.dtype), (shift * scale + (0 if bias is None else bias)).to(dtype=w.dtype if b is None else b.dtype)
    return Parameter(new[0].detach(), w.requires_grad), Parameter(new[1].detach(), b is not None and b.requires_grad)


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose: bool = False):
    """(weight, bias) of a convolution that computes convolution and batch norm at once."""
    lead = (1, -1) if transpose else (-1, 1)
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, (*lead, *[1] * (conv_w.dim() - 2)))


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """(weight, bias) of a linear layer that computes layer and batch norm at once."""
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, (-1, 1))


def fuse_conv_bn_eval(conv, bn, transpose: bool = False):
    """A copy of ``conv`` that computes ``bn(conv(x))``; both in evaluation mode."""
    if conv.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose)
    return fused


def fuse_linear_bn_eval(linear, bn):
    """A copy of ``linear`` that computes ``bn(linear(x))``; both in evaluation mode."""
    if linear.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
    return fused


def skip_init(module_cls, *args, **kwargs):
    """A module whose parameters and buffers are memory as it comes; RuntimeError unless its class takes ``device``."""
    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    import inspect
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    return module_cls(*args, **kwargs).to_empty(device=kwargs.get("device"))


def convert_conv2d_weight_memory_format(module, memory_format):
    """The module itself: memory has one format here."""
    return module


def convert_conv3d_weight_memory_format(module, memory_format):
    """The module itself: memory has one format here."""
    return module
