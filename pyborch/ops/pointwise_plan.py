"""Pointwise ops on the GPU: the WGSL of a formula over strided, broadcast operands, and its dispatch."""
from __future__ import annotations

from .. import kernels
from .. import shape as shapes
from . import transpose
from .formula import Builder, Code, CodeMath

GROUP = 256
_kernels = kernels.Cache()


def load_expression(dtype, text, compute) -> str:
    """The text of a stored element as a value of type ``compute``."""
    if dtype.name == "bool":
        value, type = f"({text} != 0u)", "bool"
    else:
        value, type = text, dtype.wgsl
    if type == compute:
        return value
    return f"({value} != {type}(0))" if compute == "bool" else f"{compute}({value})"


def store_expression(dtype, code: Code) -> str:
    """The text that stores ``code`` as an element of ``dtype`` (small integers wrap)."""
    if dtype.name == "bool":
        return f"select(0u, 1u, {code.to('bool').text})"
    if dtype.wgsl == "f16":
        return f"f16({code.to('f32').text})"
    text = code.to(dtype.compute).text
    if dtype.name == "uint8":
        if code.type == "f32":  # a negative float wraps as C's conversion through int does
            text = code.to("i32").text
        return f"({text} & 255)"
    if dtype.name in ("int8", "int16"):
        shift = 24 if dtype.name == "int8" else 16
        return f"(({text} << {shift}u) >> {shift}u)"
    return text


def plan_pointwise(plan, op, inputs, outputs, scalar_kinds, params) -> None:
    """Add the dispatch of a pointwise op. ``outputs`` share one shape; inputs are broadcast to it. ``params`` become constants, but for ``n``,
    by convention a count of elements: kernels serve every count."""
    shape = outputs[0].meta.shape
    count = shapes.numel(shape)
    if count == 0:
        return
    operands = inputs + outputs
    strides = [shapes.broadcast_strides(o.meta.shape, o.meta.strides, shape) for o in operands]
    sizes, strides = shapes.collapse(shape, strides)
    if len(sizes) == 0:
        sizes, strides = (1,), [(0,)] * len(operands)
    first = len(plan.steps)
    if not transpose.planned(plan, op, inputs, outputs, sizes, strides):
        _dispatch(plan, op, inputs, outputs, sizes, strides, scalar_kinds, params)
    plan.part("pointwise", first, inputs, outputs, (plan, op, scalar_kinds, params))


