"""What was recorded: nodes with edges to where their gradients go."""
from __future__ import annotations

import itertools

from .modes import state

_sequence = itertools.count()
_dropped: list = []
_dropping = False
_BACKWARD_NAMES = {"matmul": "MmBackward0", "true_divide": "DivBackward0", "_where": "WhereBackward0", "_clamp": "ClampBackward1",
                   "clamp_min": "ClampMinBackward0", "clamp_max": "ClampMaxBackward0", "_to": "ToCopyBackward0", "_copy": "CopyBackwards"}

FREED = ("Trying to backward through the graph a second time (or directly access saved tensors after they have already "
         "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
         "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
         "saved tensors after calling backward.")


def drop() -> None:
    """Let go of what a node held, link after link: nested deallocations of a long history overflow the stack of Python 3.14 in WebAssembly."""
    global _dropping
    if not _dropping:
        _dropping = True
        while _dropped:
            _dropped.pop()
        _dropping = False


class Node:
    """One recorded operation. ``edges`` holds per operand None, (node, output index) or (leaf tensor, -1)."""
    __slots__ = ("edges", "sequence", "hooks", "count", "__weakref__")

    def __init__(self, edges, count=1):
        self.edges, self.hooks, self.count, self.sequence = edges, None, count, next(_sequence)

    def name(self):
        """As PyTorch prints it, like MulBackward0."""
        return type(self).__name__

    def __repr__(self):
        return f"<{self.name()} object>"

    def compute(self, gs):
        """The gradients along ``edges`` from those of the outputs (None where nothing arrived)."""
        raise NotImplementedError

    def release(self):
        """Let go of saved tensors after the walk."""

    @property
    def next_functions(self):
        """((node, index), ...) as PyTorch gives them; leaves appear as (None, 0)."""
        return tuple((None, 0) if e is None or e[1] < 0 else e for e in self.edges)


def edge_of(tensor):
    """Where the gradient of a tensor goes; None where it needs none."""
    if tensor.base is not None and tensor.rebased != tensor.base.rebased:
        refresh_view(tensor)
    if not tensor.tracked:
        return None
    return (tensor, -1) if tensor.node is None else (tensor.node, tensor.index)


class Recipe:
    """How an op's node is made and computed when these inputs need gradients: the rules, what to save, where rules find their arguments."""
    __slots__ = ("rules", "operands", "params", "wants_outputs")

    def __init__(self, op, operands, params, mask):
        rules = [r for r in op.rules if r.inputs is None or any(mask[i] for i in r.inputs if i < len(mask))]
        names = op.input_names
        positions: dict = {}
        self.params = {}
        self.wants_outputs = any("y" in r.names or "ys" in r.names for r in rules)
        for name in dict.fromkeys(n for r in rules for n in r.names):
            if name in ("g", "gs", "y", "ys", "metas"):
                continue
            if name == "tensors":
                positions.update({i: i for i in range(len(operands))})
            elif names is not None and name in names:
                positions[names.index(name)] = True
            else:
                self.params[name] = True
        self.operands = sorted(i for i in positions if i < len(operands))
        self.rules = [(r, [self._source(n, names) for n in r.names]) for r in rules]

    def _source(self, name, names):
        if name in ("g", "gs", "y", "ys", "metas", "tensors"):
            return name, None
        if name in self.params:
            return "param", name
        position = names.index(name)
        return ("saved", self.operands.index(position)) if position in self.operands else ("none", None)


