"""What a kernel is made of: the functions, constants and WGSL files that its plan can come to, found by following names from the op's record."""
from __future__ import annotations

import ast
import hashlib
import json
import os
import sys
from types import CodeType, FunctionType, ModuleType

from ... import kernels
from ..registry import FUNCTIONS, OPS, RECORDS, Op

ROOT = __name__.split(".")[0]
ROOMS = (f"{ROOT}.ops.", f"{ROOT}.kernels")
FILES = {name[:-5] for name in os.listdir(os.path.join(os.path.dirname(kernels.__file__), "wgsl")) if name.endswith(".wgsl")}
ELSEWHERE = [id(table) for table in (OPS, FUNCTIONS, RECORDS, kernels._sources)]   # lists of all ops and files: what is in them is not part of one
PLAN = vars(kernels.Plan)
_nodes: dict = {}    # module name -> {(line, name): source text}


class MadeOf:
    """``texts`` are the source texts of functions and constants, ``files`` names of WGSL files, ``classes`` the classes met, ``names`` all names used."""

    def __init__(self, ops):
        self.texts, self.files, self.classes, self.names, self._seen = set(), {"prelude"}, {}, set(), {}
        for op in ops:
            if op.pointwise:
                self._value(op.name, [op.wgsl, op.kind, list(op.args)])
                self._value(op.name, op.formula)
            for rule in (op.infer if op.pointwise else op.shape, op.run):
                self._value(op.name, getattr(rule, "__func__", rule))

    def _value(self, name, value):
        if isinstance(value, (str, int, float, type(None))):
            self._constant(value)
            self.texts.add(f"{name} = {value!r}")
        elif id(value) not in self._seen and id(value) not in ELSEWHERE:
            self._seen[id(value)] = value   # kept, so that no other object gets its id
            self._follow(name, value)

    def _follow(self, name, value):
        if isinstance(value, FunctionType):
            self._function(value)
        elif isinstance(value, type):
            self._class(value)
        elif type(value) is dict:
            for key, inner in value.items():
                self._value(f"{name}[{key!r}]", inner)
        elif isinstance(value, (list, tuple)):
            for k, inner in enumerate(value):
                self._value(f"{name}[{k}]", inner)
        elif type(value).__module__.startswith(ROOMS) and not isinstance(value, (Op, dict)):   # a dict of a class of its own is a cache
            self._class(type(value))
            for field, inner in getattr(value, "__dict__", {}).items():
                self._value(f"{name}.{field}", inner)

    def _class(self, made):
        if made.__module__.startswith(ROOMS) and made.__qualname__ not in self.classes and not issubclass(made, Op):
            self.classes[made.__qualname__] = made
            for name, value in vars(made).items():
                if isinstance(value, FunctionType) or not name.startswith("__") and isinstance(value, (str, int, tuple)):
                    self._value(f"{made.__qualname__}.{name}", value)
            for base in made.__bases__:
                self._class(base)

    def _function(self, function):
        if not function.__module__.startswith(ROOMS):
            return
        self.texts.add(_source(function))
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            self._value(name, cell.cell_contents)
        for k, value in enumerate([*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]):
            self._value(f"{function.__name__}({k})", value)
        self._code(function.__code__, function.__globals__)

    def _code(self, code, known):
        modules = []
        for name in code.co_names:
            value = known.get(name, sys.modules.get(f"{ROOT}.ops.{name}"))
            if isinstance(value, ModuleType):
                modules += [value] if f"{value.__name__}.".startswith(ROOMS) or value is kernels else []
            elif value is not None:
                self._value(name, value)
            elif name in PLAN:                                  # plan.contiguous() and kin
                self._value(name, PLAN[name])
        self.names.update(code.co_names)
        for module in modules:
            for name in code.co_names:
                if name in vars(module):
                    self._value(name, vars(module)[name])
        for value in code.co_consts:
            self._constant(value)
            if isinstance(value, CodeType):
                self._code(value, known)

    def _constant(self, value):
        if isinstance(value, str) and value in FILES:
            self.files.add(value)
        elif isinstance(value, (tuple, frozenset)):
            for inner in value:
                self._constant(inner)


def _source(function):
    """The text of a function, as it stands in its file."""
    name = function.__module__
    if name not in _nodes:
        _nodes[name] = _read(sys.modules[name].__file__)
    return _nodes[name].get((function.__code__.co_firstlineno, function.__name__), "")


def _read(path):
    """{(first line, name): text} of all functions in a file; lambdas that begin in one line are one text."""
    with open(path, encoding="utf-8") as file:
        source = file.read()
    found: dict = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            first = min([node.lineno, *[d.lineno for d in getattr(node, "decorator_list", ())]])
            key = first, getattr(node, "name", "<lambda>")
            found[key] = found.get(key, "") + (ast.get_source_segment(source, node) or "")
    return found


def digest(name, version, signature, made):
    """sha256 over all that decides what the kernel computes and how."""
    parts = [name, version, signature, sorted(made.texts), {file: kernels.source(file) for file in sorted(made.files)}]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
