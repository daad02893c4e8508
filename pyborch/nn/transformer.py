"""The transformer's encoder and decoder (Vaswani et al. 2017)."""
from __future__ import annotations

import copy
import warnings

from ..autograd import is_grad_enabled, state
from ..ops import registry
from ..ops.multihead import check_mask
from . import functional as F
from . import init
from .activation import GELU, ReLU
from .attention import MultiheadAttention
from .containers import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .norm import LayerNorm

torch = registry.namespace("torch")


def _activation(activation):
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return getattr(F, activation)


class _Layer(Module):
    """What encoder and decoder layers share: a network of two linear layers, and attention as a block of its own."""

    def _feed(self, x, dropout):
        return dropout(self.linear2(self.dropout(self.activation(self.linear1(x)))))

    @staticmethod
    def _attend(attention, x, memory, mask, padding, is_causal, dropout):
        return dropout(attention(x, memory, memory, key_padding_mask=padding, need_weights=False, attn_mask=mask, is_causal=is_causal)[0])


class TransformerEncoderLayer(_Layer):
    """Self-attention and a two-layer network, each with a residual and a layer norm (before them where ``norm_first``)."""

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu, layer_norm_eps=1e-5, batch_first=False, norm_first=False,
                 bias=True, device=None, dtype=None):
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, device=device, dtype=dtype)
        self.linear1 = Linear(d_model, dim_feedforward, bias, device, dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, device, dtype)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        self.activation = _activation(activation)
        relu, gelu = self.activation is F.relu or isinstance(self.activation, ReLU), self.activation is F.gelu or isinstance(self.activation, GELU)
        self.activation_relu_or_gelu = 1 if relu else 2 if gelu else 0

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        """The layer's output, of the shape of ``src``."""
        check_mask(src_key_padding_mask, "src_key_padding_mask", src_mask, "src_mask")
        check_mask(src_mask, "src_mask")

        def attend(x):
            return self._attend(self.self_attn, x, x, src_mask, src_key_padding_mask, is_causal, self.dropout1)
        if self.norm_first:
            x = src + attend(self.norm1(src))
            return x + self._feed(self.norm2(x), self.dropout2)
        x = self.norm1(src + attend(src))
        return self.norm2(x + self._feed(x, self.dropout2))


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's output and a two-layer network, each with a residual and a layer norm."""

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu, layer_norm_eps=1e-5, batch_first=False, norm_first=False,
                 bias=True, device=None, dtype=None):
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, device=device, dtype=dtype)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, device=device, dtype=dtype)
        self.linear1 = Linear(d_model, dim_feedforward, bias, device, dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, device, dtype)
        self.norm_first = norm_first
        self.norm1, self.norm2, self.norm3 = (LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype) for _ in range(3))
        self.dropout1, self.dropout2, self.dropout3 = Dropout(dropout), Dropout(dropout), Dropout(dropout)
        self.activation = _activation(activation)

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None, tgt_is_causal=False,
                memory_is_causal=False):
        """The layer's output, of the shape of ``tgt``; ``memory`` is the encoder's output."""
        def attend(x):
            return self._attend(self.self_attn, x, x, tgt_mask, tgt_key_padding_mask, tgt_is_causal, self.dropout1)

        def remember(x):
            return self._attend(self.multihead_attn, x, memory, memory_mask, memory_key_padding_mask, memory_is_causal, self.dropout2)
        if self.norm_first:
            x = tgt + attend(self.norm1(tgt))
            x = x + remember(self.norm2(x))
            return x + self._feed(self.norm3(x), self.dropout3)
        x = self.norm1(tgt + attend(tgt))
        x = self.norm2(x + remember(x))
        return self.norm3(x + self._feed(x, self.dropout3))


def _clones(layer, count):
    return ModuleList([copy.deepcopy(layer) for _ in range(count)])


