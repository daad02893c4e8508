"""Pruning: parameters times masks, computed before each call (torch.nn.utils.prune)."""
from __future__ import annotations

from ...autograd import no_grad
from ...ops import registry

__all__ = ["BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer", "RandomStructured",
           "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned", "l1_unstructured", "ln_structured",
           "random_structured", "random_unstructured", "remove"]
torch = registry.namespace("torch")


def _hooks(module, name=None):
    """[(id, pruning method)] among the module's hooks before forward (of a parameter)."""
    found = module._hooks.forward_pre.items() if module._hooks is not None else ()
    return [(key, hook) for key, (hook, _, _) in found if isinstance(hook, BasePruningMethod) and name in (None, hook._tensor_name)]


class BasePruningMethod:
    """Base of pruning methods: ``compute_mask(t, default_mask)`` gives a mask of the shape of ``t``; ``PRUNING_TYPE`` says what is counted.

    "global": all elements, "unstructured": those not pruned yet, "structured": slices along ``dim`` not pruned yet.
    """

    PRUNING_TYPE = "unstructured"
    _tensor_name: str

    def __call__(self, module, inputs):
        setattr(module, self._tensor_name, self.apply_mask(module))

    def compute_mask(self, t, default_mask):
        """The mask (of ones and zeros) for importance scores ``t``, within ``default_mask``."""
        raise NotImplementedError

    def apply_mask(self, module):
        """The original parameter times its mask."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask, original = getattr(module, self._tensor_name + "_mask"), getattr(module, self._tensor_name + "_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Prune ``module.name``: it becomes ``name_orig`` (a parameter) times ``name_mask`` (a buffer)."""
        earlier = _hooks(module, name)
        method = cls(*args, **kwargs)
        method._tensor_name = name
        if earlier:
            key, old = earlier[0]
            container = old if isinstance(old, PruningContainer) else PruningContainer(old)
            container.add_pruning_method(method)
            del module._hooks.forward_pre[key]
            method = container
        original = getattr(module, name)
        scores = original if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise AssertionError(f"importance_scores should have the same shape as parameter                 {name} of {module}")
        if not earlier:
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
            default = torch["ones_like"](original.detach())
        else:
            default = getattr(module, name + "_mask").detach().clone()
        try:
            with no_grad():
                mask = method.compute_mask(scores.detach(), default)
            module.register_buffer(name + "_mask", mask)
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if not earlier:
                original = getattr(module, name + "_orig")
                del module._parameters[name + "_orig"]
                module.register_parameter(name, original)
            raise
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        """``t`` times the mask that this method computes for it; nothing is kept."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        return t * self.compute_mask(scores, torch["ones_like"](t) if default_mask is None else default_mask)

    def remove(self, module):
        """Make the pruned value an ordinary parameter; the mask goes."""
        name = self._tensor_name
        weight = self.apply_mask(module).detach()
        if name in module.__dict__:
            delattr(module, name)
        original = module._parameters[name + "_orig"]
        original.data = weight
        del module._parameters[name + "_orig"], module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several methods for one parameter, applied one after another."""

    def __init__(self, *args):
        self._pruning_methods: tuple = ()
        methods = args[0] if len(args) == 1 and not isinstance(args[0], BasePruningMethod) else args
        if len(args) == 1 and isinstance(args[0], BasePruningMethod):
            self._tensor_name = args[0]._tensor_name
            methods = args
        for method in methods:
            self.add_pruning_method(method)

    def add_pruning_method(self, method):
        """Add one more, of the same parameter."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and getattr(self, "_tensor_name", method._tensor_name) != method._tensor_name:
            raise ValueError("Can only add pruning methods acting on the parameter named "
                             f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'")
        self._pruning_methods += (method,)

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, index):
        return self._pruning_methods[index]

    def compute_mask(self, t, default_mask):
        """The last method's mask of what is left, joined to the mask so far."""
        method, mask = self._pruning_methods[-1], default_mask.to(dtype=t.dtype)
        if method.PRUNING_TYPE == "global":
            return mask * method.compute_mask(t, torch["ones_like"](mask))
        if method.PRUNING_TYPE == "unstructured":
            left = [i for i, kept in enumerate(mask.reshape(-1).tolist()) if kept == 1]
            index = torch["tensor"](left, device=t.device)
            part = method.compute_mask(t.reshape(-1).index_select(0, index), torch["ones"](len(left), dtype=t.dtype, device=t.device))
            return mask.reshape(-1).index_copy(0, index, part.to(dtype=mask.dtype)).reshape(mask.shape)
        if method.PRUNING_TYPE != "structured":
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        dim = method.dim % t.dim()
        other = [d for d in range(t.dim()) if d != dim]
        left = [i for i, total in enumerate(mask.sum(other).tolist()) if total != 0]
        index = torch["tensor"](left, device=t.device)
        part = method.compute_mask(t.index_select(dim, index), mask.index_select(dim, index))
        return mask.index_copy(dim, index, part.to(dtype=mask.dtype))


class Identity(BasePruningMethod):
    """Prunes nothing, but makes the parameter one with a mask."""

    def compute_mask(self, t, default_mask):
        """The mask so far."""
        return default_mask

    @classmethod
    def apply(cls, module, name):
        """Give ``module.name`` a mask of ones."""
        return super().apply(module, name)


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask that is given."""

    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.mask = mask

    def compute_mask(self, t, default_mask):
        """Both masks."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError("mask and default_mask should have the same shape")
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module, name, mask):
        """Prune ``module.name`` where ``mask`` is 0."""
        return super().apply(module, name, mask=mask)


