"""Freezes samples of PyTorch's operator database into tests/golden/opdb: calls as they were made, results, gradients (tests/frozen.py reads them).

    .cache/torch/bin/python tests/oracle_opdb.py            a fair choice: some small samples of every op
    .cache/torch/bin/python tests/oracle_opdb.py --full     all of them, into .cache/opdb; tests/run_opdb.py --full takes slices of those
"""
import argparse
import base64
import json
import pathlib
import random
import sys
import types
import warnings
import zlib

import opdb
import opdb_bridge as bridge
import torch
from torch.overrides import TorchFunctionMode

warnings.simplefilter("ignore")
ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARDS = 16
EACH, LIMIT = 4, 6000       # samples of an op; bytes of a sample's tensors and results


class UnfitError(Exception):
    """A sample that cannot be written down."""


class Recorder(TorchFunctionMode):
    """The calls of PyTorch's functions that a lambda makes, with their results."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        self.calls.append((path_of(func), args, kwargs or {}, result))
        return result


def path_of(func):
    name = getattr(func, "__name__", "")
    if name == "__get__":
        return "get:" + func.__self__.__name__
    return bridge.paths().get(id(func)) or (str(func) if type(func).__module__.startswith("torch._ops") else name)


class Writer:
    """One sample as JSON."""

    def __init__(self, calls):
        self.tensors, self.known, self.size = [], {}, 0
        self.results = {id(t): [i, k] for i, call in enumerate(calls) for k, t in enumerate(bridge.leaves_of(call[3])) if isinstance(t, torch.Tensor)}

    def value(self, v, calls=10**9):
        if isinstance(v, torch.Tensor):
            ref = self.results.get(id(v))
            return {"r": ref} if ref is not None and id(v) not in self.known and ref[0] < calls else {"t": self.tensor(v)}
        if v is None or type(v) in (bool, int, float, str):
            return v
        if type(v) is list:
            return [self.value(x, calls) for x in v]
        if isinstance(v, (tuple, torch.Size)):
            return {"tuple": [self.value(x, calls) for x in v]}
        if isinstance(v, dict):
            return {"dict": {k: self.value(x, calls) for k, x in v.items()}}
        if isinstance(v, slice):
            return {"slice": [self.value(x, calls) for x in (v.start, v.stop, v.step)]}
        if isinstance(v, (torch.dtype, torch.layout, torch.memory_format)):
            return {"name": str(v).split(".")[1]}
        if isinstance(v, complex):
            return {"complex": [v.real, v.imag]}
        if v is Ellipsis:
            return {"ellipsis": 1}
        if isinstance(v, torch.device):
            return {"device": 1}
        if id(v) in bridge.paths():
            return {"name": bridge.paths()[id(v)]}
        raise UnfitError(f"a {type(v).__name__}")

    def tensor(self, t):
        if id(t) not in self.known:
            if t.layout != torch.strided or t.is_conj() or t.is_neg():
                raise UnfitError("a tensor that is sparse or lazily conjugated")
            storage = t.untyped_storage()
            self.size += storage.nbytes()
            data = base64.b64encode(bytes(storage)).decode() if storage.nbytes() < 1 << 20 else None
            if data is None:
                raise UnfitError("large")
            self.known[id(t)] = len(self.tensors)
            self.tensors.append([name(t), list(t.shape), list(t.stride()), t.storage_offset(), data, int(t.requires_grad)])
        return self.known[id(t)]


def name(t):
    return str(t.dtype).split(".")[1]


def result(t):
    """A tensor of results; without strides."""
    if not isinstance(t, torch.Tensor):
        return {"v": {"complex": [t.real, t.imag]} if isinstance(t, complex) else t}
    if t.layout != torch.strided:
        raise UnfitError("a sparse result")
    t = t.detach().resolve_conj().resolve_neg().contiguous()
    return [name(t), list(t.shape), base64.b64encode(t.numpy().tobytes()).decode()]


def recorded(info, sample):
    """(calls, leaves of the result, leaves of what gradients are taken of)."""
    copies = bridge.Copies(True)
    args, kwargs = copies((sample.input, *sample.args)), copies(sample.kwargs)
    before = [t for t in copies.tensors.values()]
    recorder = Recorder()
    path = info.name if not isinstance(info.op, types.FunctionType) or "testing" not in info.op.__module__ else ""
    try:
        direct = bool(path) and bridge.at(torch, path) is info.op
    except AttributeError:
        direct = False
    if not direct and id(info.op) in bridge.paths():
        path, direct = bridge.paths()[id(info.op)], True
    if direct:
        out = info.op(*args, **kwargs)
        recorder.calls.append((path, tuple(args), kwargs, out))
    else:
        with recorder:
            out = info.op(*args, **kwargs)
    with recorder:
        processed = sample.output_process_fn_grad(out)
    return recorder.calls, bridge.leaves_of(out), bridge.leaves_of(processed), copies.leaves, before


def frozen(info, sample, tracked):
    """A sample as JSON, and its size; UnfitError where it cannot be one."""
    torch.manual_seed(0)
    calls, outs, processed, leaves, before = recorded(info, sample)
    values = [result(t) for t in outs]
    torch.manual_seed(1)
    again = recorded(info, sample)[1]
    if info.name in opdb.UNINITIALIZED or opdb.own_differs(again, outs):
        values = [v[:2] if isinstance(v, list) else v for v in values]
        tracked = False
    writer = Writer(calls)
    for mine, _ in before:
        writer.tensor(mine)
    written = [[path, writer.value(tuple(args), i)["tuple"], {k: writer.value(v, i) for k, v in kwargs.items()}] for i, (path, args, kwargs, _) in enumerate(calls)]
    row = {"calls": written, "out": [ref(writer, t) for t in outs], "values": values}
    if tracked and leaves:
        wanted = [t for t in processed if getattr(t, "requires_grad", False)]
        if wanted:
            if [id(t) for t in processed] != [id(t) for t in outs]:
                row["processed"], row["processed_values"] = [ref(writer, t) for t in processed], [result(t) for t in processed]
            row["of"] = [k for k, t in enumerate(processed) if getattr(t, "requires_grad", False)]
            grads = torch.autograd.grad(wanted, leaves, [bridge.cotangent(t) for t in wanted], allow_unused=True)
            row["leaves"] = [writer.known[id(t)] for t in leaves]
            row["grads"] = [None if g is None else result(g) for g in grads]
    # a mutated argument is written as it was: fresh copies were frozen before any call
    row["tensors"] = writer.tensors
    fresh = bridge.Copies(True)
    fresh((sample.input, *sample.args))
    fresh(sample.kwargs)
    for (mine, _), (other, _) in zip(before, fresh.tensors.values()):
        if id(mine) in writer.known:
            writer.tensors[writer.known[id(mine)]][4] = base64.b64encode(bytes(other.untyped_storage())).decode()
    return row, writer.size + sum(len(v[2]) if isinstance(v, list) and len(v) > 2 else 0 for v in values)


def ref(writer, t):
    if isinstance(t, torch.Tensor) and id(t) in writer.results:
        return writer.results[id(t)]
    if isinstance(t, torch.Tensor) and id(t) in writer.known:
        return ["t", writer.known[id(t)]]
    if isinstance(t, torch.Tensor):
        raise UnfitError("a result of another way")
    return None


def rows_of(info, full, dtype, limit=LIMIT):
    """Rows of an op: all, or a seeded choice of small ones, half of them with gradients where there are any."""
    found, unfit = [], 0
    for tracked in (False, True):
        samples = opdb.samples_of(info, dtype, 0, tracked)
        order = list(range(len(samples)))
        if not full:
            random.Random(f"{info.full_name} {tracked}").shuffle(order)
        taken = 0
        for k in order:
            if not full and taken >= (EACH if tracked or not info.supports_autograd else 1):
                break
            try:
                row, size = frozen(info, samples[k], tracked)
            except UnfitError:
                unfit += 1
                continue
            except Exception:  # noqa: BLE001 PyTorch itself refuses it
                unfit += 1
                continue
            if tracked and "grads" not in row or not full and size > limit:
                continue
            found.append({"id": f"{info.full_name} {name_of(dtype)} {'gradient' if tracked else 'forward'} {k}", **row})
            taken += 1
    return found, unfit


def name_of(dtype):
    return str(dtype).split(".")[1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    folder = ROOT / (".cache/opdb" if options.full else "tests/golden/opdb")
    folder.mkdir(parents=True, exist_ok=True)
    shards, count, lost = {k: [] for k in range(SHARDS)}, 0, 0
    for info in bridge.op_db:
        dtype = "float32" if torch.float32 in info.supported_dtypes("cpu") else opdb.instead(info)
        if dtype is None:
            continue
        rows, unfit = rows_of(info, options.full, getattr(torch, dtype))
        if not rows and not options.full:
            rows, unfit = rows_of(info, False, getattr(torch, dtype), 8 * LIMIT)
        shards[zlib.crc32(info.full_name.encode()) % SHARDS] += rows
        count, lost = count + len(rows), lost + unfit
        if not rows:
            print("none of", info.full_name)
    for k, rows in shards.items():
        lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
        (folder / f"{k:02}.json").write_text(f"[\n{lines}\n]\n")
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{count} samples, {size / 1e6:.1f} MB; {lost} cannot be written down")


if __name__ == "__main__":
    sys.exit(main())
