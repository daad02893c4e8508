"""Scaled dot product attention, made of products and a softmax."""
from __future__ import annotations

import math

from .registry import FUNCTIONS, S, T, function

QKV = (T(1, 2, 3, 4), T(1, 2, 5, 4), T(1, 2, 5, 6))


def _bias(query, key, attn_mask, is_causal):
    """(mask of what may be seen or None, what is added to the scores or None)."""
    if is_causal:
        if attn_mask is not None:
            raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
        ones = query.new_ones((query.shape[-2], key.shape[-2]))
        return ones.tril() != 0, None
    if attn_mask is None:
        return None, None
    return (attn_mask, None) if attn_mask.dtype.name == "bool" else (None, attn_mask)


@function(to="F", samples=[S(*QKV), S(T(2, 3, 4), T(2, 3, 4), T(2, 3, 4), is_causal=True), S(*QKV, attn_mask=T(3, 5)),
                           S(*QKV, attn_mask=T(3, 5, dtype="bool"), scale=0.7),
                           S(T(1, 1, 2, 4), T(1, 1, 2, 4), T(1, 1, 2, 4), attn_mask=T(2, 2, dtype="bool", values=(False, False, True, False))),
                           S(T(1, 4, 3, 4), T(1, 2, 5, 4), T(1, 2, 5, 4), enable_gqa=True)])
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """softmax(query key^T * scale + mask) value over the last two dims: query (..., L, E), key (..., S, E), value (..., S, Ev).

    ``attn_mask``: bool (True may be seen) or added to the scores; a row that may see nothing gives zeros. ``scale`` is 1 / sqrt(E) unless
    given; ``enable_gqa`` repeats the heads of key and value (Vaswani et al. 2017).
    """
    if enable_gqa:
        repeats = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(repeats, -3), value.repeat_interleave(repeats, -3)
    seen, added = _bias(query, key, attn_mask, is_causal)
    scores = (query @ key.transpose(-2, -1)) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if added is not None:
        scores = scores + added
    if seen is None:
        weights = scores.softmax(-1)
    else:  # rows without anything to see: finite scores first, zeros afterwards, so that gradients stay finite
        where = FUNCTIONS["torch"]["where"]
        weights = where(seen, where(seen, scores, -1e30).softmax(-1), 0.0)
    if dropout_p > 0.0:
        weights = FUNCTIONS["F"]["dropout"](weights, dropout_p)
    return weights @ value
