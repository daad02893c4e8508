"""What a device is: storage, transfers and running plans; which one is the default."""
from __future__ import annotations

import sys
import weakref
from importlib.util import find_spec

from .. import shape as shapes

FORM_LIMIT = 4096
IN_BROWSER = sys.platform == "emscripten"


class device:
    """A device name, as ``torch.device``: ``device("webgpu")`` or ``device("cpu")``."""
    __slots__ = ("type", "index")

    def __init__(self, type, index=None):
        if isinstance(type, device):
            type, index = type.type, type.index
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str or device, not {type.__class__.__name__}")
        name, _, number = type.partition(":")
        if name not in ("cpu", "webgpu"):
            raise RuntimeError(f"Expected one of cpu, webgpu device type at start of device string: {type}")
        if number and not number.isdigit():
            raise RuntimeError(f"Invalid device string: '{type}'")
        self.type, self.index = name, int(number) if number else index

    def __eq__(self, other):
        return isinstance(other, device) and self.type == other.type

    def __hash__(self):
        return hash(self.type)

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self):
        return f"device(type='{self.type}'" + (f", index={self.index})" if self.index is not None else ")")


class Form:
    """What storages of one size and dtype have in common; ``idle`` is the list of free buffers that they come from and return to."""
    __slots__ = ("device", "dtype", "numel", "size", "idle")

    def __init__(self, device, dtype, numel, size=0, idle=None):
        self.device, self.dtype, self.numel, self.size, self.idle = device, dtype, numel, size, idle


class Storage:
    """Memory of ``numel`` elements on a device, shared by views. ``version`` counts in-place writes."""
    __slots__ = ("form", "buffer", "version", "__weakref__")

    def __init__(self, form, buffer):
        self.form, self.buffer, self.version = form, buffer, 0

    @property
    def device(self):
        return self.form.device

    @property
    def dtype(self):
        return self.form.dtype

    @property
    def numel(self):
        return self.form.numel


class Meta:
    """Everything about a tensor but its values; interned, so equal metas are one object."""
    __slots__ = ("shape", "strides", "offset", "dtype", "device", "numel", "contiguous", "__weakref__")


_metas: weakref.WeakValueDictionary = weakref.WeakValueDictionary()


def meta(shape, dtype, device, strides=None, offset=0) -> Meta:
    """The interned Meta of these properties; strides default to row-major."""
    shape = tuple(shape)
    if strides is None:
        strides = shapes.contiguous_strides(shape)
    key = (shape, strides, offset, dtype, device)
    found = _metas.get(key)
    if found is None:
        found = Meta()
        found.shape, found.strides, found.offset, found.dtype, found.device = shapes.Size(shape), strides, offset, dtype, device
        found.numel = shapes.numel(shape)
        found.contiguous = shapes.is_contiguous(shape, strides)
        _metas[key] = found
    return found


class Backend:
    """The interface that cpu.py and webgpu.py fill.

    form(dtype, numel) -> Form, with the checks of what the device can hold; allocate(dtype, numel) -> Storage;
    write(storage, offset, data); read(storage) -> bytes of the whole storage in the logical dtype; read_async likewise awaitable.
    launch(plan, input storages, scalars) -> [output storages]; run(plan, inputs, outputs, scalars) writes given storages; forget(plan);
    program, ready, replay and drop do the same for recorded programs; start_profile and stop_profile take the times of what runs between them.
    """
    type = ""

    def __init__(self):
        self._forms: dict = {}
        self.tuned: dict = {}        # what the tuner measured: see tuner.py
        self.profiling = False       # whether the time of every dispatch is being taken
        self.scratch: weakref.WeakSet = weakref.WeakSet()    # what recorded programs compute in and share

    def form(self, dtype, numel) -> Form:
        """The Form of storages of ``numel`` elements."""
        found = self._forms.get((dtype, numel))
        if found is None:
            if len(self._forms) >= FORM_LIMIT:
                self._forms.clear()
            found = self._forms[(dtype, numel)] = self.make_form(dtype, numel)
        return found

    def make_form(self, dtype, numel) -> Form:
        return Form(self, dtype, numel)

    def __repr__(self):
        return f"device(type='{self.type}')"


_backends: dict = {}
_default: list = [None]


def backend(name=None):
    """The backend of a device name (None: the default one), started when first asked for."""
    if name is None:
        if _default[0] is None:
            _default[0] = _choose()
        return _default[0]
    if isinstance(name, Backend):
        return name
    if type(name) is str and name in _backends:
        return _backends[name]
    kind = device(name).type
    found = _backends.get(kind)
    if found is None:
        if kind == "cpu":
            from . import cpu
            found = cpu.Cpu()
        else:
            found = _webgpu().start()
        _backends[kind] = found
    return found


def _webgpu():
    if not IN_BROWSER:
        raise RuntimeError("device 'webgpu': needs a browser (Pyodide), this is plain CPython; use device='cpu'")
    from . import webgpu
    return webgpu


def has_cpu() -> bool:
    """Whether the cpu device can start: it needs numpy."""
    return "cpu" in _backends or find_spec("numpy") is not None


def _choose() -> Backend:
    if not IN_BROWSER:
        return backend("cpu")
    from . import webgpu
    try:
        gpu = _backends.get("webgpu") or webgpu.start()
    except RuntimeError as error:
        if isinstance(error, webgpu.SyncReadError):
            raise
        print(f"pyborch: no WebGPU here ({error}); using the cpu device")
        return backend("cpu")
    _backends["webgpu"] = gpu
    if gpu.software and has_cpu():
        print(f"pyborch: the WebGPU adapter is software ({gpu.name}); using the cpu device. Ask with device='webgpu' to use it.")
        return backend("cpu")
    return gpu


def forget_backend(lost) -> None:
    """The next tensor starts a device anew."""
    if _backends.get(lost.type) is lost:
        del _backends[lost.type]  # type: ignore[union-attr]
        _default[0] = None


def set_default_device(name) -> None:
    """Make new tensors on this device unless told otherwise (``torch.set_default_device``)."""
    _default[0] = None if name is None else backend(name)


def get_default_device() -> device:
    """The device that new tensors are made on."""
    return device(backend().type)


async def init(name=None) -> device:
    """Start WebGPU without blocking and choose the default device.

    Pages whose browser has no JSPI await this once before the first tensor; elsewhere the first tensor does it.
    ``name`` "webgpu" or "cpu" also makes that the default. Raises DeviceError where WebGPU was asked for and is missing.
    """
    if IN_BROWSER and name != "cpu" and "webgpu" not in _backends:
        from . import webgpu
        try:
            _backends["webgpu"] = await webgpu.start_async()
        except RuntimeError:
            if name is not None:
                raise
    if name is not None:
        set_default_device(name)
    return get_default_device()
