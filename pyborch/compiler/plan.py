"""Memory of a recorded program: internal values share buffers where their lifetimes allow."""
from __future__ import annotations

from .capture import INTERNAL


def last_uses(calls) -> dict:
    """Value number -> index of the last call that reads or writes it."""
    last = {}
    for i, call in enumerate(calls):
        for n in (*call.inputs, *call.outputs):
            last[n] = i
    return last


class Memory:
    """Storages for internal values and temporaries, reused by size. WebGPU forbids reading and writing one buffer in one dispatch, so
    memory comes free only after the call that used it last."""

    def __init__(self, device):
        self.device, self.free, self.storages = device, {}, []

    def take(self, dtype, numel):
        idle = self.free.get(self._key(dtype, numel))
        if idle:
            return idle.pop()
        storage = self.device.allocate(dtype, numel)
        self.storages.append(storage)
        return storage

    def give(self, storage) -> None:
        self.free.setdefault(self._key(storage.dtype, storage.numel), []).append(storage)

    def _key(self, dtype, numel):
        return (dtype, numel) if self.device.type == "cpu" else -(-numel * (2 if dtype.wgsl == "f16" else 4) // 256)


def assign(recorder, device, kept):
    """[(plan, storages in slot order, scalars), ...] and {value number: storage}; ``kept`` values have memory of their own."""
    memory, where, lowered = Memory(device), {}, []
    last = last_uses(recorder.calls)
    for n, value in enumerate(recorder.values):
        if value.kind != INTERNAL:
            where[n] = value.storage
        elif n in kept:
            where[n] = device.allocate(value.dtype, value.numel)
    for i, call in enumerate(recorder.calls):
        for n in call.outputs:
            if n not in where:
                where[n] = memory.take(recorder.values[n].dtype, recorder.values[n].numel)
        temps = [memory.take(m.dtype, m.numel) for m in call.plan.temps]
        lowered.append((call.plan, [where[n] for n in (*call.inputs, *call.outputs)] + temps, call.scalars))
        for storage in temps:
            memory.give(storage)
        for n in {*call.inputs, *call.outputs}:
            if last[n] == i and recorder.values[n].kind == INTERNAL and n not in kept:
                memory.give(where[n])
    return lowered, where
