"""Sorting on the GPU: short rows in workgroup memory, long ones by radix, digit by digit; software adapters count and merge."""
from __future__ import annotations

from .. import dtypes, kernels
from .scan_plan import plan_scan
from .softmax import geometry

RUN = 256            # elements that are sorted by counting; runs of them are then joined
ROW = 2048           # elements that are sorted in workgroup memory
TILE = 1024          # keys of a workgroup of the radix sort
KEYS = {"f32": "float_key", "i32": "int_key", "u32": "word_key"}
FIELDS = "struct Params { rows: u32, n: u32, inner: u32, offset: u32, tiles: u32, shift: u32 }"


def plan_sort(plan, x, y, index, dim, compute, descending) -> None:
    """Add the dispatches of a stable sort of contiguous ``x`` (of WGSL type ``compute``) along ``dim``; NaN last, or first where ``descending``."""
    outer, n, inner = geometry(x.meta.shape, dim)
    if plan.device.software:
        _by_counting(plan, x, y, index, n, inner, compute, descending)
        return
    rows = outer
    order = f"alias V = {compute};\nconst LAST_FIRST = {'true' if descending else 'false'};\n" + kernels.source("order").replace("KEY(", KEYS[compute] + "(")
    types, words = {"T": x.meta.dtype.wgsl}, [rows, n, inner, x.meta.offset]
    if n <= ROW:
        text = bound(("x", x), ("y", y), ("index", index), written=2) + order
        size = max(2, 1 << (n - 1).bit_length()) if n else 2
        plan.dispatch(kernels.from_file("sort_rows", {"SIZE": size}, types, FIELDS + text), [x, y, index], [*words, 0, 0], rows if n else 0)
        return
    keys = f"{order}\nfn key_at(row: u32, k: u32) -> u32 {{ return key_of(V(x[p.offset + place_of(row, k)])); }}"
    _, ids = plan_radix(plan, x, keys, rows, n, inner, 1 if x.meta.dtype.kind == "b" and not descending else 32, types)
    text = bound(("x", x), ("ids", ids), ("y", y), ("index", index), written=2) + order
    plan.dispatch(kernels.from_file("sort_take", {}, types, FIELDS + text), [x, ids, y, index], [*words, 0, 0], -(-rows * n // 256))


def plan_radix(plan, x, keys, rows, n, inner, bits, types):
    """(keys, where they came from) as operands of rows * n words in the order of ``bits`` lower bits of keys; ``keys`` is WGSL of key_at(row, k), which
    reads x."""
    tiles = -(-n // TILE)
    counts, sums = (plan.temp((rows, 16 * tiles), dtypes.int32) for _ in range(2))
    sides = [[plan.temp(rows * n, dtypes.int32) for _ in range(2)] for _ in range(2)]
    made = "fn key_at(row: u32, k: u32) -> u32 { return bitcast<u32>(keys[row * p.n + k]); }\nfn id_at(row: u32, k: u32) -> u32 { return u32(ids[row * p.n + k]); }"
    for turn in range(-(-bits // 4)):
        (old_keys, old_ids), new = sides[(turn + 1) % 2], sides[turn % 2]
        words = [rows, n, inner, x.meta.offset, tiles, 4 * turn]
        read = [("keys", old_keys), ("ids", old_ids)] if turn else [("x", x)]
        given = made if turn else f"{keys}\nfn id_at(row: u32, k: u32) -> u32 {{ return k; }}"
        for name, more, written in (("radix_count", [("counts", counts)], 1), ("radix_move", [("sums", sums), ("keys_out", new[0]), ("ids_out", new[1])], 2)):
            used = read[:1] if name == "radix_count" else read
            mine = given.split("\nfn id_at")[0] if name == "radix_count" else given
            text = "\n".join([FIELDS, bound(*used, *more, written=written), mine])
            plan.dispatch(kernels.from_file(name, {}, types, text), [o for _, o in (*used, *more)], words, rows * tiles)
            if name == "radix_count":
                plan_scan(plan, counts, [sums], 1, "i32", "a + v")
    return new


def bound(*named, written) -> str:
    """WGSL of bindings [(name, operand)], of which the last ``written`` are written."""
    return "".join(f"\n@group(0) @binding({k}) var<storage, {'read_write' if k >= len(named) - written else 'read'}> {name}: array<{o.meta.dtype.wgsl}>;"
                   for k, (name, o) in enumerate(named)) + "\n"


def _by_counting(plan, x, y, index, n, inner, compute, descending):
    below = "(!is_nan(a) && (is_nan(b) || a < b))" if compute == "f32" else "(a < b)"
    count, types = x.meta.numel, {"T": x.meta.dtype.wgsl, "V": compute}
    order = f"fn before({'b: V, a: V' if descending else 'a: V, b: V'}) -> bool {{ return {below}; }}"
    load = lambda name: kernels.from_file(name, {}, types, order)  # noqa: E731
    run, passes = min(n, RUN), max(0, (-(-n // RUN) - 1).bit_length())
    now = y, index
    spare = (plan.temp(x.meta.shape, x.meta.dtype), plan.temp(x.meta.shape, dtypes.int64)) if passes else now
    if passes % 2:
        now, spare = spare, now
    plan.dispatch(load("sort_rank"), [x, *now], [count, n, inner, x.meta.offset, run], -(-count // 64))
    for _ in range(passes):
        plan.dispatch(load("sort_merge"), [*now, *spare], [count, n, inner, run], -(-count // 64))
        now, spare, run = spare, now, 2 * run
