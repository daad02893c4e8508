"""The records of all operations: Op, pointwise formulas, and public functions with their samples."""
from __future__ import annotations

from .. import devices
from .. import dtypes
from .. import shape as shapes
from ..autograd import apply
from . import formula, pointwise_plan

OPS: dict = {}
FUNCTIONS: dict = {"torch": {}, "Tensor": {}, "F": {}, "linalg": {}, "special": {}}
RECORDS: dict = {}


class T:
    """A random tensor in a sample: shape, dtype, range, and a view taken of it (``view=lambda t: t.t()``)."""

    def __init__(self, *shape, dtype="float32", low=-1.0, high=1.0, view=None, grad=True, values=None):
        self.shape, self.dtype, self.low, self.high, self.view, self.values = shape, dtype, low, high, view, values
        self.grad = grad and dtype.startswith("float")


class S:
    """One sample call: positional and keyword arguments; ``T`` objects become tensors. ``tol`` loosens the comparison,
    ``method`` runs it as a Tensor method only."""

    def __init__(self, *args, tol=None, **kwargs):
        self.args, self.kwargs, self.tol = args, kwargs, tol


def result_type(name, fields):
    """A named tuple of results that prints as PyTorch's do."""
    from collections import namedtuple

    def __repr__(self):
        parts = ",\n".join(f"{field}={value!r}" for field, value in zip(self._fields, self))
        return f"torch.return_types.{name}(\n{parts})"
    return type(name, (namedtuple(name, fields),), {"__slots__": (), "__repr__": __repr__, "__doc__": f"({', '.join(fields.split())}) of {name}()."})


class Record:
    """A public function with the namespaces it lives in and its samples."""
    __slots__ = ("name", "function", "to", "samples", "bench", "doc")

    def __init__(self, name, function, to, samples, bench=()):
        self.name, self.function, self.to, self.samples, self.bench = name, function, to, list(samples), list(bench)
        self.doc = (function.__doc__ or "").strip()


def function(to="torch Tensor", samples=(), name=None, bench=()):
    """Register a public function under its name in the namespaces of ``to`` (torch, Tensor, F, linalg, special)."""
    def register(fn):
        public = name or fn.__name__
        for space in to.split():
            FUNCTIONS[space][public] = fn
        RECORDS[public if public not in RECORDS else f"{to.split()[0]}.{public}"] = Record(public, fn, to.split(), samples, bench)
        return fn
    return register


def namespace(space: str) -> dict:
    """Name -> function of a namespace."""
    return FUNCTIONS[space]


class Op:
    """A primitive: shape rule, GPU plan, numpy reference and gradients. See docs/design.md for the signatures.

    ``samples`` are calls of the op itself, where no public function's samples run it; ``bench`` those worth measuring.
    """
    pointwise = False
    in_place = False    # True: run() may be given an output that is an input (plan.aliases says so)
    overwrites = False  # True: writes all of its output and may do so to a tensor that has a history
    scalars: tuple = ()
    has_card = True     # False: no kernel to call on its own, since random inputs would not be of the kind it takes
    parts = None        # like run, but made of plan_reduce and plan_part, which the compiler fuses

    def __init__(self, name, shape, run, reference, grad=None, scalars=(), bench=(), parts=None, doc="", samples=()):
        self.name, self.shape, self.run, self.reference, self.parts, self.doc = name, shape, run, reference, parts, doc
        self.scalars, self.bench, self.samples = tuple(scalars), bench, samples
        self.rules = _rules(self, grad or {})
        OPS[name] = self

    def infer(self, metas, layout, numbers, params):
        """[(shape, dtype), ...] of the outputs; raises on bad input."""
        results = self.shape(*metas, **params)
        return results if isinstance(results, list) else [results]

    def __repr__(self):
        return f"<op {self.name}>"


