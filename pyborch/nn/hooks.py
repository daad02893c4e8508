"""Hooks of a module: kept in one object that most modules never have, so that a call without hooks pays nothing."""
from __future__ import annotations

from ..autograd import Function
from .._tensor import Tensor

KINDS = ("forward_pre", "forward", "backward_pre", "backward", "state_dict_pre", "state_dict", "load_pre", "load_post")


class RemovableHandle:
    """What registering a hook returns; ``remove()`` takes the hook away again, also as a context manager."""
    _next_id = 0

    def __init__(self, hooks):
        self.hooks = hooks
        self.id = RemovableHandle._next_id
        RemovableHandle._next_id += 1

    def remove(self):
        """Forget the hook; a second call does nothing."""
        self.hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


class Hooks:
    """One dictionary of hooks per kind: id -> (function, with_kwargs, always_call)."""

    def __init__(self):
        for kind in KINDS:
            setattr(self, kind, {})

    def add(self, kind, hook, prepend=False, with_kwargs=False, always_call=False):
        hooks = getattr(self, kind)
        handle = RemovableHandle(hooks)
        earlier = dict(hooks) if prepend else {}
        if prepend:
            hooks.clear()
        hooks[handle.id] = (hook, with_kwargs, always_call)
        hooks.update(earlier)
        return handle


def call(module, args, kwargs):
    """Run ``module.forward`` between its hooks, as ``Module.__call__`` does when there are any."""
    hooks = module._hooks
    args, kwargs = _before(module, hooks, args, kwargs)
    backward = BackwardHooks(module, hooks) if hooks.backward or hooks.backward_pre else None
    if backward:
        args = backward.watch_inputs(args)
    done = set()
    try:
        result = module.forward(*args, **kwargs)
        for key, (hook, with_kwargs, _) in list(hooks.forward.items()):
            done.add(key)
            replaced = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
            result = result if replaced is None else replaced
    except Exception:
        for key, (hook, with_kwargs, always) in list(hooks.forward.items()):
            if always and key not in done:
                hook(module, args, kwargs, None) if with_kwargs else hook(module, args, None)
        raise
    return backward.watch_outputs(result) if backward else result


def _before(module, hooks, args, kwargs):
    for hook, with_kwargs, _ in list(hooks.forward_pre.values()):
        if with_kwargs:
            replaced = hook(module, args, kwargs)
            if replaced is None:
                continue
            if not (isinstance(replaced, tuple) and len(replaced) == 2):
                raise RuntimeError(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {replaced}.")
            args, kwargs = replaced
        else:
            replaced = hook(module, args)
            if replaced is not None:
                args = replaced if isinstance(replaced, tuple) else (replaced,)
    return args, kwargs


class BackwardHooks:
    """Full backward hooks of one call: an identity on the outputs catches grad_output, one on the inputs grad_input."""

    def __init__(self, module, hooks):
        self.module, self.hooks = module, hooks
        self.grad_output = None
        self.watches_inputs = False

    def watch_inputs(self, args):
        places = [i for i, a in enumerate(args) if isinstance(a, Tensor) and a.requires_grad]
        if not places:
            return args
        self.watches_inputs = True
        watched = _Identity.apply(lambda grads: self._finish(_spread(grads, places, len(args))), *[args[i] for i in places])
        return tuple(_replace(args, places, watched if isinstance(watched, tuple) else (watched,)))

    def watch_outputs(self, result):
        results = result if isinstance(result, (tuple, list)) else (result,)
        places = [i for i, r in enumerate(results) if isinstance(r, Tensor) and r.requires_grad]
        if not places:
            return result
        watched = _Identity.apply(lambda grads: self._start(grads, places, len(results)), *[results[i] for i in places])
        replaced = _replace(results, places, watched if isinstance(watched, tuple) else (watched,))
        return type(result)(replaced) if isinstance(result, (tuple, list)) else replaced[0]

    def _start(self, grads, places, count):
        self.grad_output = _spread(grads, places, count)
        for hook, _, _ in list(self.hooks.backward_pre.values()):
            replaced = hook(self.module, self.grad_output)
            if replaced is not None:
                self.grad_output = replaced if isinstance(replaced, tuple) else (replaced,)
        if not self.watches_inputs:
            self._finish((None,))
        return tuple(self.grad_output[i] for i in places)

    def _finish(self, grad_input):
        places = [i for i, g in enumerate(grad_input) if g is not None]
        for hook, _, _ in list(self.hooks.backward.values()):
            replaced = hook(self.module, grad_input, self.grad_output)
            if replaced is not None:
                grad_input = replaced if isinstance(replaced, tuple) else (replaced,)
        return tuple(grad_input[i] for i in places)


class _Identity(Function):
    """Passes tensors through; hands the gradients to ``seen`` and passes on what it returns."""

    @staticmethod
    def forward(ctx, seen, *tensors):
        ctx.seen = seen
        copies = tuple(t.view_as(t) for t in tensors)
        return copies if len(copies) > 1 else copies[0]

    @staticmethod
    def backward(ctx, *grads):
        return (None, *ctx.seen(grads))


def _spread(values, places, count):
    spread = [None] * count
    for place, value in zip(places, values):
        spread[place] = value
    return tuple(spread)


def _replace(values, places, replacements):
    values = list(values)
    for place, value in zip(places, replacements):
        values[place] = value
    return values
