"""compile: record a function once, replay it with one call."""
from __future__ import annotations

import gc
import warnings

from .. import tuner
from ..autograd import edge_of, forget_plans, state
from ..errors import CaptureError
from ..kernels import Cache
from ..ops.join import cat
from . import capture
from .replay import Program, given_back, is_static, own_argument
from .tree import flatten, rebuild

__all__ = ["Compiled", "capture", "compile"]
PROGRAM_LIMIT = 8
WARM_UPS = 2
MODES = (None, "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


def compile(model=None, *, fullgraph=False, dynamic=None, backend=None, mode=None, options=None, disable=False):
    """A function (or module) that records its first call and replays it afterwards, with one call into the browser (torch.compile).

    A whole training step can be compiled: forward, ``backward()``, ``optimizer.step()``, dropout, batch-norm statistics. Python code runs only
    while recording: anew for other shapes, dtypes, Python arguments, gradient mode, ``train()``/``eval()`` or swapped parameters (at most 8
    programs are kept; once there are so many, a new shape is recorded when it comes for the second time). From the second shape on kernels
    take sizes as parameters, so that further shapes compile nothing: ``dynamic=True`` does so from the first on, False never.

    Where a replay could not repeat what the function did (reading values, making tensors that outlive the call without being returned), the
    function runs eagerly and a warning says why and where; with ``fullgraph=True`` it is a CaptureError. A function whose result still needs
    gradients runs eagerly too.

    On WebGPU elementwise operations, reductions and what follows a product are fused into few kernels, alike updates of many tensors (an
    optimizer's step) are one, and memory is planned: ``print`` shows the program. ``options={"recompute": True}`` computes elementwise
    results anew in the backward pass instead of keeping them (False: never; by default from 256 MB of kept results on).

    ``mode="max-autotune"``: the variants of its products are timed on the GPU between the first calls, a product at each; once all are, the
    function is recorded anew with the fastest. They are remembered for other functions and visits (see pyborch.tuner).
    """
    if model is None:
        return lambda fn: compile(fn, fullgraph=fullgraph, dynamic=dynamic, mode=mode, options=options, disable=disable)
    if mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES[1:])}")
    unknown = set(options or ()) - {"recompute"}
    if unknown:
        raise RuntimeError(f"Unexpected optimization option {sorted(unknown)[0]}, known options are ['recompute']")
    return model if disable else Compiled(model, options, fullgraph, dynamic, mode)


