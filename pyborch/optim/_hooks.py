"""Hooks of optimizers: around step(), and around giving and taking state."""
from __future__ import annotations

KINDS = ("step_pre", "step_post", "state_dict_pre", "state_dict_post", "load_pre", "load_post")
_all: dict = {"step_pre": {}, "step_post": {}}      # hooks of every optimizer


class Handle:
    """What registering a hook returns; ``remove()`` takes the hook away again, also as a context manager."""
    _next_id = 0

    def __init__(self, hooks, hook, prepend=False):
        self.hooks, self.id = hooks, Handle._next_id
        Handle._next_id += 1
        later = dict(hooks) if prepend else {}
        if prepend:
            hooks.clear()
        hooks[self.id] = hook
        hooks.update(later)

    def remove(self):
        """Forget the hook; a second call does nothing."""
        self.hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


def register_optimizer_step_pre_hook(hook):
    """Call ``hook(optimizer, args, kwargs)`` before each step of every optimizer; it may return new (args, kwargs)."""
    return Handle(_all["step_pre"], hook)


def register_optimizer_step_post_hook(hook):
    """Call ``hook(optimizer, args, kwargs)`` after each step of every optimizer."""
    return Handle(_all["step_post"], hook)


def hooked(step):
    """``step`` between its hooks; a step that is called by another step of the same optimizer runs none."""
    if getattr(step, "hooked", False):
        return step

    def wrapped(self, *args, **kwargs):
        hooks = self.__dict__.get("_hooks")
        if self.__dict__.get("_stepping") or hooks is None and not _all["step_pre"] and not _all["step_post"]:
            return step(self, *args, **kwargs)
        args = (self, *args)         # hooks see the optimizer as the first argument, as in PyTorch
        for hook in [*_all["step_pre"].values(), *(hooks or {}).get("step_pre", {}).values()]:
            result = hook(self, args, kwargs)
            if result is not None:
                if not (isinstance(result, tuple) and len(result) == 2):
                    raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got {result}.")
                args, kwargs = result
        self._stepping = True
        try:
            found = step(*args, **kwargs)
        finally:
            self._stepping = False
        for hook in [*(hooks or {}).get("step_post", {}).values(), *_all["step_post"].values()]:
            hook(self, args, kwargs)
        return found
    wrapped.__name__, wrapped.__doc__ = step.__name__, step.__doc__
    wrapped.hooked = True  # type: ignore[attr-defined]
    return wrapped


class Hooked:
    """The part of Optimizer that registers hooks."""

    _hooks = None        # {kind: {id: hook}} once a hook is registered

    def __init_subclass__(cls):
        if "step" in cls.__dict__:
            cls.step = hooked(cls.__dict__["step"])  # type: ignore[attr-defined]

    profile_hook_step = staticmethod(hooked)

    def _register(self, kind, hook, prepend=False):
        if self._hooks is None:
            self._hooks = {name: {} for name in KINDS}
        return Handle(self._hooks[kind], hook, prepend)

    def _call_hooks(self, kind, *args):
        """What the last hook returned that returned something, else None."""
        found = None
        for hook in list(self._hooks[kind].values()) if self._hooks is not None else ():
            result = hook(self, *args)
            if result is not None:
                found, args = result, (result,)
        return found

    def register_step_pre_hook(self, hook):
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return new (args, kwargs)."""
        return self._register("step_pre", hook)

    def register_step_post_hook(self, hook):
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return self._register("step_post", hook)

    def register_state_dict_pre_hook(self, hook, prepend: bool = False):
        """Call ``hook(optimizer)`` before state_dict."""
        return self._register("state_dict_pre", hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend: bool = False):
        """Call ``hook(optimizer, state_dict)`` after state_dict; what it returns replaces the result."""
        return self._register("state_dict_post", hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend: bool = False):
        """Call ``hook(optimizer, state_dict)`` before loading; what it returns is loaded instead."""
        return self._register("load_pre", hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend: bool = False):
        """Call ``hook(optimizer)`` after loading."""
        return self._register("load_post", hook, prepend)
