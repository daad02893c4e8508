"""Gradients and Jacobians of functions, which may be nested."""
from __future__ import annotations

from .. import autograd
from .._tensor import Tensor
from ..autograd.tape import edge_of
from ..compiler.tree import flatten, rebuild
from ..ops.join import stack

__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]


class _Inputs:
    """A structure of tensors as inputs of their own to differentiate by: ``value`` has them in the place of those given."""

    def __init__(self, given):
        tensors: list = []
        self.spec = flatten(given, tensors)
        with autograd.enable_grad():
            self.leaves = [t.clone() if edge_of(t) is not None else t.detach().clone().requires_grad_() for t in tensors]
        self.value = self.rebuilt(self.leaves)

    def rebuilt(self, tensors):
        return rebuild(self.spec, iter(tensors))

    def gradients(self, outputs, weights):
        """d(sum of outputs * weights) by the leaves, zeros where there is none, with a history."""
        pairs = [(o, w) for o, w in zip(outputs, weights) if edge_of(o) is not None]
        if not pairs:
            return [t.new_zeros(t.shape) for t in self.leaves]
        with autograd.enable_grad():
            return list(autograd.grad([o for o, _ in pairs], self.leaves, [w for _, w in pairs], create_graph=True, allow_unused=True, materialize_grads=True))

    def outside(self, tensors):
        """Tensors without the history that only leads to these leaves."""
        own = {id(t) for t in self.leaves if t.is_leaf}
        return [t if _reaches_others(t, own) else t.detach() for t in tensors]

    def result(self, value):
        tensors: list = []
        spec = flatten(value, tensors)
        return rebuild(spec, iter(self.outside(tensors)))


def _reaches_others(tensor, own):
    edge = edge_of(tensor)
    queue, seen = [edge] if edge is not None else [], set()
    while queue:
        target, index = queue.pop()
        if index < 0:
            if id(target) not in own:
                return True
        elif id(target) not in seen:
            seen.add(id(target))
            queue.extend(e for e in target.edges if e is not None)
    return False


def _chosen(args, argnums):
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for n in numbers:
        if not -len(args) <= n < len(args):
            raise RuntimeError(f"Got argnum={n}, but only {len(args)} positional inputs")
    return tuple(n % len(args) for n in numbers)


def _called(func, args, argnums, has_aux, kwargs):
    """(inputs to differentiate by, what func gave, its auxiliary result)."""
    numbers = _chosen(args, argnums)
    inputs = _Inputs(tuple(args[n] for n in numbers))
    args = list(args)
    for n, value in zip(numbers, inputs.value):
        args[n] = value
    with autograd.enable_grad():
        output = func(*args, **kwargs)
    if has_aux:
        if not (isinstance(output, tuple) and len(output) == 2):
            raise RuntimeError("the function was expected to return a tuple (output, aux) when has_aux is True")
        return inputs, *output
    return inputs, output, None


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that gives (gradients of ``func`` by its arguments ``argnums``, its value); the value must be one number.

    With ``has_aux`` func returns (value, anything), and the result is (gradients, (value, anything)).
    """
    def wrapped(*args, **kwargs):
        inputs, output, aux = _called(func, args, argnums, has_aux, kwargs)
        if not isinstance(output, Tensor):
            raise RuntimeError(f"Expected f(*args) to return a Tensor, got {type(output).__name__}")
        if output.dim() != 0:
            raise RuntimeError(f"Expected f(*args) to return a scalar tensor, got tensor with {output.dim()} dims. Maybe you wanted to use the vjp "
                               "or jacrev APIs instead?")
        found = inputs.rebuilt(inputs.outside(inputs.gradients([output], [None])))
        value = inputs.result(output)
        return found[0] if isinstance(argnums, int) else found, (value, inputs.result(aux)) if has_aux else value
    return wrapped


def grad(func, argnums=0, has_aux=False):
    """A function that gives the gradients of ``func`` by its arguments ``argnums``; with ``has_aux``, (gradients, aux)."""
    def wrapped(*args, **kwargs):
        found, value = grad_and_value(func, argnums, has_aux)(*args, **kwargs)
        return (found, value[1]) if has_aux else found
    return wrapped


def vjp(func, *primals, has_aux=False):
    """(``func(*primals)``, a function of cotangents that gives a tuple of their products with the Jacobian[, aux])."""
    inputs, output, aux = _called(func, primals, tuple(range(len(primals))), has_aux, {})
    outputs: list = []
    flatten(output, outputs)

    def product(*cotangents):
        weights: list = []
        flatten(cotangents, weights)
        if len(weights) != len(outputs):
            raise RuntimeError(f"Expected pytree structure of cotangents to be the same as that of the outputs: {len(outputs)} tensors, got {len(weights)}")
        return inputs.rebuilt(inputs.outside(inputs.gradients(outputs, weights)))
    value = inputs.result(output)
    return (value, product, inputs.result(aux)) if has_aux else (value, product)


class _Forward:
    """The products of a function's Jacobian with tangents, by a gradient of a gradient: that is linear in its weights."""

    def __init__(self, func, args, argnums, has_aux, kwargs):
        self.inputs, output, self.aux = _called(func, args, argnums, has_aux, kwargs)
        self.outputs: list = []
        self.spec = flatten(output, self.outputs)
        self.weights = [o.detach().new_zeros(o.shape).requires_grad_() for o in self.outputs]
        self.gradients = self.inputs.gradients(self.outputs, self.weights)
        self.value = self.inputs.result(output)

    def product(self, tangents):
        pairs = [(g, t) for g, t in zip(self.gradients, tangents) if edge_of(g) is not None]
        if not pairs:
            return [o.new_zeros(o.shape) for o in self.outputs]
        with autograd.enable_grad():
            found = autograd.grad([g for g, _ in pairs], self.weights, [t for _, t in pairs], create_graph=True, allow_unused=True, materialize_grads=True)
        own = {id(t) for t in [*self.inputs.leaves, *self.weights] if t.is_leaf}
        return [t if _reaches_others(t, own) else t.detach() for t in found]


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """(``func(*primals)``, its directional derivative along ``tangents``[, aux]), by two passes backward."""
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple) or len(primals) != len(tangents):
        raise RuntimeError("jvp: Expected primals and tangents to be tuples of the same length")
    forward = _Forward(func, primals, tuple(range(len(primals))), has_aux, {})
    flat: list = []
    flatten(tangents, flat)
    found = rebuild(forward.spec, iter(forward.product(flat)))
    return (forward.value, found, forward.inputs.result(forward.aux)) if has_aux else (forward.value, found)


