"""A recorded call that can be repeated: guards, arguments in, one replay, results out."""
from __future__ import annotations

from itertools import chain
from operator import attrgetter, is_

from .. import devices
from ..autograd import edge_of, state
from ..ops.registry import OPS
from . import attention, plan
from .common import shared
from .capture import EXTERNAL, INTERNAL, live_boxes
from .graph import Graph
from .lower import lower, simplified
from .picture import Picture
from .tree import rebuild

Tensor = state.tensor
TRAINING, TRACKED, STORAGE = map(attrgetter, ("training", "tracked", "storage"))


def is_static(tensor) -> bool:
    """Arguments with gradients keep their identity; all others are copied into the program's own memory."""
    return edge_of(tensor) is not None


class Program:
    """One recorded call for one signature of arguments."""

    def __init__(self, recorder, device, arguments, changed, result_spec, results, options, dynamic):
        self.device, self.arguments, self.changed = device, arguments, changed
        self.host, self.result_spec = recorder.host, result_spec
        self.returned = [(recorder.number(t.storage), t.meta, t) for t in results]
        self.grads = [(leaf, leaf._grad) for leaf, _, _ in recorder.entry_grads.values()]
        numbers = {recorder.number(g.storage) for _, g in self.grads if g is not None}
        kept = {n for n, _, _ in self.returned} | numbers
        adopted = numbers - {n for n, _, _ in self.returned}
        self.lowered = None
        if device.type == "cpu":
            self.graph, self.dispatches = None, len(recorder.calls)
            work, self.where = plan.for_calls(recorder, device, kept, adopted)
            self.shared_bytes = 0
        else:
            self.graph = shared(simplified(Graph(recorder, attention.recognised(recorder, kept), kept, dynamic)))
            lowered = self.lowered = lower(self.graph, device, **options)
            self.dispatches = len(lowered)
            work, self.where, self.shared_bytes = plan.for_steps(self.graph, lowered, recorder, device, kept, adopted)
        self.sum_bytes = sum(4 * self.graph.sizes[v] for v in self.where if type(v) is int and v not in self.graph.kept) if self.graph is not None else 0
        self.arenas = [a for n, a in self.where.items() if type(n) is tuple]
        self.kinds = [v.kind for v in recorder.values]
        self.grad_tensors = [(leaf, self._own_grad(recorder, g)) for leaf, g in self.grads]
        self.grads = None
        self.written = [v.storage for n, v in enumerate(recorder.values) if v.kind == EXTERNAL and any(n in c.outputs for c in recorder.calls)]
        self.assumed = Assumed(recorder)
        self.entry = [(leaf, g, g.storage if g is not None else None) for leaf, reads, g in recorder.entry_grads.values() if reads]
        self.live = live_boxes(recorder.calls)
        copied = [self.where[n] for n, _, _ in self.returned if self.kinds[n] == INTERNAL]
        self.handle = device.program(work, [a.storage for a in arguments if a is not None], copied, self.live)
        self.calls, self._ready = recorder.calls, False

    def _own_grad(self, recorder, g):
        if g is None:
            return None
        n = recorder.number(g.storage)
        return Tensor(self.where[n], g.meta) if self.kinds[n] == INTERNAL else g

    def products(self):
        """[(size, a, b, result)] of its matrix products."""
        return [product for call in self.calls for product in call.plan.products]

    def holds(self) -> bool:
        """Whether what was assumed while recording is still so: modes, parameters, gradients on entry."""
        if not self.assumed.holds() or not all(arena.holds() for arena in self.arenas):
            return False
        for leaf, g, storage in self.entry:
            now = leaf._grad
            if (now is None) is not (g is None) or g is not None and now.storage is not storage:
                return False
        return True

    @property
    def ready(self) -> bool:
        """Whether its kernels are compiled: until then the function is run eagerly."""
        self._ready = self._ready or self.device.ready(self.handle)
        return self._ready

    def run(self, tensors):
        """Repeat the recorded call with other arguments of the same signature."""
        results = self._replay(tensors, 1)
        for k in self.changed:
            tensors[k].detach().copy_(self.arguments[k])
        return rebuild(self.result_spec, given_back(results, self.arguments, tensors))

    @property
    def repeats(self) -> bool:
        """Whether run_stacked() can be used: nothing that it returns or is given lies outside, and every part starts on a whole word."""
        inside = all(own is not None for own in self.arguments) and all(self.kinds[n] != EXTERNAL for n, _, _ in self.returned)
        storages = [t.storage for t in self.arguments if t is not None] + [self.where[n] for n, _, _ in self.returned]
        return inside and not self.changed and not any(s.dtype.wgsl == "f16" and s.numel % 2 for s in storages)

    def run_stacked(self, tensors, times):
        """Repeat the call ``times`` times in one: i takes the i-th part along the first dimension of each tensor and gives the i-th of each result."""
        return rebuild(self.result_spec, given_back(self._replay(tensors, times, True), self.arguments, tensors, times))

    def _replay(self, tensors, times, stacked=False):
        """The results, each ``times`` in one where ``stacked``."""
        device, values = self.device, []
        for _ in range(times):
            for fn in self.host:
                fn()
            values += [box.value for box in self.live]
        sources = [(*self._source(t), own.meta.numel) for own, t in zip(self.arguments, tensors) if own is not None]
        targets, results = [], []
        for n, meta, tensor in self.returned:
            if self.kinds[n] != INTERNAL:
                results.append(tensor)
                continue
            numel = self.where[n].numel
            storage = device.allocate(self.where[n].dtype, times * numel)
            targets.append((storage, 0, numel))
            if stacked:
                meta = devices.meta((times, *meta.shape), meta.dtype, meta.device, (numel, *meta.strides), meta.offset)
            results.append(Tensor(storage, meta))
        device.replay(self.handle, times, sources, targets, values)
        for storage in self.written:
            storage.version += times
        for leaf, g in self.grad_tensors:
            leaf._grad = g
        return results

    def _source(self, t):
        m = t.meta
        if not m.contiguous or m.dtype.wgsl == "f16" and m.offset % 2:
            t = state.tensor.contiguous(t) if not m.contiguous else _copied(t)
        return t.storage, t.meta.offset

    def show(self):
        """The program as a picture: its kernels in order and what flows between them (shown by notebooks and pages; ``save(path)``)."""
        return Picture(self)

    def drop(self) -> None:
        """Give the program's memory back."""
        self.device.drop(self.handle)
        self.where = {}

    def __repr__(self):
        lines = [f"program of {len(self.calls)} ops, {self.dispatches} dispatches on {self.device.type}"]
        if self.shared_bytes:
            lines.append(f"  values share {self.shared_bytes / 1e6:.3f} MB; each in memory of its own they would take {self.sum_bytes / 1e6:.3f} MB")
        return "\n".join(lines + [f"  {node!r}" for node in (self.graph.nodes if self.graph is not None else self.calls)])