def _why_not_nested(layer):
    """Why padded positions are computed all the same, in PyTorch's words; empty where they are skipped at inference (and come out as zeros)."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    attention = layer.self_attn
    reasons = ((layer.norm_first, ".norm_first was True"),
               (not attention.batch_first, ".self_attn.batch_first was not True(use batch_first for better inference performance)"),
               (not attention._qkv_same_embed_dim, ".self_attn._qkv_same_embed_dim was not True"),
               (attention.in_proj_bias is None, ".self_attn was passed bias=False"),
               (not layer.activation_relu_or_gelu, ".activation_relu_or_gelu was not True"),
               (layer.norm1.eps != layer.norm2.eps, ".norm1.eps was not equal to encoder_layer.norm2.eps"),
               (attention.num_heads % 2 == 1, ".self_attn.num_heads is odd"))
    return next(("encoder_layer" + text for holds, text in reasons if holds), "")


class TransformerEncoder(Module):
    """``num_layers`` copies of an encoder layer, then ``norm``.

    At inference (``eval()``, no gradients) with a ``src_key_padding_mask`` alone, padded positions come out as zeros before ``norm``, as PyTorch's do.
    """

    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        super().__init__()
        self.layers = _clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        why_not = _why_not_nested(encoder_layer)
        self.use_nested_tensor = enable_nested_tensor and not why_not
        if enable_nested_tensor and why_not:
            warnings.warn(f"enable_nested_tensor is True, but self.use_nested_tensor is False because {why_not}", stacklevel=2)

    def _skips(self, src, mask, padding):
        first = self.layers[0]
        if not self.use_nested_tensor or first.training or src.dim() != 3 or padding is None or mask is not None or state.autocast is not None:
            return False
        return not (is_grad_enabled() and (src.requires_grad or any(p.requires_grad for p in first.parameters())))

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        """The last layer's output, of the shape of ``src``; ``mask`` (L, L), ``src_key_padding_mask`` (N, L)."""
        check_mask(src_key_padding_mask, "src_key_padding_mask", mask, "mask")
        check_mask(mask, "mask")
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=bool(is_causal), src_key_padding_mask=src_key_padding_mask)
        if self._skips(src, mask, src_key_padding_mask):
            hidden = src_key_padding_mask if src_key_padding_mask.dtype.name == "bool" else src_key_padding_mask != 0
            output = output.masked_fill(hidden.unsqueeze(-1), 0.0)
        return output if self.norm is None else self.norm(output)


class TransformerDecoder(Module):
    """``num_layers`` copies of a decoder layer, then ``norm``."""

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = _clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None, tgt_is_causal=None,
                memory_is_causal=False):
        """The last layer's output, of the shape of ``tgt``."""
        output = tgt
        for layer in self.layers:
            output = layer(output, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                           memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=bool(tgt_is_causal), memory_is_causal=memory_is_causal)
        return output if self.norm is None else self.norm(output)


class Transformer(Module):
    """Encoder and decoder: ``transformer(src, tgt)`` for (S, N, E) and (T, N, E) (batches first where ``batch_first``; or without N)."""

    def __init__(self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048, dropout=0.1, activation=F.relu,
                 custom_encoder=None, custom_decoder=None, layer_norm_eps=1e-5, batch_first=False, norm_first=False, bias=True, device=None, dtype=None):
        super().__init__()
        layer = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype)

        def norm():
            return LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)
        self.encoder = custom_encoder or TransformerEncoder(TransformerEncoderLayer(*layer), num_encoder_layers, norm())
        self.decoder = custom_decoder or TransformerDecoder(TransformerDecoderLayer(*layer), num_decoder_layers, norm())
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self):
        for p in self.parameters():
            if p.dim() > 1:
                init.xavier_uniform_(p)

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """(sz, sz): -inf above the diagonal, 0 elsewhere."""
        return torch["full"]((sz, sz), float("-inf"), dtype=dtype, device=device).triu(1)

    def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None, tgt_key_padding_mask=None,
                memory_key_padding_mask=None, src_is_causal=None, tgt_is_causal=None, memory_is_causal=False):
        """The decoder's output, of the shape of ``tgt``; RuntimeError where batches or features do not fit."""
        dim = 0 if self.batch_first else 1
        if src.dim() == 3 and src.shape[dim] != tgt.shape[dim]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal)
