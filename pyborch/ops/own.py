"""Kernels of the user's own: WGSL with a typed contract, which takes part in autograd and in compiled functions."""
from __future__ import annotations

from .. import dtypes, kernels
from ..autograd import apply
from .registry import Op, Rule, _names

MOST_WORDS = 60


def compile(source, *, inputs, outputs, params=None, groups=None, grad=None, reference=None, name="own_kernel"):
    """A function of tensors made from a WGSL compute kernel.

    ``source`` holds ``@compute ... fn main`` and reads or writes its operands by name: each is declared as an ``array`` of its dtype's elements,
    row-major, inputs to be read, outputs to be written. ``p.NAME`` is a parameter and ``p.NAME_count`` the number of elements of an operand.

    - ``inputs``: {name: dtype}, ``torch.float32`` or ``"float32"``. (On the GPU int64 is i32, bool is u32.)
    - ``outputs``: {name: rule}; the rule takes the inputs (their ``shape`` and ``dtype``) and returns (shape, dtype), or is the name of an
      input that the output is like.
    - ``params``: {name: "f32", "i32" or "u32"}, numbers given by keyword at each call; new values compile nothing.
    - ``groups``: takes the inputs and outputs and returns the number of workgroups (in x, folded past 65,535: then use
      ``group_index(wid, nwg)``); by default one for every 64 elements of the first output.
    - ``grad``: {input: rule}; a rule is tensor code that names what it needs: ``g`` (the gradient of the only output; ``gs`` of several),
      inputs, ``y`` (the output; ``ys``) and params.
    - ``reference``: ``reference(numpy, *arrays, **params)`` for the cpu device.

    >>> scale = torch.kernels.compile('''
    ...     @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    ...       if (id.x < p.y_count) { y[id.x] = x[id.x] * p.factor; }
    ...     }''', inputs={"x": torch.float32}, outputs={"y": "x"}, params={"factor": "f32"}, grad={"x": lambda g, factor: g * factor})
    >>> scale(torch.ones(3, device="webgpu"), factor=2.0)

    Raises TypeError for operands that do not keep to the contract, DeviceError (at the next read) for WGSL that does not compile.
    """
    op = Own(name, source, {k: _dtype(name, k, d) for k, d in inputs.items()}, outputs, params or {}, groups, grad or {}, reference)

    def call(*operands, **numbers):
        op.check(operands, numbers)
        return apply(op, *operands, **numbers)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{name}({', '.join(inputs)}{', *, ' if params else ''}{', '.join(params or ())}): a kernel of your own."
    return call


def _dtype(name, operand, given):
    found = dtypes.BY_NAME.get(given) if isinstance(given, str) else given
    if not isinstance(found, dtypes.dtype):
        raise TypeError(f"{name}: input {operand} needs a dtype such as torch.float32, not {given!r}")
    return found


class Own(Op):
    """The record of such a kernel; it is in no namespace."""

    def __init__(self, name, source, inputs, outputs, params, groups, grad, reference):
        if not inputs or not outputs:
            raise TypeError(f"{name}: a kernel needs at least one input and one output")
        unknown = [kind for kind in params.values() if kind not in ("f32", "i32", "u32")]
        if unknown or len(params) + len(inputs) + len(outputs) > MOST_WORDS:
            raise TypeError(f"{name}: params are f32, i32 or u32 and, with the operands, at most {MOST_WORDS}" + (f", not {unknown[0]!r}" if unknown else ""))
        self.name, self.source, self.inputs, self.outputs, self.params, self.groups = name, source, inputs, outputs, params, groups
        self.input_names, self.scalars, self.numpy, self.kernel = tuple(inputs), tuple(params), reference, None
        self.rules = [Rule(rule, (self.input_names.index(k),), _names(rule)) for k, rule in grad.items()]

    def check(self, operands, numbers):
        """TypeError where a call does not keep to the contract."""
        if len(operands) != len(self.inputs):
            raise TypeError(f"{self.name}() takes {len(self.inputs)} tensors ({', '.join(self.inputs)}) but {len(operands)} were given")
        for operand, (name, dtype) in zip(operands, self.inputs.items()):
            if getattr(operand, "dtype", None) is not dtype:
                what = f"a tensor of {operand.dtype}" if hasattr(operand, "dtype") else type(operand).__name__
                raise TypeError(f"{self.name}(): {name} must be a tensor of {dtype}, not {what}")
        missing, extra = [n for n in self.params if n not in numbers], [n for n in numbers if n not in self.params]
        if missing or extra:
            raise TypeError(f"{self.name}() " + (f"missing the number {missing[0]!r}" if missing else f"got an unexpected keyword argument {extra[0]!r}"))

    def shape(self, *metas):
        """[(shape, dtype), ...] of the outputs."""
        by_name = dict(zip(self.inputs, metas))
        return [(by_name[rule].shape, by_name[rule].dtype) if isinstance(rule, str) else rule(*metas) for rule in self.outputs.values()]

    def run(self, plan, *operands):
        ins, outs = operands[:len(self.inputs)], operands[len(self.inputs):]
        ins = [plan.contiguous(x, whole=True) for x in ins]
        self.kernel = self.kernel or self._kernel([*ins, *outs])
        metas = [o.meta for o in (*ins, *outs)]
        groups = self.groups(*metas) if self.groups else -(-outs[0].meta.numel // 64)
        plan.dispatch(self.kernel, [*ins, *outs], [*(m.numel for m in metas), *(plan.named(n, kind[0]) for n, kind in self.params.items())], groups)

    def _kernel(self, operands):
        names = [*self.inputs, *self.outputs]
        fields = [f"{n}_count: u32" for n in names] + [f"{n}: {kind}" for n, kind in self.params.items()]
        bindings = [f"@group(0) @binding({k}) var<storage, {'read' if k < len(self.inputs) else 'read_write'}> {n}: array<{o.meta.dtype.wgsl}>;"
                    for k, (n, o) in enumerate(zip(names, operands))]
        half = ["enable f16;"] if any(o.meta.dtype.wgsl == "f16" for o in operands) else []
        return kernels.Kernel(self.name, "\n".join([*half, f"struct Params {{ {', '.join(fields)} }}", *bindings, kernels.source("prelude"), self.source]))

    def reference(self, np, *arrays, **params):
        if self.numpy is None:
            raise NotImplementedError(f"{self.name}: this kernel has no reference= for the cpu device; its tensors have to be on 'webgpu'")
        return self.numpy(np, *arrays, **params)