def _copied(t):
    from ..autograd import apply
    return apply(OPS["clone"], t.detach())


def given_back(results, arguments, tensors, times=None):
    """Results with those that are (views of) the program's copies of arguments replaced by the same of the arguments, stacked where ``times``."""
    owners = {id(own.storage): k for k, own in enumerate(arguments) if own is not None}
    for result in results:
        k = owners.get(id(result.storage))
        if k is None:
            yield result
            continue
        m, t = result.meta, tensors[k]
        if m is arguments[k].meta:
            yield t
            continue
        if not t.meta.contiguous:
            t = state.tensor.contiguous(t)
        shape, strides = (m.shape, m.strides) if times is None else ((times, *m.shape), (arguments[k].meta.numel, *m.strides))
        yield Tensor(t.storage, devices.meta(shape, m.dtype, m.device, strides, m.offset + t.meta.offset))


class Assumed:
    """What a recorded call found in modules and tensors. It is compared before each replay: by ``map``, and modules only after a change to any."""

    def __init__(self, recorder):
        self._modules = list(dict.fromkeys(recorder.modules))
        self._tables = [table for m in self._modules for table in (m._parameters, m._buffers, m._modules)]
        self._found, self._changes = self._look(), state.changes
        self._tensors = [t for t in self._found if isinstance(t, Tensor)]
        self._storages = list(map(STORAGE, self._tensors))
        self._leaves = [leaf for leaf, _ in recorder.leaves.values()]
        self._tracked = [tracked for _, tracked in recorder.leaves.values()]

    def _look(self):
        """Modes, parameters, buffers and children."""
        return [*map(TRAINING, self._modules), *chain.from_iterable(map(dict.values, self._tables))]

    def holds(self) -> bool:
        """Whether all of it is still so, and the parameters' and buffers' memory, and what requires gradients."""
        if self._changes != state.changes:
            now = self._look()
            if len(now) != len(self._found) or not all(map(is_, now, self._found)):
                return False
            self._changes = state.changes
        return all(map(is_, map(STORAGE, self._tensors), self._storages)) and list(map(TRACKED, self._leaves)) == self._tracked


def own_argument(t):
    """A tensor over memory of the program's own, holding the values of an argument."""
    m = t.meta
    own = Tensor(m.device.allocate(m.dtype, m.numel), devices.meta(m.shape, m.dtype, m.device))
    if m.numel:
        own.copy_(t)
    return own
