"""Correctness cases: what the samples of public functions make of each kernel, noted while they run on numpy."""
from __future__ import annotations

import random
import warnings
from collections import namedtuple

from ... import devices, dtypes
from ...autograd import apply, backward, forget_plans, no_grad, state
from ...devices.cpu import Cpu
from ..registry import OPS, RECORDS, T
from .family import POINTWISE, family_of

MOST, MOST_OF_ONE, MOST_ELEMENTS = 16, 3, 20000     # cases of a kernel, of a sample among them, elements of an operand
FEW = 64             # elements among which ties are meant
TOLERANCE = {"float16": (5e-3, 5e-3), "float32": (1e-4, 2e-5)}    # (relative, absolute)
HERE = object()      # stands for the device that a case runs on

# ``values`` are those of the memory (None: drawn between low and high), of which shape, strides and offset are a view
Input = namedtuple("Input", "shape dtype strides offset count low high values")
Output = namedtuple("Output", "shape dtype")


class Case(namedtuple("Case", "name inputs outputs attributes tolerance")):
    """One call of a kernel; ``inputs`` are Inputs, numbers and None. Its name is the seed of what is drawn."""
    __slots__ = ()

    def tensors(self, device):
        """The operands on a device."""
        return [_tensor(x, f"{self.name}-{k}", device) if isinstance(x, Input) else x for k, x in enumerate(self.inputs)]

    def named(self, device):
        """The attributes on a device."""
        return {k: device if v is HERE else v for k, v in self.attributes.items()}

    def fits(self, device):
        """Whether the device has its dtypes."""
        return device.type == "cpu" or device.has_f16 or all(t.dtype.name != "float16" for t in (*self.inputs, *self.outputs) if hasattr(t, "dtype"))

    def elements(self):
        """How many elements it reads and writes."""
        return sum(devices.shapes.numel(t.shape) for t in (*self.inputs, *self.outputs) if hasattr(t, "shape"))


def draw(seed, dtype, count, low, high):
    """``count`` numbers that are the same on every machine, and exact in float32."""
    generator = random.Random(seed)
    if dtype.kind == "f":
        return [round((low + (high - low) * generator.random()) * 4096) / 4096 for _ in range(count)]
    if dtype.kind == "b":
        return [generator.random() < 0.5 for _ in range(count)]
    return [generator.randrange(int(low), int(high)) for _ in range(count)]


def _tensor(x, seed, device):
    values = x.values if x.values is not None else draw(seed, x.dtype, x.count, x.low, x.high)
    return made(values, x, device)


def made(values, x, device):
    """A tensor of this memory, and the view of it that ``x`` describes."""
    import array
    storage = device.allocate(x.dtype, x.count)
    if x.count and device.type == "cpu":
        storage.buffer[:] = values
    elif x.count:
        code = {"bool": "B", "uint8": "B", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "float32": "f"}.get(x.dtype.name)
        data = array.array(code, values).tobytes() if code else _halves(values)
        device.write(storage, 0, data)
    return state.tensor(storage, devices.meta(x.shape, x.dtype, device, x.strides, x.offset))


def _halves(values):
    import struct
    return struct.pack(f"<{len(values)}e", *values)


