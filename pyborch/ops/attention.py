"""Scaled dot product attention: one kernel where no gradient is wanted, else made of products and a softmax."""
from __future__ import annotations

import math

from .. import dtypes, kernels
from .. import shape as shapes
from ..autograd import apply, edge_of, is_grad_enabled
from ..autograd.backward import run_backward
from . import decode
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


def _finite(fill):
    """What stands for scores of ``fill``."""
    return LOWEST if fill == -math.inf else max(fill, LOW)


def _mask_text(mask, shape, mask_is="seen"):
    """(kind, its parameters, WGSL of mask_at(), bindings) of a mask over (batch, heads, queries, keys), or of none."""
    if mask is None:
        return 0, [0] * 5, "fn mask_at(i: u32) -> f32 { return 0.0; }", []
    kind = ("seen", "filled").index(mask_is) + 2 if mask.meta.dtype.name == "bool" else 1
    fields = [mask.meta.offset, *shapes.broadcast_strides(mask.meta.shape, mask.meta.strides, shape)]
    return kind, fields, "fn mask_at(i: u32) -> f32 { return f32(masks[i]); }", [("read", "masks", mask)]


def _bound(named):
    """WGSL of bindings [(access, name, operand)]."""
    return decode.bound(decode.typed(named))


def _attention_run(plan, q, k, v, mask, y, *, scale, causal, mask_is="seen", fill=-math.inf, primitive=False):
    if causal or not decode.takes(q.meta, k.meta):
        return _forward(plan, q, k, v, mask, y, None, scale, causal, mask_is, fill, primitive)
    found = _mask_text(mask, (*q.meta.shape[:3], k.meta.shape[2]), mask_is)
    return decode.plan_few(plan, q, k, v, y, float(scale), decode.Keys(k.meta.shape[2]), found, _finite(fill), primitive)


def _training_run(plan, q, k, v, mask, y, logsum, **how):
    _forward(plan, q, k, v, mask, y, logsum, **how)


