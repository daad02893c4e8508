"""The ops' samples: making their tensors, running them on any device, comparing with values frozen from PyTorch (tests/golden).

Plain Python only, so that it runs inside a Pyodide without numpy.
"""
import json
import math
import pathlib
import random
import struct

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"
# (relative, absolute): elementwise functions of f32 on GPUs are right to about 1e-5; sums of some hundred terms to 1e-4
TOLERANCE = {"float16": (5e-3, 5e-3), "float32": (1e-4, 2e-5), "float64": (1e-9, 1e-12)}
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")


def values_of(name, sample, position, spec):
    """The elements of a sample's tensor: the same on every machine."""
    if spec.values is not None:
        return list(spec.values)
    generator = random.Random(f"{name}-{sample}-{position}")
    count = math.prod(spec.shape)
    if spec.dtype == "bool":
        return [generator.random() < 0.5 for _ in range(count)]
    if spec.dtype.startswith("float"):
        draw = [spec.low + (spec.high - spec.low) * generator.random() for _ in range(count)]
        return [round(v * 4096) / 4096 for v in draw]  # exact in float32, and far from rounding edges
    return [generator.randrange(int(spec.low), int(spec.high)) for _ in range(count)]


class Runner:
    """Runs samples with ``torch``: pyborch, or PyTorch itself when goldens are frozen."""

    def __init__(self, torch, T, device=None):
        self.torch, self.T, self.device = torch, T, device

    def tensor(self, name, sample, position, spec):
        torch = self.torch
        flat = values_of(name, sample, position, spec)
        made = torch.tensor(flat, dtype=getattr(torch, spec.dtype), device=self.device).reshape(spec.shape)
        if spec.grad:
            made.requires_grad_()
        return made, made if spec.view is None else spec.view(made)

    def arguments(self, name, sample, s):
        """(args, kwargs, leaves with gradients)."""
        leaves, counter = [], [0]

        def convert(value):
            if isinstance(value, self.T):
                leaf, used = self.tensor(name, sample, counter[0], value)
                counter[0] += 1
                if value.grad:
                    leaves.append(leaf)
                return used
            if isinstance(value, list):
                return [convert(v) for v in value]
            return value
        args = [convert(a) for a in s.args]
        kwargs = {k: getattr(self.torch, v) if k == "dtype" else convert(v) for k, v in s.kwargs.items()}
        return args, kwargs, leaves

    def run(self, function, name, sample, s):
        """{"out": [...], "grad": [...]} as (dtype, shape, values), or {"error": [type, message]}."""
        args, kwargs, leaves = self.arguments(name, sample, s)
        on = {"device": self.device} if self.device and not leaves and not any(hasattr(a, "grad_fn") for a in args) else {}
        try:
            result = function(*args, **kwargs, **on) if on and name in MAKERS else function(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 the exception is the result
            return {"error": [type(error).__name__, str(error)]}
        outs = [t for t in (result if isinstance(result, (tuple, list)) else [result]) if hasattr(t, "grad_fn")]
        differentiable = [t for t in outs if t.requires_grad]
        if differentiable and leaves:
            total = sum(((t * self.cotangent(t)).sum() for t in differentiable[1:]), (differentiable[0] * self.cotangent(differentiable[0])).sum())
            try:
                total.backward()
            except RuntimeError as error:  # PyTorch has no derivative of some functions
                if "is not implemented" not in str(error):
                    raise
                differentiable = []
        grads = [leaf.grad for leaf in leaves] if differentiable else []
        return {"out": [self.frozen(t) for t in outs], "grad": [None if g is None else self.frozen(g) for g in grads]}

    def cotangent(self, t):
        """Weights that tell positions apart."""
        weights = [((i * 37) % 64 - 31) / 32 for i in range(math.prod(t.shape))]
        return self.torch.tensor(weights, dtype=t.dtype, device=self.device).reshape(tuple(t.shape))

    @staticmethod
    def frozen(t):
        flat = t.detach().reshape(-1).tolist()
        return [str(t.dtype).split(".")[-1], list(t.shape), flat]


MAKERS = {"zeros", "ones", "full", "arange", "linspace", "logspace", "eye"}


def pack(value):
    """A golden's tensor as JSON: floats as hexadecimal of their eight bytes would be exact but long; repr of float32 is exact too."""
    dtype, shape, flat = value
    if dtype.startswith("float"):
        flat = [_short(v, dtype) for v in flat]
    return [dtype, shape, flat]


def _short(v, dtype):
    if math.isnan(v) or math.isinf(v):
        return str(v)
    code = {"float16": "e", "float32": "f"}.get(dtype)
    if code is None:
        return v
    for digits in range(4, 10):
        text = f"{v:.{digits}g}"
        if abs(float(text)) < (65504 if code == "e" else 3.4e38) and struct.pack(code, float(text)) == struct.pack(code, v):
            return float(text)
    return v


def load(family):
    """{record: [golden per sample]} of a family."""
    return json.loads((GOLDEN / f"{family}.json").read_text())


def compare(found, wanted, tol=None):
    """What differs, as text; empty where nothing does."""
    if "error" in wanted or "error" in found:
        return "" if found.get("error", [None])[0] == wanted.get("error", [1])[0] else f"{found.get('error', 'a result')} instead of {wanted.get('error', 'a result')}"
    for part in ("out", "grad"):
        if len(found[part]) != len(wanted[part]):
            return f"{len(found[part])} {part} tensors instead of {len(wanted[part])}"
        for k, (f, w) in enumerate(zip(found[part], wanted[part])):
            problem = _differs(f, w, tol)
            if problem:
                return f"{part}[{k}]: {problem}"
    return ""


def _differs(found, wanted, tol):
    if found is None or wanted is None:
        zero = found or wanted
        return "" if zero is None or all(v == 0 for v in zero[2]) else f"{found} instead of {wanted}"
    if found[:2] != wanted[:2]:
        return f"{found[0]}{found[1]} instead of {wanted[0]}{wanted[1]}"
    relative, absolute = TOLERANCE.get(wanted[0], (0, 0))
    relative, absolute = (tol, tol) if tol else (relative, absolute)
    scale = max([abs(float(v)) for v in wanted[2] if isinstance(v, (int, float)) and math.isfinite(v)], default=0)
    for i, (f, w) in enumerate(zip(found[2], wanted[2])):
        w = float(w) if isinstance(w, str) else w
        same = f == w or (f != f and w != w)
        if not same and not (isinstance(w, float) and abs(f - w) <= absolute + relative * max(abs(w), 0.1 * scale)):
            return f"element {i} is {f!r} instead of {w!r}"
    return ""


def functions_of(torch, record):
    """A record's function in PyTorch's namespaces."""
    for space in record.to:
        found = {"torch": lambda: torch, "F": lambda: torch.nn.functional, "linalg": lambda: torch.linalg, "special": lambda: torch.special,
                 "Tensor": lambda: torch.Tensor}[space]()
        if hasattr(found, record.name):
            return getattr(found, record.name)
    raise AttributeError(f"PyTorch has no {record.name} in {record.to}")


def check(torch, names=None, device=None, first=False):
    """Run samples of pyborch's records (``first``: one of each); returns (number run, [what failed])."""
    from pyborch.ops.registry import RECORDS, T
    runner, failures, count = Runner(torch, T, device), [], 0
    goldens = {}
    for path in sorted(GOLDEN.glob("ops-*.json")):
        goldens.update(json.loads(path.read_text()))
    for key, record in RECORDS.items():
        if names is not None and key not in names or not record.samples:
            continue
        if key not in goldens or len(goldens[key]) != len(record.samples):
            failures.append(f"{key}: its goldens are missing; run tests/oracle.py with PyTorch")
            continue
        for i, (s, wanted) in enumerate(zip(record.samples, goldens[key])):
            if first and i or not fits(s, T, device):
                continue
            count += 1
            try:
                problem = compare(runner.run(record.function, record.name, i, s), wanted, s.tol)
            except Exception as error:  # noqa: BLE001 one sample's failure must not hide the others
                problem = f"{type(error).__name__}: {error}"
            if problem:
                failures.append(f"{key}[{i}]: {problem}")
    return count, failures


def fits(s, T, device):
    """Whether the device has the sample's dtypes."""
    text = json.dumps([s.kwargs.get("dtype"), [a.dtype for a in s.args if isinstance(a, T)]])
    if device != "webgpu":
        return True
    backend = __import__("pyborch.devices", fromlist=["backend"]).backend("webgpu")
    return "float64" not in text and ("float16" not in text or backend.has_f16)
