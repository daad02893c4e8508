"""Multi-head attention (Vaswani et al. 2017)."""
from __future__ import annotations

from ..ops.multihead import attend, check
from . import functional as F
from . import init
from .linear import Linear
from .module import Module
from .parameter import empty_parameter


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear under the name that PyTorch prints for it here."""


class MultiheadAttention(Module):
    """Attention with ``num_heads`` heads over sequences (L, N, E), or (N, L, E) where ``batch_first``, or (L, E); parameters as torch.nn's.

    ``kdim`` and ``vdim``: features of key and value; ``add_bias_kv``: one more learned key and value; ``add_zero_attn``: one more of zeros.
    """

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None, vdim=None, batch_first=False,
                 device=None, dtype=None):
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} instead")
        if embed_dim % num_heads:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self.head_dim = embed_dim // num_heads
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        separate = {"q_proj_weight": embed_dim, "k_proj_weight": self.kdim, "v_proj_weight": self.vdim}
        if self._qkv_same_embed_dim:
            self.in_proj_weight = empty_parameter((3 * embed_dim, embed_dim), device, dtype)
            separate = dict.fromkeys(separate)
        for name, size in separate.items():
            self.register_parameter(name, None if size is None else empty_parameter((embed_dim, size), device, dtype))
        if not self._qkv_same_embed_dim:
            self.register_parameter("in_proj_weight", None)
        self.register_parameter("in_proj_bias", empty_parameter((3 * embed_dim,), device, dtype) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        self.bias_k = empty_parameter((1, 1, embed_dim), device, dtype) if add_bias_kv else None
        self.bias_v = empty_parameter((1, 1, embed_dim), device, dtype) if add_bias_kv else None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self):
        for weight in [self.in_proj_weight] if self._qkv_same_embed_dim else [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]:
            init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for weight in (self.bias_k, self.bias_v):
            if weight is not None:
                init.xavier_normal_(weight)

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True, is_causal=False):
        """(output, attention weights or None). Masks: bool (True is ignored) or added; ``key_padding_mask`` (N, S), ``attn_mask`` (L, S) or (N * heads, L, S).

        Without ``need_weights`` the scores are not kept, which is faster. ``is_causal`` says that ``attn_mask`` is the causal one.
        """
        weights = (self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v, self.add_zero_attn)
        separate = None if self._qkv_same_embed_dim else (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        if not self.batch_first or query.dim() != 3:
            names = dict(zip(("q_proj_weight", "k_proj_weight", "v_proj_weight"), separate or ()))
            return F.multi_head_attention_forward(query, key, value, self.embed_dim, self.num_heads, *weights, self.dropout, self.out_proj.weight,
                                                  self.out_proj.bias, self.training, key_padding_mask, need_weights, attn_mask,
                                                  bool(separate), **names, average_attn_weights=average_attn_weights, is_causal=is_causal)
        check(query, key, value, key_padding_mask, attn_mask, self.num_heads, self.embed_dim, bool(separate))
        return attend(query, key, value, self.num_heads, *weights, self.dropout if self.training else 0.0, self.out_proj.weight, self.out_proj.bias,
                      key_padding_mask, need_weights, attn_mask, separate, average_attn_weights=average_attn_weights, is_causal=is_causal, batch_dim=0)

    def merge_masks(self, attn_mask, key_padding_mask, query):
        """(one mask or None, its kind: 1 of padding, 2 of (N, heads, L, L), or None) out of both."""
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        batch, length = query.shape[:2]
        merged = attn_mask.reshape(batch, -1, length, length) if attn_mask.dim() == 3 else attn_mask.expand(batch, self.num_heads, length, length)
        if key_padding_mask is not None:
            padding = key_padding_mask.reshape(batch, 1, 1, length)
            merged = merged | padding if merged.dtype.name == padding.dtype.name == "bool" else merged + padding
        return merged, 2
