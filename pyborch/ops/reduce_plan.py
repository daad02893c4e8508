"""Reductions on the GPU: which threads sum what. The mathematics (start, take, merge, finish) comes as WGSL text."""
from __future__ import annotations

from .. import kernels
from .. import shape as shapes
from .formula import Code
from .pointwise_plan import copy, store_expression


COLUMNS = 8          # lanes of an output where a group has 32 adjacent ones


class Recipe:
    """The WGSL of a reduction: accumulator type ``a`` of ``words`` 4-byte words, and the bodies of its functions.

    ``take`` sees a (accumulator), v (the element of the first input; v1, v2 of further ones), r (its index) and c0, c1, ... (f32, of this
    output); ``merge`` sees a and b; ``finish`` sees a and n (the count), one expression per output.
    """

    def __init__(self, a, words, start, take, merge, finish, struct=""):
        self.a, self.words, self.start, self.take, self.merge, self.struct = a, words, start, take, merge, struct
        self.finish = finish if isinstance(finish, tuple) else (finish,)


SUMS = {t: Recipe(t, 1, f"return {t}(0);", "return a + v;", "return a + b;", "a") for t in ("f32", "i32")}
SQUARES = Recipe("f32", 1, "return 0.0;", "return a + v * v;", "return a + b;", "a")
PRODUCTS = Recipe("f32", 1, "return 0.0;", "return a + v * v1;", "return a + b;", "a")


def plan_reduce(plan, inputs, outputs, dims, recipe, per_output=()) -> None:
    """Add the dispatches of reducing ``dims`` of ``inputs`` (of one shape) into row-major ``outputs``; ``per_output`` operands are
    row-major with an element per output."""
    first = len(plan.steps)
    _plan(plan, inputs, outputs, dims, recipe, per_output)
    plan.part("reduce", first, [*inputs, *per_output], outputs, (dims, recipe, len(inputs)))


def _plan(plan, inputs, outputs, dims, recipe, per_output):
    m = inputs[0].meta
    kept = [d for d in range(len(m.shape)) if d not in dims]
    kept_sizes, (kept_strides,) = shapes.collapse([m.shape[d] for d in kept], [[m.strides[d] for d in kept]])
    sizes, (strides,) = shapes.collapse([m.shape[d] for d in dims], [[m.strides[d] for d in dims]])
    count = shapes.numel(m.shape[d] for d in dims)
    if not count:
        sizes, strides = (), ()
    if len(sizes) > 2 or any(x.meta.strides != m.strides or x.meta.offset != m.offset for x in inputs):
        copied = [_reduced_last(plan, x, kept, dims) for x in inputs]
        return _plan(plan, copied, outputs, tuple(range(len(kept), len(m.shape))), recipe, per_output)
    if len(sizes) == 2:
        (n0, n1), (s0, s1) = sizes, strides
    else:
        n0, n1, s0, s1 = (sizes[0], 1, strides[0], 0) if sizes else (count and 1, 1, 0, 0)
    total = shapes.numel(kept_sizes)
    columns = not plan.device.software and kept_sizes and kept_strides[-1] == 1 and kept_sizes[-1] >= 32 and n0 * n1 >= 128
    lanes, strips = _split_columns(total, n0, n1) if columns else _split(plan.device.software, total, n0, n1)
    words = [total, strips, n0, n1, s0, s1, m.offset, count, *[w for pair in zip(kept_sizes, kept_strides) for w in pair]]
    types = [x.meta.dtype for x in inputs], [c.meta.dtype for c in per_output]
    if strips == 1:
        kernel = _assemble(recipe, types, [o.meta.dtype for o in outputs], len(kept_sizes), lanes, False)
        plan.dispatch(kernel, [*inputs, *per_output, *outputs], words, _groups(lanes, total, 1))
        return None
    from ..dtypes import float32
    partial = plan.temp(total * strips * recipe.words, float32)
    plan.dispatch(_assemble(recipe, types, None, len(kept_sizes), lanes, False), [*inputs, *per_output, partial], words, _groups(lanes, total, strips))
    lanes = 1 if plan.device.software or strips < 64 else 256
    second = _assemble(recipe, types, [o.meta.dtype for o in outputs], 1, lanes, True)
    plan.dispatch(second, [partial, *outputs], [total, 1, strips, 1, 1, 0, 0, count, total, strips], _groups(lanes, total, 1))
    return None


