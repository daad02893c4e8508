"""Linear layers with weights of 4 or 8 bits and float activations: a quarter or an eighth of the memory (torchao.quantization's quantize_)."""
from __future__ import annotations

from ..autograd import apply, no_grad
from ..dtypes import int32
from ..nn import Linear, Module, Parameter
from ..ops import blocks, registry

torch = registry.namespace("torch")
FORMS = {"Q4_0": blocks.Q4_0, "Q4_1": blocks.Q4_1, "Q8_0": blocks.Q8_0}


class Int4WeightOnlyConfig:
    """Four bits: each ``group_size`` (a multiple of 32) weights of a row share a float16 scale and least number."""
    bits = 4

    def __init__(self, group_size=128):
        self.group_size = group_size


class Int8WeightOnlyConfig:
    """Eight bits: each ``group_size`` (a multiple of 32; None: a whole row) weights of a row share a float16 scale."""
    bits = 8

    def __init__(self, group_size=None):
        self.group_size = group_size


class BlockLinear(Module):
    """A Linear whose weight is kept in blocks of 4 or 8 bits. ``weight``: their bytes as int32 words. Gradients reach input and bias."""

    def __init__(self, words, form, in_features, out_features, bias=None):
        super().__init__()
        self.in_features, self.out_features, self.form = in_features, out_features, form
        self.register_buffer("weight", words)
        self.register_parameter("bias", None if bias is None else Parameter(bias))

    @classmethod
    def from_bytes(cls, data, kind, in_features, out_features, bias=None, device=None):
        """A layer of a GGUF file's blocks as they lie there: ``data`` of ``kind`` "Q4_0", "Q4_1" or "Q8_0", row after row.

        ValueError for other kinds, or where the number of bytes is not what the features need.
        """
        if kind not in FORMS:
            raise ValueError(f"BlockLinear: blocks of kind {kind!r} are not known; there are: {', '.join(FORMS)}")
        form, numel = FORMS[kind], in_features * out_features
        if in_features % form.group or len(data) != numel // form.group * form.block:
            raise ValueError(f"BlockLinear: {kind} holds {form.group} numbers in {form.block} bytes; {len(data)} bytes do not make a weight of "
                             f"{out_features} x {in_features}")
        words = torch["frombuffer"](bytes(data) + bytes(-len(data) % 4), dtype=int32, device=device)
        return cls(words, form, in_features, out_features, bias)

    def dequantize(self):
        """The weight as float32 (out_features, in_features)."""
        return apply(blocks.FLOATS, self.weight, form=self.form, shape=(self.out_features, self.in_features))

    def forward(self, input):
        if input.shape[-1] != self.in_features:
            raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({input.numel() // max(1, input.shape[-1])}x{input.shape[-1]} and "
                               f"{self.in_features}x{self.out_features})")
        return apply(blocks.LINEAR, input, self.weight, self.bias, form=self.form, shape=(self.out_features, self.in_features))

    def get_extra_state(self):
        return {"form": tuple(self.form)}

    def set_extra_state(self, state):
        self.form = blocks.Form(*state["form"])

    def extra_repr(self):
        return (f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}, bits={self.form.bits}, "
                f"group_size={self.form.group}")


def quantize_(model, config, filter_fn=None) -> None:
    """Replace ``model``'s Linear layers by ones with weights of few bits, in place.

    ``config``: Int4WeightOnlyConfig or Int8WeightOnlyConfig. ``filter_fn(module, name)`` says which layers; by default every Linear whose inputs
    fit the group size. ValueError where one that it chose does not fit.
    """
    for name, layer in list(model.named_modules()):
        if not isinstance(layer, Linear):
            continue
        group = config.group_size or layer.in_features
        fits = group % 32 == 0 and layer.in_features % group == 0
        if fits if filter_fn is None else filter_fn(layer, name):
            replace_module(model, name, _blocked(layer, config.bits, group))


def _blocked(layer, bits, group):
    with no_grad():
        words, form = blocks.grouped(layer.weight.detach().float(), bits, group)
    return BlockLinear(words, form, layer.in_features, layer.out_features, None if layer.bias is None else layer.bias.detach())


def replace_module(model, name, layer) -> None:
    """Put ``layer`` in the place of the submodule of that name."""
    parent, _, last = name.rpartition(".")
    setattr(model.get_submodule(parent), last, layer)
