"""apply() runs one op: its plan, its memory, one call into the device, and the tape."""
from __future__ import annotations

from .. import devices, dtypes, kernels
from .modes import Live, state
from .tape import OpNode, edge_of

PLAN_LIMIT = 4096
_plans: dict = {}


def apply(op, *operands, out=None, **params):
    """Run ``op`` and record it for backward; returns a Tensor, or a tuple for several outputs.

    ``operands`` are Tensors, None where optional, and for pointwise ops Python numbers. ``out`` is a Tensor (or tuple) written in
    place. Numbers among ``op.scalars`` and numeric parameters of pointwise ops may be Live.
    """
    if state.autocast is not None and out is None:
        operands = state.autocast.operands(op, operands)
    if params or out is not None:
        return _apply_named(op, operands, out, params)
    Tensor = state.tensor  # this is the hot path: a call is looked up by its metas, and only an unknown one is thought about
    key, storages, scalars, wanted = [op], [], [], False
    for x in operands:
        if isinstance(x, Tensor):
            key.append(x.meta)
            storages.append(x.storage)
            if x.tracked or x.base is not None and edge_of(x) is not None:
                wanted = True
        else:
            kind = type(x)
            if kind is not float and kind is not int:
                return _apply_named(op, operands, out, params)
            key.append(kind)
            scalars.append(x)
    plan = _plans.get(tuple(key))
    if plan is None:
        return _apply_named(op, operands, out, params)
    return _launch(op, plan, operands, storages, scalars, scalars, params, wanted)


def _launch(op, plan, operands, storages, scalars, values, params, wanted):
    outputs = plan.device.launch(plan, storages, values)
    if state.recorder is not None:
        state.recorder.record(plan, storages, outputs, scalars, True, operands)
    Tensor = state.tensor
    if plan.single:
        result = Tensor(outputs[0], plan.outputs[0])
        if wanted and state.grad and op.rules and result.meta.dtype.kind == "f":
            result.node, result.tracked = OpNode(op, plan, operands, params, (result,)), True
        return result
    results = [Tensor(s, m) for s, m in zip(outputs, plan.outputs)]
    if wanted and state.grad and op.rules:
        node = OpNode(op, plan, operands, params, results)
        for i, t in enumerate(results):
            if t.meta.dtype.kind == "f":
                t.node, t.index, t.tracked = node, i, True
    return tuple(results)


def _apply_named(op, operands, out, params):
    """apply() in general: parameters, optional operands, Live numbers, results written in place."""
    Tensor = state.tensor
    key, tensors, scalars, live = [op], [], [], False
    for x in operands:
        if isinstance(x, Tensor):
            key.append(x.meta)
            tensors.append(x)
        elif x is None:
            key.append(None)
        else:
            x, is_live = _number(op, x)
            live = live or is_live
            scalars.append(x)
            key.append(type(x) if not is_live else float)
    for name, value in params.items():
        if _is_scalar(op, name, value):
            scalars.append(value)
            live = live or type(value) is Live
            key.append(name)
        else:
            key.append(value)
    if out is not None:
        from .inplace import apply_into
        return apply_into(op, key, operands, tensors, scalars, live, params, out)
    plan = _plans.get(tuple(key))
    if plan is None:
        plan = make_plan(op, key, operands, tensors, scalars, params)
        if plan is None:  # a 0-d tensor of another device came along
            return apply(op, *same_device(op, operands), **params)
    wanted = state.grad and any(edge_of(t) is not None for t in tensors)
    return _launch(op, plan, operands, [t.storage for t in tensors], scalars, values_of(scalars) if live else scalars, params, wanted)


def _number(op, x):
    if type(x) is Live:
        return x, True
    if not isinstance(x, (int, float)):
        if hasattr(x, "item") and not hasattr(x, "__len__"):
            x = x.item()
        elif hasattr(x, "__array__") or isinstance(x, (list, tuple)):
            raise TypeError(f"{op.name}(): argument must be Tensor or number, not {type(x).__name__}")
    if not isinstance(x, (int, float)):
        raise TypeError(f"{op.name}(): argument must be Tensor or number, not {type(x).__name__}")
    if not op.pointwise:
        raise TypeError(f"{op.name}(): argument must be Tensor, not {type(x).__name__}")
    return x, False


def autocasts(*tensors) -> bool:
    """Whether tensors of different dtypes are about to be made one by autocast, so that a product takes them."""
    return state.autocast is not None and all(t is None or t.meta.dtype.name in ("float16", "float32") for t in tensors)


def values_of(scalars):
    return [s.value if type(s) is Live else s for s in scalars]


def make_plan(op, key, operands, tensors, scalars, params, out_metas=None, aliases=()):
    if not tensors and out_metas is None and "device" not in params:
        raise TypeError(f"{op.name}(): at least one argument must be a Tensor")
    devices_seen = {t.meta.device.type for t in tensors}
    if len(devices_seen) > 1:
        if any(not t.meta.shape for t in tensors):
            return None
        first, second = list(dict.fromkeys(t.meta.device.type for t in tensors))[:2]
        raise RuntimeError(f"Expected all tensors to be on the same device, but found at least two devices, {first} and {second}! "
                           f"(when checking arguments of {op.name})")
    Tensor = state.tensor
    layout = tuple(None if x is None else isinstance(x, Tensor) for x in operands)
    names = tuple(n for n, v in params.items() if _is_scalar(op, n, v))
    static = {n: v for n, v in params.items() if n not in names}
    numbers = tuple(float if type(x) is Live else type(x) for x, t in zip(operands, layout) if t is False)
    inputs = tuple(t.meta for t in tensors)
    metas = [x.meta if t else None for x, t in zip(operands, layout)]
    specs = op.infer([m for m, t in zip(metas, layout) if t] if op.pointwise else metas, layout, numbers, static)
    device = inputs[0].device if inputs else (out_metas[0].device if out_metas else static["device"])
    if out_metas is None:
        out_metas = tuple(devices.meta(shape, dtype, device) for shape, dtype in specs)
    else:
        _check_out(op, specs, out_metas)
    plan = kernels.build(kernels.Plan(op, inputs, out_metas, layout, names, static, numbers, aliases))
    if len(_plans) >= PLAN_LIMIT:
        forget_plans()
    _plans[tuple(key)] = plan
    return plan


def forget_plans() -> None:
    """Drop all cached plans; they are made again when needed."""
    for plan in _plans.values():
        plan.device.forget(plan)
    _plans.clear()


def _is_scalar(op, name, value):
    return type(value) is Live or name in op.scalars or (op.pointwise and type(value) in (float, int))


def _check_out(op, specs, out_metas):
    for (shape, dtype), meta in zip(specs, out_metas):
        if tuple(shape) != tuple(meta.shape):
            raise RuntimeError(f"output with shape {list(meta.shape)} doesn't match the broadcast shape {list(shape)}")
        if not dtypes.can_cast(dtype, meta.dtype):
            raise RuntimeError(f"result type {dtype.title} can't be cast to the desired output type {meta.dtype.title}")
        if devices.shapes.overlaps_itself(meta.shape, meta.strides):
            raise RuntimeError("unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
                               "Please clone() the tensor before performing the operation.")


def same_device(op, operands):
    """Operands with 0-d tensors moved to where the others are."""
    Tensor = state.tensor
    target = next(x.meta.device for x in operands if isinstance(x, Tensor) and x.meta.shape)
    return [x.to(target.type) if isinstance(x, Tensor) and x.meta.device is not target else x for x in operands]


state.apply = apply
