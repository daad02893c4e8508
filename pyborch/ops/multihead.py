"""Attention with several heads and its projections (torch.nn.functional.multi_head_attention_forward)."""
from __future__ import annotations

import math
import warnings

from .registry import FUNCTIONS, S, T, function

torch = FUNCTIONS["torch"]
F = FUNCTIONS["F"]


def check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads) -> bool:
    """Whether the operands are batches (3-d); AssertionError where they do not fit one another."""
    dims = query.dim()
    if dims not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor")
    kind = f"For {'batched (3-D)' if dims == 3 else 'unbatched (2-D)'} `query`, expected"
    if key.dim() != dims or value.dim() != dims:
        raise AssertionError(f"{kind} `key` and `value` to be {dims}-D but found {key.dim()}-D and {value.dim()}-D tensors respectively")
    if key_padding_mask is not None and key_padding_mask.dim() != dims - 1:
        raise AssertionError(f"{kind} `key_padding_mask` to be `None` or {dims - 1}-D but found {key_padding_mask.dim()}-D tensor instead")
    if attn_mask is not None:
        if attn_mask.dim() not in (2, 3):
            raise AssertionError(f"{kind} `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor instead")
        expected = (num_heads, query.shape[0], key.shape[0])
        if dims == 2 and attn_mask.dim() == 3 and tuple(attn_mask.shape) != expected:
            raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}")
    return dims == 3


def check_mask(mask, name, other=None, other_name=""):
    """The mask itself; AssertionError unless it is bool or of a float dtype, a warning where ``other`` has another dtype."""
    if mask is not None:
        if mask.dtype.name != "bool" and not mask.is_floating_point():
            raise AssertionError(f"only bool and floating types of {name} are supported")
        if other is not None and other.dtype is not mask.dtype:
            warnings.warn(f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead.", stacklevel=3)
    return mask


def check(query, key, value, key_padding_mask, attn_mask, num_heads, embed_dim, separate) -> bool:
    """All that is checked about operands, in the order of PyTorch; whether they are batches."""
    batched = check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    check_mask(key_padding_mask, "key_padding_mask", attn_mask, "attn_mask")
    check_mask(attn_mask, "attn_mask")
    if query.shape[-1] != embed_dim:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim}, but got {query.shape[-1]}")
    if embed_dim % num_heads:
        raise AssertionError(f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")
    if separate and key.shape[:2] != value.shape[:2]:
        raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
    if not separate and key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
    return batched


class Masks:
    """What is not seen, over (N, heads, L, S): bool masks (True is not seen) stay bool until a float one joins them."""

    def __init__(self, attn_mask, key_padding_mask, batch, heads, queries, keys):
        self.parts = []
        if attn_mask is not None:
            if attn_mask.dim() == 2 and tuple(attn_mask.shape) != (queries, keys):
                raise RuntimeError(f"The shape of the 2D attn_mask is {attn_mask.shape}, but should be {(queries, keys)}.")
            if attn_mask.dim() == 3 and tuple(attn_mask.shape) != (batch * heads, queries, keys):
                raise RuntimeError(f"The shape of the 3D attn_mask is {attn_mask.shape}, but should be {(batch * heads, queries, keys)}.")
            self.parts.append(attn_mask.reshape(batch, heads, queries, keys) if attn_mask.dim() == 3 else attn_mask.unsqueeze(0).unsqueeze(0))
        if key_padding_mask is not None:
            if tuple(key_padding_mask.shape) != (batch, keys):
                raise AssertionError(f"key_padding_mask.shape[{int(key_padding_mask.shape[0] == batch)}] is wrong: expected {(batch, keys)}, "
                                     f"got {tuple(key_padding_mask.shape)}")
            self.parts.append(key_padding_mask.reshape(batch, 1, 1, keys))

    def widened(self, extra):
        """With ``extra`` more keys that all may see."""
        self.parts = [F["pad"](mask, (0, extra)) if mask.dtype.name != "bool" else
                      torch["cat"]([mask, torch["zeros"]((*mask.shape[:-1], extra), dtype=mask.dtype, device=mask.device)], -1) for mask in self.parts]

    def added(self, dtype):
        """One mask to add to scores of ``dtype``, or None."""
        total = None
        for mask in self.parts:
            if mask.dtype.name == "bool":
                mask = torch["zeros"](mask.shape, dtype=dtype, device=mask.device).masked_fill(mask, -math.inf)
            total = mask if total is None else total + mask
        return total

    def seen(self, dtype):
        """One mask as scaled_dot_product_attention takes it, or None."""
        if not self.parts or any(mask.dtype.name != "bool" for mask in self.parts):
            return self.added(dtype)
        hidden = self.parts[0] if len(self.parts) == 1 else self.parts[0] | self.parts[1]
        return ~hidden


def _projected(query, key, value, weight, bias, separate):
    """q, k and v: one product where all three are of one tensor, two where key and value are."""
    biases = (None, None, None) if bias is None else bias.chunk(3)
    if separate is not None:
        return [F["linear"](x, w, b) for x, w, b in zip((query, key, value), separate, biases)]
    size = query.shape[-1]
    if query is key and key is value:
        return F["linear"](query, weight, bias).chunk(3, -1)
    if key is value:
        rest = None if bias is None else bias[size:]
        return [F["linear"](query, weight[:size], biases[0]), *F["linear"](key, weight[size:], rest).chunk(2, -1)]
    return [F["linear"](x, w, b) for x, w, b in zip((query, key, value), weight.chunk(3), biases)]


def attend(query, key, value, num_heads, weight, bias, bias_k, bias_v, add_zero_attn, dropout_p, out_weight, out_bias, key_padding_mask=None,
           need_weights=True, attn_mask=None, separate=None, static_k=None, static_v=None, average_attn_weights=True, is_causal=False, batch_dim=1):
    """multi_head_attention_forward for 3-d operands whose dim ``batch_dim`` is the batch."""
    batch, queries, embed = query.shape[batch_dim], query.shape[1 - batch_dim], query.shape[2]
    size = embed // num_heads
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
                           "`generate_square_subsequent_mask` to create this mask.")
    causal = is_causal and key_padding_mask is None and not need_weights
    masks = Masks(None if causal else attn_mask, key_padding_mask, batch, num_heads, queries, key.shape[1 - batch_dim])
    q, k, v = _projected(query, key, value, weight, bias, separate)
    if bias_k is not None:
        along = (batch, 1, embed) if batch_dim == 0 else (1, batch, embed)
        k, v = (torch["cat"]([x, b.expand(along)], 1 - batch_dim) for x, b in ((k, bias_k), (v, bias_v)))
        masks.widened(1)

    def heads(x):
        return x.reshape(*x.shape[:2], num_heads, size).permute((0, 2, 1, 3) if batch_dim == 0 else (1, 2, 0, 3))

    def given(x, computed):
        return heads(computed) if x is None else x.reshape(batch, num_heads, *x.shape[1:])
    q, k, v = heads(q), given(static_k, k), given(static_v, v)
    if add_zero_attn:
        k, v = (torch["cat"]([x, torch["zeros"]((batch, num_heads, 1, x.shape[3]), dtype=x.dtype, device=x.device)], 2) for x in (k, v))
        masks.widened(1)
    if need_weights:
        scores, mask = (q * math.sqrt(1.0 / size)) @ k.transpose(-2, -1), masks.added(q.dtype)
        weights = (scores if mask is None else scores + mask).softmax(-1)
        y = (F["dropout"](weights, dropout_p) if dropout_p > 0.0 else weights) @ v
    else:
        weights, y = None, F["scaled_dot_product_attention"](q, k, v, masks.seen(q.dtype), dropout_p, causal)
    y = (y.transpose(1, 2) if batch_dim == 0 else y.permute(2, 0, 1, 3)).reshape(query.shape)
    y = F["linear"](y, out_weight, out_bias)
    if need_weights and average_attn_weights:
        weights = weights.mean(1)
    return y, weights


