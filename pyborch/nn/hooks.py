"""Hooks of a module: kept in one object that most modules never have, so that a call without hooks pays nothing."""
from __future__ import annotations

from ..autograd import Function
from .._tensor import Tensor

KINDS = ("forward_pre", "forward", "backward_pre", "backward", "state_dict_pre", "state_dict", "load_pre", "load_post",
         "add_parameter", "add_buffer", "add_module")


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


class _Every(Hooks):
    """The hooks of all modules."""

    used = False     # whether one was ever registered

    def add(self, kind, hook, **options):
        self.used = True
        return super().add(kind, hook, **options)

    def of(self, module, kind):
        """[(id, (hook, ...))] for a call of ``module``: those of all modules first."""
        own = getattr(module._hooks, kind).items() if module._hooks is not None else ()
        return [*getattr(self, kind).items(), *own]

    def registered(self, kind, module, name, value):
        """``value``, or what hooks of its registration replace it by."""
        if self.used:
            for hook, _, _ in list(getattr(self, kind).values()):
                replaced = hook(module, name, value)
                value = value if replaced is None else replaced
        return value


EVERY = _Every()


def call(module, args, kwargs):
    """Run ``module.forward`` between its hooks, as ``Module.__call__`` does when there are any."""
    args, kwargs = _before(module, args, kwargs)
    before, after = EVERY.of(module, "backward_pre"), EVERY.of(module, "backward")
    backward = BackwardHooks(module, before, after) if before or after else None
    if backward:
        args = backward.watch_inputs(args)
    done = set()
    try:
        result = module.forward(*args, **kwargs)
        for key, (hook, with_kwargs, _) in EVERY.of(module, "forward"):
            done.add(key)
            replaced = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
            result = result if replaced is None else replaced
    except Exception:
        for key, (hook, with_kwargs, always) in EVERY.of(module, "forward"):
            if always and key not in done:
                hook(module, args, kwargs, None) if with_kwargs else hook(module, args, None)
        raise
    return backward.watch_outputs(result) if backward else result


def _before(module, args, kwargs):
    for _, (hook, with_kwargs, _) in EVERY.of(module, "forward_pre"):
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

    def __init__(self, module, before, after):
        self.module, self.before, self.after = module, before, after
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
        for _, (hook, _, _) in self.before:
            replaced = hook(self.module, self.grad_output)
            if replaced is not None:
                self.grad_output = replaced if isinstance(replaced, tuple) else (replaced,)
        if not self.watches_inputs:
            self._finish((None,))
        return tuple(self.grad_output[i] for i in places)

    def _finish(self, grad_input):
        places = [i for i, g in enumerate(grad_input) if g is not None]
        for _, (hook, _, _) in self.after:
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


class Hooked:
    """The part of Module that registers hooks."""

    _hooks = None        # a Hooks object once a hook is registered

    def _add_hook(self, kind, hook, **options):
        if self._hooks is None:
            object.__setattr__(self, "_hooks", Hooks())
        return self._hooks.add(kind, hook, **options)

    def register_forward_pre_hook(self, hook, *, prepend: bool = False, with_kwargs: bool = False):
        """Call ``hook(module, args)`` before forward; what it returns replaces the arguments."""
        return self._add_hook("forward_pre", hook, prepend=prepend, with_kwargs=with_kwargs)

    def register_forward_hook(self, hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False):
        """Call ``hook(module, args, output)`` after forward; what it returns replaces the output."""
        return self._add_hook("forward", hook, prepend=prepend, with_kwargs=with_kwargs, always_call=always_call)

    def register_full_backward_pre_hook(self, hook, prepend: bool = False):
        """Call ``hook(module, grad_output)`` before the module's backward; what it returns replaces grad_output."""
        return self._add_hook("backward_pre", hook, prepend=prepend)

    def register_full_backward_hook(self, hook, prepend: bool = False):
        """Call ``hook(module, grad_input, grad_output)`` in backward; what it returns replaces grad_input."""
        return self._add_hook("backward", hook, prepend=prepend)

    def register_state_dict_pre_hook(self, hook):
        """Call ``hook(module, prefix, keep_vars)`` before state_dict."""
        return self._add_hook("state_dict_pre", hook)

    def register_state_dict_post_hook(self, hook):
        """Call ``hook(module, state_dict, prefix, local_metadata)`` after state_dict."""
        return self._add_hook("state_dict", hook)

    def register_load_state_dict_pre_hook(self, hook):
        """Call ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)`` before loading."""
        return self._add_hook("load_pre", hook)

    def register_load_state_dict_post_hook(self, hook):
        """Call ``hook(module, incompatible_keys)`` after loading; it may edit the lists in place."""
        return self._add_hook("load_post", hook)

    def register_backward_hook(self, hook):
        """As register_full_backward_hook; PyTorch's older form sees only the gradients of the last operation."""
        return self.register_full_backward_hook(hook)


def register_module_forward_pre_hook(hook):
    """Call ``hook(module, args)`` before the forward of every module."""
    return EVERY.add("forward_pre", hook)


def register_module_forward_hook(hook, *, with_kwargs: bool = False, always_call: bool = False):
    """Call ``hook(module, args, output)`` after the forward of every module."""
    return EVERY.add("forward", hook, with_kwargs=with_kwargs, always_call=always_call)


def register_module_full_backward_pre_hook(hook):
    """Call ``hook(module, grad_output)`` before the backward of every module."""
    return EVERY.add("backward_pre", hook)


def register_module_full_backward_hook(hook):
    """Call ``hook(module, grad_input, grad_output)`` in the backward of every module."""
    return EVERY.add("backward", hook)


register_module_backward_hook = register_module_full_backward_hook


def register_module_parameter_registration_hook(hook):
    """Call ``hook(module, name, parameter)`` whenever a parameter is registered; what it returns is taken instead."""
    return EVERY.add("add_parameter", hook)


def register_module_buffer_registration_hook(hook):
    """Call ``hook(module, name, buffer)`` whenever a buffer is registered; what it returns is taken instead."""
    return EVERY.add("add_buffer", hook)


def register_module_module_registration_hook(hook):
    """Call ``hook(module, name, child)`` whenever a child is registered; what it returns is taken instead."""
    return EVERY.add("add_module", hook)
