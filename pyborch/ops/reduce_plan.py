"""Reductions on the GPU: which threads sum what. The mathematics (start, take, merge, finish) comes as WGSL text."""
from __future__ import annotations

from .. import kernels
from .. import shape as shapes


class Recipe:
    """The WGSL of a reduction: accumulator type ``a`` of ``words`` 4-byte words, and the bodies of its four functions.

    ``take`` sees a (accumulator), v (the element as ``compute`` type), r (its index); ``merge`` sees a and b; ``finish`` sees a and n (the
    count), one expression per output.
    """

    def __init__(self, a, words, start, take, merge, finish, struct=""):
        self.a, self.words, self.start, self.take, self.merge, self.struct = a, words, start, take, merge, struct
        self.finish = finish if isinstance(finish, tuple) else (finish,)


def plan_reduce(plan, x, outputs, dims, recipe, load) -> None:
    """Add the dispatches of reducing ``dims`` of ``x`` into row-major ``outputs``; ``load(text)`` is an element as WGSL."""
    m = x.meta
    kept = [d for d in range(len(m.shape)) if d not in dims]
    kept_sizes, (kept_strides,) = shapes.collapse([m.shape[d] for d in kept], [[m.strides[d] for d in kept]])
    sizes, (strides,) = shapes.collapse([m.shape[d] for d in dims], [[m.strides[d] for d in dims]])
    count = shapes.numel(m.shape[d] for d in dims)
    if len(sizes) > 2:
        copied = _reduced_last(plan, x, kept, dims)
        return plan_reduce(plan, copied, outputs, tuple(range(len(kept), len(m.shape))), recipe, load)
    if len(sizes) == 2:
        (n0, n1), (s0, s1) = sizes, strides
    else:
        n0, n1, s0, s1 = (sizes[0], 1, strides[0], 0) if sizes else (count and 1, 1, 0, 0)
    total = shapes.numel(kept_sizes)
    lanes, strips = _split(plan.device.software, total, n0, n1)
    words = [total, strips, n0, n1, s0, s1, m.offset, count, *[w for pair in zip(kept_sizes, kept_strides) for w in pair]]
    groups = lambda rows: rows if lanes > 1 else -(-rows // 64)  # noqa: E731
    if strips == 1:
        kernel = _kernel(recipe, load, m.dtype, outputs, len(kept_sizes), lanes, False)
        plan.dispatch(kernel, [x, *outputs], words, groups(total))
        return None
    from ..dtypes import float32
    partial = plan.temp(total * strips * recipe.words, float32)
    plan.dispatch(_kernel(recipe, load, m.dtype, outputs, len(kept_sizes), lanes, True), [x, partial], words, groups(total * strips))
    lanes = 1 if plan.device.software or strips < 64 else 256
    plan.dispatch(_second(recipe, outputs, lanes), [partial, *outputs], [total, 1, strips, 1, 1, 0, 0, count, total, strips], groups(total))
    return None


def _split(software, total, n0, n1):
    """(lanes, strips): enough threads to fill the device, each with enough to do."""
    if software:
        wanted = max(1, 256 // max(total, 1))
        return 1, max(1, min(wanted, n0, n0 * n1 // 256))
    if n0 * n1 < 128 or total >= 1 << 16 and n0 * n1 < 1024:
        return 1, 1
    return 256, max(1, min(512 // max(total, 1), n0, n0 * n1 // 4096, 256))


def _reduced_last(plan, x, kept, dims):
    """A copy of ``x`` with the reduced dims last and row-major."""
    from ..devices import meta
    from .pointwise_plan import copy
    m, order = x.meta, [*kept, *dims]
    view = meta([m.shape[d] for d in order], m.dtype, m.device, tuple(m.strides[d] for d in order), m.offset)
    result = plan.temp(view.shape, m.dtype)
    copy(plan, kernels.Operand(view, x.slot), result)
    return result


def _kept_text(rank):
    """(Params fields, fn kept) that turn an output index into an offset."""
    fields = "".join(f", k{d}: u32, t{d}: u32" for d in range(rank))
    lines = ["var rest = o;", "var at = 0u;"]
    for d in range(rank - 1, 0, -1):
        lines.append(f"at += (rest % p.k{d}) * p.t{d}; rest = rest / p.k{d};")
    if rank:
        lines.append("at += rest * p.t0;")
    return fields, f"fn kept(o: u32) -> u32 {{ {' '.join(lines)} return at; }}"


def _kernel(recipe, load, dtype, outputs, rank, lanes, partial):
    return _assemble(recipe, dtype.wgsl, load("x"), [o.meta.dtype for o in outputs], rank, lanes, partial, recipe.take)


def _second(recipe, outputs, lanes):
    return _assemble(recipe, recipe.a, "x", [o.meta.dtype for o in outputs], 1, lanes, False, "let b = v; " + recipe.merge)


_built: dict = {}


def _assemble(recipe, stored, element, dtypes, rank, lanes, partial, take):
    key = (recipe, stored, element, tuple(dtypes), rank, lanes, partial, take)
    found = _built.get(key)
    if found is None:
        fields, kept = _kept_text(rank)
        results = [f"@group(0) @binding(1) var<storage, read_write> y: array<{recipe.a}>;"] if partial else [
            f"@group(0) @binding({k + 1}) var<storage, read_write> y{k}: array<{d.wgsl}>;" for k, d in enumerate(dtypes)]
        stores = "y[i] = a;" if partial else " ".join(f"y{k}[i] = {_stored(text, d)};" for k, (text, d) in enumerate(zip(recipe.finish, dtypes)))
        parts = ["enable f16;" if stored == "f16" or any(d.wgsl == "f16" for d in dtypes) else "", kernels.source("prelude"),
                 kernels.source("pointwise_functions"), recipe.struct, f"alias A = {recipe.a};", f"const LANES = {lanes}u;",
                 f"@group(0) @binding(0) var<storage, read> x: array<{stored}>;", *results,
                 kernels.source("reduce").replace("KEPT_FIELDS", fields), kept,
                 f"fn start() -> A {{ {recipe.start} }}",
                 f"fn take(a: A, x: {stored}, r: u32) -> A {{ let v = {element}; {take} }}",
                 f"fn merge(a: A, b: A) -> A {{ {recipe.merge} }}",
                 f"fn store(i: u32, a: A) {{ let n = p.start; {stores} }}",
                 kernels.source("reduce_groups" if lanes > 1 else "reduce_threads")]
        found = _built[key] = kernels.Kernel("reduce", "\n".join(parts))
    return found


def _stored(text, dtype):
    return f"select(0u, 1u, {text})" if dtype.name == "bool" else f"{dtype.wgsl}({text})"