def _forward(plan, q, k, v, mask, y, logsum, scale, causal, mask_is="seen", fill=-math.inf, primitive=False):
    batch, heads, queries, size = q.meta.shape
    keys, wide = k.meta.shape[2], v.meta.shape[3]
    kind, fields, text, masks = _mask_text(mask, (batch, heads, queries, keys), mask_is)
    named = [("read", "q", q), ("read", "k", k), ("read", "v", v), *masks, ("read_write", "y", y)]
    named += [("read_write", "logsum", logsum)] if logsum else []
    text += _bound(named) + f"fn keep(i: u32, value: f32) {{ {'logsum[i] = value;' if logsum else ''} }}"
    qx, slices = _division(plan.device, batch * heads, queries, keys, size, wide)
    consts = {"E": size, "EV": wide, "QX": qx, "SLICES": slices, "MASK": kind, "CAUSAL": causal, "PRIMITIVE": primitive, "KEEP": bool(logsum)}
    count = batch * heads * -(-queries // (4 * qx))
    words = [queries, keys, heads, heads // k.meta.shape[1], count, float(scale), _finite(fill)]
    for o in (q, k, v):
        words += [o.meta.offset, *o.meta.strides]
    plan.dispatch(kernels.from_file("attention", consts, {"T": y.meta.dtype.wgsl}, text), [o for _, _, o in named], [*words, *fields], count)


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
               doc="Scaled dot product attention without stored scores: one kernel, or for few queries over many keys parts that are put together.",
               samples=[S(T(1, 4, 1, 8, grad=False), T(1, 2, 200, 8, grad=False), T(1, 2, 200, 8, grad=False), scale=0.5, causal=False)])


# with gradients: the forward pass keeps log(sum(exp(score))) of each row, from which the backward pass has the chances again
def gradient_bytes(qx, size, wide) -> int:
    """Workgroup memory of the gradients' kernel for 4 ``qx`` rows."""
    tile = max(9 * max(size, wide), 32 * (max(-(-size // 4), -(-wide // 4)) + 1))
    return 16 * ((size + wide) * (qx + 1) + tile + 64 * (qx + 1))


def _training_shape(q, k, v, mask=None, *, scale, causal):
    y = _attention_shape(q, k, v, mask, scale=scale, causal=causal)
    return [y, (q.shape[:3], dtypes.float32)]


def _training_numpy(np, q, k, v, mask, *, scale, causal):
    scores = _scores_numpy(np, q, k, mask, scale, causal)
    top = scores.max(-1)
    total = np.exp(scores - np.where(np.isneginf(top), 0, top)[..., None]).sum(-1)
    logsum = np.where(total > 0, np.where(np.isneginf(top), 0, top) + np.log(np.where(total > 0, total, 1)), 0)
    return _attention_numpy(np, q, k, v, mask, scale=scale, causal=causal), logsum.astype(np.float32)


def _scores_numpy(np, q, k, mask, scale, causal):
    q, k = upcast(np, q, k)
    scores = np.matmul(q, np.repeat(k, q.shape[1] // k.shape[1], 1).swapaxes(-1, -2)) * np.asarray(scale, q.dtype)
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    return scores


def _gradient_shape(g, q, k, v, logsum, delta, mask=None, *, scale, causal):
    return [(q.shape, q.dtype), (k.shape, k.dtype), (v.shape, v.dtype)]


def _gradient_numpy(np, g, q, k, v, logsum, delta, mask, *, scale, causal):
    scores = _scores_numpy(np, q, k, mask, scale, causal)
    g, q, k, v = upcast(np, g, q, k, v)
    repeats, g = q.shape[1] // k.shape[1], g.swapaxes(1, 2)
    shared = lambda t: t.reshape(t.shape[0], t.shape[1] // repeats, repeats, *t.shape[2:]).sum(2)  # noqa: E731
    chances = np.exp(scores - logsum[..., None])
    slopes = chances * (np.matmul(g, np.repeat(v, repeats, 1).swapaxes(-1, -2)) - delta[..., None]) * np.asarray(scale, q.dtype)
    return np.matmul(slopes, np.repeat(k, repeats, 1)), shared(np.matmul(slopes.swapaxes(-1, -2), q)), shared(np.matmul(chances.swapaxes(-1, -2), g))


def _gradient_run(plan, g, q, k, v, logsum, delta, mask, dq, dk, dv, *, scale, causal):
    batch, heads, queries, size = q.meta.shape
    keys, wide = k.meta.shape[2], v.meta.shape[3]
    logsum, delta = plan.contiguous(logsum, True), plan.contiguous(delta, True)
    kind, fields, mask_text, masks = _mask_text(mask, (batch, heads, queries, keys))
    qx = 8 if gradient_bytes(8, size, wide) <= plan.device.limits["maxComputeWorkgroupStorageSize"] else 4
    for of_keys in (False, True):
        named = [("read", n, o) for n, o in (("q", q), ("k", k), ("v", v), ("g", g), ("logsum", logsum), ("delta", delta))] + masks
        named += [("read_write", "first_out", dk if of_keys else dq)] + ([("read_write", "second_out", dv)] if of_keys else [])
        kept = "second_out[i] = T(value);" if of_keys else ""
        text = f"{mask_text}{_bound(named)}\nfn keep_second(i: u32, value: f32) {{ {kept} }}"
        consts = {"E": size, "EV": wide, "QX": qx, "MASK": kind, "CAUSAL": causal, "KEYS": of_keys}
        count = batch * (k.meta.shape[1] if of_keys else heads) * -(-(keys if of_keys else queries) // (4 * qx))
        words = [queries, keys, heads, heads // k.meta.shape[1], count, float(scale)]
        for o in (q, k, v, g):
            words += [o.meta.offset, *o.meta.strides]
        kernel = kernels.from_file("attention_grad", consts, {"T": q.meta.dtype.wgsl}, text)
        plan.dispatch(kernel, [o for _, _, o in named], [*words, *fields], count)


ATTENTION_GRAD = Op("attention_grad", _gradient_shape, _gradient_run, _gradient_numpy,
                    doc="Gradients of attention for queries, keys and values, from log(sum(exp(score))) of each row.")


def _training_gradient(gs, q, k, v, mask, ys, scale, causal):
    if is_grad_enabled():            # gradients of these gradients: by way of products
        y = _by_products(q, k, v, mask, 0.0, causal, scale, q.meta.shape[1] // k.meta.shape[1]).transpose(1, 2)
        found = run_backward([y], [gs[0]], True, True, [q, k, v])
        return tuple(found.get(id(t)) for t in (q, k, v))
    delta = (gs[0] * ys[0].detach()).sum(-1).transpose(1, 2)
    return apply(ATTENTION_GRAD, gs[0], q.detach(), k.detach(), v.detach(), ys[1].detach(), delta, mask, scale=scale, causal=causal)


TRAINING = Op("attention_training", _training_shape, _training_run, _training_numpy, {("q", "k", "v"): _training_gradient},
              doc="Attention in one kernel, with log(sum(exp(score))) of each row for its gradients.",
              samples=[S(T(1, 2, 3, 4), T(1, 2, 5, 4), T(1, 2, 5, 6), None, scale=0.5, causal=False),
                       S(T(2, 4, 9, 5), T(2, 2, 9, 5), T(2, 2, 9, 3), None, scale=0.4, causal=True),
                       S(T(1, 2, 3, 4), T(1, 2, 5, 4), T(1, 2, 5, 6), T(3, 5, grad=False), scale=0.5, causal=False),
                       S(T(1, 2, 3, 4), T(1, 2, 5, 4), T(1, 2, 5, 6), T(2, 3, 5, dtype="bool"), scale=0.5, causal=False)])


def fits(query, key, value, mask, few=True) -> bool:
    """Whether a kernel takes operands of these Metas: whole batches, small heads. ``few``: the one for few queries, which takes all heads, is one."""
    q, k, v = query.shape, key.shape, value.shape
    plain = len(q) in (3, 4) and len(k) == len(v) == len(q) and q[:-3] == k[:-3] == v[:-3] and k[-3] == v[-3] and q[-3] % max(k[-3], 1) == 0
    if not plain or not (few and decode.takes(query, key) or _small(query.device, q[-1], v[-1])):
        return False
    return (q[-1] == k[-1] and k[-2] == v[-2] and query.numel > 0 and key.numel > 0 and value.numel > 0
            and query.dtype is key.dtype is value.dtype and query.dtype.kind == "f"
            and (mask is None or len(mask.shape) <= 4 and (mask.dtype.name == "bool" or mask.dtype is query.dtype)))


def _small(device, size, wide):
    """Whether heads are small enough for the kernel of any number of queries."""
    fit = device.type != "webgpu" or attention_bytes(4, 1, size, wide) <= device.limits["maxComputeWorkgroupStorageSize"]
    return fit and 0 < size <= LARGEST and 0 < wide <= LARGEST


def _fits_kernel(query, key, value, mask, causal):
    """(whether a kernel takes it, whether with gradients): it has none for the mask, and on software adapters products are quicker."""
    metas = query.meta, key.meta, value.meta, mask.meta if mask is not None else None
    wanted = [is_grad_enabled() and t is not None and edge_of(t) is not None for t in (query, key, value, mask)]
    if not any(wanted):
        return fits(*metas, not causal), False
    device, size, wide = query.meta.device, query.shape[-1], value.shape[-1]
    able = device.type == "webgpu" and not device.software and gradient_bytes(4, size, wide) <= device.limits["maxComputeWorkgroupStorageSize"]
    return able and not wanted[3] and fits(*metas, False), True


def _by_kernel(query, key, value, mask, scale, causal, training):
    """The result over (batch, heads, length, size); three dims are heads of one batch."""
    flat = len(query.shape) == 3
    if flat:
        query, key, value = (t.unsqueeze(0) for t in (query, key, value))
    y = apply(TRAINING if training else ATTENTION, query, key, value, mask, scale=float(scale), causal=causal)
    y = (y[0] if training else y).transpose(1, 2)
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
    shared = enable_gqa or len(query.shape) > 2 and query.shape[-3] == key.shape[-3]
    if shared and dropout_p == 0.0 and not (is_causal and attn_mask is not None):
        takes, training = _fits_kernel(query, key, value, attn_mask, is_causal)
        if takes:
            return _by_kernel(query, key, value, attn_mask, scale, bool(is_causal), training)
    return _by_products(query, key, value, attn_mask, dropout_p, is_causal, scale, query.shape[-3] // key.shape[-3] if enable_gqa else 1)


def _by_products(query, key, value, attn_mask, dropout_p, is_causal, scale, repeats):
    if repeats > 1:
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
