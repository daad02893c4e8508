"""apply() runs one op; the tape records it; backward() walks the tape. Gradients live in the op records."""
from __future__ import annotations

import heapq

from . import devices
from . import dtypes
from . import kernels

PLAN_LIMIT = 4096
_plans: dict = {}


class _State:
    """Process-wide switches: gradient mode, the capture in progress, and the Tensor class (set by tensor.py)."""
    __slots__ = ("grad", "recorder", "tensor", "sequence", "inference")


state = _State()
state.grad, state.recorder, state.tensor, state.sequence = True, None, None, 0


class Live:
    """A number that compiled programs read anew at each replay: ``Live(0.1)``, then ``box.value = 0.05``."""
    __slots__ = ("value",)

    def __init__(self, value=0.0):
        self.value = value


# Gradient mode
def is_grad_enabled() -> bool:
    """Whether operations are recorded for backward."""
    return state.grad


class set_grad_enabled:
    """Switch gradient recording on or off, at once and as a context manager or decorator."""

    def __init__(self, mode: bool):
        self.mode, self.before = mode, state.grad
        state.grad = mode

    def __enter__(self):
        state.grad = self.mode

    def __exit__(self, *error):
        state.grad = self.before

    def __call__(self, fn):
        state.grad = self.before
        return _decorated(lambda: set_grad_enabled(self.mode), fn)


class _mode:
    value = True

    def __new__(cls, fn=None):
        self = object.__new__(cls)
        return self if fn is None else _decorated(cls, fn)

    def __init__(self, fn=None):
        self.before = []

    def __enter__(self):
        self.before.append(state.grad)
        state.grad = self.value
        return self

    def __exit__(self, *error):
        state.grad = self.before.pop()

    def __call__(self, fn):
        return _decorated(type(self), fn)


def _decorated(make, fn):
    def wrapped(*args, **kwargs):
        with make():
            return fn(*args, **kwargs)
    for name in ("__name__", "__qualname__", "__doc__", "__module__"):
        setattr(wrapped, name, getattr(fn, name, None))
    wrapped.__wrapped__ = fn  # type: ignore[attr-defined]
    return wrapped


class no_grad(_mode):
    """Context manager and decorator: operations are not recorded for backward."""
    value = False


class enable_grad(_mode):
    """Context manager and decorator: operations are recorded again inside ``no_grad``."""
    value = True


class inference_mode(no_grad):
    """Same as ``no_grad``; there is no cheaper mode to enter."""


# Running an op
def apply(op, *operands, out=None, **params):
    """Run ``op`` and record it for backward; returns a Tensor, or a tuple for several outputs.

    ``operands`` are Tensors, None where optional, and for pointwise ops Python numbers. ``out`` is a Tensor (or tuple) written in
    place. Numbers among ``op.scalars`` and numeric parameters of pointwise ops may be Live.
    """
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
    for name in params:
        value = params[name]
        kind = type(value)
        if kind is Live or name in op.scalars or (op.pointwise and (kind is float or kind is int)):
            scalars.append(value)
            live = live or kind is Live
            key.append(name)
        else:
            key.append(value)
    if out is not None:
        return _apply_into(op, key, operands, tensors, scalars, live, params, out)
    plan = _plans.get(tuple(key))
    if plan is None:
        plan = _make_plan(op, key, operands, tensors, scalars, params)
        if plan is None:  # a 0-d tensor of another device came along
            return apply(op, *_same_device(op, operands), **params)
    device = plan.device
    outputs = [device.allocate(m.dtype, m.numel) for m in plan.outputs]
    device.run(plan, [t.storage for t in tensors], outputs, _values(scalars) if live else scalars)
    if state.recorder is not None:
        state.recorder.record(plan, tensors, outputs, scalars, True)
    results = [Tensor(s, m) for s, m in zip(outputs, plan.outputs)]
    if state.grad and op.rules:
        for t in tensors:
            if t.tracked or t.base is not None and edge_of(t):
                _attach(op, plan, operands, params, results)
                break
    return results[0] if plan.single else tuple(results)


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


def _values(scalars):
    return [s.value if type(s) is Live else s for s in scalars]


def _make_plan(op, key, operands, tensors, scalars, params, out_metas=None, aliases=()):
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


def _same_device(op, operands):
    """Operands with 0-d tensors moved to where the others are."""
    Tensor = state.tensor
    target = next(x.meta.device for x in operands if isinstance(x, Tensor) and x.meta.shape)
    return [x.to(target.type) if isinstance(x, Tensor) and x.meta.device is not target else x for x in operands]