class Rule:
    """A gradient rule: the function, which inputs it answers for, and where each argument comes from."""
    __slots__ = ("function", "inputs", "names", "fused")

    def __init__(self, function, inputs, names, fused=None):
        self.function, self.inputs, self.names, self.fused = function, inputs, names, fused


def _names(fn):
    code = fn.__code__
    return code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]


def input_names(fn):
    """Positional parameter names: an op's tensor inputs."""
    code = fn.__code__
    return code.co_varnames[:code.co_argcount]


def _rules(op, grad):
    names = input_names(op.shape)
    op.input_names = names
    variadic = bool(op.shape.__code__.co_flags & 4)
    if variadic:
        op.input_names = None
    rules = []
    for key, fn in grad.items():
        keys = key if isinstance(key, tuple) else (key,)
        indices = None if variadic else tuple(names.index(k) for k in keys)
        rules.append(Rule(fn, indices, _names(fn)))
    return rules


_IDENTITY = (lambda m, g: g).__code__.co_code
STATIC = {"dtype", "shape", "device"}  # parameters that decide the result's meta, not its values


class Pointwise(Op):
    """An elementwise op: a formula, or WGSL text with its numpy twin for the primitives of the formula language."""
    pointwise = in_place = True
    table = OPS

    def __init__(self, name, formula=None, wgsl=None, numpy=None, kind="arith", args=None, grad=None, fixed=(), check=None, refuse=None, tensors=()):
        self.check, self.refuse, self.tensors = check, refuse, tensors
        self.name, self.formula, self.wgsl, self.numpy, self.kind = name, formula, wgsl, numpy, kind
        if formula is not None:
            args = input_names(formula)[1:]
        self.args = tuple(args or ("x",))
        self.fixed = dict(fixed)
        self.input_names = self.args
        self.bench = ()
        self.rules = [self._rule(key, fn) for key, fn in (grad or {}).items()]
        OPS[name] = self

    def _rule(self, key, fn):
        names = _names(fn)[1:]
        fused = None if fn.__code__.co_code == _IDENTITY else _Gradient(f"{self.name}.grad.{key}", fn, names)  # g itself needs no kernel
        return Rule(lambda *args, **kw: fn(TENSOR_MATH, *args, **kw), (self.args.index(key),), names, fused)

    def infer(self, metas, layout, numbers, params):
        """Broadcast shape and result dtypes."""
        self.inspect(metas, layout, numbers)
        return [(shapes.broadcast(*[m.shape for m in metas]), d) for d in self.result_dtypes(metas, numbers, params)]

    def inspect(self, metas, layout, numbers):
        """Raise PyTorch's errors for numbers and dtypes that the op does not take."""
        if self.tensors and False in layout:
            self._refuse_number(layout, numbers[0].__name__)
        if self.check is not None:
            self.check([m.dtype.name for m in metas], [t.__name__ for t in numbers])
        if self.refuse is not None:
            kernel, kinds = self.refuse
            found = self.promoted(metas, numbers)
            if found.kind in kinds:
                raise NotImplementedError(f'"{kernel}" not implemented for \'{found.title}\'')

    def _refuse_number(self, layout, number):
        name, position = self.name.strip("_"), layout.index(False)
        if len(self.tensors) == len(layout):
            raise TypeError(f"{name}(): argument '{self.tensors[position]}' (position {position + 1}) must be Tensor, not {number}")
        if position == 0:
            second = {"b": "other"}.get(self.args[1], self.args[1])
            raise TypeError(f"{name}() received an invalid combination of arguments - got ({number}, Tensor), but expected one of:\n"
                            f" * (Tensor input, Tensor {second}, *, Tensor out = None)\n * (Tensor input, Number {second}, *, Tensor out = None)\n")

    def result_dtypes(self, metas, numbers, params):
        if "dtype" in params and isinstance(params["dtype"], dtypes.dtype):
            return [params["dtype"]]
        if self.kind in ("compare", "bool"):
            return [dtypes.bool_]
        return [dtypes.int32 if self.kind == "word" else self.common(metas, numbers)]

    def common(self, metas, numbers):
        """The dtype the computation is in, by promotion."""
        found = self.promoted(metas, numbers)
        return dtypes.get_default_dtype() if self.kind == "float" and found.kind != "f" else found

    def promoted(self, metas, numbers):
        """The dtype that the operands have in common."""
        skip = self.fixed
        groups: tuple = ([], [], [])
        names = iter(self.args)
        for m in metas:
            if next(names, None) in skip and len(metas) > 1:
                continue
            groups[0 if m.shape else 1].append(m.dtype)
        return dtypes.result_type(groups[0], groups[1], [dtypes.of_number(n) for n in numbers])

    def load_types(self, input_dtypes, plan):
        """The WGSL type that each tensor operand is loaded as."""
        names = [n for n, is_tensor in zip(self.args, plan.layout) if is_tensor]
        common = self.compute_dtype(plan).compute
        return [self.fixed.get(n, common) for n in names]

    def compute_dtype(self, plan):
        if self.kind == "cast":
            return plan.inputs[0].dtype
        return dtypes.bool_ if self.kind == "bool" else self.common(plan.inputs, plan.numbers)

    def compute_type(self, *types):
        """The type that a primitive's arguments are converted to inside a formula."""
        if self.kind in ("float", "word"):
            return "f32"
        if self.kind == "bool":
            return "bool"
        for type in ("f32", "i32", "u32", "bool"):
            if type in types:
                return type
        return "f32"

    def evaluate(self, math, args, named):
        """The formula's results as a tuple."""
        if STATIC & named.keys():
            named = {k: v for k, v in named.items() if k not in STATIC}
        result = self.formula(math, *args, **named) if self.formula else getattr(math, self.name)(*args)
        return result if isinstance(result, tuple) else (result,)

    def scalar_kind(self, number_type, plan):
        if number_type is bool and self.kind == "bool":
            return "bool"
        compute = self.compute_dtype(plan).compute
        if compute == "bool":
            compute = "i32"
        return "f32" if number_type is float else compute

    def run(self, plan, *operands, **params):  # type: ignore[no-redef]
        split = len(plan.inputs)
        kinds = tuple(self.scalar_kind(t, plan) for t in plan.numbers)
        kinds += tuple("f32" for _ in plan.scalar_names)
        pointwise_plan.plan_pointwise(plan, self, list(operands[:split]), list(operands[split:]), kinds, params)

    def reference(self, np, *operands, **params):  # type: ignore[no-redef]
        operands = self._converted(np, operands)
        results = self.evaluate(formula.NumpyMath(OPS, np), operands, params)
        return results if len(results) > 1 else results[0]

    def _converted(self, np, operands):
        """Operands in the dtype that the computation is in."""
        if self.kind == "cast":
            return operands
        metas, numbers = [], []
        for x in operands:
            if isinstance(x, np.ndarray):
                metas.append(devices.meta(x.shape, dtypes.BY_NAME[x.dtype.name], None))
            else:
                numbers.append(type(x))
        common = dtypes.bool_ if self.kind == "bool" else self.common(metas, numbers)
        if common.name == "float16":
            common = dtypes.float32
        result = []
        for name, x in zip(self.args, operands):
            target = self._fixed_numpy(name, x) if name in self.fixed else common.name
            result.append(x.astype(target, copy=False) if isinstance(x, np.ndarray) else np.asarray(x).astype(target)[()])  # wraps as C does
        return result

    def _fixed_numpy(self, name, x):
        return {"bool": "bool", "i32": "int64"}.get(self.fixed[name], "float32")


