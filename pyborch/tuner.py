"""Which variant of a kernel is the fastest on this adapter: timed on the GPU, remembered by the browser, to be had as JSON.

``pyborch.compile(fn, mode="max-autotune")`` has its products timed while its calls go on; :func:`export` and :func:`load` carry what was found to
other browsers on the same adapter.
"""
from __future__ import annotations

import json
import time

from . import kernels
from .devices import backend
from .ops import gemm, variants

__all__ = ["clear", "export", "load"]
REPEATS = 10         # of each candidate
BETTER = 0.95        # a candidate takes the rule's place if it needs at most so much of its time
SECONDS = 10.0       # that one function's tuning may take in all
MOST = 4096          # choices kept; the oldest go


def export() -> str:
    """What was measured on this adapter, as JSON: {"adapter", "version", "products": {kind, layout and sizes: [variant, its numbers, splits]}}."""
    device = backend()
    return json.dumps({"adapter": getattr(device, "name", device.type), "version": 1, "products": device.tuned}, indent=1)


def load(text) -> int:
    """Take over what :func:`export` gave; the number of choices. Functions compiled before keep theirs.

    ValueError where it is of another adapter or no such text.
    """
    device = backend()
    try:
        found = json.loads(text)
        adapter, version, products = found["adapter"], found["version"], dict(found["products"])
        for written in products.values():
            variants.read(written)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"tuner.load(): this is not what tuner.export() gives: {error}") from None
    if version != 1 or adapter != getattr(device, "name", device.type):
        raise ValueError(f"tuner.load(): measured on {adapter!r} (version {version}), but this adapter is {getattr(device, 'name', device.type)!r}")
    _keep(device, products)
    return len(products)


def clear() -> None:
    """Forget what was measured on this adapter, in this visit and others."""
    device = backend()
    device.tuned.clear()
    _keep(device, {})


def _keep(device, found) -> None:
    device.tuned.update(found)
    while len(device.tuned) > MOST:
        del device.tuned[next(iter(device.tuned))]
    if hasattr(device, "remember"):
        device.remember()


class Tuning:
    """The products of one function, timed one at a time: call step() until ``done``. ``changed``: a choice differs from the one in use."""

    def __init__(self, device, products):
        self.device, self.spent, self.changed, self.timed = device, 0.0, False, None
        unknown = {variants.key(size, a, b): (size, a, b, result) for size, a, b, result in products}
        self.waiting = [(k, product) for k, product in unknown.items() if k not in device.tuned] if can_time(device) else []

    @property
    def done(self):
        return self.timed is None and (not self.waiting or self.spent > SECONDS)

    def step(self) -> None:
        """Begin with a product's candidates, or time them if their kernels are compiled."""
        begun = time.perf_counter()
        if self.timed is None:
            self.timed = Candidates(self.device, *self.waiting.pop(0))
        elif self.device.ready(self.timed.handle) and not self.device.profiling:
            found, used = self.timed.fastest(), self.timed.choices[0]
            _keep(self.device, {self.timed.key: [type(found[0]).__name__, *found[0], found[1]]})
            self.changed = self.changed or found != used
            self.timed = None
        self.spent += time.perf_counter() - begun


def can_time(device) -> bool:
    """Whether a device can say when its work begins and ends."""
    return "timestamp-query" in getattr(device, "features", ())


class Candidates:
    """A product in all variants worth timing, as one program on memory of its own, which it keeps until it has been timed."""

    def __init__(self, device, key, product):
        self.device, self.key, self.handle = device, key, None
        size, a, b, result = product
        self.choices = variants.candidates(device, size, a, b)
        operands = {o.slot: o for o in (a.operand, b.operand, *(o for _, o in result.inputs()), result.operand)}
        self.memory = [{slot: device.allocate(o.meta.dtype, _reach(o.meta)) for slot, o in operands.items()}]
        steps = [self._steps(product, choice) for choice in self.choices]
        self.counts = [len(part) for part in steps]
        self.handle = device.program([step for part in steps for _ in range(REPEATS) for step in part], [], [], [])

    def drop(self) -> None:
        """Give the program back."""
        handle, self.handle = self.handle, None
        if handle is not None:
            self.device.drop(handle)

    __del__ = drop

    def _steps(self, product, choice):
        """[(step, storages, scalars)] of the product in one variant."""
        plan = kernels.Plan.__new__(kernels.Plan)
        plan.device, plan.bound, plan.steps, plan.parts, plan.temps = self.device, max(self.memory[0]) + 1, [], [], []
        gemm.plan_chosen(plan, [product], [choice])
        temps = {plan.bound + i: self.device.allocate(m.dtype, m.numel) for i, m in enumerate(plan.temps)}
        self.memory.append(temps)
        return [(step, [temps[s] if s in temps else self.memory[0][s] for s in step.slots], []) for step in plan.steps]

    def fastest(self):
        """The (variant, splits) that takes the least time; the rule's, unless another is clearly faster."""
        device = self.device
        device.wait(device.start_profile())
        device.replay(self.handle, 1, [], [], [])
        spans = [(begin, end) for _, begin, end in device.wait(device.stop_profile())]
        self.drop()
        times, at = [], 0
        for count in self.counts:
            parts = [spans[at + count * r:at + count * (r + 1)] for r in range(REPEATS)]
            times.append(sorted(sum(end - begin for begin, end in part) for part in parts)[REPEATS // 2])
            at += count * REPEATS
        best = min(range(len(times)), key=times.__getitem__)
        return self.choices[best] if times[best] <= BETTER * times[0] else self.choices[0]


def _reach(meta):
    """Elements of memory up to the last that a tensor has."""
    return meta.offset + 1 + sum((n - 1) * stride for n, stride in zip(meta.shape, meta.strides))