# In-place results
def _apply_into(op, key, operands, tensors, scalars, live, params, out):
    outs = out if isinstance(out, tuple) else (out,)
    inplace = any(o is t for o in outs for t in tensors)
    if not op.pointwise and any(o.storage is t.storage for o in outs for t in tensors):
        return _copy_results(apply(op, *operands, **params), outs, out)
    tracked = state.grad and any(edge_of(t) for t in [*tensors, *outs])
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
        plan = _make_plan(op, key, operands, tensors, scalars, params, tuple(o.meta for o in outs), aliases)
        if plan is None:
            return apply(op, *_same_device(op, operands), out=out, **params)
    storages = [o.storage for o in outs]
    plan.device.run(plan, [t.storage for t in tensors], storages, _values(scalars) if live else scalars)
    if state.recorder is not None:
        state.recorder.record(plan, tensors, storages, scalars, False)
    if tracked and op.rules:
        node = OpNode(op, plan, operands, params, outs)
        for s in storages:
            s.version += 1
        node.note_outputs(outs)
        for i, o in enumerate(outs):
            rebase(o, node, i)
    else:
        for s in storages:
            s.version += 1
    return out


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


def rebase(tensor, node, index) -> None:
    """Make ``node`` the history of a tensor changed in place; a view passes it on to its base."""
    base = tensor.base
    if base is None:
        tensor.node, tensor.index, tensor.tracked = node, index, True
        tensor.rebased += 1
        return
    base_node = SliceNode(base, tensor.meta, node, index)
    base.node, base.index, base.tracked = base_node, 0, True
    base.rebased += 1
    refresh_view(tensor)


def refresh_view(view) -> None:
    """Give a view whose base was changed in place its history anew."""
    base = view.base
    view.rebased = base.rebased
    if base.tracked:
        view.node, view.index, view.tracked = ViewNode(base, view.meta), 0, True


# The tape
class Node:
    """One recorded operation. ``edges`` holds per operand None, (node, output index) or (leaf tensor, -1)."""
    __slots__ = ("edges", "sequence", "hooks", "count", "__weakref__")

    def __init__(self, edges, count=1):
        self.edges, self.hooks, self.count = edges, None, count
        state.sequence += 1
        self.sequence = state.sequence

    def name(self):
        return type(self).__name__

    def __repr__(self):
        return f"<{self.name()} object>"

    def compute(self, gs):
        raise NotImplementedError

    def release(self):
        pass

    @property
    def next_functions(self):
        """((node, index), ...) as PyTorch gives them; leaves appear as (None, 0)."""
        return tuple((None, 0) if e is None or e[1] < 0 else e for e in self.edges)


def edge_of(tensor):
    """Where the gradient of a tensor goes; None where it needs none."""
    if tensor.base is not None and tensor.rebased != tensor.base.rebased:
        refresh_view(tensor)
    if not tensor.tracked:
        return None
    return (tensor, -1) if tensor.node is None else (tensor.node, tensor.index)


_BACKWARD_NAMES = {"matmul": "MmBackward0", "sub": "SubBackward0"}