class _Gradient(Pointwise):
    """The gradient of a pointwise op as one fused op: floats stay in f32 (f64 on the CPU), masks stay bool."""

    def __init__(self, name, rule, names):
        self.name, self.formula, self.wgsl, self.numpy, self.kind = name, rule, None, None, "grad"
        self.args, self.fixed, self.input_names, self.rules = names, {}, names, []

    def infer(self, metas, layout, numbers, params):
        g = metas[self._position(layout, "g")] if "g" in self.args else metas[0]
        return [(shapes.broadcast(*[m.shape for m in metas]), g.dtype)]

    def _position(self, layout, name):
        return sum(layout[:self.args.index(name)])

    def load_types(self, input_dtypes, plan):
        return ["bool" if d.name == "bool" else "f32" for d in input_dtypes]

    def scalar_kind(self, number_type, plan):
        return "f32"

    def _converted(self, np, operands):
        return [x if not isinstance(x, np.ndarray) or x.dtype in (bool, np.float64) or x.dtype == np.float32 else x.astype("float32")
                for x in operands]


TENSOR_MATH = formula.TensorMath(OPS)


def pointwise(name, formula=None, *, wgsl=None, numpy=None, kind="arith", args=None, grad=None, samples=(), to="torch Tensor",
              inplace=True, fixed=(), public=None, doc="", check=None, refuse=None, tensors=()):
    """Register an elementwise op and its public function (and ``name_`` in place on Tensor).

    ``kind``: arith (promotes), float (integers become the default float), compare (result bool), bool (logical), cast, word (result int32).
    ``fixed`` gives operands a WGSL type of their own, as ``{"condition": "bool"}``. ``public`` replaces the generated function.
    ``check(dtype names, number type names)`` may raise for combinations that PyTorch refuses; ``refuse=("kernel", "fb")`` for kinds of dtypes, in the
    words of PyTorch's kernel; ``tensors``: the first operands, by their public names, that have to be tensors.
    """
    op = Pointwise(name, formula, wgsl, numpy, kind, args, grad, fixed, check, refuse, tensors)
    call = public or _generated(op)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = call.__doc__ or doc or f"Elementwise {name}: broadcasts, same shape and dtype rules as torch.{name}."
    op.call = call
    for space in to.split():
        FUNCTIONS[space][name] = call
    if to:
        RECORDS[name] = Record(name, call, to.split(), samples)
    if inplace and "Tensor" in to:
        FUNCTIONS["Tensor"][name + "_"] = in_place(call)
    return op


