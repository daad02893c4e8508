"""Recording: what one call of a function did, as op calls over numbered values."""
from __future__ import annotations

import weakref

from ..autograd import Live, state
from ..errors import CaptureError

ARGUMENT, EXTERNAL, INTERNAL = "argument", "external", "internal"


class Value:
    """Memory seen while recording. Internal values are made by a call and die inside the function."""
    __slots__ = ("kind", "storage", "ref", "maker", "dtype", "numel", "constant")

    def __init__(self, kind, storage, maker=None):
        self.kind, self.maker, self.dtype, self.numel, self.constant = kind, maker, storage.dtype, storage.numel, False
        self.ref = weakref.ref(storage)
        self.storage = None if kind == INTERNAL else storage


class Call:
    """One op call: its plan, the numbers of the values read and written, and its run-time scalars."""
    __slots__ = ("plan", "inputs", "outputs", "scalars")

    def __init__(self, plan, inputs, outputs, scalars):
        self.plan, self.inputs, self.outputs, self.scalars = plan, inputs, outputs, scalars

    def __repr__(self):
        return f"{', '.join(f'%{n}' for n in self.outputs)} = {self.plan.describe()} of {', '.join(f'%{n}' for n in self.inputs)}"


class Recorder:
    """Takes part in every op call while ``autograd.state.recorder`` is set to it."""

    def __init__(self, strict=True):
        self.values, self.calls, self.host, self.modules = [], [], [], []
        self.strict, self.broken = strict, None
        self.walked: weakref.WeakSet = weakref.WeakSet()
        self.entry_grads: dict = {}
        self.leaves: dict = {}       # tensors from outside, and whether they required gradients
        self._numbers: dict = {}

    # from the tape and the tensors
    def record(self, plan, storages, outputs, scalars, fresh, operands) -> None:
        """Note an op call; ``fresh`` where its outputs are new memory."""
        inputs = [self.number(s) for s in storages]
        for x in operands:
            if isinstance(x, state.tensor) and x.node is None and x.base is None and self.values[self.number(x.storage)].kind == EXTERNAL:
                self.leaves[id(x)] = x, x.tracked
        if fresh:
            written = [self._add(Value(INTERNAL, s, plan), s) for s in outputs]
        else:
            written = [self._written(self.number(s), plan) for s in outputs]
        self.calls.append(Call(plan, inputs, written, list(scalars)))

    def _written(self, number, plan):
        if self.values[number].constant:
            self._break(f"compile: {plan.describe()} writes into a tensor made from Python data inside the function; a replay would find the "
                        "changed data. Make it with zeros/full/arange there, or outside the function.")
        return number

    def number(self, storage) -> int:
        """The value of a storage; one never seen before comes from outside."""
        found = self._numbers.get(id(storage))
        if found is not None and self.values[found].ref() is storage:
            return found
        return self._add(Value(EXTERNAL, storage), storage)

    def _add(self, value, storage) -> int:
        self.values.append(value)
        self._numbers[id(storage)] = len(self.values) - 1
        return len(self.values) - 1

    def argument(self, storage) -> None:
        """Declare the memory of an argument."""
        self._add(Value(ARGUMENT, storage), storage)

    def constant(self, storage) -> None:
        """Memory filled from Python data inside the function: the same at every replay."""
        self.values[self.number(storage)].constant = True

    def touch_grad(self, leaf, reads) -> None:
        """The first use of a ``.grad``: what it was on entry matters where it is read before it is set."""
        if id(leaf) not in self.entry_grads:
            self.entry_grads[id(leaf)] = (leaf, reads, leaf._grad)

    def visit(self, module) -> None:
        """A module was called: its mode and parameters are guarded."""
        self.modules.append(module)

    def on_replay(self, fn) -> None:
        """Have ``fn()`` called before each replay: host state (step counts, random offsets) advances there."""
        self.host.append(fn)

    def refuse(self, what) -> None:
        """Say what a replay cannot repeat: CaptureError where the whole function must be replayed."""
        self._break(f"compile: {what} inside a compiled function would be replayed with the values of this call; move it outside, "
                    "or return the tensor and read it there")

    def _break(self, message):
        if self.strict:
            raise CaptureError(message)
        self.broken = self.broken or f"{message} ({where()})"

    # afterwards
    def survivors(self, kept) -> list:
        """Internal values still alive although neither returned nor a gradient: state that the function made."""
        return [v for n, v in enumerate(self.values) if v.kind == INTERNAL and n not in kept and v.ref() is not None]


def where() -> str:
    """The line outside this package that is being run, as ``file:line``."""
    import sys
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == "pyborch":
        frame = frame.f_back
    return f"at {frame.f_code.co_filename}:{frame.f_lineno}"


def active() -> bool:
    """Whether a function is being recorded."""
    return state.recorder is not None


def on_replay(fn) -> None:
    """Have ``fn()`` called before each replay of the step being recorded, if one is."""
    if state.recorder is not None:
        state.recorder.on_replay(fn)


def live_boxes(calls) -> list:
    """The Live scalars of recorded calls, each once."""
    found: dict = {}
    for call in calls:
        for s in call.scalars:
            if isinstance(s, Live):
                found[id(s)] = s
    return list(found.values())