def _dispatch(plan, op, inputs, outputs, sizes, strides, scalar_kinds, params):
    """A thread for each element."""
    kernel = _kernel(plan, op, inputs, outputs, len(sizes), tuple(mode(s) for s in strides), scalar_kinds, params)
    count = shapes.numel(sizes)
    words = [count, *sizes]
    for operand, steps in zip(inputs + outputs, strides):
        words.append(operand.meta.offset)
        if mode(steps) == "s":
            words += steps
    words += [plan.scalar(i, {"f32": "f", "i32": "i"}.get(kind, "u")) for i, kind in enumerate(scalar_kinds)]
    words += [float(params["n"])] if "n" in params else []
    plan.dispatch(kernel, [o for i, o in enumerate(inputs) if not _alias(plan, i)] + outputs, words, -(-count // GROUP))


def mode(strides) -> str:
    """How an operand is indexed: 'l' by the linear index, '0' always the same element, 's' by strides."""
    if all(s == 0 for s in strides):
        return "0"
    return "l" if len(strides) == 1 and strides[0] == 1 else "s"


def _alias(plan, i):
    """The output whose memory input ``i`` shares (1-based), or 0."""
    return plan.aliases[i] if plan.aliases else 0


def _kernel(plan, op, inputs, outputs, rank, modes, scalar_kinds, params):
    key = (op, rank, modes, tuple(o.meta.dtype for o in inputs + outputs), plan.aliases, plan.layout, scalar_kinds,
           tuple((k, v if k != "n" else None) for k, v in params.items()))
    found = _kernels.get(key)
    if found is None:
        text = _text(plan, op, inputs, outputs, rank, modes, scalar_kinds, params)
        found = _kernels.keep(key, kernels.Kernel(op.name, text))
    return found


def _text(plan, op, inputs, outputs, rank, modes, scalar_kinds, params) -> str:
    operands = inputs + outputs
    fields = ["count: u32"] + [f"n{d}: u32" for d in range(rank)]
    index = []
    strided = "s" in modes
    for i, way in enumerate(modes):
        fields.append(f"o{i}: u32")
        if way == "l":
            index.append(f"p.o{i} + i")
        elif way == "0":
            index.append(f"p.o{i}")
        else:
            fields += [f"s{i}_{d}: u32" for d in range(rank)]
            index.append(" + ".join([f"p.o{i}"] + [f"c{d} * p.s{i}_{d}" for d in range(rank)]))
    fields += [f"scalar{i}: {'u32' if kind == 'bool' else kind}" for i, kind in enumerate(scalar_kinds)]
    fields += ["n: f32"] if "n" in params else []
    bindings, names, f16 = [], [], any(o.meta.dtype.wgsl == "f16" for o in operands)
    for i, operand in enumerate(operands):
        alias = _alias(plan, i) if i < len(inputs) else 0
        if alias:
            names.append(f"t{len(inputs) + alias - 1}")
            continue
        access = "read" if i < len(inputs) else "read_write"
        bindings.append(f"@group(0) @binding({len(bindings)}) var<storage, {access}> t{i}: array<{operand.meta.dtype.wgsl}>;")
        names.append(f"t{i}")
    body = _body(plan, op, inputs, outputs, names, index, scalar_kinds, params)
    coordinates = []
    if strided:
        coordinates.append("var rest = i;")
        for d in range(rank - 1, 0, -1):
            coordinates.append(f"let c{d} = rest % p.n{d}; rest = rest / p.n{d};")
        coordinates.append("let c0 = rest;")
    return "\n".join([
        "enable f16;" if f16 else "", kernels.source("prelude"), kernels.source("pointwise_functions"),
        f"struct Params {{ {', '.join(fields)} }}", *bindings,
        f"@compute @workgroup_size({GROUP}) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,",
        "  @builtin(local_invocation_index) lid: u32) {",
        f"  let i = group_index(wid, nwg) * {GROUP}u + lid;", "  if (i >= p.count) { return; }",
        *("  " + line for line in coordinates + body), "}"])


def _body(plan, op, inputs, outputs, names, index, scalar_kinds, params):
    builder = Builder()
    types = op.load_types([o.meta.dtype for o in inputs], plan)
    values = []
    for i, (operand, type) in enumerate(zip(inputs, types)):
        values.append(builder.let(type, load_expression(operand.meta.dtype, f"{names[i]}[{index[i]}]", type)))
    scalars = [Code(builder, k, f"(p.scalar{i} != 0u)" if k == "bool" else f"p.scalar{i}") for i, k in enumerate(scalar_kinds)]
    tensors, numbers = iter(values), iter(scalars)
    args = [next(tensors) if is_tensor else next(numbers) for is_tensor in plan.layout]
    named = dict(zip(plan.scalar_names, numbers))
    count = {"n": Code(builder, "f32", "p.n")} if "n" in params else {}
    results = op.evaluate(CodeMath(op.table, builder), args, {**params, **named, **count})
    stores = []
    for k, (output, result) in enumerate(zip(outputs, results)):
        position = len(inputs) + k
        if not isinstance(result, Code):
            result = Code(builder, output.meta.dtype.compute, literal_of(result, output.meta.dtype))
        stores.append(f"{names[position]}[{index[position]}] = {store_expression(output.meta.dtype, result)};")
    return builder.lines + stores


def literal_of(value, dtype) -> str:
    from .formula import literal
    return literal(value, dtype.compute)


def plan_part(plan, op, inputs, outputs, params) -> None:
    """Dispatch a pointwise op on operands inside another op's plan; ``params`` become constants of the kernel."""
    part = kernels.Plan(op, tuple(x.meta for x in inputs), tuple(y.meta for y in outputs), (True,) * len(inputs), (), {})
    plan_pointwise(part, op, inputs, outputs, (), params)
    plan.steps += part.steps
    plan.parts += part.parts


def copy(plan, source, target) -> None:
    """Dispatch an elementwise copy inside another op's plan."""
    from .registry import OPS
    plan_part(plan, OPS["clone"], [source], [target], {})