def _generated(op):
    required = len(op.args)
    if op.formula is not None and op.formula.__kwdefaults__ is not None or op.formula and op.formula.__code__.co_kwonlyargcount:
        return _with_parameters(op)
    if required == 1:
        return lambda input, *, out=None: apply(op, input, out=out)
    if required == 2:
        return lambda input, other, *, out=None: apply(op, input, other, out=out)
    return lambda *operands, out=None: apply(op, *operands, out=out)


def _with_parameters(op):
    code = op.formula.__code__
    names = code.co_varnames[code.co_argcount:code.co_argcount + code.co_kwonlyargcount]
    defaults = op.formula.__kwdefaults__ or {}
    count = len(op.args)

    def call(*operands, out=None, **params):
        extra = dict(zip(names, operands[count:]))
        return apply(op, *operands[:count], out=out, **{**defaults, **extra, **params})
    return call


def alias(name, target, to="torch Tensor"):
    """Give a registered function another name in the namespaces of ``to`` (and ``name_`` to its in-place form)."""
    found = next(space[target] for space in FUNCTIONS.values() if target in space)
    for space in to.split():
        FUNCTIONS[space][name] = FUNCTIONS[space].get(target, found)
    if "Tensor" in to and target + "_" in FUNCTIONS["Tensor"]:
        FUNCTIONS["Tensor"][name + "_"] = FUNCTIONS["Tensor"][target + "_"]


def in_place(call):
    """``t.op_(...)`` from ``op(t, ...)``: the result is written into ``t``, which is returned."""
    def method(self, *args, **kwargs):
        return call(self, *args, out=self, **kwargs)
    method.__name__ = method.__qualname__ = call.__name__ + "_"
    method.__doc__ = f"In-place version of :func:`{call.__name__}`."
    return method