def _count(amount, size) -> int:
    """How many of ``size`` an amount is: a number of them, or a fraction."""
    return amount if isinstance(amount, int) else round(amount * size)


def _check_amount(amount):
    if not isinstance(amount, (int, float)) or isinstance(amount, bool):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if (isinstance(amount, int) and amount < 0) or (isinstance(amount, float) and (amount > 1.0 or amount < 0.0)):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _check_size(amount, size):
    if isinstance(amount, int) and amount > size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={size}")


class _Amount(BasePruningMethod):
    def __init__(self, amount):
        _check_amount(amount)
        self.amount = amount

    def _scores(self, t):
        raise NotImplementedError

    def compute_mask(self, t, default_mask):
        """Zeros for the smallest scores."""
        _check_size(self.amount, t.numel())
        count = _count(self.amount, t.numel())
        mask = default_mask.clone()
        if count:
            places = self._scores(t).reshape(-1).topk(count, largest=False)[1]
            mask = mask.reshape(-1).index_fill(0, places, 0).reshape(mask.shape)
        return mask


class RandomUnstructured(_Amount):
    """Prunes ``amount`` elements (a number, or a fraction) at random."""

    def _scores(self, t):
        return torch["rand_like"](t.detach())

    @classmethod
    def apply(cls, module, name, amount):
        """Prune elements of ``module.name`` at random."""
        return super().apply(module, name, amount=amount)


class L1Unstructured(_Amount):
    """Prunes the ``amount`` smallest elements (a number, or a fraction)."""

    def _scores(self, t):
        return t.abs()

    @classmethod
    def apply(cls, module, name, amount, importance_scores=None):
        """Prune the smallest elements of ``module.name``."""
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class _Structured(BasePruningMethod):
    PRUNING_TYPE = "structured"

    def __init__(self, amount, dim=-1):
        _check_amount(amount)
        self.amount, self.dim = amount, dim

    def _scores(self, t, other):
        raise NotImplementedError

    def compute_mask(self, t, default_mask):
        """Zeros for the slices along ``dim`` of the smallest scores."""
        if t.dim() <= 1:
            raise ValueError("Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                             f"{t.shape} with {t.dim()} dims")
        if not -t.dim() <= self.dim < t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        dim = self.dim % t.dim()
        size = t.shape[dim]
        _check_size(self.amount, size)
        kept = size - _count(self.amount, size)
        if kept == size:
            return default_mask
        mask = torch["zeros"](size, dtype=default_mask.dtype, device=t.device)
        if kept:
            places = self._scores(t, [d for d in range(t.dim()) if d != dim]).topk(kept, largest=True)[1]
            mask = mask.index_fill(0, places, 1)
        return default_mask * mask.reshape([size if d == dim else 1 for d in range(t.dim())])


class RandomStructured(_Structured):
    """Prunes ``amount`` slices along ``dim`` (a number, or a fraction) at random."""

    def _scores(self, t, other):
        return torch["rand_like"](t.detach().sum(other))

    @classmethod
    def apply(cls, module, name, amount, dim=-1):
        """Prune slices of ``module.name`` at random."""
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_Structured):
    """Prunes the ``amount`` slices along ``dim`` (a number, or a fraction) of the smallest ``n``-norm."""

    def __init__(self, amount, n, dim=-1):
        super().__init__(amount, dim)
        self.n = n

    def _scores(self, t, other):
        return t.norm(self.n, dim=other)

    @classmethod
    def apply(cls, module, name, amount, n, dim, importance_scores=None):
        """Prune the slices of ``module.name`` of the smallest norm."""
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


def identity(module, name):
    """Give a parameter a mask of ones; returns the module."""
    Identity.apply(module, name)
    return module


def random_unstructured(module, name, amount):
    """Prune ``amount`` elements at random; returns the module."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    """Prune the ``amount`` smallest elements; returns the module."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    """Prune ``amount`` slices along ``dim`` at random; returns the module."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Prune the ``amount`` slices along ``dim`` of the smallest ``n``-norm; returns the module."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module, name, mask):
    """Prune where ``mask`` is 0; returns the module."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    """Prune the parameters [(module, name), ...] together by one method, as if they were one vector."""
    if not hasattr(parameters, "__iter__"):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    importance_scores = {} if importance_scores is None else importance_scores
    if not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    parameters = list(parameters)
    scores = torch["cat"]([importance_scores.get((m, n), getattr(m, n)).detach().reshape(-1) for m, n in parameters])
    masks = [getattr(m, n + "_mask", torch["ones_like"](getattr(m, n).detach())).reshape(-1) for m, n in parameters]
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of type {method.PRUNING_TYPE}')
    mask, start = container.compute_mask(scores, torch["cat"](masks)), 0
    for module, name in parameters:
        tensor = getattr(module, name)
        custom_from_mask(module, name, mask[start:start + tensor.numel()].reshape(tensor.shape))
        start += tensor.numel()


def is_pruned(module) -> bool:
    """Whether a parameter of the module, or of one below it, is pruned."""
    return any(_hooks(m) for m in module.modules())


def remove(module, name):
    """Make a pruned parameter an ordinary one, with its zeros; ValueError where it is not pruned. Returns the module."""
    for key, hook in _hooks(module, name):
        hook.remove(module)
        del module._hooks.forward_pre[key]
        return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
