"""Memory of a recorded program: internal values share buffers where their lifetimes allow.

WebGPU checks use by whole buffers: values that one dispatch binds never lie in the same one.
"""
from __future__ import annotations

from ..dtypes import float32
from .capture import INTERNAL


GRAIN = 64           # words that a place in a buffer is aligned to


def _own(recorder, device, kept, adopted) -> dict:
    """{value: storage} of what outlives the step; ``adopted`` values stay where the recorded call put them."""
    where = {}
    for n, value in enumerate(recorder.values):
        if value.kind != INTERNAL:
            where[n] = value.storage
        elif n in kept:
            where[n] = value.ref() if n in adopted else device.allocate(value.dtype, value.numel)
    return where


def for_steps(graph, lowered, recorder, device, kept, adopted):
    """([(step, storages, scalars), ...], {value: storage}, bytes shared) of lowered work."""
    where = _own(recorder, device, kept | graph.kept, adopted)
    spans: dict = {}
    together: dict = {}
    for i, (_, values, _) in enumerate(lowered):
        for v in values:
            if type(v) is tuple:
                where[v] = device.gather([where[n] for n in v])
            elif v not in where:
                spans[v] = (spans.get(v, (i, i))[0], i)
                together.setdefault(v, set()).update(values)
    sizes, places = share(spans, {v: -(-_words(graph, v) // GRAIN) * GRAIN for v in spans}, together)
    buffers = shared_buffers(device, sizes)
    for v, (index, offset) in places.items():
        where[v] = device.part(buffers[index], offset, -(-_words(graph, v) // GRAIN) * GRAIN)
    return [(step, [where[v] for v in values], scalars) for step, values, scalars in lowered], where, 4 * sum(sizes)


def shared_buffers(device, sizes) -> list:
    """A buffer per size. Replays run one after the other and leave nothing there, so programs take the buffers of others where they are
    large enough, the tightest first."""
    free, found = sorted(device.scratch, key=lambda storage: storage.numel), {}
    for k, size in sorted(enumerate(sizes), key=lambda pair: -pair[1]):
        fitting = next((storage for storage in free if storage.numel >= size), None)
        if fitting is not None:
            free.remove(fitting)
        found[k] = fitting or device.allocate(float32, size)
    device.scratch.update(found.values())
    return [found[k] for k in range(len(sizes))]


def _words(graph, value) -> int:
    size = graph.sizes[value]
    return -(-size // 2) if graph.dtypes[value].wgsl == "f16" else max(size, 1)


def share(spans, sizes, together):
    """(sizes of buffers, {value: (buffer number, offset)}): values lie in one place one after the other, or side by side in one buffer unless
    a dispatch binds both. The better of two orders."""
    orders = (lambda v: (-sizes[v], spans[v]), lambda v: (-sizes[v] * (spans[v][1] - spans[v][0] + 1), spans[v]))
    return min((_placed(sorted(spans, key=order), spans, sizes, together) for order in orders), key=lambda placed: sum(placed[0]))


def _placed(order, spans, sizes, together):
    buffers: list = []                     # [size, [(value, offset)]]
    found = {}
    for v in order:
        first, last = spans[v]
        for index, (size, taken) in enumerate(buffers):  # noqa: B007
            if any(other in together[v] for other, _ in taken):
                continue
            offset = _gap([(at, at + sizes[o]) for o, at in taken if spans[o][0] <= last and first <= spans[o][1]], sizes[v], size)
            if offset is not None:
                break
        else:
            buffers.append((sizes[v], []))
            index, offset = len(buffers) - 1, 0
        buffers[index][1].append((v, offset))
        found[v] = index, offset
    return [size for size, _ in buffers], found


def _gap(taken, size, limit):
    """Where ``size`` words fit beside what is taken; None if nowhere."""
    at = 0
    for first, end in sorted(taken):
        if at + size <= first:
            return at
        at = max(at, end)
    return at if at + size <= limit else None


def for_calls(recorder, device, kept, adopted):
    """([(plan, storages, scalars), ...], {value: storage}) of recorded calls as they are."""
    where, free, work = _own(recorder, device, kept, adopted), {}, []
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