class OpNode(Node):
    """A recorded op call; keeps only what its gradient rules name."""
    __slots__ = ("op", "plan", "rules", "saved", "outputs", "versions")

    def __init__(self, op, plan, operands, params, results):
        Tensor = state.tensor
        super().__init__([edge_of(x) if isinstance(x, Tensor) else None for x in operands], len(results))
        self.op, self.plan = op, plan
        edges = self.edges
        self.rules = [r for r in op.rules if r.inputs is None or any(edges[i] is not None for i in r.inputs if i < len(edges))]
        self.saved, self.versions, self.outputs = {}, {}, None
        names = op.input_names
        for rule in self.rules:
            for name in rule.names:
                if name in self.saved or name in ("g", "gs", "metas"):
                    continue
                if name in ("y", "ys"):
                    self.note_outputs(results)
                elif name == "tensors":
                    self.saved[name] = tuple(operands)
                elif names is not None and name in names:
                    x = operands[names.index(name)] if names.index(name) < len(operands) else None
                    self.saved[name] = x
                    if isinstance(x, Tensor):
                        self.versions[name] = x.storage.version
                else:
                    value = params[name]
                    self.saved[name] = value.value if type(value) is Live else value

    def note_outputs(self, results):
        if any("y" in r.names or "ys" in r.names for r in self.rules):
            self.outputs = [(t.storage, t.meta, t.storage.version) for t in results]

    def name(self):
        word = self.op.name
        return _BACKWARD_NAMES.get(word) or "".join(part.capitalize() for part in word.split("_")) + "Backward0"

    def _output(self, index):
        storage, meta, version = self.outputs[index]
        self._check(storage, meta, version)
        y = state.tensor(storage, meta)
        y.node, y.index, y.tracked = self, index, True
        return y

    def _check(self, storage, meta, version):
        if storage.version != version:
            shape = ", ".join(map(str, meta.shape))
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"[torch.{meta.dtype.title}Tensor [{shape}]], which is output 0 of {self.name()}, is at version {storage.version}; expected "
                f"version {version} instead. Hint: enable anomaly detection to find the operation that failed to compute its gradient, "
                "with torch.autograd.set_detect_anomaly(True).")

    def compute(self, gs):
        if self.saved is None:
            raise RuntimeError("Trying to backward through the graph a second time (or directly access saved tensors after they have already "
                               "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
                               "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
                               "saved tensors after calling backward.")
        for name, version in self.versions.items():
            x = self.saved[name]
            self._check(x.storage, x.meta, version)
        grads = [None] * len(self.edges)
        for rule in self.rules:
            values = [self._value(name, gs) for name in rule.names]
            if rule.fused is not None and not state.grad:
                grads[rule.inputs[0]] = apply(rule.fused, *values)
                continue
            result = rule.function(*values)
            if rule.inputs is None:
                grads = list(result)
            elif len(rule.inputs) == 1:
                grads[rule.inputs[0]] = result
            else:
                for i, part in zip(rule.inputs, result):
                    if i < len(grads):
                        grads[i] = part
        return grads

    def _value(self, name, gs):
        if name == "g":
            return gs[0]
        if name == "gs":
            return gs
        if name == "metas":
            return self.plan.inputs
        if name == "y":
            return self._output(0)
        if name == "ys":
            return tuple(self._output(i) for i in range(self.count))
        return self.saved[name]

    def release(self):
        self.saved = self.outputs = None


class ViewNode(Node):
    """A view's history: the gradient lies where the view lies in its base. ``rule(g)`` replaces the general answer."""
    __slots__ = ("base_meta", "view_meta", "rule", "label")

    def __init__(self, base, view_meta, rule=None, label="AsStrided"):
        super().__init__([edge_of(base)])
        self.base_meta, self.view_meta, self.rule, self.label = base.meta, view_meta, rule, label

    def name(self):
        return self.label + "Backward0"

    def compute(self, gs):
        if self.rule is not None:
            return [self.rule(gs[0])]
        return [state.tensor._scatter_view(gs[0], self.base_meta, self.view_meta)]


class SliceNode(Node):
    """A base after a view of it was changed in place: outside the view the gradient is the old base's."""
    __slots__ = ("view_meta", "base_meta")

    def __init__(self, base, view_meta, node, index):
        super().__init__([edge_of(base), (node, index)])
        self.view_meta, self.base_meta = view_meta, base.meta

    def name(self):
        return "CopySlices"

    def compute(self, gs):
        g = gs[0].contiguous()
        inside = g._as_view(self.view_meta)
        outside = None
        if self.edges[0] is not None:
            mask = state.tensor._scatter_view(inside * 0 + 1, self.base_meta, self.view_meta)
            outside = g * (1 - mask)
        return [outside, inside]


def _attach(op, plan, operands, params, results):
    node = OpNode(op, plan, operands, params, results)
    for i, t in enumerate(results):
        if t.meta.dtype.kind == "f":
            t.node, t.index, t.tracked = node, i, True


