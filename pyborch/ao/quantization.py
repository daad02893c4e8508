"""Networks in int8: a forward pass that is faster and weights that are a quarter as large (torch.ao.quantization, without its tracing).

    model = quantization.fuse_modules(model.eval(), [["conv", "bn"], ...])      # where there are batch norms: faster
    prepared = quantization.prepare(model)
    for x, _ in calibration: prepared(x)          # a few batches of real data
    model8 = quantization.convert(prepared)

Weights are rounded per output channel, symmetrically; activations per layer, over the range that calibration met. Sums of products are exact.
"""
from __future__ import annotations

import copy

from ..autograd import apply, no_grad
from ..nn import BatchNorm1d, BatchNorm2d, Conv2d, Identity, Linear, Module, Parameter, ReLU, Sequential
from ..ops import quantized, registry
from ..ops.convolutions import checked_geometry
from .weight_only import BlockLinear, Int4WeightOnlyConfig, Int8WeightOnlyConfig, quantize_, replace_module

__all__ = ["BlockLinear", "Int4WeightOnlyConfig", "Int8Conv2d", "Int8Linear", "Int8WeightOnlyConfig", "MinMaxObserver", "convert", "fuse_modules",
           "prepare", "quantize_"]
torch = registry.namespace("torch")
SMALLEST = 2.0 ** -126


class MinMaxObserver(Module):
    """Remembers the least and the greatest number it has been given (torch.ao.quantization.MinMaxObserver for affine qint8)."""

    def __init__(self):
        super().__init__()
        self.reset_min_max_vals()

    def reset_min_max_vals(self) -> None:
        """Forget what was met."""
        self.register_buffer("min_val", torch["tensor"](float("inf")))
        self.register_buffer("max_val", torch["tensor"](float("-inf")))

    def forward(self, x):
        """``x`` itself."""
        with no_grad():
            self.min_val = torch["minimum"](self.min_val.to(x.device), x.detach().float().min())
            self.max_val = torch["maximum"](self.max_val.to(x.device), x.detach().float().max())
        return x

    def calculate_qparams(self):
        """(scale, zero_point): real = (int8 - zero_point) * scale. RuntimeError where nothing was met."""
        low, high = self.min_val.item(), self.max_val.item()
        if low > high:
            raise RuntimeError("must run observer before calling calculate_qparams: no data has gone through this layer. Run the prepared model "
                               "on some batches before convert()")
        low, high = min(low, 0.0), max(high, 0.0)
        scale = max((high - low) / 255, SMALLEST)
        return scale, max(-128, min(127, -128 - round(low / scale)))


def quantized_weight(weight):
    """(int8 words along the input channels, scale of each output channel) of a weight whose first dim is the output's."""
    largest = weight.abs().flatten(1).amax(1)
    scale = torch["clamp"](largest / 127, min=SMALLEST)
    return quantized.packed(weight / scale.reshape(-1, *[1] * (weight.dim() - 1)), 1.0, 0.0, 1), scale


class _Int8(Module):
    """What int8 layers share. Buffers: ``weight`` (words), ``scale`` (of sums) and ``bias``, by output channel; float32 in and out."""

    def _keep(self, weight, bias, scale, zero_point):
        self.input_scale, self.zero_point = float(scale), int(zero_point)
        words, by_channel = quantized_weight(weight.detach().float())
        whole = torch["round"](weight.detach().float() / by_channel.reshape(-1, *[1] * (weight.dim() - 1)))
        total = by_channel * self.input_scale
        shift = total * whole.flatten(1).sum(1) * self.zero_point        # of every sum, since int8 are off by zero_point
        self.register_buffer("weight", words)
        self.register_buffer("scale", total)
        self.register_buffer("bias", (0.0 if bias is None else bias.detach().float()) - shift)

    def _words(self, input, dim):
        return quantized.packed(input, 1 / self.input_scale, float(self.zero_point), dim)

    def get_extra_state(self):
        return {"input_scale": self.input_scale, "zero_point": self.zero_point}

    def set_extra_state(self, state):
        self.input_scale, self.zero_point = state["input_scale"], state["zero_point"]

    def _kind(self):
        return f"input_scale={self.input_scale:.6g}, zero_point={self.zero_point}"


class Int8Conv2d(_Int8):
    """A Conv2d of int8 products over (N, C, H, W) float32; made by :func:`convert`. With groups, their channels are multiples of 4."""

    def __init__(self, layer, scale, zero_point):
        super().__init__()
        self.in_channels, self.out_channels, self.kernel_size = layer.in_channels, layer.out_channels, layer.kernel_size
        self.stride, self.padding, self.dilation, self.groups = layer.stride, layer.padding, layer.dilation, layer.groups
        self._keep(layer.weight, layer.bias, scale, zero_point)

    def forward(self, input):
        batched = input.dim() == 4
        if input.dim() >= 3 and input.shape[-3] != self.in_channels:
            raise RuntimeError(f"Given groups={self.groups}, expected input{list(input.shape)} to have {self.in_channels} channels, but got "
                               f"{input.shape[-3]} channels instead")
        words = self._words(input if batched else input.unsqueeze(0), 1)
        stride, before, dilation, size = checked_geometry("conv2d", 2, words, self.weight, None, self.stride, self.padding, self.dilation, self.groups)
        y = apply(quantized.CONVOLVE, words, self.weight, self.scale, self.bias, stride=stride, padding=before, dilation=dilation, groups=self.groups,
                  size=size, zero=self.zero_point)
        return y if batched else y.squeeze(0)

    def extra_repr(self):
        return f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, {self._kind()}"


