"""Samples of PyTorch's operator database as tests/oracle_opdb.py froze them: making their tensors, running them, comparing. Plain Python only."""
import base64
import json
import math
import operator
import pathlib
import struct

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden/opdb"
TOLERANCE = {"float16": 5e-3, "float32": 2e-4, "float64": 1e-7, "complex64": 2e-4, "complex128": 1e-7}
CODES = {"bool": "?", "uint8": "B", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "float16": "e", "float32": "f", "float64": "d",
         "complex64": "f", "complex128": "d"}
GAUGE = {"linalg.eig", "linalg.eigh", "linalg.svd", "svd", "linalg.lstsq", "geqrf", "pca_lowrank", "svd_lowrank"}     # up to signs and bases


def rows(folder=GOLDEN, part=0, parts=1):
    """Every ``parts``-th frozen sample from the ``part``-th on."""
    count = -1
    for path in sorted(folder.glob("[0-9][0-9].json")):
        for row in json.loads(path.read_text()):
            count += 1
            if count % parts == part:
                yield row


def numbers(dtype, text):
    data = base64.b64decode(text)
    flat = struct.unpack(f"<{len(data) // struct.calcsize(CODES[dtype])}{CODES[dtype]}", data)
    return [complex(*pair) for pair in zip(flat[::2], flat[1::2])] if dtype.startswith("complex") else list(flat)


class Call:
    """A sample run with pyborch on its default device."""

    def __init__(self, torch, row):
        from pyborch import devices
        from pyborch.ops import create
        self.torch, self.row, backend = torch, row, devices.backend()
        self.tensors, self.results = [], []
        for dtype, shape, strides, offset, text, tracked in row["tensors"]:
            data = base64.b64decode(text)
            kind = getattr(torch, dtype)
            whole = create.from_bytes(data, (len(data) // kind.itemsize,), kind, backend)
            t = torch.Tensor(whole.storage, devices.meta(tuple(shape), kind, backend, tuple(strides), offset))
            self.tensors.append(t.requires_grad_() if tracked else t)
        for path, args, kwargs in row["calls"]:
            args = [self.value(a) for a in args]
            if path.startswith("get:"):
                found = getattr(args[0], path[4:])
            else:
                found = operator.attrgetter(path)(torch)(*args, **{k: self.value(v, k) for k, v in kwargs.items()})
            self.results.append(leaves(found))

    def value(self, v, key=""):
        if key == "device" and v == "cpu":
            return self.torch.get_default_device()
        if isinstance(v, list):
            return [self.value(x) for x in v]
        if not isinstance(v, dict):
            return v
        (kind, inner), = v.items()
        if kind == "t":
            return self.tensors[inner]
        if kind == "r":
            return self.results[inner[0]][inner[1]]
        if kind == "name":
            return operator.attrgetter(inner)(self.torch)
        return {"tuple": lambda: tuple(self.value(x) for x in inner), "dict": lambda: {k: self.value(x, k) for k, x in inner.items()},
                "slice": lambda: slice(*[self.value(x) for x in inner]), "complex": lambda: complex(*inner), "ellipsis": lambda: ...,
                "device": lambda: self.torch.get_default_device()}[kind]()

    def outputs(self, refs):
        flat = []
        for ref in refs:
            flat.append(None if ref is None else self.tensors[ref[1]] if ref[0] == "t" else self.results[ref[0]][ref[1]])
        return flat

    def gradients(self):
        outputs = self.outputs(self.row.get("processed", self.row["out"]))
        outputs = [outputs[k] for k in self.row["of"]]
        return self.torch.autograd.grad(outputs, [self.tensors[k] for k in self.row["leaves"]], [self.cotangent(t) for t in outputs], allow_unused=True)

    def cotangent(self, t):
        weights = [((i * 37) % 64 - 31) / 32 for i in range(math.prod(t.shape))]
        return self.torch.tensor(weights, dtype=t.dtype).reshape(tuple(t.shape))


def leaves(value):
    """Tensors and numbers in a result, in order, as tests/opdb_bridge.py has them."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)) and type(value).__name__ != "Size":
        return [leaf for part in value for leaf in leaves(part)]
    return [] if value is None else [value]


def differs(found, wanted):
    """What is different, as text; empty where nothing is."""
    if len(found) != len(wanted):
        return f"{len(found)} results instead of {len(wanted)}"
    for k, (f, w) in enumerate(zip(found, wanted)):
        if isinstance(w, dict):
            continue
        if w is None:
            if f is not None and any(f.detach().reshape(-1).tolist()):
                return f"result {k}: values instead of none"
            continue
        dtype, shape, *values = w
        if f is None:
            if any(numbers(dtype, values[0])):
                return f"result {k}: none"
            continue
        if not hasattr(f, "dtype"):
            return f"result {k}: {type(f).__name__} instead of a tensor"
        if str(f.dtype).split(".")[-1] != dtype or list(f.shape) != shape:
            return f"result {k}: {f.dtype}{list(f.shape)} instead of {dtype}{shape}"
        problem = unequal(dtype, f.detach().reshape(-1).tolist(), numbers(dtype, values[0])) if values else ""
        if problem:
            return f"result {k}: {problem}"
    return ""


def unequal(dtype, found, wanted):
    tolerance = TOLERANCE.get(dtype, 0)
    scale = max([abs(w) for w in wanted if tolerance and math.isfinite(abs(w))], default=0)
    for i, (f, w) in enumerate(zip(found, wanted)):
        if f != w and not (f != f and w != w) and not (tolerance and abs(f - w) <= tolerance * max(abs(w), 0.1 * scale) + tolerance / 5):
            return f"element {i} is {f!r} instead of {w!r}"
    return ""


def problem_of(torch, row):
    """What is wrong with a sample, as text; empty where nothing is."""
    try:
        call = Call(torch, row)
        if "processed" in row and row["id"].split(" ")[0] in GAUGE:
            problem = differs(call.outputs(row["processed"]), row["processed_values"])
        else:
            problem = numbers_of(call, row) or differs(call.outputs(row["out"]), row["values"])
        return problem or ("gradient " + (differs(call.gradients(), row["grads"]) or "")).rstrip().removesuffix("gradient") if "grads" in row else problem
    except Exception as error:  # noqa: BLE001 counted and shown
        return f"{type(error).__name__}: {error}"


def numbers_of(call, row):
    """What is wrong with results that are no tensors."""
    for k, (value, ref) in enumerate(zip(row["values"], row["out"])):
        if isinstance(value, dict) and ref is not None and call.outputs([ref])[0] != value["v"]:
            return f"result {k}: another value"
    return ""