# Backward
def run_backward(roots, gradients, retain_graph=False, create_graph=False, wanted=None):
    """Walk the tape from ``roots``. With ``wanted`` returns {id(tensor): gradient}; without, accumulates into leaves' ``.grad``.

    Nodes are taken newest first, which is a topological order: a node is always recorded after those it reads.
    """
    pending, queue, found = {}, [], {}
    given = {id(g.storage): g.storage for g in gradients}  # memory that a leaf's .grad must not share
    wanted_edges = None
    if wanted is not None:
        wanted_edges = {}
        for t in wanted:
            edge = edge_of(t)
            if edge is not None:
                wanted_edges.setdefault((id(edge[0]), edge[1]), []).append(t)
    before = state.grad
    state.grad = create_graph

    def send(edge, g):
        target, index = edge
        if index < 0:
            _arrive(target, g, found, wanted_edges, given)
            return
        slots = pending.get(target)
        if slots is None:
            slots = pending[target] = [None] * target.count
            heapq.heappush(queue, (-target.sequence, target))
        slots[index] = g if slots[index] is None else slots[index] + g

    try:
        for t, g in zip(roots, gradients):
            edge = edge_of(t)
            if edge is not None:
                send(edge, g)
        while queue:
            node = heapq.heappop(queue)[1]
            _visit(node, pending.pop(node), send, found, wanted_edges, retain_graph or create_graph)
    finally:
        state.grad = before
    return found


def _visit(node, gs, send, found, wanted_edges, keep):
    if node.hooks is not None:
        for index, hooks in node.hooks.items():
            for hook in list(hooks.values()):
                if gs[index] is not None:
                    result = hook(gs[index])
                    gs[index] = gs[index] if result is None else result
    if wanted_edges is not None:
        for index, g in enumerate(gs):
            for t in wanted_edges.get((id(node), index), ()):
                found[id(t)] = g
    metas = getattr(node, "plan", None)
    if metas is not None and None in gs:
        gs = [state.tensor._zeros_like_meta(m) if g is None and m.dtype.kind == "f" else g for g, m in zip(gs, metas.outputs)]
    for edge, g in zip(node.edges, node.compute(gs)):
        if edge is not None and g is not None:
            send(edge, _fit(edge, g, node))
    if state.recorder is not None:
        state.recorder.walked.add(node)
    if not keep:
        node.release()


def _fit(edge, g, node):
    """A gradient in the shape and dtype of what it belongs to."""
    target, index = edge
    meta = target.meta if index < 0 else _output_meta(target, index)
    if meta is None or g.meta.shape == meta.shape and g.meta.dtype is meta.dtype:
        return g
    if g.meta.shape != meta.shape:
        g = g.sum_to_size(meta.shape)
    return g if g.meta.dtype is meta.dtype else g.to(meta.dtype)


def _output_meta(node, index):
    plan = getattr(node, "plan", None)
    if plan is not None:
        return plan.outputs[index]
    return getattr(node, "base_meta" if isinstance(node, SliceNode) else "view_meta", None)


def _arrive(leaf, g, found, wanted_edges, given):
    if leaf.hooks:
        for hook in list(leaf.hooks.values()):
            result = hook(g)
            g = g if result is None else result
    if wanted_edges is not None:
        for t in wanted_edges.get((id(leaf), -1), ()):
            found[id(t)] = g if id(t) not in found else found[id(t)] + g
        return
    before = leaf.grad
    if before is None:
        leaf.grad = g if state.grad else _own(g, given)
    elif state.grad or id(before.storage) in given:  # what came in this pass may still be on its way elsewhere
        leaf.grad = before + g
    else:
        before.add_(g)


def _own(g, given):
    """A gradient that no one else writes to: expanded or shared ones are copied."""
    g = g.detach() if g.meta.contiguous and g.base is None and id(g.storage) not in given else g.clone()
    given[id(g.storage)] = g.storage
    return g


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, inputs=None):
    """Accumulate d(tensors)/d(leaf) into ``.grad`` of every leaf that requires it (or of ``inputs`` only).

    ``grad_tensors`` weigh the outputs; they may be left out for scalars. RuntimeError as in torch.autograd.backward.
    """
    roots, gradients = _roots(tensors, grad_tensors)
    if inputs is None:
        run_backward(roots, gradients, bool(retain_graph), create_graph)
        return
    inputs = [inputs] if isinstance(inputs, state.tensor) else list(inputs)
    found = run_backward(roots, gradients, bool(retain_graph), create_graph, inputs)
    for t in inputs:
        if id(t) in found:
            t.grad = found[id(t)] if t.grad is None else t.grad + found[id(t)]


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, allow_unused=False, is_grads_batched=False,
         materialize_grads=False):
    """The gradients of ``outputs`` with respect to ``inputs`` as a tuple; nothing is accumulated (torch.autograd.grad)."""
    if is_grads_batched:
        raise NotImplementedError("autograd.grad(is_grads_batched=True) is not supported; call grad once per row")
    inputs = [inputs] if isinstance(inputs, state.tensor) else list(inputs)
    for t in inputs:
        if not t.tracked:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    roots, gradients = _roots(outputs, grad_outputs)
    keep = create_graph if retain_graph is None else retain_graph
    found = run_backward(roots, gradients, keep, create_graph, inputs)
    results = []
    for t in inputs:
        g = found.get(id(t))
        if g is None and materialize_grads:
            g = state.tensor._zeros_like_meta(t.meta)
        elif g is None and not allow_unused:
            raise RuntimeError("One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this is "
                               "the desired behavior.")
        results.append(g)
    return tuple(results)


