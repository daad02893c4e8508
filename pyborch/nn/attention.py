"""Multi-head attention and the transformer encoder layer (Vaswani et al. 2017)."""
from __future__ import annotations

from . import functional as F
from . import init
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .norm import LayerNorm
from .parameter import empty_parameter


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear under the name that PyTorch prints for it here."""


class MultiheadAttention(Module):
    """Attention with ``num_heads`` heads over sequences (L, N, E), or (N, L, E) where ``batch_first``, or (L, E); parameters as torch.nn's."""

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None, vdim=None, batch_first=False,
                 device=None, dtype=None):
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} instead")
        if embed_dim % num_heads:
            raise AssertionError("embed_dim must be divisible by num_heads")
        if add_bias_kv or add_zero_attn or kdim not in (None, embed_dim) or vdim not in (None, embed_dim):
            raise NotImplementedError("MultiheadAttention: add_bias_kv, add_zero_attn, kdim and vdim are not supported")
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.head_dim = embed_dim // num_heads
        self.in_proj_weight = empty_parameter((3 * embed_dim, embed_dim), device, dtype)
        self.register_parameter("in_proj_bias", empty_parameter((3 * embed_dim,), device, dtype) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        init.xavier_uniform_(self.in_proj_weight)
        if bias:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)

    def _heads(self, x, part):
        """(N, L, E) projected by the part-th third of the weights, as (N, heads, L, E / heads)."""
        e = self.embed_dim
        bias = None if self.in_proj_bias is None else self.in_proj_bias[part * e:(part + 1) * e]
        y = F.linear(x, self.in_proj_weight[part * e:(part + 1) * e], bias)
        return y.reshape(y.shape[0], y.shape[1], self.num_heads, self.head_dim).transpose(1, 2)

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True, is_causal=False):
        """(output, attention weights or None). Masks: bool (True is ignored) or added; ``key_padding_mask`` (N, S), ``attn_mask`` (L, S) or (N * heads, L, S)."""
        batched, turned = query.dim() == 3, query.dim() == 3 and not self.batch_first
        query, key, value = (t.transpose(0, 1) if turned else t if batched else t.unsqueeze(0) for t in (query, key, value))
        q, k, v = self._heads(query, 0), self._heads(key, 1), self._heads(value, 2)
        scores = (q @ k.transpose(-2, -1)) * self.head_dim ** -0.5
        for mask in self._masks(attn_mask, key_padding_mask, q.shape[0]):
            scores = scores.masked_fill(mask, float("-inf")) if mask.dtype.name == "bool" else scores + mask
        weights = F.dropout(scores.softmax(-1), self.dropout, self.training)
        y = (weights @ v).transpose(1, 2).reshape(query.shape)
        y = self.out_proj(y)
        y = y.transpose(0, 1) if turned else y if batched else y.squeeze(0)
        if not need_weights:
            return y, None
        weights = weights.mean(1) if average_attn_weights else weights
        return y, weights if batched else weights.squeeze(0)

    def _masks(self, attn_mask, key_padding_mask, batch):
        if attn_mask is not None:
            yield attn_mask.reshape(batch, self.num_heads, *attn_mask.shape[1:]) if attn_mask.dim() == 3 else attn_mask
        if key_padding_mask is not None:
            yield (key_padding_mask if key_padding_mask.dim() == 2 else key_padding_mask.unsqueeze(0)).unsqueeze(1).unsqueeze(2)


class TransformerEncoderLayer(Module):
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
        if isinstance(activation, str):
            if activation not in ("relu", "gelu"):
                raise RuntimeError(f"activation should be relu/gelu, not {activation}")
            activation = getattr(F, activation)
        self.activation = activation

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        """The layer's output, of the shape of ``src``."""
        def attend(x):
            return self.dropout1(self.self_attn(x, x, x, key_padding_mask=src_key_padding_mask, need_weights=False, attn_mask=src_mask)[0])

        def feed(x):
            return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))
        if self.norm_first:
            x = src + attend(self.norm1(src))
            return x + feed(self.norm2(x))
        x = self.norm1(src + attend(src))
        return self.norm2(x + feed(x))
