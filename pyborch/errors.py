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
