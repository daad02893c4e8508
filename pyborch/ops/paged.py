"""A cache of keys and values in pages: writing new ones at a sequence's end, and attention over sequences of different lengths."""
from __future__ import annotations

from .. import kernels
from . import decode
from .matmul import upcast
from .registry import Op, S, T


# writing: k and v (heads, tokens, size) into pages (pages, heads, page size, size), from row ``start`` of the listed pages on
def _write_shape(k_pages, v_pages, k, v, listed):
    return [(k_pages.shape, k_pages.dtype), (v_pages.shape, v_pages.dtype)]


def _write_run(plan, k_pages, v_pages, k, v, listed, y_k, y_v):
    from .pointwise_plan import copy
    if not plan.aliases:
        copy(plan, k_pages, y_k)
        copy(plan, v_pages, y_v)
    heads, tokens, size = k.meta.shape
    words = [k.meta.numel, tokens, heads, plan.named("start", "u"), listed.meta.offset, *listed.meta.strides]
    for o in (k, v):
        words += [o.meta.offset, *o.meta.strides]
    kernel = kernels.from_file("cache_write", {"PAGE": k_pages.meta.shape[2], "SIZE": size}, {"T": k.meta.dtype.wgsl})
    plan.dispatch(kernel, [k, v, listed, y_k, y_v], words, -(-k.meta.numel // 64))


def _write_numpy(np, k_pages, v_pages, k, v, listed, *, start):
    rows = start + np.arange(k.shape[1])
    pages, rows = listed[rows // k_pages.shape[2]], rows % k_pages.shape[2]
    found = k_pages.copy(), v_pages.copy()
    for y, new in zip(found, (k, v)):
        y[pages, :, rows] = new.swapaxes(0, 1)
    return found


PAGES = T(4, 2, 3, 4, grad=False)
LISTED = T(3, dtype="int32", values=(2, 0, 3))
WRITE = Op("cache_write", _write_shape, _write_run, _write_numpy, scalars=("start",),
           doc="Pages of a cache with new keys and values written at the end of a sequence.",
           samples=[S(PAGES, PAGES, T(2, 5, 4, grad=False), T(2, 5, 4, grad=False), LISTED, start=2),
                    S(PAGES, PAGES, T(1, 2, 4, view=lambda t: t.transpose(0, 1), grad=False), T(2, 1, 4, grad=False), LISTED, start=7)])
WRITE.in_place = True


# attention of q (batch, heads, tokens, size), the newest tokens of sequences in pages
def _paged_shape(q, k_pages, v_pages, table, lengths, *, scale):
    return (*q.shape[:3], v_pages.shape[-1]), q.dtype


def _paged_run(plan, q, k_pages, v_pages, table, lengths, y, *, scale):
    k_pages, v_pages, table, lengths = (plan.contiguous(t, True) for t in (k_pages, v_pages, table, lengths))
    decode.plan_few(plan, q, k_pages, v_pages, y, float(scale), decode.Paged(table, lengths, k_pages.meta.shape[2]), primitive=True)


def _paged_numpy(np, q, k_pages, v_pages, table, lengths, *, scale):
    from .attention import _attention_numpy
    tokens, found = q.shape[2], []
    q, k_pages, v_pages = upcast(np, q, k_pages, v_pages)
    for one, pages, length in zip(q, table, lengths):
        k, v = (t[pages].swapaxes(0, 1).reshape(t.shape[1], -1, t.shape[3])[:, :length] for t in (k_pages, v_pages))
        seen = np.arange(length) <= length - tokens + np.arange(tokens)[:, None]
        found.append(_attention_numpy(np, one[None], k[None], v[None], seen, scale=scale, causal=False, primitive=True)[0])
    return np.stack(found)


TABLE = T(2, 3, dtype="int32", values=(2, 0, 3, 1, 0, 0))
PAGED = Op("attention_paged", _paged_shape, _paged_run, _paged_numpy,
           doc="Attention of the newest tokens of sequences whose keys and values lie in pages of a cache.",
           samples=[S(T(2, 4, tokens, 4, grad=False), PAGES, PAGES, TABLE, T(2, dtype="int32", values=(8, 2)), scale=0.5) for tokens in (1, 2)])
