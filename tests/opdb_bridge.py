"""From PyTorch's op_db to pyborch: arguments with their strides, the function that an OpInfo means, results side by side. Needs PyTorch."""
import functools
import operator
import pathlib
import sys
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.modules.setdefault("expecttest", types.SimpleNamespace(TestCase=object))     # a dependency of torch.testing that nothing here calls

import torch  # noqa: E402
import torch.masked  # noqa: E402
import torch.signal  # noqa: E402
from torch.testing._internal import common_methods_invocations  # noqa: E402

import pyborch  # noqa: E402
import pyborch.nn  # noqa: E402
from pyborch import devices  # noqa: E402

op_db = common_methods_invocations.op_db
TOLERANCE = {torch.float16: 5e-3, torch.bfloat16: 2e-2, torch.float32: 1e-4, torch.float64: 1e-7, torch.complex64: 1e-4, torch.complex128: 1e-7}
SPACES = ("", "nn.functional", "linalg", "fft", "special", "signal.windows", "masked", "sparse", "Tensor")
MODULES = {torch: "", torch.nn: "nn", torch.nn.functional: "nn.functional", torch.linalg: "linalg", torch.fft: "fft", torch.special: "special",
           torch.masked: "masked", torch.Tensor: "Tensor"}


def at(root, path):
    """The thing at a dotted path; AttributeError names the path."""
    try:
        return operator.attrgetter(path)(root) if path else root
    except AttributeError:
        raise AttributeError(f"missing: {path}") from None


_KEPT: list = []      # so that ids stay theirs


@functools.cache
def paths():
    """{id of a function of PyTorch: its path}."""
    found = {}
    _KEPT.clear()
    for space in SPACES:
        holder = at(torch, space)
        for name in dir(holder):
            value = getattr(holder, name, None)
            if callable(value) and not isinstance(value, type) and (not name.startswith("__") or space == "Tensor" and name not in dir(object)):
                _KEPT.append(value)
                found.setdefault(id(value), f"{space}.{name}" if space else name)
    return found


def seeded(op, *args, **kwargs):
    """Instead of wrapper_set_seed, so that random functions show that they are."""
    return op(*args, **kwargs)


common_methods_invocations.wrapper_set_seed = seeded


class Namespace(dict):
    """The globals of a function of torch.testing, with pyborch where it says torch."""

    def __init__(self, given):
        super().__init__(given)
        self.update(torch=pyborch, wrapper_set_seed=seeded)
        for name, value in given.items():
            if name not in ("torch", "wrapper_set_seed") and isinstance(value, types.FunctionType) and value.__module__.startswith("torch.nn"):
                self[name] = ours(value)
            elif isinstance(value, types.ModuleType) and value in MODULES:
                try:
                    self[name] = at(pyborch, MODULES[value])
                except AttributeError:
                    pass


@functools.cache
def namespace(module):
    return Namespace(vars(sys.modules[module]))


def ours(f):
    """pyborch's function for one of PyTorch's, or for a lambda of torch.testing that calls PyTorch's."""
    if isinstance(f, functools.partial):
        return functools.partial(ours(f.func), *[given(a) for a in f.args], **{k: given(v) for k, v in f.keywords.items()})
    if id(f) in paths():
        return at(pyborch, paths()[id(f)])
    if isinstance(f, types.FunctionType) and "testing" in f.__module__:
        cells = tuple(types.CellType(given(c.cell_contents)) for c in f.__closure__ or ())
        made = types.FunctionType(f.__code__, namespace(f.__module__), f.__name__, f.__defaults__, cells or None)
        made.__kwdefaults__ = f.__kwdefaults__
        return made
    if type(f).__module__.startswith("torch._ops"):
        return at(pyborch, f"ops.{str(f)}")
    if getattr(f, "__module__", "") and str(f.__module__).startswith("torch"):
        raise AttributeError(f"missing: {f}")
    return f


def function_of(info):
    """pyborch's function for an OpInfo."""
    try:
        if at(torch, info.name) is info.op:
            return at(pyborch, info.name)
    except AttributeError as error:
        if hasattr(torch, info.name.split(".")[0]) and str(error) == f"missing: {info.name}" and id(info.op) in paths():
            raise
    return ours(info.op)


