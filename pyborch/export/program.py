"""export: a compiled call as one file of kernels, dispatches and weights, which ``run.mjs`` runs without Pyodide.

The file is a safetensors file: the weights under their own names, and the program as JSON in its metadata.
"""
from __future__ import annotations

import inspect
import json
import os

from .. import devices, kernels
from .._tensor import Tensor
from ..autograd import edge_of, no_grad
from ..compiler import Compiled
from ..compiler.capture import EXTERNAL
from ..compiler.tree import flatten, rebuild
from ..io import safetensors
from ..nn import Module

FORMAT = 1
WARM_UPS = 3
ENABLES = {"f16": "shader-f16", "subgroups": "subgroups"}


class ExportedProgram:
    """A call of fixed shapes: ``inputs`` and ``outputs`` are [{"name", "dtype", "shape"}]; made by :func:`export`."""

    def __init__(self, program, names, words):
        self._words = words
        self._spans: dict = {}
        self._buffers: list = []
        self._program = program
        arguments = [own for own in program.arguments if own is not None]
        self.inputs = [self._described(n, own.storage, own.meta) for n, own in zip(names, arguments)]
        self.outputs = [self._described(f"result{k}", program.where[n], meta) for k, (n, meta, _) in enumerate(program.returned)]
        self._tree = rebuild(program.result_spec, iter([{"result": k} for k in range(len(self.outputs))]))
        self.kernels: list = []
        self.steps = [self._step(*work) for work in program.lowered]
        self._weights = self._outside()

    def _described(self, name, storage, meta):
        return {"name": name, "dtype": meta.dtype.name, "shape": list(meta.shape), "at": self._span(storage)}

    def _span(self, storage):
        """[buffer, first byte, bytes] of a storage, in the file's numbering."""
        root, total, offset, size = self._program.device.span(storage)
        if root not in self._spans:
            self._spans[root] = len(self._buffers)
            self._buffers.append(total)
        return [self._spans[root], offset, size]

    def _step(self, step, values, scalars):
        spans = [self._span(self._program.where[v]) for v in values]
        written = {span[0] for span, way in zip(spans, step.kernel.access) if way == "w"}
        if any(span[0] in written for span, way in zip(spans, step.kernel.access) if way == "r"):
            raise RuntimeError(f"export: {step.kernel.label} reads and writes parts of one buffer, which a page may not; leave the optimizer's step out")
        if step.kernel not in self.kernels:
            self.kernels.append(step.kernel)
        x, y = step.grid()
        return [self.kernels.index(step.kernel), spans, x, y, step.packed([getattr(s, "value", s) for s in scalars])]

    def _outside(self):
        """{name: (tensor, [buffer, first byte])} of memory that the program finds there: weights, buffers, constants."""
        program, found = self._program, {}
        for n, kind in enumerate(program.kinds):
            storage = program.where.get(n)
            if kind == EXTERNAL and storage is not None:
                name, t = self._words.get(id(storage), (f"value.{n}", None))
                if t is None or t.numel() != storage.numel or not t.is_contiguous():
                    t = Tensor(storage, devices.meta((storage.numel,), storage.dtype, program.device))
                found[name] = t.detach(), self._span(storage)[:2]
        return found

    def description(self) -> dict:
        """What the file says beside the weights, as plain JSON values."""
        texts: dict = {}
        codes = [_shortened(k.text, texts) for k in self.kernels]
        features = sorted({ENABLES[word] for k in self.kernels for word in ENABLES if f"enable {word};" in k.text})
        listed = [{"label": k.label, "access": k.access, "words": max(len(s[4]) for s in self.steps if s[0] == i), "code": code}
                  for i, (k, code) in enumerate(zip(self.kernels, codes))]
        return {"format": FORMAT, "inputs": self.inputs, "outputs": self.outputs, "tree": self._tree, "features": features, "buffers": self._buffers,
                "weights": {name: span for name, (_, span) in self._weights.items()}, "texts": texts, "kernels": listed, "steps": self.steps}

    def tobytes(self) -> bytes:
        """The file."""
        return safetensors.save({name: t for name, (t, _) in self._weights.items()}, {"pyborch": json.dumps(self.description(), separators=(",", ":"))})

    def __repr__(self):
        of = lambda listed: ", ".join(f"{x['name']}: {x['dtype']}{x['shape']}" for x in listed)  # noqa: E731
        return (f"ExportedProgram({of(self.inputs)}) -> {of(self.outputs)}: {len(self.steps)} dispatches of {len(self.kernels)} kernels, "
                f"{len(self._weights)} weights")


