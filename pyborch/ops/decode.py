"""Attention of a few queries over many keys on the GPU, as in decoding: parts of the keys are worked on side by side, and then put together."""
from __future__ import annotations

from .. import dtypes, kernels

FEW, FROM = 4, 128   # queries up to which, and keys from which on, this is the way
ROWS = 16            # that share keys, in one workgroup: a key that more of them share is read again
CHUNKS = 256, 128, 64
ENOUGH = 512         # workgroups that keep a GPU's memory busy
THREADS = 128


def few_bytes(rows, chunk, size) -> int:
    """Workgroup memory of the kernel."""
    lanes = lanes_of(size)
    return 16 * rows * lanes * -(-size // (4 * lanes)) + 4 * rows * (chunk + THREADS) + 16 * THREADS


def lanes_of(size) -> int:
    """Threads that read a key of ``size`` side by side."""
    return 8 if size > 16 else 4


def takes(q, k) -> bool:
    """Whether queries of this Meta are few enough, over enough keys, for this to be the quicker way."""
    device = q.device
    return (device.type == "webgpu" and q.shape[-2] <= FEW and k.shape[-2] >= FROM
            and few_bytes(1, CHUNKS[-1], q.shape[-1]) <= device.limits["maxComputeWorkgroupStorageSize"])


def _division(device, groups, rows, keys, size):
    """(rows of a workgroup, keys of a part): parts as large as leaves the device busy, and its memory allows."""
    most = device.limits["maxComputeWorkgroupStorageSize"]
    fit = next(r for r in range(min(rows, ROWS), 0, -1) if r == 1 or few_bytes(r, CHUNKS[-1], size) <= most)
    blocks = -(-rows // fit)
    chunk = next(c for c in CHUNKS if c == CHUNKS[-1] or groups * blocks * -(-keys // c) >= ENOUGH and few_bytes(fit, c, size) <= most)
    return -(-rows // blocks), chunk


class Keys:
    """Where the keys and values of a batch lie: ``count`` of each, in k and v (batch, heads, count, size)."""
    latest, width, operands = False, 0, ()

    def __init__(self, count):
        self.count = count

    def length(self):
        """WGSL of length_of(), how many keys a batch has."""
        return "fn length_of(b: u32) -> u32 { return p.keys; }"

    def place(self):
        """WGSL of place(), where one of them lies."""
        return "fn place(b: u32, key: u32) -> vec2<u32> { return vec2<u32>(b, key); }"


class Paged(Keys):
    """Keys in pages (pages, heads, page size, size): ``table`` (batch, pages of the longest) lists those of a batch, ``lengths`` (batch,) how many keys it
    has, of which the queries are the newest."""
    latest = True

    def __init__(self, table, lengths, page):
        super().__init__(table.meta.shape[1] * page)
        self.page, self.width, self.operands = page, table.meta.shape[1], (("read", "lengths", lengths), ("read", "table", table))

    def length(self):
        return "fn length_of(b: u32) -> u32 { return u32(lengths[b]); }"

    def place(self):
        return f"fn place(b: u32, key: u32) -> vec2<u32> {{ return vec2<u32>(u32(table[b * p.width + key / {self.page}u]), key % {self.page}u); }}"


def plan_few(plan, q, k, v, y, scale, keys, mask=(0, [0] * 5, "", []), fill=0.0, primitive=False) -> None:
    """The two dispatches of attention of q (batch, heads, queries, size); ``mask`` as attention.mask_text() gives it."""
    batch, heads, queries, size = q.meta.shape
    key_heads, wide = v.meta.shape[1], v.meta.shape[3]
    rows, fours = queries * heads // key_heads, -(-wide // 4)
    r, chunk = _division(plan.device, batch * key_heads, rows, keys.count, size)
    blocks, parts = -(-rows // r), -(-keys.count // chunk)
    count = batch * key_heads * parts * blocks
    found = plan.temp(4 * count * r * (fours + 1), dtypes.float32)
    side = {"R": r, "CHUNK": chunk, "EV": wide, "WIDE": min(32, max(4, 1 << (fours - 1).bit_length()))}
    _walk(plan, (q, k, v, found), keys, mask, side, [queries, keys.count, key_heads, heads // key_heads, blocks, parts, count, keys.width, scale, fill])
    named = [("read", "x", found, "vec4<f32>"), ("read_write", "y", y, "T"), *typed(keys.operands[:1])]
    join = kernels.from_file("attention_join", {**side, "PRIMITIVE": primitive}, {"T": y.meta.dtype.wgsl}, bound(named) + keys.length())
    rows = batch * heads * queries
    plan.dispatch(join, [o for _, _, o, _ in named], [queries, keys.count, heads, heads // key_heads, blocks, parts, rows], rows)


def _walk(plan, operands, keys, mask, side, words):
    """The dispatch that makes the parts."""
    q, k, v, found = operands
    size, lanes = q.meta.shape[-1], lanes_of(q.meta.shape[-1])
    kind, fields, text, masks = mask
    (k_type, k_text), (v_type, v_text) = _fours("k", k), _fours("v", v)
    named = [("read", "q", q, "T"), ("read", "k", k, k_type), ("read", "v", v, v_type), ("read_write", "parts", found, "vec4<f32>"),
             *typed(masks), *typed(keys.operands)]
    consts = {**side, "E": size, "LANES": lanes, "HELD": lanes // 2, "AHEAD": min(4, side["CHUNK"] * side["WIDE"] // THREADS), "MASK": kind,
              "LATEST": keys.latest}
    text = bound(named) + (text or "fn mask_at(i: u32) -> f32 { return 0.0; }") + "\n".join(["", k_text, v_text, keys.length(), keys.place()])
    for o in (q, k, v):
        words = [*words, o.meta.offset, *o.meta.strides]
    plan.dispatch(kernels.from_file("attention_few", consts, {"T": q.meta.dtype.wgsl}, text), [o for _, _, o, _ in named], [*words, *fields], words[6])


def typed(named) -> list:
    """Bindings [(access, name, operand)] with the types of their elements, as bound() takes them."""
    return [(access, name, o, o.meta.dtype.wgsl) for access, name, o in named]


def bound(named) -> str:
    """WGSL of bindings [(access, name, operand, type of an element)]."""
    return "".join(f"\n@group(0) @binding({n}) var<storage, {access}> {name}: array<{t}>;" for n, (access, name, _, t) in enumerate(named)) + "\n"


def _fours(name, operand):
    """(type of an element, WGSL of NAME4(at, f): elements 4 f to 4 f + 3 of the row at element ``at``): one load where memory allows."""
    m = operand.meta
    if m.strides[-1] == 1 and not any(n % 4 for n in (m.shape[-1], m.offset, *m.strides[:-1])):
        return "vec4<T>", f"fn {name}4(at: u32, f: u32) -> vec4<f32> {{ return vec4<f32>({name}[at / 4u + f]); }}"
    each = "".join(f"\n  if (4u * f + {n}u < {m.shape[-1]}u) {{ four[{n}] = f32({name}[at + (4u * f + {n}u) * p.{name}e]); }}" for n in range(4))
    return "T", f"fn {name}4(at: u32, f: u32) -> vec4<f32> {{\n  var four = vec4<f32>(0.0);{each}\n  return four;\n}}"
