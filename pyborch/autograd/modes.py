"""Process-wide switches: gradient mode, the recording in progress; and numbers that replays read anew."""
from __future__ import annotations


class _State:
    """``grad``: whether operations are recorded; ``recorder``: the compile recording in progress; ``autocast``: the policy that chooses the
    dtype of operands, if any; ``changes``: how often what modules consist of has changed; ``tensor`` and ``apply``: the Tensor class and apply(),
    for those below them."""
    __slots__ = ("grad", "recorder", "autocast", "changes", "tensor", "apply")


state = _State()
state.grad, state.recorder, state.autocast, state.changes, state.tensor = True, None, None, 0, None


class Live:
    """A number that compiled programs read anew at each replay: ``Live(0.1)``, then ``box.value = 0.05``."""
    __slots__ = ("value",)

    def __init__(self, value=0.0):
        self.value = value


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