def linearize(func, *primals):
    """(``func(*primals)``, a function of tangents that gives the directional derivative there)."""
    forward = _Forward(func, primals, tuple(range(len(primals))), False, {})

    def product(*tangents):
        flat: list = []
        flatten(tangents, flat)
        return rebuild(forward.spec, iter(forward.product(flat)))
    return forward.value, product


def _basis(t):
    """Tensors of the shape of ``t`` with a one in each place in turn."""
    for i in range(t.numel()):
        one = t.detach().new_zeros(t.numel())
        one[i] = 1
        yield one.reshape(t.shape)


def _jacobians(table, outputs, spec, inputs, argnums):
    """The tree of outputs with the tree of inputs in each place; table[o][i] is the Jacobian."""
    rows = [inputs.rebuilt(row) for row in table]
    rows = [row[0] if isinstance(argnums, int) else row for row in rows]
    return rebuild(spec, iter(rows))


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None):
    """A function that gives the Jacobian of ``func``, of shape (*output, *input), by a pass backward for each element of the output."""
    def wrapped(*args, **kwargs):
        inputs, output, aux = _called(func, args, argnums, has_aux, kwargs)
        outputs: list = []
        spec, table = flatten(output, outputs), []
        for o in outputs:
            rows = [inputs.gradients([o], [one]) for one in _basis(o)]
            table.append(inputs.outside([stack([r[k] for r in rows]).reshape((*o.shape, *t.shape)) if rows else t.new_zeros((*o.shape, *t.shape))
                                         for k, t in enumerate(inputs.leaves)]))
        found = _jacobians(table, outputs, spec, inputs, argnums)
        return (found, inputs.result(aux)) if has_aux else found
    return wrapped


def jacfwd(func, argnums=0, has_aux=False, *, chunk_size=None, randomness="error"):
    """A function that gives the Jacobian of ``func``, of shape (*output, *input), by a pass for each element of the input."""
    def wrapped(*args, **kwargs):
        forward = _Forward(func, args, argnums, has_aux, kwargs)
        leaves = forward.inputs.leaves
        table: list = [[] for _ in forward.outputs]
        for k, leaf in enumerate(leaves):
            columns = [forward.product([one if i == k else t.new_zeros(t.shape) for i, t in enumerate(leaves)]) for one in _basis(leaf)]
            for row, o, i in zip(table, forward.outputs, range(len(table))):
                row.append(stack([c[i] for c in columns], -1).reshape((*o.shape, *leaf.shape)) if columns else o.new_zeros((*o.shape, *leaf.shape)))
        found = _jacobians(table, forward.outputs, forward.spec, forward.inputs, argnums)
        return (found, forward.inputs.result(forward.aux)) if has_aux else found
    return wrapped


def hessian(func, argnums=0):
    """A function that gives the second derivatives of ``func``, of shape (*output, *input, *input)."""
    return jacrev(jacrev(func, argnums), argnums)