ENTRIES = {1: "reduce_threads", COLUMNS: "reduce_columns", 256: "reduce_groups"}


def _groups(lanes, total, strips):
    """Workgroups of a kernel by its lanes."""
    return {1: -(-total * strips // 64), COLUMNS: -(-total // 32) * strips, 256: total * strips}[lanes]


def _split_columns(total, n0, n1):
    """(lanes, strips) for groups of 32 adjacent outputs."""
    return COLUMNS, max(1, min(1024 // -(-total // 32), n0, n0 * n1 // (16 * COLUMNS), 1024))


def _split(software, total, n0, n1):
    """(lanes, strips): enough threads to fill the device, each with enough to do."""
    if software:
        wanted = max(1, 256 // max(total, 1))
        return 1, max(1, min(wanted, n0, n0 * n1 // 256))
    if n0 * n1 < 128 or total >= 1 << 16 and n0 * n1 < 1024:
        return 1, 1
    return 256, max(1, min(1024 // max(total, 1), n0, n0 * n1 // 4096, 1024))


def _reduced_last(plan, x, kept, dims):
    """A copy of ``x`` with the reduced dims last and row-major."""
    from ..devices import meta
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


_built = kernels.Cache()


def element(dtype, text) -> str:
    """A stored element as the type that a recipe works in: bool as bool, floats as f32."""
    if dtype.name == "bool":
        return f"({text} != 0u)"
    return f"f32({text})" if dtype.kind == "f" else text


def _assemble(recipe, types, results, rank, lanes, second):
    """The kernel; ``results`` None writes accumulators, ``second`` reads them."""
    key = (recipe, tuple(map(tuple, types)), tuple(results) if results else None, rank, lanes, second)
    found = _built.get(key)
    if found is None:
        found = _built.keep(key, kernels.Kernel("reduce", _text(recipe, types, results, rank, lanes, second)))
    return found


def _text(recipe, types, results, rank, lanes, second):
    inputs, per_output = ((), ()) if second else types
    fields, kept = _kept_text(rank)
    names = [("read", "x", recipe.a)] if second else [("read", f"x{k or ''}", d.wgsl) for k, d in enumerate(inputs)]
    names += [("read", f"c{k}s", d.wgsl) for k, d in enumerate(per_output)]
    names += [("read_write", "y", recipe.a)] if results is None else [("read_write", f"y{k}", d.wgsl) for k, d in enumerate(results)]
    if second:
        take = "let b = x[at]; " + recipe.merge
    else:
        take = " ".join(f"let v{k or ''} = {element(d, f'x{k or str()}[at]')};" for k, d in enumerate(inputs)) + recipe.take
    stores = "y[i] = a;" if results is None else " ".join(f"y{k}[i] = {stored(text, d)};" for k, (text, d) in enumerate(zip(recipe.finish, results)))
    f16 = any(d.wgsl == "f16" for d in (*inputs, *per_output, *(results or ())))
    return "\n".join([
        "enable f16;" if f16 else "", kernels.source("prelude"), recipe.struct, f"alias A = {recipe.a};", f"const LANES = {lanes}u;",
        *[f"@group(0) @binding({k}) var<storage, {access}> {name}: array<{held}>;" for k, (access, name, held) in enumerate(names)],
        kernels.source("reduce").replace("KEPT_FIELDS", fields), kept, *[f"var<private> c{k}: f32;" for k in range(len(per_output))],
        f"fn prepare(o: u32) {{ {' '.join(f'c{k} = f32(c{k}s[o]);' for k in range(len(per_output)))} }}",
        f"fn start() -> A {{ {recipe.start} }}", f"fn take(a: A, at: u32, r: u32) -> A {{ {take} }}", f"fn merge(a: A, b: A) -> A {{ {recipe.merge} }}",
        f"fn store(i: u32, a: A) {{ let n = p.start; {stores} }}", kernels.source(ENTRIES[lanes])])


def stored(text, dtype):
    """The result of a recipe as an element of ``dtype``."""
    return store_expression(dtype, Code(None, dtype.compute, f"{dtype.compute}({text})"))
