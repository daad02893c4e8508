"""Running results along a dim on the GPU: which threads walk what. How two results join comes as WGSL text."""
from __future__ import annotations

import math

from .. import dtypes, kernels
from .softmax import geometry

TILE = 1024          # elements that a workgroup takes at a time
ENOUGH = 1024        # workgroups that keep a GPU busy
KEPT = {"f32": dtypes.float32, "i32": dtypes.int32, "u32": dtypes.bool_}


def plan_scan(plan, x, outputs, dim, compute, combine, replaces="") -> None:
    """Add the dispatches of running results of contiguous ``x`` along ``dim`` into ``outputs``: values, and with ``replaces`` their indices.

    ``combine`` is WGSL of the join of a and a later v (of type ``compute``), ``replaces`` that of whether v takes a's place.
    """
    rows, n, inner = geometry(x.meta.shape, dim)
    side_by_side = inner == 1 and n >= 64 and not plan.device.software
    parts, size = (_parts_of_groups if side_by_side else _parts_of_threads)(rows, n)

    def dispatch(phase, results, totals=()):
        names = ["x", *("y", "index")[:len(results)], *("totals", "places")[:len(totals)]]
        access = ["read", *["read_write"] * len(results), *["read"] * len(totals)]
        operands = [x, *results, *totals]
        text = "\n".join([f"@group(0) @binding({k}) var<storage, {a}> {name}: array<{o.meta.dtype.wgsl}>;"
                          for k, (name, a, o) in enumerate(zip(names, access, operands))])
        text += f"""
fn combine(a: V, v: V) -> V {{ return {combine}; }}
fn replaces(a: V, v: V) -> bool {{ return {replaces or "false"}; }}
fn note(at: u32, k: u32) {{ {"index[at] = i32(k);" if replaces else ""} }}
fn total_of(i: u32) -> V {{ return {"V(totals[i])" if totals else "V(x[0])"}; }}
fn place_of(i: u32) -> u32 {{ return {"u32(places[i])" if totals and replaces else "0u"}; }}"""
        kernel = kernels.from_file("scan_rows" if side_by_side else "scan", {"INDEXED": bool(replaces), "PHASE": phase},
                                   {"T": results[0].meta.dtype.wgsl, "V": compute, "X": x.meta.dtype.wgsl}, text)
        plan.dispatch(kernel, operands, [rows, n, inner, x.meta.offset, parts, size], rows * parts if side_by_side else -(-rows * parts // 64))
    if parts < 2:
        dispatch(0, outputs)
        return
    totals = [plan.temp(rows * parts, d) for d in (KEPT[compute], dtypes.int64)[:len(outputs)]]
    dispatch(1, totals)
    dispatch(2, outputs, totals)


def _parts_of_threads(rows, n):
    """(parts of a row, elements of each) where a thread has a part."""
    size = n if n < 1024 or rows >= 4096 else math.isqrt(n)
    return -(-n // size) if n else 0, size


def _parts_of_groups(rows, n):
    """The same where a workgroup has a part: parts cost a second pass, so only as many as keep the device busy."""
    tiles = -(-n // TILE)
    each = -(-tiles // max(1, min(tiles, ENOUGH // max(1, rows)))) if rows < ENOUGH // 4 else tiles
    return -(-tiles // each), each * TILE
