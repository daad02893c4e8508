"""Pointwise formulas: one Python function evaluated with WGSL code, numpy arrays or tensors.

A formula is ``lambda m, x, ...`` built from operators and from other pointwise ops by name (``m.exp(x)``).
"""
from __future__ import annotations

import re

_FLOAT_MAX = 3.4028234663852886e38


class Builder:
    """Collects ``let`` lines, whose names begin with ``prefix``; equal expressions share one name. ``index`` names the element's number."""

    def __init__(self, prefix="v", index="i"):
        self.prefix, self.index, self.lines, self.known = prefix, index, [], {}

    def let(self, type, text) -> Code:
        key = (type, text)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = Code(self, type, f"{self.prefix}{len(self.known)}")
            self.lines.append(f"let {found.text}: {type} = {text};")
        return found


def literal(value, type) -> str:
    """A Python number as a WGSL expression of ``type`` ('f32', 'i32', 'u32' or 'bool')."""
    if type == "bool":
        return "true" if value else "false"
    if type == "f32":
        value = float(value)
        if value != value:
            return "nan()"
        if abs(value) > _FLOAT_MAX:
            return "infinity()" if value > 0 else "(-infinity())"
        return f"f32({value!r})"
    return f"{type}({int(value)})"


class Code:
    """A WGSL value: its type and text. Python's operators build more."""
    __slots__ = ("builder", "type", "text")

    def __init__(self, builder, type, text):
        self.builder, self.type, self.text = builder, type, text

    def to(self, type) -> Code:
        if type == self.type:
            return self
        if type == "bool":
            return self.builder.let("bool", f"({self.text} != {literal(0, self.type)})")
        return self.builder.let(type, f"{type}({self.text})")

    def _pair(self, other):
        if not isinstance(other, Code):
            type = "f32" if isinstance(other, float) and self.type != "f32" else self.type
            if self.type == "bool" and not isinstance(other, bool):
                type = "f32" if isinstance(other, float) else "i32"
            mine = self.to(type)
            return mine, Code(self.builder, mine.type, literal(other, mine.type))
        if self.type == other.type:
            return self, other
        for type in ("f32", "i32", "u32"):
            if type in (self.type, other.type):
                return self.to(type), other.to(type)
        return self, other

    def _binary(self, other, operator, result=None, swap=False):
        a, b = self._pair(other)
        if swap:
            a, b = b, a
        if a.type == "bool" and operator in "+*":
            operator = {"+": "|", "*": "&"}[operator]
        return self.builder.let(result or a.type, f"({a.text} {operator} {b.text})")

    def __add__(self, other): return self._binary(other, "+")
    def __radd__(self, other): return self._binary(other, "+", swap=True)
    def __sub__(self, other): return self._binary(other, "-")
    def __rsub__(self, other): return self._binary(other, "-", swap=True)
    def __mul__(self, other): return self._binary(other, "*")
    def __rmul__(self, other): return self._binary(other, "*", swap=True)
    def __truediv__(self, other): return self._binary(other, "/")
    def __rtruediv__(self, other): return self._binary(other, "/", swap=True)
    def __and__(self, other): return self._binary(other, "&")
    def __or__(self, other): return self._binary(other, "|")
    def __xor__(self, other): return self._binary(other, "!=" if self.type == "bool" else "^")
    def __lt__(self, other): return self._binary(other, "<", "bool")
    def __le__(self, other): return self._binary(other, "<=", "bool")
    def __gt__(self, other): return self._binary(other, ">", "bool")
    def __ge__(self, other): return self._binary(other, ">=", "bool")
    def __eq__(self, other): return self._binary(other, "==", "bool")  # type: ignore[override]
    def __ne__(self, other): return self._binary(other, "!=", "bool")  # type: ignore[override]
    def __neg__(self): return self.builder.let(self.type, f"(-{self.text})")
    def __invert__(self): return self.builder.let(self.type, f"({'!' if self.type == 'bool' else '~'}{self.text})")
    __hash__ = None  # type: ignore[assignment]


def series(m, name, t):
    """The polynomial of a table in special_tables.py at ``t``, a place in [-1, 1]; f32 leaves out the powers that it cannot see."""
    from .special_tables import TABLES
    powers = TABLES[name]
    if isinstance(m, CodeMath):
        limit = 1e-9 * max(map(abs, powers))
        powers = powers[next(i for i, c in enumerate(powers) if abs(c) > limit):]
    total = powers[0]
    for c in powers[1:]:
        total = total * t + c
    return total


class CodeMath:
    """The namespace ``m`` that turns a formula into WGSL."""

    def __init__(self, ops, builder):
        self._ops, self._builder = ops, builder

    def where(self, condition, a, b):
        if not isinstance(a, Code) and not isinstance(b, Code):
            type = "f32"
        else:
            type = (a if isinstance(a, Code) else b).type
            if isinstance(a, Code) and isinstance(b, Code):
                a, b = a._pair(b)
                type = a.type
        texts = [v.to(type).text if isinstance(v, Code) else literal(v, type) for v in (a, b)]
        return self._builder.let(type, f"select({texts[1]}, {texts[0]}, {condition.to('bool').text})")

    def place(self, inner, size):
        """The element's index along a dimension of ``size`` whose steps are ``inner`` elements of the row-major result (GPU only)."""
        return self._builder.let("i32", f"i32({self._builder.index} / {inner}u % {size}u)")

    def __getattr__(self, name):
        op = self._ops[name]
        if op.wgsl is None:
            return lambda *args, **kw: op.formula(self, *args, **kw)
        return lambda *args: self._primitive(op, args)

    def _primitive(self, op, args):
        first = next(a for a in args if isinstance(a, Code))
        type = op.compute_type(*[a.type for a in args if isinstance(a, Code)])
        texts = {n: (a.to(type).text if isinstance(a, Code) else literal(a, type)) for n, a in zip(op.args, args)}
        template = op.wgsl if isinstance(op.wgsl, str) else op.wgsl[type]
        text = re.sub(rf"\b({'|'.join(texts)})\b", lambda found: texts[found.group()], template)
        result = "bool" if op.kind in ("compare", "bool") else "i32" if op.kind == "word" else type
        return first.builder.let(result, text.replace("T(", type + "("))


class NumpyMath:
    """The namespace ``m`` over numpy."""

    def __init__(self, ops, np):
        self._ops, self._np = ops, np

    def where(self, condition, a, b):
        return self._np.where(condition, a, b)

    def __getattr__(self, name):
        op = self._ops[name]
        if op.numpy is None:
            found = lambda *args, **kw: op.formula(self, *args, **kw)  # noqa: E731
        elif isinstance(op.numpy, str):
            found = getattr(self._np, op.numpy)
        else:
            found = lambda *args: op.numpy(self._np, *args)  # noqa: E731
        setattr(self, name, found)
        return found


class TensorMath:
    """The namespace ``m`` over tensors: the public functions themselves."""

    def __init__(self, ops):
        self._ops = ops

    def where(self, condition, a, b):
        return self._ops["_where"].call(condition, a, b)

    def __getattr__(self, name):
        found = self._ops[name].call
        setattr(self, name, found)
        return found
