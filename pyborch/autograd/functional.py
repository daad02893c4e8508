"""Jacobians, Hessians and products with them at given inputs (torch.autograd.functional)."""
from __future__ import annotations

from .backward import grad
from .modes import enable_grad, state
from .tape import edge_of

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def _tuple(value):
    return value if isinstance(value, tuple) else tuple(value) if isinstance(value, list) else (value,)


def _started(func, inputs, create_graph):
    """(inputs to differentiate by, outputs), both tuples."""
    with enable_grad():
        inputs = tuple(t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_() for t in _tuple(inputs))
        return inputs, _tuple(func(*inputs))


def _gradients(outputs, inputs, weights):
    """d(sum of outputs * weights) by the inputs with a history, zeros where there is none."""
    pairs = [(o, w) for o, w in zip(outputs, weights) if edge_of(o) is not None]
    if not pairs:
        return tuple(t.new_zeros(t.shape) for t in inputs)
    with enable_grad():
        return grad([o for o, _ in pairs], inputs, [w for _, w in pairs], create_graph=True, allow_unused=True, materialize_grads=True)


def _weights(v, tensors, what):
    if v is None:
        if len(tensors) == 1 and tensors[0].numel() == 1:
            return (tensors[0].detach().new_zeros(tensors[0].shape) + 1,)
        raise RuntimeError(f"The vector v can only be None if the {what}.")
    v = _tuple(v)
    if len(v) != len(tensors):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(tensors)} but got {len(v)}.")
    for i, (a, b) in enumerate(zip(v, tensors)):
        if a.shape != b.shape:
            where = f"Entry {i} in " if len(tensors) > 1 else ""
            raise RuntimeError(f"{where}v has invalid size: should be {b.shape} but got {a.shape}.")
    return v


def _finished(tensors, alone, create_graph):
    tensors = tuple(t if create_graph else t.detach() for t in tensors)
    return tensors[0] if alone else tensors


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """(outputs, the product of ``v`` with the Jacobian of ``func`` at ``inputs``). ``v`` has the outputs' shapes; None for one number."""
    xs, ys = _started(func, inputs, create_graph)
    found = _gradients(ys, xs, _weights(v, ys, "user-provided function returns a single Tensor with a single element"))
    return _finished(ys, len(ys) == 1, create_graph), _finished(found, not isinstance(inputs, (tuple, list)), create_graph)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """(outputs, the product of the Jacobian of ``func`` at ``inputs`` with ``v``), by two passes backward."""
    xs, ys = _started(func, inputs, create_graph)
    v = _weights(v, xs, "input to the user-provided function is a single Tensor with a single element")
    with enable_grad():
        us = tuple(y.detach().new_zeros(y.shape).requires_grad_() for y in ys)
    found = _gradients(_gradients(ys, xs, us), us, v)
    return _finished(ys, len(ys) == 1, create_graph), _finished(found, len(ys) == 1, create_graph)


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """The Jacobian of ``func`` at ``inputs``, (*output, *input), by a pass backward per element of the output; tuples of those where there are
    several outputs or inputs."""
    xs, ys = _started(func, inputs, create_graph)
    rows = []
    for y in ys:
        found = []
        for i in range(y.numel()):
            one = y.detach().new_zeros(y.numel())
            one[i] = 1
            found.append(_gradients((y,), xs, (one.reshape(y.shape),)))
        rows.append(_finished([_joined([f[k] for f in found], (*y.shape, *x.shape), x) for k, x in enumerate(xs)],
                              not isinstance(inputs, (tuple, list)), create_graph))
    return rows[0] if len(rows) == 1 else tuple(rows)


def _joined(rows, shape, x):
    from ..ops.join import stack
    return stack(rows).reshape(shape) if rows else x.new_zeros(shape)


def _scalar(func, name):
    def checked(*args):
        y = func(*args)
        if not isinstance(y, state.tensor) or y.numel() != 1:
            raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")
        return y.reshape(())
    return checked


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """The second derivatives of a function of one value, (*input, *input); tuples of tuples of those for several inputs."""
    alone, func = not isinstance(inputs, (tuple, list)), _scalar(func, "hessian")

    def first(*xs):
        y = func(*xs)
        return _gradients((y,), xs, (y.detach().new_zeros(()) + 1,))
    found = jacobian(first, inputs, create_graph)
    return found if alone or len(inputs) > 1 else (found,)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """(output, the product of the Hessian of ``func`` with ``v``), by two passes backward."""
    xs, (y,) = _started(_scalar(func, "hvp"), inputs, create_graph)
    v = _weights(v, xs, "input to the user-provided function is a single Tensor with a single element")
    found = _gradients(_gradients((y,), xs, (y.detach().new_zeros(()) + 1,)), xs, v)
    return _finished((y,), True, create_graph), _finished(found, not isinstance(inputs, (tuple, list)), create_graph)


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """(output, the product of ``v`` with the Hessian of ``func``), which is symmetric."""
    return hvp(func, inputs, v, create_graph, strict)
