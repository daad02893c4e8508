"""The walk back over the tape; backward() and grad()."""
from __future__ import annotations

import heapq

from .modes import state
from .tape import SliceNode, edge_of


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
    before, policy = state.grad, state.autocast
    state.grad, state.autocast = create_graph, None    # gradients are in the dtypes that the forward pass chose

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
        state.grad, state.autocast = before, policy
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