class Recorder(Cpu):
    """The cpu device, which notes each kernel that runs as a Case of it."""

    def __init__(self):
        super().__init__()
        self.cases, self.known, self.source, self.tolerance = {}, set(), "", None

    def run(self, plan, inputs, outputs, scalars):
        name = family_of(plan.op)
        case = None if name is None else self._noted(name, plan, inputs, scalars)   # before it runs: a kernel may write where it reads
        super().run(plan, inputs, outputs, scalars)
        if case is not None:
            self.cases[name].append(case)

    def _noted(self, name, plan, inputs, scalars):
        """The Case of a call; None where there are enough like it."""
        found = self.cases.setdefault(name, [])
        key = (plan.op.name, self.source) if name == POINTWISE else (name, plan.inputs, plan.layout, tuple(plan.params.items()))
        like = [c for c in found if c.attributes.get("op") == plan.op.name] if name == POINTWISE else found
        of_one = sum(c.name.startswith(self.source) for c in like)
        metas = (*plan.inputs, *plan.outputs)
        if key in self.known or of_one >= MOST_OF_ONE or len(like) >= (1 if name == POINTWISE else MOST) or any(
                m.dtype.name == "float64" or m.numel > MOST_ELEMENTS for m in metas):
            return None
        self.known.add(key)
        tensors, numbers = iter(zip(inputs, plan.inputs)), iter(scalars)
        operands = [None if kind is None else self._input(*next(tensors)) if kind else next(numbers) for kind in plan.layout]
        attributes = {**plan.params, **dict(zip(plan.scalar_names, numbers))}
        attributes = {k: HERE if v is self else v for k, v in attributes.items()}
        if name == POINTWISE:
            attributes = {"op": plan.op.name, **attributes}
        wanted = plan.outputs[0].dtype.name
        tolerance = (self.tolerance, self.tolerance) if self.tolerance else TOLERANCE.get(wanted, (0, 0))
        outputs = tuple(Output(tuple(m.shape), m.dtype) for m in plan.outputs)
        return Case(f"{self.source}.{len(found)}", tuple(operands), outputs, attributes, tolerance)

    def _input(self, storage, m):
        """Memory that random numbers could stand for is described by its range; whole numbers, infinities and ties are kept."""
        count = m.offset + sum((n - 1) * s for n, s in zip(m.shape, m.strides)) + 1 if m.numel else 0
        values = storage.buffer[:count]
        plain = m.dtype.kind == "f" and self.np.isfinite(values).all() and (count > FEW or len(self.np.unique(values)) == count)
        low, high = (float(values.min()), float(values.max())) if plain and count else (0.0, 1.0)
        return Input(tuple(m.shape), m.dtype, m.strides, m.offset, count, low, high, None if plain else values.tolist())


def drawn(name, s, k, device):
    """(args, kwargs, leaves) of a sample, with tensors on a device."""
    leaves: list = []

    def convert(value):
        if isinstance(value, list):
            return [convert(v) for v in value]
        if not isinstance(value, T):
            return value
        dtype = dtypes.BY_NAME[value.dtype]
        count = devices.shapes.numel(value.shape)
        values = value.values if value.values is not None else draw(f"{name}-{k}-{len(leaves)}", dtype, count, value.low, value.high)
        leaf = made(list(values), Input(value.shape, dtype, None, 0, count, 0, 0, None), device)
        leaves.append(leaf)
        if value.grad:
            leaf.requires_grad_()
        return leaf if value.view is None else value.view(leaf)
    args = [convert(a) for a in s.args]
    kwargs = {k: device if k == "device" else dtypes.BY_NAME[v] if k == "dtype" and isinstance(v, str) else convert(v) for k, v in s.kwargs.items()}
    return args, kwargs, leaves


def _run(name, function, s, k, recorder):
    """Run a sample without gradients (some kernels are for that alone), and with them."""
    recorder.source, recorder.tolerance = f"{name}[{k}]", s.tol
    with no_grad():
        args, kwargs, _ = drawn(name, s, k, recorder)
        function(*args, **kwargs)
    args, kwargs, leaves = drawn(name, s, k, recorder)
    results = function(*args, **kwargs)
    outs = [t for t in (results if isinstance(results, (tuple, list)) else [results]) if getattr(t, "requires_grad", False)]
    if outs and any(leaf.requires_grad for leaf in leaves):
        weights = [draw(f"{name}-{k}", t.meta.dtype, t.meta.numel, -1.0, 1.0) for t in outs]
        recorder.source += ".backward"
        backward(outs, [made(w, Input(tuple(t.meta.shape), t.meta.dtype, None, 0, t.meta.numel, 0, 0, None), recorder) for w, t in zip(weights, outs)])


def _record():
    """{kernel: [Case]} of all samples."""
    recorder, before = Recorder(), devices._default[0]
    calls = [(key, r.function, k, s) for key, r in RECORDS.items() for k, s in enumerate(r.samples)]
    calls += [(f"{op.name}()", lambda *a, op=op, **kw: apply(op, *a, **kw), k, s) for op in OPS.values() if not op.pointwise for k, s in enumerate(op.samples)]
    devices.set_default_device(recorder)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for key, function, k, s in calls:
                try:
                    _run(key, function, s, k, recorder)
                except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):   # samples of errors
                    continue
    finally:
        devices._default[0] = before
        forget_plans()
    return recorder.cases


_recorded: list = []


def cases_of(name):
    """The correctness cases of a kernel; the first call runs all samples."""
    if not _recorded:
        _recorded.append(_record())
    return _recorded[0].get(name, [])