class Int8Linear(_Int8):
    """A Linear of int8 products over (*, in_features) float32; made by :func:`convert`."""

    def __init__(self, layer, scale, zero_point):
        super().__init__()
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self._keep(layer.weight, layer.bias, scale, zero_point)

    def forward(self, input):
        if input.shape[-1] != self.in_features:
            raise RuntimeError(f"Int8Linear: expected {self.in_features} features in the last dim, got input of shape {list(input.shape)}")
        return apply(quantized.LINEAR, self._words(input, -1), self.weight, self.scale, self.bias)

    def extra_repr(self):
        return f"in_features={self.in_features}, out_features={self.out_features}, {self._kind()}"


def fuse_modules(model, modules_to_fuse, inplace=False):
    """A copy of ``model`` (itself where ``inplace``) in which batch norms are part of the layers before them, as in torch.ao.quantization.

    ``modules_to_fuse``: lists of names, as ``["conv1", "bn1"]`` or ``["layer.conv", "layer.bn", "layer.relu"]``: a Conv2d and BatchNorm2d or a Linear
    and BatchNorm1d, then perhaps a ReLU. The first takes it all (with a ReLU it becomes a Sequential), the others become Identity. Only name
    layers that nothing else comes between. RuntimeError where the model is in training mode, NotImplementedError for other layers.
    """
    if model.training:
        raise RuntimeError("fuse_modules(): batch statistics cannot be part of a layer; call model.eval() first")
    model = model if inplace else copy.deepcopy(model)
    lists = modules_to_fuse if modules_to_fuse and not isinstance(modules_to_fuse[0], str) else [modules_to_fuse]
    for names in lists:
        _fuse(model, names)
    return model


def _fuse(model, names):
    layers = [model.get_submodule(name) for name in names]
    kinds = tuple(type(layer) for layer in layers)
    if kinds[:2] not in ((Conv2d, BatchNorm2d), (Linear, BatchNorm1d)) or kinds[2:] not in ((), (ReLU,)):
        raise NotImplementedError(f"Cannot fuse modules: {kinds}")
    first, norm = layers[:2]
    with no_grad():
        factor = torch["rsqrt"](norm.running_var + norm.eps) * (1.0 if norm.weight is None else norm.weight)
        bias = (-norm.running_mean if first.bias is None else first.bias - norm.running_mean) * factor
        first.weight.copy_(first.weight * factor.reshape(-1, *[1] * (first.weight.dim() - 1)))
        first.bias = Parameter(bias if norm.bias is None else bias + norm.bias)
    replace_module(model, names[0], Sequential(first, layers[2]) if len(layers) > 2 else first)
    for name in names[1:]:
        replace_module(model, name, Identity())


def _suits(layer):
    """Whether a layer has an int8 form."""
    if isinstance(layer, Conv2d):
        return layer.padding_mode == "zeros" and (layer.groups == 1 or layer.in_channels // layer.groups % 4 == 0)
    return isinstance(layer, Linear)


def prepare(model, inplace=False):
    """A copy of ``model`` (itself where ``inplace``) whose layers that have an int8 form observe what goes into them.

    ValueError where there is no such layer: Conv2d with zero padding (grouped: with channels in fours) and Linear have one.
    """
    model = model if inplace else copy.deepcopy(model)
    layers = [m for m in model.modules() if _suits(m)]
    if not layers:
        raise ValueError("prepare(): the model has no Conv2d or Linear that can be quantised")
    for layer in layers:
        layer.activation_post_process = MinMaxObserver()
        layer._observing = layer.register_forward_pre_hook(_observe)
    return model


def _observe(layer, inputs):
    layer.activation_post_process(inputs[0])


def convert(model, inplace=False):
    """A copy of a prepared and calibrated model (itself where ``inplace``) with int8 layers in place of those that were observed.

    It is for inference: there are no gradients. RuntimeError where nothing went through a layer. Compile it for speed.
    """
    model = model if inplace else copy.deepcopy(model)
    return _converted(model) if hasattr(model, "activation_post_process") else _convert_inside(model)


def _convert_inside(module):
    for name, child in list(module.named_children()):
        setattr(module, name, _converted(child)) if hasattr(child, "activation_post_process") else _convert_inside(child)
    return module


def _converted(layer):
    scale, zero_point = layer.activation_post_process.calculate_qparams()
    with no_grad():
        return (Int8Conv2d if isinstance(layer, Conv2d) else Int8Linear)(layer, scale, zero_point)