def _roots(outputs, grad_outputs):
    outputs = [outputs] if isinstance(outputs, state.tensor) else list(outputs)
    if grad_outputs is None or isinstance(grad_outputs, state.tensor):
        grad_outputs = [grad_outputs] * len(outputs)
    gradients = []
    for t, g in zip(outputs, grad_outputs):
        if not t.tracked:
            raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
        if g is None:
            if t.meta.numel != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            g = state.tensor._ones_like_meta(t.meta)
        elif g.meta.shape != t.meta.shape:
            raise RuntimeError(f"Mismatch in shape: grad_output[0] has a shape of {g.meta.shape} and output[0] has a shape of {t.meta.shape}.")
        gradients.append(g)
    return outputs, gradients


# Custom functions
class FunctionNode(Node):
    """The tape entry of a user's Function."""
    __slots__ = ("context", "function", "plan_outputs")

    def __init__(self, function, context, edges, outputs):
        super().__init__(edges, len(outputs))
        self.function, self.context, self.plan_outputs = function, context, [t.meta for t in outputs]

    def name(self):
        return self.function.__name__ + "Backward"

    def compute(self, gs):
        gs = [state.tensor._zeros_like_meta(m) if g is None and self.context.materialize else g for g, m in zip(gs, self.plan_outputs)]
        result = self.function.backward(self.context, *gs)
        result = result if isinstance(result, tuple) else (result,)
        if len(result) != len(self.edges):
            raise RuntimeError(f"function {self.name()} returned an incorrect number of gradients (expected {len(self.edges)}, got {len(result)})")
        return result


class Context:
    """``ctx`` of a Function: save_for_backward, saved_tensors, needs_input_grad, and attributes of your own."""

    def __init__(self):
        self.materialize, self._saved, self.needs_input_grad, self._unused = True, (), (), ()

    def save_for_backward(self, *tensors):
        """Keep tensors for backward; a later in-place change of them is an error there."""
        self._saved = tuple((t, t.storage.version) if t is not None else (None, 0) for t in tensors)

    @property
    def saved_tensors(self):
        for t, version in self._saved:
            if t is not None and t.storage.version != version:
                raise RuntimeError("one of the variables needed for gradient computation has been modified by an inplace operation")
        return tuple(t for t, _ in self._saved)

    def mark_non_differentiable(self, *tensors):
        self._unused = tuple(id(t) for t in tensors)

    def mark_dirty(self, *tensors):
        pass

    def set_materialize_grads(self, value):
        self.materialize = value


class Function:
    """Base of custom differentiable functions: static ``forward(ctx, ...)`` and ``backward(ctx, *grads)``; call ``apply``."""

    @staticmethod
    def forward(ctx, *args):
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def backward(ctx, *grads):
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function to use it with "
                                  "backward mode AD.")

    @classmethod
    def apply(cls, *args):
        """Run forward without recording and record this function as one node."""
        Tensor, ctx = state.tensor, Context()
        ctx.needs_input_grad = tuple(isinstance(x, Tensor) and x.tracked for x in args)
        with no_grad():
            if "setup_context" in cls.__dict__:
                result = cls.forward(*args)
                cls.setup_context(ctx, args, result)
            else:
                result = cls.forward(ctx, *args)
        if not (state.grad and any(ctx.needs_input_grad)):
            return result
        outputs = result if isinstance(result, tuple) else (result,)
        outputs = tuple(t.view_as(t) if any(t is x for x in args) else t for t in outputs)
        node = FunctionNode(cls, ctx, [edge_of(x) if isinstance(x, Tensor) else None for x in args], outputs)
        for i, t in enumerate(outputs):
            if t.meta.dtype.kind == "f" and id(t) not in ctx._unused:
                t.node, t.index, t.tracked, t.base = node, i, True, None
        return outputs if isinstance(result, tuple) else outputs[0]
