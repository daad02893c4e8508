"""Exceptions of our own; everything PyTorch has a type for uses PyTorch's type."""


class DeviceError(RuntimeError):
    """The GPU refused work: a validation error, no memory left, or no usable adapter."""


class DeviceLost(DeviceError):
    """The GPU device went away (driver reset, tab in the background too long, ``destroy()``); tensors on it are gone."""


class SyncReadError(RuntimeError):
    """A value was read synchronously where the browser cannot wait; await the named call instead."""


class CaptureError(RuntimeError):
    """A function given to ``compile`` did something that a replay cannot repeat."""


class LinAlgError(RuntimeError):
    """A matrix that cannot be inverted, solved with or decomposed (torch.linalg.LinAlgError); raised on the cpu device only."""


class UnsupportedError(AttributeError, NotImplementedError):
    """A public name that pyborch does not have; says why, where a rule is known, and which name is nearest. ``hasattr`` stays False."""

    def __init__(self, owner, name, near=()):
        super().__init__(owner, name)
        self.owner, self.near = owner, near
        self.name = name

    def __str__(self):
        import difflib
        from .unsupported import reason
        why, instead = reason(self.owner, self.name)
        close = instead or ", ".join(f"{self.owner}.{n}" for n in difflib.get_close_matches(self.name, list(self.near), 1, 0.7))
        return f"{self.owner}.{self.name} is not supported" + (f": {why}" if why else "") + (f"; nearest: {close}" if close else "")


def absent(module, name, names):
    """What a module's ``__getattr__`` raises for a name it does not have."""
    if name.startswith("_"):
        return AttributeError(f"module '{module}' has no attribute '{name}'")
    return UnsupportedError(module.replace("pyborch", "torch", 1), name, [n for n in names if not n.startswith("_")])
