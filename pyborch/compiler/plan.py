"""Memory of a recorded program: internal values share buffers where their lifetimes allow.

WebGPU checks use by whole buffers, so values share buffers rather than places in one: a dispatch never binds one for reading and writing.
"""
from __future__ import annotations

from ..dtypes import float32
from .capture import INTERNAL


def _own(recorder, device, kept) -> dict:
    """{value: storage} of what outlives the step."""
    where = {}
    for n, value in enumerate(recorder.values):
        if value.kind != INTERNAL:
            where[n] = value.storage
        elif n in kept:
            where[n] = device.allocate(value.dtype, value.numel)
    return where


def for_steps(graph, lowered, recorder, device, kept):
    """([(step, storages, scalars), ...], {value: storage}) of lowered work."""
    where = _own(recorder, device, kept | graph.kept)
    spans: dict = {}
    for i, (_, values, _) in enumerate(lowered):
        for v in values:
            if type(v) is tuple:
                where[v] = device.gather([where[n] for n in v])
            elif v not in where:
                spans[v] = (spans.get(v, (i, i))[0], i)
    for v, buffer in share(spans, {v: _words(graph, v) for v in spans}).items():
        where[v] = buffer
    made: dict = {}
    for v in spans:
        index, words = where[v]
        if index not in made:
            made[index] = device.allocate(float32, words)
        where[v] = made[index]
    return [(step, [where[v] for v in values], scalars) for step, values, scalars in lowered], where


def _words(graph, value) -> int:
    size = graph.sizes[value]
    return -(-size // 2) if graph.dtypes[value].wgsl == "f16" else size


def share(spans, sizes) -> dict:
    """{value: (buffer number, its size)}: the largest first, each into the first buffer that is free during its span."""
    buffers: list = []
    found = {}
    for v in sorted(spans, key=lambda v: (-sizes[v], spans[v])):
        first, last = spans[v]
        for index, (size, taken) in enumerate(buffers):
            if all(last < a or b < first for a, b in taken):
                taken.append((first, last))
                found[v] = index, size
                break
        else:
            buffers.append((sizes[v], [(first, last)]))
            found[v] = len(buffers) - 1, sizes[v]
    return found


def for_calls(recorder, device, kept):
    """([(plan, storages, scalars), ...], {value: storage}) of recorded calls as they are."""
    where, free, work = _own(recorder, device, kept), {}, []
    last = {n: i for i, call in enumerate(recorder.calls) for n in (*call.inputs, *call.outputs)}
    for i, call in enumerate(recorder.calls):
        for n in call.outputs:
            if n not in where:
                value = recorder.values[n]
                idle = free.get((value.dtype, value.numel))
                where[n] = idle.pop() if idle else device.allocate(value.dtype, value.numel)
        work.append((call.plan, [where[n] for n in (*call.inputs, *call.outputs)], call.scalars))
        for n in {*call.inputs, *call.outputs}:
            value = recorder.values[n]
            if last[n] == i and value.kind == INTERNAL and n not in kept:
                free.setdefault((value.dtype, value.numel), []).append(where[n])
    return work, where
