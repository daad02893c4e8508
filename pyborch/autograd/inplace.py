"""Results written into tensors that exist: in-place methods and out=."""
from __future__ import annotations

from .modes import state
from .run import _plans, apply, make_plan, same_device, values_of
from .tape import OpNode, OverwrittenNode, edge_of, rebase


def apply_into(op, key, operands, tensors, scalars, live, params, out):
    """Run ``op`` into ``out`` (a Tensor or tuple), which takes over the history; returns ``out``."""
    outs = out if isinstance(out, tuple) else (out,)
    inplace = any(o is t for o in outs for t in tensors)
    if not op.in_place and any(o.storage is t.storage for o in outs for t in tensors):
        return _copy_results(apply(op, *operands, **params), outs, out)
    tracked = state.grad and any(edge_of(t) is not None for t in [*tensors, *outs])
    if tracked:
        _check_in_place(op, outs, inplace)
    aliases = tuple(next((k + 1 for k, o in enumerate(outs) if o.storage is t.storage), 0) for t in tensors)
    aliases = aliases if any(aliases) else ()
    if aliases and _overlap(tensors, outs, aliases):
        tensors, operands, aliases = _separate(operands, tensors, outs)
        key = [op] + [x.meta if isinstance(x, state.tensor) else k for x, k in zip(operands, key[1:])] + key[1 + len(operands):]
    key = (*key, "out", *[o.meta for o in outs], aliases)
    plan = _plans.get(key)
    if plan is None:
        plan = make_plan(op, key, operands, tensors, scalars, params, tuple(o.meta for o in outs), aliases)
        if plan is None:
            return apply(op, *same_device(op, operands), out=out, **params)
    storages = [o.storage for o in outs]
    inputs = [t.storage for t in tensors]
    plan.device.run(plan, inputs, storages, values_of(scalars) if live else scalars)
    if state.recorder is not None:
        state.recorder.record(plan, inputs, storages, scalars, False, operands)
    node = OpNode(op, plan, [_before(x, outs) for x in operands], params, ()) if tracked and op.rules else None
    for s in storages:
        s.version += 1
    if node is not None:
        node.note_outputs(outs)
    for i, o in enumerate(outs if tracked else ()):
        old = edge_of(o) if op.overwrites or not op.rules else None
        if old is not None:
            rebase(o, OverwrittenNode(old, node and (node, i)), 0)
        elif node is not None:
            rebase(o, node, i)
    return out


def _before(x, outs):
    """An operand that is about to be written, with the history that it had before: the node must not hold its own output."""
    if not any(x is o for o in outs):
        return x
    found = state.tensor(x.storage, x.meta)
    edge = edge_of(x)
    if edge is not None:
        found.tracked, found.base = True, None
        found.node, found.index = edge if edge[1] >= 0 else (None, 0)
    return found


def _copy_results(results, outs, out):
    for o, r in zip(outs, results if isinstance(results, tuple) else (results,)):
        o.copy_(r)
    return out


def _check_in_place(op, outs, inplace):
    for o in outs:
        if not inplace and op.rules and not op.overwrites:
            raise RuntimeError(f"{op.name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
                               "arguments requires grad.")
        if o.tracked and o.node is None and o.base is None:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        if o.base is not None and o.base.tracked and o.base.node is None:
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")


def _overlap(tensors, outs, aliases):
    """Whether an input shares memory with an output it is not the same view of."""
    return any(a and t.meta is not outs[a - 1].meta for t, a in zip(tensors, aliases))


def _separate(operands, tensors, outs):
    """Copies of the inputs that overlap an output in another order of elements."""
    storages = {id(o.storage): o for o in outs}
    fresh = {}
    for t in tensors:
        o = storages.get(id(t.storage))
        if o is not None and o.meta is not t.meta:
            fresh[id(t)] = t.clone()
    operands = [fresh.get(id(x), x) for x in operands]
    tensors = [fresh.get(id(t), t) for t in tensors]
    aliases = tuple(next((k + 1 for k, o in enumerate(outs) if o.storage is t.storage), 0) for t in tensors)
    return tensors, operands, aliases if any(aliases) else ()
