"""A kernel's card: what its record says, as JSON."""
from __future__ import annotations

import math

from ... import devices, dtypes
from ...autograd import state
from ...devices.planned import Planned
from . import made_of
from .cases import HERE, TOLERANCE, Case, Input, Output
from .family import POINTWISE, formula_attributes

LARGEST = 2          # samples that stand in for benchmarks
EVERYWHERE = {"name": "one", "when": "every device", "doc": "The same kernel for software and hardware adapters."}
BY_DEVICE = [{"name": "software", "when": "software adapters", "doc": "Plain threads, each with more to do."},
             {"name": "hardware", "when": "hardware adapters", "doc": "Many threads, which share work where rows or sums are long."}]


def card(family, version, cases) -> dict:
    """The card of a kernel."""
    made = made_of.MadeOf(family.ops)
    bench = benchmarks(family, cases)
    return {"name": family.name, "version": version, "doc": family.doc, "inputs": _inputs(family, cases), "outputs": _outputs(family, cases),
            "attributes": attributes(family), "dtypes": _dtypes(x for c in cases for x in c.inputs) or _dtypes(y for c in cases for y in c.outputs),
            "shape_rule": shape_rule(family), "variants": variants(made), "sources": sorted(made.files),
            "cases": [plain_case(c) for c in cases], "benchmarks": [plain_case(c) for c in bench], "digest": digest(family, version, made)}


def digest(family, version, made=None) -> str:
    """The digest of a kernel."""
    return made_of.digest(family.name, version, [plain(family.inputs), attributes(family)], made or made_of.MadeOf(family.ops))


def attributes(family) -> list:
    """[{name, default}] of the keyword arguments; those without a default have to be given."""
    found = [_attribute(name, default, name in family.numbers) for name, default in family.attributes.items()]
    if family.name == POINTWISE:
        found[0]["values"] = {op.name: {"inputs": list(op.args), "attributes": [_attribute(n, d, False) for n, d in formula_attributes(op).items()]}
                              for op in family.ops}
    return found


def _attribute(name, default, number):
    """``live``: a number that compiles nothing when it changes."""
    return {"name": name, **({} if default is ... else {"default": plain(default)}), **({"live": True} if number else {})}


def _inputs(family, cases):
    if family.inputs is None:
        used = [x for c in cases for x in c.inputs]
        return [{"name": "tensors", "any_number": True, "dtypes": _dtypes(used)}]
    return [{"name": name, "optional": optional, "dtypes": _dtypes(c.inputs[k] for c in cases)} for k, (name, optional) in enumerate(family.inputs.items())]


def _outputs(family, cases):
    count = len(cases[0].outputs) if cases else len(family.output_names)
    names = family.output_names or ["y", "index"][:count]
    return [{"name": name, "dtypes": _dtypes(c.outputs[k] for c in cases)} for k, name in enumerate(names)]


def _dtypes(values):
    """The names of dtypes that the cases prove."""
    return sorted({x.dtype.name for x in values if isinstance(x, (Input, Output))})


def shape_rule(family) -> str:
    """The source text of the rule that gives the outputs' shapes and dtypes."""
    rule = type(family.ops[0]).infer if family.name == POINTWISE else family.ops[0].shape
    return made_of._source(rule)


def variants(made) -> list:
    """[{name, when, doc}]: products have variants of their own; other kernels ask, or do not ask, whether the adapter is software."""
    products = [c for c in made.classes.values() if hasattr(c, "file") and hasattr(c, "when")]
    if products:
        return [{"name": c.__name__, "when": c.when, "doc": " ".join(c.__doc__.split()), "source": c.file} for c in products]
    return [dict(v) for v in BY_DEVICE] if "software" in made.names else [dict(EVERYWHERE)]


def benchmarks(family, cases) -> list:
    """The cases that the record wants measured, else its largest ones."""
    given = [_bench(op, k, s) for op in family.ops for k, s in enumerate(op.bench)]
    return given or sorted(cases, key=Case.elements, reverse=True)[:LARGEST]


def _bench(op, k, s):
    inputs = [x and _bench_input(x) for x in s.args]
    metas = [x and Output(x.shape, x.dtype) for x in inputs]
    outputs = op.shape(*metas, **s.kwargs)
    outputs = tuple(Output(tuple(shape), dtype) for shape, dtype in (outputs if isinstance(outputs, list) else [outputs]))
    return Case(f"{op.name}.bench[{k}]", tuple(inputs), outputs, dict(s.kwargs), TOLERANCE.get(outputs[0].dtype.name, (0, 0)))


def _bench_input(x):
    dtype, count, device = dtypes.BY_NAME[x.dtype], math.prod(x.shape), Planned()
    t = state.tensor(device.allocate(dtype, count), devices.meta(x.shape, dtype, device))
    m = t.meta if x.view is None else x.view(t).meta
    return Input(tuple(m.shape), dtype, None if x.view is None else m.strides, m.offset, count, x.low, x.high, x.values)


def plain_case(case) -> dict:
    """A case as JSON."""
    return {"name": case.name, "seed": case.name, "inputs": [_plain_input(x) for x in case.inputs], "outputs": [plain(y._asdict()) for y in case.outputs],
            "attributes": plain({k: v for k, v in case.attributes.items() if v is not HERE}), "tolerance": plain(case.tolerance)}


def _plain_input(x):
    if not isinstance(x, Input):
        return plain(x)
    found = {"shape": x.shape, "dtype": x.dtype}
    if x.strides is not None and (x.offset or x.count != math.prod(x.shape)) or x.strides not in (None, _row_major(x.shape)):
        found.update(strides=x.strides, offset=x.offset)
    return plain({**found, **({"low": x.low, "high": x.high} if x.values is None else {"values": x.values})})


def _row_major(shape):
    from ... import shape as shapes
    return shapes.contiguous_strides(shape)


def plain(value):
    """A value as JSON: dtypes are names, tuples lists, infinities and NaN text."""
    if isinstance(value, dtypes.dtype):
        return value.name
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if value is None or isinstance(value, (str, int, float)):
        return value
    raise TypeError(f"card: {value!r} has no form in JSON")
