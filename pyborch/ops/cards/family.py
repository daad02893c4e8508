"""Which kernels there are and how each is called: every op with a plan of its own is one, all elementwise ops together are one more."""
from __future__ import annotations

from ..registry import OPS, RECORDS

POINTWISE = "pointwise"
POINTWISE_DOC = "An elementwise formula over tensors that broadcast, and numbers; the attribute op names the formula."
HERE = {"device"}    # attributes that say where, and not what: they may always be left out


class Family:
    """A kernel's name and signature.

    ``inputs`` is {name: may be left out}, or None where any number is taken; ``attributes`` {name: default}, with ``...`` where one has to be given.
    """

    def __init__(self, name):
        self.name, self.ops = name, [op for op in OPS.values() if family_of(op) == name]
        if name == POINTWISE:
            self.doc, self.inputs, self.attributes, self.numbers, self.output_names = POINTWISE_DOC, None, {"op": ...}, (), ["y"]
            return
        op = self.ops[0]
        code = op.run.__code__
        self.doc = op.doc or _sentence(RECORDS[name].doc)
        self.inputs = None if op.input_names is None else _inputs(op.shape)
        self.attributes, self.numbers = _attributes(op.shape, op.scalars), op.scalars
        self.output_names = [*code.co_varnames[1 + len(self.inputs or ()):code.co_argcount]]

    def bound(self, tensors, attributes):
        """(op, operands, attributes) of a call; TypeError in Python's words where it does not keep to the signature."""
        if self.name != POINTWISE:
            return self.ops[0], self._operands(tensors), _checked(self.name, self.attributes, attributes)
        given = dict(attributes)
        name = _checked(self.name, self.attributes, {k: given.pop(k) for k in ("op",) if k in given})["op"]
        op = OPS.get(name)
        if op is None or not op.pointwise:
            raise ValueError(f"pointwise(): no formula {name!r}; there are: {', '.join(sorted(op.name for op in self.ops))}")
        if len(tensors) != len(op.args):
            raise TypeError(_count(f"pointwise {name}", op.args, len(tensors)))
        return op, tensors, _checked(f"pointwise {name}", formula_attributes(op), given)

    def _operands(self, tensors):
        if self.inputs is None:
            return tensors
        least = sum(not optional for optional in self.inputs.values())
        if not least <= len(tensors) <= len(self.inputs):
            raise TypeError(_count(self.name, [*self.inputs][:None if len(tensors) > len(self.inputs) else least], len(tensors)))
        return (*tensors, *[None] * (len(self.inputs) - len(tensors)))


def names():
    """The names of all kernels."""
    return [*dict.fromkeys(name for op in OPS.values() if (name := family_of(op)) is not None)]


def family_of(op):
    """The name of the kernel that an op runs, None where it is no registered one."""
    if OPS.get(op.name) is not op or not op.has_card:
        return None
    return POINTWISE if op.pointwise else op.name


def formula_attributes(op):
    """{name: default} of an elementwise op."""
    if op.kind == "cast":
        return {"dtype": ...}
    return {} if op.formula is None else _attributes(op.formula, ())


def _inputs(shape):
    """{name: may be left out}: the shape rule's parameters, those with a default being optional."""
    code = shape.__code__
    named = code.co_varnames[:code.co_argcount]
    first = len(named) - len(shape.__defaults__ or ())
    return {name: k >= first for k, name in enumerate(named)}


def _attributes(rule, numbers):
    code = rule.__code__
    named = code.co_varnames[code.co_argcount:code.co_argcount + code.co_kwonlyargcount]
    defaults = {**{name: None for name in HERE}, **(rule.__kwdefaults__ or {})}
    return {name: defaults.get(name, ...) for name in (*named, *numbers)}


def _checked(name, known, given):
    for key in given:
        if key not in known:
            raise TypeError(f"{name}() got an unexpected keyword argument {key!r}")
    missing = [repr(key) for key, default in known.items() if default is ... and key not in given]
    if missing:
        raise TypeError(f"{name}() missing {len(missing)} required keyword-only argument{'s' * (len(missing) > 1)}: {_listed(missing)}")
    return {**known, **given}


def _count(name, inputs, given):
    if given > len(inputs):
        return f"{name}() takes {len(inputs)} positional argument{'s' * (len(inputs) != 1)} but {given} {'were' if given > 1 else 'was'} given"
    missing = [repr(n) for n in inputs[given:]]
    return f"{name}() missing {len(missing)} required positional argument{'s' * (len(missing) > 1)}: {_listed(missing)}"


def _listed(words):
    if len(words) < 3:
        return " and ".join(words)
    return f"{', '.join(words[:-1])}, and {words[-1]}"


def _sentence(doc):
    return " ".join(doc.split("\n\n")[0].split())