def export(mod, args, kwargs=None) -> ExportedProgram:
    """What ``mod(*args, **kwargs)`` does, for tensors of these shapes and with the weights as they are now (torch.export.export).

    ``mod`` is a module or function whose tensors are on WebGPU; tensors among the arguments become inputs, other arguments constants.
    RuntimeError where the call depends on Python at each run (random numbers, step counts) or is not on WebGPU; CaptureError where it cannot
    be recorded.

    >>> torch.export.save(torch.export.export(model.eval(), (image,)), "model.safetensors")
    """
    kwargs = kwargs or {}
    tensors: list = []
    flatten((args, kwargs), tensors)
    if any(edge_of(t) is not None for t in tensors):
        raise RuntimeError("export: an argument requires gradients; detach() it")

    def call(*args, **kwargs):
        results: list = []
        spec = flatten(mod(*args, **kwargs), results)
        return rebuild(spec, iter([_alone(t.detach()) for t in results]))
    compiled = Compiled(call, fullgraph=True)
    for _ in range(WARM_UPS):
        if not compiled.programs:
            _quietly(mod, compiled, args, kwargs)
    if not compiled.programs or compiled.programs[-1].lowered is None:
        raise RuntimeError("export: the call ran no work on WebGPU; move the module and its arguments there (device='webgpu')")
    program = compiled.programs[-1]
    if program.host:
        raise RuntimeError("export: the call needs Python at each run (random numbers or step counts); pass random tensors in as arguments, and put "
                           "modules in eval()")
    words = {id(t.storage): (name, t) for name, t in (mod.state_dict().items() if isinstance(mod, Module) else ())}
    return ExportedProgram(program, _names(mod, args, kwargs), words)


def _alone(t):
    """``t`` where it is row-major and has its memory for itself, else a copy that is."""
    return t if t.is_contiguous() and t.storage.numel == t.numel() else t.clone()


def _quietly(mod, compiled, args, kwargs):
    if isinstance(mod, Module):
        with no_grad():
            return compiled(*args, **kwargs)
    return compiled(*args, **kwargs)


def _names(mod, args, kwargs):
    """A name for each tensor among the arguments: its parameter's, numbered where there are several."""
    try:
        positions = list(inspect.signature(mod.forward if isinstance(mod, Module) else mod).parameters)
    except (TypeError, ValueError):
        positions = []
    names = []
    for name, value in [*zip([*positions, *[f"input{k}" for k in range(len(positions), len(args))]], args), *kwargs.items()]:
        found: list = []
        flatten(value, found)
        names += [name] if len(found) == 1 else [f"{name}{k}" for k in range(len(found))]
    return names


def _shortened(text, texts):
    """A kernel's text with the parts that many share as ``//#name`` lines."""
    for name in ("prelude", "pointwise_functions"):
        shared = kernels.source(name)
        if shared in text:
            texts[name] = shared
            text = text.replace(shared, f"//#{name}\n")
    return text


def save(ep, f) -> None:
    """Write an exported program to a path or a binary file object (torch.export.save)."""
    if hasattr(f, "write"):
        f.write(ep.tobytes())
        return
    with open(f, "wb") as file:
        file.write(ep.tobytes())


def runner() -> str:
    """The JavaScript module that runs such files: ``import { load } from "./run.mjs"``, then ``await (await load(url)).run({ x: numbers })``."""
    with open(os.path.join(os.path.dirname(__file__), "run.mjs"), encoding="utf-8") as file:
        return file.read()