class Copies:
    """Fresh copies of a sample's tensors, for PyTorch (``own``) and for pyborch, with strides, offsets and shared memory as they were."""

    def __init__(self, own):
        self.own, self.memory, self.tensors, self.leaves = own, {}, {}, []

    def __call__(self, value):
        if isinstance(value, torch.Tensor):
            return self.tensors.setdefault(id(value), (self.tensor(value), value))[0] if id(value) not in self.tensors else self.tensors[id(value)][0]
        if isinstance(value, dict):
            return {k: self(v) for k, v in value.items()}
        if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
            parts = [self(v) for v in value]
            return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
        if isinstance(value, slice):
            return slice(*[self(v) for v in (value.start, value.stop, value.step)])
        return value if self.own else given(value)

    def tensor(self, t):
        if t.layout != torch.strided:
            if self.own:
                return t.detach().clone().requires_grad_(t.requires_grad)
            raise NotImplementedError(f"unsupported: layout {t.layout}")
        tracked, t = t.requires_grad, t.detach()
        conj = t.is_conj()
        t = t.conj() if conj else t
        t = t.resolve_neg()
        made = self.strided_own(t) if self.own else self.strided(t)
        made = made.conj() if conj else made
        if tracked:
            made = made.detach().requires_grad_()
            self.leaves.append(made)
        return made

    def flat(self, t):
        storage = t.untyped_storage()
        size = storage.nbytes() // t.element_size()
        return torch.empty(0, dtype=t.dtype).set_(storage, 0, (size,), (1,))

    def strided_own(self, t):
        key = t.untyped_storage().data_ptr(), t.dtype
        if key not in self.memory or not key[0]:
            self.memory[key] = self.flat(t).clone()
        return torch.empty(0, dtype=t.dtype).set_(self.memory[key].untyped_storage(), t.storage_offset(), t.shape, t.stride())

    def strided(self, t):
        key = t.untyped_storage().data_ptr(), t.dtype
        if key not in self.memory or not key[0]:
            self.memory[key] = pyborch.from_numpy(self.flat(t).numpy().copy())
        whole = self.memory[key]
        meta = devices.meta(tuple(t.shape), whole.dtype, whole.meta.device, tuple(t.stride()), t.storage_offset())
        return pyborch.Tensor(whole.storage, meta)


def given(value):
    """A setting of PyTorch's as pyborch's: dtypes, devices, functions, modules."""
    if isinstance(value, torch.Tensor):
        return Copies(False)(value)
    if isinstance(value, torch.dtype):
        return at(pyborch, str(value).split(".")[1])
    if isinstance(value, (torch.layout, torch.memory_format)):
        return at(pyborch, str(value).split(".")[1])
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, torch.Size):
        return tuple(value)
    if isinstance(value, torch.nn.Module):
        return at(pyborch.nn, type(value).__name__)()
    if isinstance(value, type) and value.__module__.startswith("torch"):
        return at(pyborch, value.__name__)
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, functools.partial)) or id(value) in paths():
        return ours(value)
    return value


def leaves_of(value):
    """Tensors and numbers in a result, in order."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return [leaf for part in value for leaf in leaves_of(part)]
    return [] if value is None else [tuple(value)] if isinstance(value, (torch.Size, tuple)) else [value]


def theirs(t):
    """A tensor of pyborch as PyTorch's."""
    if not isinstance(t, pyborch.Tensor):
        return t
    array = t.detach().resolve_conj().numpy() if t.dtype.name.startswith("complex") and hasattr(t, "resolve_conj") else t.detach().numpy()
    return torch.from_numpy(array.copy()) if array.size else torch.empty(array.shape, dtype=at(torch, t.dtype.name))


def cotangent(t):
    """Weights that tell positions apart."""
    flat = ((torch.arange(t.numel()) * 37) % 64 - 31) / 32
    return flat.to(t.dtype).reshape(t.shape)


def differs(found, wanted, values=True):
    """What is different, as text; empty where nothing is. Without ``values`` only shapes and dtypes are compared."""
    if len(found) != len(wanted):
        return f"{len(found)} results instead of {len(wanted)}"
    for k, (f, w) in enumerate(zip(found, wanted)):
        f = theirs(f)
        if not isinstance(w, torch.Tensor):
            f = f.item() if isinstance(f, torch.Tensor) else f
            if type(f) is not type(w) or values and f != w and not (isinstance(w, (float, complex)) and abs(f - w) <= 1e-4 * abs(w) or w != w and f != f):
                return f"result {k}: another number or value"
            continue
        if not isinstance(f, torch.Tensor):
            return f"result {k}: {type(f).__name__} instead of a tensor"
        w = w.detach()
        if w.layout != torch.strided:
            return "unsupported: sparse result"
        if f.dtype != w.dtype:
            return f"result {k}: {f.dtype} instead of {w.dtype}"
        if f.shape != w.shape:
            return f"result {k}: another shape"
        if values and not close(f, w.resolve_conj()):
            return f"result {k}: other values"
    return ""


def close(f, w):
    """Whether tensors are equal to a tolerance, relative to each element and to a tenth of the largest."""
    tolerance = TOLERANCE.get(w.dtype, 0)
    if not tolerance:
        return torch.equal(f, w)
    wide = torch.complex128 if w.is_complex() else torch.float64
    f, w = f.to(wide), w.to(wide)
    same = (f == w) | (f.isnan() & w.isnan())
    finite = w[w.isfinite()].abs()
    scale = finite.max().item() if finite.numel() else 0
    near = (f - w).abs() <= tolerance * w.abs().clamp(min=0.1 * scale) + tolerance / 5
    return bool((same | near & w.isfinite()).all())