class OpNode(Node):
    """A recorded op call; keeps only what its gradient rules name. ``gs`` of a rule has None for outputs that no gradient reached."""
    __slots__ = ("op", "plan", "recipe", "saved", "params", "outputs", "versions")

    def __init__(self, op, plan, operands, params, results):
        Tensor = state.tensor
        edges, mask = [], 0
        for x in operands:
            edge = None
            if isinstance(x, Tensor):
                if x.base is not None:
                    edge = edge_of(x)
                elif x.tracked:
                    edge = (x, -1) if x.node is None else (x.node, x.index)
            edges.append(edge)
            mask = mask + mask + (edge is not None)
        self.edges, self.hooks, self.count, self.sequence = edges, None, len(plan.outputs), next(_sequence)
        if self.sequence % 127 == 0:
            self.__class__ = _OpLink
        self.op, self.plan = op, plan
        recipe = plan.recipes.get(mask)
        if recipe is None:
            recipe = plan.recipes[mask] = Recipe(op, operands, params, [e is not None for e in edges])
        self.recipe = recipe
        self.saved = saved = [operands[i] for i in recipe.operands]
        self.versions = [x.storage.version if isinstance(x, Tensor) else None for x in saved]
        self.params = {n: params[n] for n in recipe.params} if recipe.params else None
        self.outputs = [(t.storage, t.meta, t.storage.version) for t in results] if recipe.wants_outputs else None

    def note_outputs(self, results):
        """Save results written in place, once they are."""
        if self.recipe.wants_outputs:
            self.outputs = [(t.storage, t.meta, t.storage.version) for t in results]

    def name(self):
        word = self.op.name
        return _BACKWARD_NAMES.get(word) or "".join(part.capitalize() for part in word.split("_")) + "Backward0"

    def _output(self, index):
        storage, meta, version = self.outputs[index]
        self._check(storage, meta, version, self)
        y = state.tensor(storage, meta)
        y.node, y.index, y.tracked = self, index, True
        return y

    @staticmethod
    def _check(storage, meta, version, node):
        if storage.version != version:
            made = "" if node is None else f", which is output 0 of {node.name().removesuffix('Backward0')},"
            shape = ", ".join(map(str, meta.shape))
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"[torch.{meta.dtype.title}Tensor [{shape}]]{made} is at version {storage.version}; expected "
                f"version {version} instead. Hint: enable anomaly detection to find the operation that failed to compute its gradient, "
                "with torch.autograd.set_detect_anomaly(True, check_nan=False).")

    def compute(self, gs):
        if self.saved is None:
            raise RuntimeError(FREED)
        for x, version in zip(self.saved, self.versions):
            if version is not None and x.storage.version != version:
                self._check(x.storage, x.meta, version, x.node)
        grads = [None] * len(self.edges)
        for rule, sources in self.recipe.rules:
            values = [gs[0] if kind == "g" else self.saved[key] if kind == "saved" else self._value(kind, key, gs) for kind, key in sources]
            if rule.fused is not None and not state.grad:
                grads[rule.inputs[0]] = state.apply(rule.fused, *values)
                continue
            result = rule.function(*values)
            if rule.inputs is None:
                grads = list(result)
            elif len(rule.inputs) == 1:
                grads[rule.inputs[0]] = result
            else:
                for i, part in zip(rule.inputs, result):
                    if i < len(grads):
                        grads[i] = part
        return grads

    def _value(self, kind, key, gs):
        if kind == "gs":
            return gs
        if kind == "metas":
            return self.plan.inputs
        if kind == "y":
            return self._output(0)
        if kind == "ys":
            return tuple(self._output(i) for i in range(self.count))
        if kind == "tensors":
            return tuple(self.saved)
        return self.params[key] if kind == "param" else None

    def release(self):
        if self.saved or self.outputs:
            self.saved = self.outputs = None


class _OpLink(OpNode):
    """Every so often a node that ends the nesting when a history is deallocated; not each one, since that takes time. (127 is prime, so that
    no loop of steps skips them.)"""
    __slots__ = ()

    def __del__(self):
        _dropped.append(self.edges)
        _dropped.append(self.saved)
        self.edges = self.saved = None
        drop()


class Link(Node):
    """Nodes that end the nesting when a history is deallocated."""
    __slots__ = ()

    def __del__(self):
        _dropped.append(self.edges)
        self.edges = None
        drop()


class ViewNode(Link):
    """A view's history: the gradient lies where the view lies in its base. ``rule(g)`` replaces the general answer."""
    __slots__ = ("base_meta", "view_meta", "rule", "label")

    def __init__(self, base, view_meta, rule=None, label="AsStrided"):
        super().__init__([edge_of(base)])
        self.base_meta, self.view_meta, self.rule, self.label = base.meta, view_meta, rule, label

    def name(self):
        return self.label + "Backward0"

    def compute(self, gs):
        if self.rule is not None:
            return [self.rule(gs[0])]
        return [state.tensor._scatter_view(gs[0], self.base_meta, self.view_meta)]


class SliceNode(Link):
    """A base after a view of it was changed in place: outside the view the gradient is the old base's."""
    __slots__ = ("view_meta", "base_meta")

    def __init__(self, base, view_meta, node, index):
        super().__init__([edge_of(base), (node, index)])
        self.view_meta, self.base_meta = view_meta, base.meta

    def name(self):
        return "CopySlices"

    def compute(self, gs):
        inside = state.tensor._read_view(gs[0], self.base_meta, self.view_meta)
        return [state.tensor._clear_view(gs[0], self.base_meta, self.view_meta) if self.edges[0] is not None else None, inside]


class OverwrittenNode(Link):
    """A tensor whose values were replaced: zeros for what it was, the gradient for what was written (``edge``; None where that needs none)."""
    __slots__ = ()

    def __init__(self, old, edge):
        super().__init__([old, edge])

    def compute(self, gs):
        return [gs[0].new_zeros(gs[0].shape), gs[0] if self.edges[1] is not None else None]


def rebase(tensor, node, index) -> None:
    """Make ``node`` the history of a tensor changed in place; a view passes it on to its base."""
    base = tensor.base
    if base is None:
        tensor.node, tensor.index, tensor.tracked = node, index, True
        tensor.rebased += 1
        return
    base_node = SliceNode(base, tensor.meta, node, index)
    base.node, base.index, base.tracked = base_node, 0, True
    base.rebased += 1
    refresh_view(tensor)


def refresh_view(view) -> None:
    """Give a view whose base was changed in place its history anew."""
    base = view.base
    view.rebased = base.rebased
    if base.tracked:
        view.node, view.index, view.tracked = ViewNode(base, view.meta), 0, True
