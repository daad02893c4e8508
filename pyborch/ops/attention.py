"""Scaled dot product attention: one kernel where no gradient is wanted, else made of products and a softmax."""
from __future__ import annotations

import math

from .. import kernels
from .. import shape as shapes
from ..autograd import apply, edge_of, is_grad_enabled
from .matmul import upcast
from .registry import FUNCTIONS, Op, S, T, function

LOWEST, LOW = -3.4028234663852886e38, -3.4028233e38  # scores of what is not seen, and the least of what is
LARGEST = 128       # of a key or value in the kernel
ENOUGH = 200        # workgroups that keep a GPU busy


def attention_bytes(qx, slices, size, wide) -> int:
    """Workgroup memory of the kernel for 4 ``qx`` queries."""
    tile = max(size * 9, 32 * (-(-wide // 4) + 1))
    return 16 * (size * (qx + 1) + slices * (tile + 32 * (qx + 1) + 9 * qx))


def _division(device, heads, queries, keys, size, wide):
    """(fours of queries, slices of the keys) of a workgroup: as large as leaves the device busy, and its memory allows."""
    most = device.limits["maxComputeWorkgroupStorageSize"]
    qx = 8 if heads * -(-queries // 32) >= ENOUGH and attention_bytes(8, 1, size, wide) <= most else 4
    slices = next(s for s in (4, 3, 2, 1) if s == 1 or s <= -(-keys // 32) and s * qx <= 16 and attention_bytes(qx, s, size, wide) <= most)
    return qx, slices


def _attention_shape(q, k, v, mask=None, *, scale, causal, mask_is="seen", fill=-math.inf, primitive=False):
    batch, heads, queries, _ = q.shape
    return (batch, heads, queries, v.shape[-1]) if primitive else (batch, queries, heads, v.shape[-1]), q.dtype


def _attention_run(plan, q, k, v, mask, y, *, scale, causal, mask_is="seen", fill=-math.inf, primitive=False):
    batch, heads, queries, size = q.meta.shape
    keys, wide = k.meta.shape[2], v.meta.shape[3]
    names = [("read", n, o.meta.dtype.wgsl) for n, o in (("q", q), ("k", k), ("v", v))]
    kind, fields, text = 0, [0] * 5, ""
    if mask is not None:
        kind = ("seen", "filled").index(mask_is) + 2 if mask.meta.dtype.name == "bool" else 1
        fields = [mask.meta.offset, *shapes.broadcast_strides(mask.meta.shape, mask.meta.strides, (batch, heads, queries, keys))]
        names.append(("read", "masks", mask.meta.dtype.wgsl))
        text = "fn mask_at(i: u32) -> f32 { return f32(masks[i]); }"
    else:
        text = "fn mask_at(i: u32) -> f32 { return 0.0; }"
    names.append(("read_write", "y", y.meta.dtype.wgsl))
    text += "".join(f"\n@group(0) @binding({n}) var<storage, {access}> {name}: array<{held}>;" for n, (access, name, held) in enumerate(names))
    qx, slices = _division(plan.device, batch * heads, queries, keys, size, wide)
    consts = {"E": size, "EV": wide, "QX": qx, "SLICES": slices, "MASK": kind, "CAUSAL": causal, "PRIMITIVE": primitive}
    count = batch * heads * -(-queries // (4 * qx))
    words = [queries, keys, heads, heads // k.meta.shape[1], count, float(scale), LOWEST if fill == -math.inf else max(fill, LOW)]
    for o in (q, k, v):
        words += [o.meta.offset, *o.meta.strides]
    operands = [q, k, v, *([mask] if mask is not None else []), y]
    plan.dispatch(kernels.from_file("attention", consts, {"T": y.meta.dtype.wgsl}, text), operands, [*words, *fields], count)


def _attention_numpy(np, q, k, v, mask, *, scale, causal, mask_is="seen", fill=-math.inf, primitive=False):
    q, k, v = upcast(np, q, k, v)
    repeats = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, repeats, 1), np.repeat(v, repeats, 1)
    scores = np.matmul(q, k.swapaxes(-1, -2)) * np.asarray(scale, q.dtype)
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    if mask is not None:
        scores = np.where(mask == (mask_is == "seen"), scores, np.float32(fill)) if mask.dtype == bool else scores + mask
    top = scores.max(-1, keepdims=True)
    e = np.exp(scores - np.where(np.isneginf(top), 0, top))
    total = e.sum(-1, keepdims=True)
    y = np.matmul(e / np.where(total == 0, np.nan if primitive else 1, total), v)
    return y if primitive else y.swapaxes(1, 2)


ATTENTION = Op("attention", _attention_shape, _attention_run, _attention_numpy,
               doc="Scaled dot product attention in one kernel that stores no scores.")


def fits(query, key, value, mask) -> bool:
    """Whether the kernel takes operands of these Metas: whole batches, small heads."""
    q, k, v = query.shape, key.shape, value.shape
    plain = len(q) in (3, 4) and len(k) == len(v) == len(q) and q[:-3] == k[:-3] == v[:-3] and k[-3] == v[-3] and q[-3] % max(k[-3], 1) == 0
    device = query.device
    if device.type == "webgpu" and attention_bytes(4, 1, q[-1], v[-1]) > device.limits["maxComputeWorkgroupStorageSize"]:
        return False
    return (plain and q[-1] == k[-1] and k[-2] == v[-2] and 0 < q[-1] <= LARGEST and 0 < v[-1] <= LARGEST and query.numel > 0 and key.numel > 0
            and query.dtype is key.dtype is value.dtype and query.dtype.kind == "f"
            and (mask is None or len(mask.shape) <= 4 and (mask.dtype.name == "bool" or mask.dtype is query.dtype)))


def _fits_kernel(query, key, value, mask, dropout_p):
    """Whether the kernel can take it: no gradients, no dropout, and what fits() asks for."""
    tensors = [query, key, value, *([mask] if mask is not None else [])]
    if dropout_p > 0.0 or is_grad_enabled() and any(edge_of(t) is not None for t in tensors):
        return False
    return fits(query.meta, key.meta, value.meta, mask.meta if mask is not None else None)


def _by_kernel(query, key, value, mask, scale, causal):
    """The result over (batch, heads, length, size); three dims are heads of one batch."""
    flat = len(query.shape) == 3
    if flat:
        query, key, value = (t.unsqueeze(0) for t in (query, key, value))
    y = apply(ATTENTION, query, key, value, mask, scale=float(scale), causal=causal).transpose(1, 2)
    return y.squeeze(0) if flat else y


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
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    if (enable_gqa or len(query.shape) > 2 and query.shape[-3] == key.shape[-3]) and not (is_causal and attn_mask is not None) and _fits_kernel(
            query, key, value, attn_mask, dropout_p):
        return _by_kernel(query, key, value, attn_mask, scale, bool(is_causal))
    if enable_gqa:
        repeats = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(repeats, -3), value.repeat_interleave(repeats, -3)
    seen, added = _bias(query, key, attn_mask, is_causal)
    scores = (query @ key.transpose(-2, -1)) * scale
    if added is not None:
        scores = scores + added
    if seen is None:
        weights = scores.softmax(-1)
    else:  # rows without anything to see: finite scores first, zeros afterwards, so that gradients stay finite
        where = FUNCTIONS["torch"]["where"]
        least = -6e4 if scores.dtype.name == "float16" else -1e30
        weights = where(seen, where(seen, scores, least).softmax(-1), 0.0)
    if dropout_p > 0.0:
        weights = FUNCTIONS["F"]["dropout"](weights, dropout_p)
    return weights @ value