class Compiled:
    """What :func:`compile` returns: call it like the function. Attributes are those of the function or module."""

    def __init__(self, fn, options=None, fullgraph=False, dynamic=None, mode=None):
        self._orig_mod, self._options, self._fullgraph, self._dynamic = fn, dict(options or {}), fullgraph, dynamic
        self._tunes, self._tuning = (mode or "").startswith("max-autotune"), None
        self._met, self._ranks = Cache(), Cache()
        self._programs: dict = {}
        self._warm: dict = {}
        self._eager: set = set()

    def __call__(self, *args, **kwargs):
        if state.recorder is not None:
            return self._orig_mod(*args, **kwargs)
        tensors: list = []
        spec = flatten((args, kwargs), tensors)
        key = self._key(spec, tensors)
        program = self._program(key)
        if program is not None and program.ready:
            result = program.run(tensors)
            if self._tuning is not None:
                self._tune()
            return result
        if program is not None or key in self._eager or self._too_new(key):
            return self._orig_mod(*args, **kwargs)
        return self._record(key, spec, tensors)

    def run(self, k, *args, **kwargs):
        """``k`` calls as one: call i takes the i-th part along the first dimension (of size ``k``) of each tensor argument; the results come
        stacked, (k, ...). For data that is on the GPU already: one call into the browser for all of them, and no waiting between.

        >>> losses = step.run(100, images, labels)   # images (100, batch, ...)
        """
        tensors: list = []
        spec = flatten((args, kwargs), tensors)
        for t in tensors:
            if not t.shape or t.shape[0] != k:
                raise RuntimeError(f"run: each tensor argument needs its k (={k}) parts along dim 0, but one is of shape {list(t.shape)}")
        parts: list = []
        while len(parts) < k:
            i = len(parts)
            slices = [t[i] for t in tensors]
            program = self._program(self._key(spec, slices))
            if program is not None and program.ready and program.repeats:
                return _stacked([*parts, program.run_stacked([t[i:] for t in tensors], k - i)])
            args, kwargs = rebuild(spec, iter(slices))
            parts.append(_one(self(*args, **kwargs)))
        return _stacked(parts)

    def _program(self, key):
        return next((program for program in self._programs.get(key, ()) if program.holds()), None)

    def _key(self, spec, tensors):
        return (spec, state.grad, state.autocast and state.autocast.device, *[self._describe(t) for t in tensors])

    def _too_new(self, key):
        """Whether a signature comes for the first time although there are as many programs as are kept: it may not come again."""
        if sum(map(len, self._programs.values())) < PROGRAM_LIMIT or key in self._met:
            return False
        return self._met.keep(key, True)

    def _many_sizes(self, spec, tensors):
        """Whether kernels are to take sizes as parameters: where the same has been recorded for other sizes."""
        ranks = (spec, state.grad, *[(len(t.meta.shape), t.meta.dtype, t.meta.device) for t in tensors])
        sizes = [t.meta.shape for t in tensors]
        first = self._ranks.get(ranks) or self._ranks.keep(ranks, sizes)
        return first != sizes if self._dynamic is None else self._dynamic

    @staticmethod
    def _describe(t):
        m = t.meta
        return (m, id(t.storage)) if edge_of(t) is not None else (m.shape, m.dtype, m.device)

    def _record(self, key, spec, tensors):
        recorder = capture.Recorder(self._fullgraph)
        arguments = [None if is_static(t) else own_argument(t) for t in tensors]
        for own in arguments:
            if own is not None:
                recorder.argument(own.storage)
        versions = [own.storage.version if own is not None else 0 for own in arguments]
        args, kwargs = rebuild(spec, iter([t if own is None else own for t, own in zip(tensors, arguments)]))
        state.recorder = recorder
        try:
            result = self._orig_mod(*args, **kwargs)
        finally:
            state.recorder = None
        del args, kwargs
        changed = [k for k, (own, v) in enumerate(zip(arguments, versions)) if own is not None and own.storage.version != v]
        for k in changed:
            tensors[k].detach().copy_(arguments[k])
        results: list = []
        result_spec = flatten(result, results)
        result = rebuild(result_spec, given_back(results, arguments, tensors))
        if recorder.broken:
            return self._stay_eager(key, result, f"{recorder.broken}. It runs eagerly.")
        if self._wants_gradient(recorder, results):
            return self._stay_eager(key, result, "compile: the result still needs gradients, so this function runs eagerly. Compile the whole training "
                                    "step (forward, backward and optimizer.step()), or call it under no_grad().")
        if not recorder.calls or self._warming_up(key, recorder, results):
            return result
        device = recorder.calls[0].plan.device
        self._keep(key, Program(recorder, device, arguments, changed, result_spec, results, self._options,
                                self._many_sizes(spec, tensors)))
        detached = [t if edge_of(t) is None or t.node is None else t.detach() for t in results]
        return rebuild(result_spec, given_back(detached, arguments, tensors))

    def _wants_gradient(self, recorder, results):
        nodes = [t.grad_fn for t in results]
        return any(node is not None and node not in recorder.walked for node in nodes)

    def _stay_eager(self, key, result, why):
        self._eager.add(key)
        warnings.warn(why, stacklevel=4)
        return result

    def _warming_up(self, key, recorder, results):
        """Whether the call made lasting state (as a first call may); where it does so every time it cannot be replayed."""
        kept = {recorder.number(t.storage) for t in results}
        kept |= {recorder.number(leaf._grad.storage) for leaf, _, _ in recorder.entry_grads.values() if leaf._grad is not None}
        if not recorder.survivors(kept):
            return False
        gc.collect()
        survivors = recorder.survivors(kept)
        if survivors:
            self._warm[key] = self._warm.get(key, 0) + 1
            if self._warm[key] > WARM_UPS:
                first = survivors[0]
                message = (f"compile: {len(survivors)} tensors made inside the function outlive each call without being returned, the first by "
                           f"{first.maker.describe()}. A replay cannot make them anew: return them, or write into a tensor made outside "
                           "(copy_, out=).")
                if self._fullgraph:
                    raise CaptureError(message)
                self._stay_eager(key, None, message + " It runs eagerly.")
        return bool(survivors)

    def _tune(self):
        """Go on with the tuning; when it is done and has found better kernels, the next call of each signature is recorded anew."""
        self._tuning.step()
        if self._tuning.done:
            if self._tuning.changed:
                forget_plans()
                self.reset()
            self._tuning = None

    def _keep(self, key, program):
        if self._tunes and program.graph is not None and self._tuning is None:
            found = tuner.Tuning(program.device, program.products())
            self._tuning = None if found.done else found
        programs = self._programs.pop(key, [])
        programs = [p for p in programs if p.holds()] + [program]
        self._programs[key] = programs  # at the end: the oldest signature goes first
        while sum(len(p) for p in self._programs.values()) > PROGRAM_LIMIT:
            oldest = next(iter(self._programs))
            self._programs[oldest].pop(0).drop()
            if not self._programs[oldest]:
                del self._programs[oldest]

    @property
    def programs(self) -> list:
        """The recorded programs, the newest last: ``print`` one, or ``show()`` it."""
        return [p for programs in self._programs.values() for p in programs]

    def reset(self) -> None:
        """Forget all recorded programs and give their memory back."""
        for programs in self._programs.values():
            for program in programs:
                program.drop()
        self._programs.clear()
        for table in (self._warm, self._eager, self._met, self._ranks):
            table.clear()

    def __getattr__(self, name):
        return getattr(self.__dict__["_orig_mod"], name)

    def __repr__(self):
        count = sum(len(p) for p in self._programs.values())
        return f"compiled({self._orig_mod!r}, {count} program{'s' if count != 1 else ''})"


def _one(result):
    """A result as a stack of one."""
    tensors: list = []
    spec = flatten(result, tensors)
    return rebuild(spec, iter([t.unsqueeze(0) for t in tensors]))


def _stacked(parts):
    """Stacks of results as one."""
    found = []
    for part in parts:
        tensors: list = []
        spec = flatten(part, tensors)
        found.append(tensors)
    if len(parts) == 1:
        return parts[0]
    return rebuild(spec, iter([cat(column) for column in zip(*found)]))
