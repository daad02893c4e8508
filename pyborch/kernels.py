"""From WGSL text and constants to cached pipelines, and from an op call to the plan that dispatches it."""
from __future__ import annotations

from . import devices
from .devices import Meta
from .dtypes import word_of

def __getattr__(name):
    if name == "compile":  # the public ones; the rest of this file is how ops make theirs
        from .ops.own import compile
        return compile
    if name in ("get", "list", "load"):
        from .ops import cards
        return getattr(cards, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


GROUP_LIMIT = 65535
KERNEL_LIMIT = 1024


class Cache(dict):
    """A dictionary that lets its oldest entries go beyond a number of them."""

    def keep(self, key, value):
        """Remember and return ``value``."""
        while len(self) >= KERNEL_LIMIT:
            del self[next(iter(self))]
        self[key] = value
        return value


_sources: dict = {}
_pipelines = Cache()


def source(name: str) -> str:
    """The text of ``wgsl/NAME.wgsl``."""
    text = _sources.get(name)
    if text is None:
        import os
        with open(os.path.join(os.path.dirname(__file__), "wgsl", name + ".wgsl"), encoding="utf-8") as file:
            text = _sources[name] = file.read()
    return text


def wgsl_literal(value) -> str:
    if value is True or value is False:
        return "true" if value else "false"
    return f"{value}u" if isinstance(value, int) else repr(float(value))


class Kernel:
    """Everything that makes one compute pipeline: the label, the whole WGSL text, and how each binding is used."""
    __slots__ = ("label", "text", "access", "ids")

    def __init__(self, label, text):
        if "special_" in text:  # functions with loops, which few formulas call
            text = "\n".join([text, source("special_functions")])
        self.label, self.text, self.ids = label, text, {}
        self.access = binding_access(text)

    def __del__(self):
        for device, number in self.ids.items():
            device.drop_kernel(number)


def binding_access(text: str) -> str:
    """'r' or 'w' per storage binding of group 0, in binding order."""
    found = {}
    for line in text.split("\n"):
        if "var<storage" in line and "@binding(" in line:
            index = int(line.split("@binding(")[1].split(")")[0])
            found[index] = "w" if "read_write" in line else "r"
    return "".join(found[i] for i in sorted(found))


def from_file(name: str, consts=None, types=None, text: str = "") -> Kernel:
    """The kernel of ``wgsl/NAME.wgsl`` with constants, type aliases and extra functions before it; cached."""
    key = (name, tuple(consts.items()) if consts else (), tuple(types.items()) if types else (), text)
    found = _pipelines.get(key)
    if found is None:
        lines = []
        if types and "f16" in types.values():
            lines.append("enable f16;")
        lines += [f"const {k} = {wgsl_literal(v)};" for k, v in (consts or {}).items()]
        lines += [f"alias {k} = {v};" for k, v in (types or {}).items()]
        label = " ".join([name, *(f"{k}={v}" for k, v in (consts or {}).items())])
        found = _pipelines.keep(key, Kernel(label, "\n".join(lines + [text, source("prelude"), source(name)])))
    return found


class Operand:
    """A tensor inside a plan: its Meta and the slot of its buffer."""
    __slots__ = ("meta", "slot")

    def __init__(self, meta: Meta, slot: int):
        self.meta, self.slot = meta, slot


class Scalar:
    """A number known only at run time: index into the call's scalars, stored as 'f', 'i' or 'u'."""
    __slots__ = ("index", "kind")

    def __init__(self, index, kind="f"):
        self.index, self.kind = index, kind


class Step:
    """One dispatch: kernel, buffer slots, parameter words (ints, floats, Scalars) and workgroups in x."""
    __slots__ = ("kernel", "slots", "words", "groups")

    def __init__(self, kernel, slots, words, groups):
        self.kernel, self.slots, self.words, self.groups = kernel, slots, words, groups

    def packed(self, scalars) -> list:
        """The parameters as 32-bit words, with these run-time scalars."""
        return [word_of(scalars[w.index], w.kind) if isinstance(w, Scalar) else word_of(w) for w in self.words]

    def grid(self):
        """(x, y) workgroups, folded past the limit; kernels recover the index by group_index()."""
        if self.groups <= GROUP_LIMIT:
            return self.groups, 1
        y = -(-self.groups // GROUP_LIMIT)
        return -(-self.groups // y), y


class Part:
    """Steps of a plan whose mathematics the compiler knows: ``kind`` is "pointwise", "reduce" or "product", with the operands read and
    written; ``detail`` is what its planner was given."""
    __slots__ = ("kind", "steps", "inputs", "outputs", "detail")

    def __init__(self, kind, steps, inputs, outputs, detail):
        self.kind, self.steps, self.inputs, self.outputs, self.detail = kind, steps, inputs, outputs, detail


class Plan:
    """All that is decided about one op call: result metas, dispatches, temporary buffers. Immutable once built.

    ``layout`` says per operand True (tensor), False (number) or None (left out); ``numbers`` the types of the numbers;
    ``aliases`` per input the output (from 1) whose memory it shares, 0 for none;
    ``products``: its matrix products, for the tuner.
    ``bound`` counts inputs and outputs; ``recipes`` is the tape's, by which inputs need gradients; ``decomposed`` the compiler's.
    """
    __slots__ = ("op", "device", "inputs", "outputs", "layout", "scalar_names", "params", "steps", "parts", "temps", "handle",
                 "single", "label", "numbers", "aliases", "bound", "forms", "recipes", "decomposed", "products")

    def __init__(self, op, inputs, outputs, layout, scalar_names, params, numbers=(), aliases=()):
        self.op, self.inputs, self.outputs, self.layout, self.numbers = op, inputs, outputs, layout, numbers
        self.scalar_names, self.params, self.aliases = scalar_names, params, aliases
        self.bound = len(inputs) + len(outputs)
        self.device = (outputs[0] if outputs else inputs[0]).device
        self.forms, self.recipes = [self.device.form(m.dtype, m.numel) for m in outputs], {}
        self.steps, self.parts, self.temps, self.products, self.handle, self.decomposed = [], [], [], [], None, None
        self.single = len(outputs) == 1

    def operands(self) -> list:
        """What an op's run() takes after the plan: an Operand per tensor operand (None where left out), then one per output."""
        made = [Operand(m, i) for i, m in enumerate(self.inputs + self.outputs)]
        tensors = iter(made)
        return [next(tensors) if is_tensor else None for is_tensor in self.layout if is_tensor is not False] + made[len(self.inputs):]

    def describe(self) -> str:
        """``add(float32[2, 3], float32[3])`` for error messages."""
        return f"{self.op.name}({', '.join(f'{m.dtype.name}{list(m.shape)}' for m in self.inputs)})"

    # what an op's run() calls
    def scalar(self, index: int, kind: str = "f") -> Scalar:
        """The ``index``-th run-time number of the call, as f32 ('f'), i32 ('i') or u32 ('u')."""
        return Scalar(index, kind)

    def named(self, name: str, kind: str = "f") -> Scalar:
        """A run-time number by its parameter name."""
        return Scalar(self.layout.count(False) + self.scalar_names.index(name), kind)

    def temp(self, numel_or_shape, dtype) -> Operand:
        """A buffer that lives for this call only; row-major."""
        shape = (numel_or_shape,) if isinstance(numel_or_shape, int) else numel_or_shape
        found = Operand(devices.meta(shape, dtype, self.device), self.bound + len(self.temps))
        self.temps.append(found.meta)
        return found

    def contiguous(self, x: Operand, whole=False) -> Operand:
        """``x`` itself where it is row-major (``whole``: and begins where its memory does), else a copy of it made first."""
        if x.meta.contiguous and not (whole and x.meta.offset):
            return x
        from .ops import pointwise_plan
        result = self.temp(x.meta.shape, x.meta.dtype)
        pointwise_plan.copy(self, x, result)
        return result

    def part(self, kind, first, inputs, outputs, detail) -> None:
        """Say what the steps from index ``first`` on compute, in place of what was said of them before."""
        steps = self.steps[first:]
        self.parts = [p for p in self.parts if not any(s in steps for s in p.steps)]
        if steps:
            self.parts.append(Part(kind, steps, list(inputs), list(outputs), detail))

    def dispatch(self, kernel: Kernel, buffers, words=(), groups: int = 1) -> None:
        """Add a dispatch of ``groups`` workgroups (folded into a grid); none where groups is 0."""
        if groups > 0:
            self.steps.append(Step(kernel, tuple(b.slot for b in buffers), tuple(words), groups))


def build(plan: Plan) -> Plan:
    """Fill a plan with its op's dispatches where the device is a GPU."""
    if plan.device.type == "webgpu":
        plan.op.run(plan, *plan.operands(), **plan.params)
        plan.device.prepare(plan)
    return plan
