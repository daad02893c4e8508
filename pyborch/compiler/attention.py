"""Attention written as softmax(q k^T * scale + mask) v, recognised among recorded calls: one kernel that never holds the scores."""
from __future__ import annotations

import math

from .. import devices
from .. import shape as shapes
from ..kernels import Plan, build
from ..ops.attention import ATTENTION, fits
from .capture import INTERNAL, Call


def recognised(recorder, kept) -> list:
    """The recorded calls with each such pattern, whose scores no one else reads, as one attention."""
    finder = Finder(recorder, kept)
    for i in range(len(recorder.calls)):
        finder.look(i)
    return [call for i, call in enumerate(finder.calls) if i not in finder.gone]


class Finder:
    """``calls``, of which those ``gone`` have become part of a later one."""

    def __init__(self, recorder, kept):
        self.values, self.kept, self.calls, self.gone = recorder.values, kept, list(recorder.calls), set()
        self.makers: dict = {}
        self.readers: dict = {}
        for i, call in enumerate(self.calls):
            for n in call.outputs:
                self.makers.setdefault(n, []).append(i)
            for n in call.inputs:
                self.readers.setdefault(n, []).append(i)

    def look(self, i) -> None:
        """Replace call ``i`` where it is the end of the pattern: walk back from its first operand."""
        if not _is_product(self.calls[i]):
            return
        steps, mask, scale = [i], None, 1.0
        at = self._maker(i, 0, "softmax")
        if at is None or self.calls[at].plan.params["dim"] != len(self.calls[at].plan.inputs[0].shape) - 1:
            return
        shape, operand = self.calls[at].plan.inputs[0].shape, 0
        steps.append(at)
        at = self._maker(at, 0, "_where", "add")
        if at is not None:
            mask = self._mask(at)
            if mask is None:
                return
            steps.append(at)
            operand = 1 - mask.index
        at = self._maker(steps[-1], operand, "mul", "true_divide")
        if at is not None:
            call, operand = self.calls[at], 0
            number = call.scalars[0] if call.plan.layout == (True, False) else None
            if type(number) not in (int, float) or not number:
                return
            scale = number if call.plan.op.name == "mul" else 1 / number
            steps.append(at)
        at = self._maker(steps[-1], operand, "matmul")
        if at is not None and _is_product(self.calls[at]) and len(shape) <= 4:
            self._replace([*steps, at], shape, scale, mask)

    def _maker(self, reader, operand, *names):
        """Which call, of one of these ops, made what ``reader`` reads as its ``operand``, if it reads all of it and no one else does."""
        call = self.calls[reader]
        if operand >= len(call.inputs):
            return None
        value, meta = call.inputs[operand], call.plan.inputs[operand]
        made = self.makers.get(value)
        alone = made is not None and value not in self.kept and self._made_once(value) and self.readers[value] == [reader]
        if not alone or self.calls[made[0]].plan.op.name not in names:
            return None
        whole = meta.contiguous and not meta.offset and meta.numel == self.values[value].numel
        return made[0] if whole and (_is_product(call) or meta.numel == call.plan.outputs[0].numel) else None

    def _made_once(self, value):
        return self.values[value].kind == INTERNAL and len(self.makers[value]) == 1

    def _mask(self, at):
        """The Mask of a ``_where`` or ``add``; None where it is something else."""
        call = self.calls[at]
        layout, metas = call.plan.layout, call.plan.inputs
        if call.plan.op.name == "_where":
            fill = call.scalars[0] if sorted(layout[1:]) == [False, True] else None
            if type(fill) not in (int, float) or not fill < math.inf:
                return None
            return Mask(0, call.inputs[0], metas[0], "filled" if layout[2] else "seen", fill)
        if layout != (True, True):
            return None
        scores = next((k for k in (0, 1) if self._maker(at, k, "mul", "true_divide", "matmul") is not None), None)
        return None if scores is None else Mask(1 - scores, call.inputs[1 - scores], metas[1 - scores])

    def _replace(self, steps, shape, scale, mask):
        end, first = self.calls[steps[0]], self.calls[steps[-1]]
        batch = (1,) * (4 - len(shape)) + tuple(shape[:-2])
        k = first.plan.inputs[1]
        k = devices.meta((*k.shape[:-2], k.shape[-1], k.shape[-2]), k.dtype, k.device, (*k.strides[:-2], k.strides[-1], k.strides[-2]), k.offset)
        metas = [_heads(m, batch, p.plan.outputs[0].shape) for m, p in ((first.plan.inputs[0], first), (k, first), (end.plan.inputs[1], end))]
        operands = [first.inputs[0], first.inputs[1], end.inputs[1]]
        if mask is not None:
            metas.append(mask.meta)
            operands.append(mask.value)
        y = end.plan.outputs[0]
        changed = any(n in operands and not self._made_once(n) for call in self.calls[steps[-1]:steps[0]] for n in call.outputs)
        if changed or None in metas or shapes.numel(y.shape[:-2]) != shapes.numel(batch) or not fits(*metas[:3], mask and mask.meta):
            return
        params = {"scale": float(scale), "causal": False, "primitive": True, **(mask.params if mask is not None else {})}
        y = devices.meta((*batch, *y.shape[-2:]), y.dtype, y.device)
        plan = build(Plan(ATTENTION, tuple(metas), (y,), (True, True, True, True if mask is not None else None), (), params))
        self.calls[steps[0]] = Call(plan, operands, end.outputs, [])
        self.gone.update(steps[1:])


class Mask:
    """What is done with a mask: ``value`` through ``meta`` is the ``index``-th operand of its call; added unless ``kind`` is given, of which
    the other scores are ``fill``."""
    __slots__ = ("index", "value", "meta", "params")

    def __init__(self, index, value, meta, kind=None, fill=None):
        self.index, self.value, self.meta = index, value, meta
        self.params = {"mask_is": kind, "fill": float(fill)} if kind else {}


def _is_product(call):
    return call.plan.op.name == "matmul" and call.plan.layout == (True, True, None)


def _heads(meta, batch, made):
    """An operand of a product of shape ``made`` as (batch, heads, length, size); None where its memory does not allow that."""
    outer, strides = meta.shape[:-2], meta.strides[:-2]
    if shapes.numel(outer) == shapes.numel(batch):
        found = shapes.view_strides(outer, strides, batch)
    else:
        found = shapes.broadcast_strides(outer, strides, batch) if (1,) * (4 - len(made)) + tuple(made[:-2]) == batch else None
    return None if found is None else devices.meta((*batch, *meta.shape[-2:]), meta.dtype, meta.device, (*found, *meta.strides[-2:]), meta.offset)