TWO, WEIGHTS = T(3, 2, 4), (T(12, 4), T(12), None, None)


@function(to="F", samples=[S(TWO, T(5, 2, 4), T(5, 2, 4), 4, 2, *WEIGHTS, False, 0.0, T(4, 4), T(4)),
                           S(TWO, TWO, TWO, 4, 2, T(12, 4), None, T(1, 1, 4), T(1, 1, 4), True, 0.0, T(4, 4), None, need_weights=False, attn_mask=T(3, 3),
                             key_padding_mask=T(2, 3, dtype="bool", values=(False, False, True, False, False, False)))])
def multi_head_attention_forward(query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v, add_zero_attn, dropout_p,
                                 out_proj_weight, out_proj_bias, training=True, key_padding_mask=None, need_weights=True, attn_mask=None,
                                 use_separate_proj_weight=False, q_proj_weight=None, k_proj_weight=None, v_proj_weight=None, static_k=None, static_v=None,
                                 average_attn_weights=True, is_causal=False):
    """(output (L, N, E), attention weights (N, L, S) or None) for query (L, N, E), key (S, N, E), value (S, N, E); all without N too (Vaswani et al. 2017)."""
    batched = check(query, key, value, key_padding_mask, attn_mask, num_heads, embed_dim_to_check, use_separate_proj_weight)
    if (bias_k is None) != (bias_v is None):
        raise AssertionError("bias_k is set but bias_v is None" if bias_v is None else "bias_v is set but bias_k is None")
    if not batched:
        same_key, same_value = key is query, value is key
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key = query if same_key else key
        value = key if same_value else value
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    y, weights = attend(query, key, value, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v, add_zero_attn, dropout_p if training else 0.0,
                        out_proj_weight, out_proj_bias, key_padding_mask, need_weights, attn_mask, separate, static_k, static_v, average_attn_weights,
                        is_causal)
    return (y, weights) if batched else (y.squeeze(1), None if weights is None else weights.squeeze(0))
