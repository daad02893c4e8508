"""Functions with a gradient of the user's own."""
from __future__ import annotations

from .modes import no_grad, state
from .tape import FREED, Link, _dropped, edge_of


class FunctionNode(Link):
    """The tape entry of a user's Function."""
    __slots__ = ("context", "function", "plan_outputs")

    def __init__(self, function, context, edges, outputs):
        super().__init__(edges, len(outputs))
        self.function, self.context, self.plan_outputs = function, context, [t.meta for t in outputs]

    def name(self):
        return self.function.__name__ + "Backward"

    def __del__(self):
        _dropped.append(self.context)
        self.context = None
        super().__del__()

    def release(self):
        if self.context._saved:
            self.context._saved = None

    def compute(self, gs):
        gs = [state.tensor._zeros_like_meta(m) if g is None and self.context.materialize else g for g, m in zip(gs, self.plan_outputs)]
        result = self.function.backward(self.context, *gs)
        result = result if isinstance(result, tuple) else (result,)
        if len(result) != len(self.edges):
            raise RuntimeError(f"function {self.name()} returned an incorrect number of gradients (expected {len(self.edges)}, got {len(result)})")
        return result


class Context:
    """``ctx`` of a Function: save_for_backward, saved_tensors, needs_input_grad, and attributes of your own."""

    def __init__(self):
        self.materialize, self._saved, self.needs_input_grad, self._unused = True, (), (), ()

    def save_for_backward(self, *tensors):
        """Keep tensors for backward; a later in-place change of them is an error there."""
        self._saved = tuple((t, t.storage.version) if t is not None else (None, 0) for t in tensors)

    @property
    def saved_tensors(self):
        if self._saved is None:
            raise RuntimeError(FREED)
        for t, version in self._saved:
            if t is not None and t.storage.version != version:
                raise RuntimeError("one of the variables needed for gradient computation has been modified by an inplace operation")
        return tuple(t for t, _ in self._saved)

    def mark_non_differentiable(self, *tensors):
        self._unused = tuple(id(t) for t in tensors)

    def mark_dirty(self, *tensors):
        pass

    def set_materialize_grads(self, value):
        self.materialize = value


class Function:
    """Base of custom differentiable functions: static ``forward(ctx, ...)`` and ``backward(ctx, *grads)``; call ``apply``."""

    @staticmethod
    def forward(ctx, *args):
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def backward(ctx, *grads):
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function to use it with "
                                  "backward mode AD.")

    @classmethod
    def apply(cls, *args):
        """Run forward without recording and record this function as one node."""
        Tensor, ctx = state.tensor, Context()
        ctx.needs_input_grad = tuple(isinstance(x, Tensor) and x.tracked for x in args)
        with no_grad():
            if "setup_context" in cls.__dict__:
                result = cls.forward(*args)
                cls.setup_context(ctx, args, result)
            else:
                result = cls.forward(ctx, *args)
        if not (state.grad and any(ctx.needs_input_grad)):
            return result
        outputs = result if isinstance(result, tuple) else (result,)
        outputs = tuple(t.view_as(t) if any(t is x for x in args) else t for t in outputs)
        node = FunctionNode(cls, ctx, [edge_of(x) if isinstance(x, Tensor) else None for x in args], outputs)
        for i, t in enumerate(outputs):
            if t.meta.dtype.kind == "f" and id(t) not in ctx._unused:
                t.node, t.index, t.tracked, t.base = node, i, True, None
        return outputs if isinstance(result, tuple) else outputs[0]
