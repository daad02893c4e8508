"""Writing one value or an arithmetic sequence: full, fill_, zero_, arange, linspace."""
from __future__ import annotations

from .. import kernels
from ..autograd import apply
from .registry import Op, function, pointwise


FILL = pointwise("_fill", lambda m, *, value: value, to="")
FILL.load_types = lambda dtypes, plan: []


def plan_fill(plan, y, value) -> None:
    """Dispatch a fill of a row-major output with a run-time number."""
    m = y.meta
    if m.numel:
        kind = {"f": "f32", "u": "i32", "i": "i32", "b": "u32"}[m.dtype.kind] if m.dtype.name != "uint32" else "u32"
        value.kind = kind[0]
        first = len(plan.steps)
        plan.dispatch(kernels.from_file("fill", types={"T": m.dtype.wgsl, "V": kind}), [y], [m.numel, m.offset, value], -(-m.numel // 256))
        if value.index == 0:
            own = kernels.Plan(FILL, (), (m,), (), ("value",), {})   # the op at hand may read tensors, this part of it does not
            plan.part("pointwise", first, [], [y], (own, FILL, (kind,), {}))


def _full_run(plan, y, *, shape, dtype, device):
    plan_fill(plan, y, plan.named("value"))


FULL = Op("full", lambda *, shape, dtype, device: (shape, dtype), _full_run, lambda np, *, shape, dtype, device, value: np.full(shape, value),
          scalars=("value",), doc="A tensor filled with one number.")
FULL.overwrites = True


def full_of(shape, value, dtype, device):
    """A tensor of one value; shape a tuple, device a backend."""
    return apply(FULL, shape=shape, dtype=dtype, device=device, value=_stored(value, dtype, device))


def _stored(value, dtype, device):
    """A Python number as the dtype would keep it; OverflowError for an int64 that the device cannot keep."""
    if dtype.kind == "f":
        return float(value)
    if dtype.kind == "b":
        return 1 if value else 0
    value = int(value)
    if dtype.itemsize == 8 and device.type == "webgpu" and not -(1 << 31) <= value < 1 << 31:
        raise OverflowError(f"webgpu keeps int64 as 32 bits (-2**31 .. 2**31-1): int64 value {value}")
    bits = 8 * dtype.itemsize
    low = 0 if dtype.name in ("uint8", "uint32") else -(1 << bits - 1)
    return (value - low) % (1 << bits) + low


@function(to="Tensor")
def fill_(self, value):
    """Set every element to ``value`` (a number or a 0-d tensor)."""
    if hasattr(value, "meta"):
        if value.meta.shape:
            raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {len(value.meta.shape)} dimensions.")
        return self.copy_(value)
    if not self.meta.contiguous:
        return self.copy_(full_of((), value, self.meta.dtype, self.meta.device))
    m = self.meta
    return apply(FULL, out=self, shape=m.shape, dtype=m.dtype, device=m.device, value=_stored(value, m.dtype, m.device))


@function(to="Tensor")
def zero_(self):
    """Set every element to 0."""
    return fill_(self, 0)


def _sequence_run(plan, y, *, count, halves, dtype, device):
    if count:
        kind = "f32" if dtype.kind == "f" else "i32"
        words = [count, *[plan.named(n, kind[0]) for n in ("start", "step", "end")]]
        plan.dispatch(kernels.from_file("sequence", {"HALVES": halves}, {"T": dtype.wgsl, "V": kind}), [y], words, -(-count // 256))


def _sequence_reference(np, *, count, halves, dtype, device, start, step, end):
    index = np.arange(count)
    up = start + index * step
    return np.where(index < count // 2, up, end - (count - 1 - index) * step) if halves else up


SEQUENCE = Op("sequence", lambda *, count, halves, dtype, device: ((count,), dtype), _sequence_run, _sequence_reference, scalars=("start", "step", "end"),
              doc="Evenly spaced numbers.")


def sequence_of(count, start, step, end, dtype, device, halves=False):
    """start, start + step, ... as a 1-d tensor of ``count`` elements."""
    number = float if dtype.kind == "f" else int
    return apply(SEQUENCE, count=count, halves=halves, dtype=dtype, device=device, start=number(start), step=number(step), end=number(end))
