"""Optimizer: parameter groups, state, and one fused kernel per parameter and step.

An algorithm is a pointwise formula (an op record with in-place outputs) and the numbers that it needs at each step. Step counts
live on the host; under ``compile`` the numbers are Live boxes that :meth:`Optimizer.step` has refreshed before every replay.
"""
from __future__ import annotations

import warnings
from collections import defaultdict

from .. import dtypes
from ..autograd import Live, apply, enable_grad, no_grad, set_grad_enabled
from ..autograd import state as mode
from ..errors import CaptureError
from ..ops import registry
from .._tensor import Tensor
from ._guarded import guarded
from ._hooks import Hooked, hooked, register_optimizer_step_post_hook, register_optimizer_step_pre_hook

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

HOST_STATE = ("step", "mu_product", "eta", "mu")      # kept as Python numbers; tensors in state_dict, as PyTorch has them


class Optimizer(Hooked):
    """Base class of optimizers. Subclasses give ``start``, ``numbers`` and ``record``.

    ``params`` are Tensors, (name, Tensor) pairs, or dicts with "params" and options of their own; ``defaults`` are the options.
    """

    counts_steps = True
    from_step = None             # see Guarded: how numbers follow from the step count on the device
    _unless = None               # (bad, skipped): step only where bad is 0, and count otherwise
    _skipped = None              # steps that the host counted and the device left out

    def __init__(self, params, defaults):
        if isinstance(params, Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                            f"torch.{params.dtype.title}Tensor")
        self.defaults = defaults
        self.state: dict = defaultdict(dict)
        self.param_groups: list = []
        self._opt_called = False
        _check_ways(defaults)
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    # -- what an algorithm gives ------------------------------------------------------------------------------------

    def start(self, parameter, group) -> dict:
        """The tensors of a parameter's state before its first step, in the order of the record's arguments."""
        raise NotImplementedError

    def numbers(self, group, state) -> dict:
        """The record's keyword arguments for this step; ``state["step"]`` already counts it."""
        raise NotImplementedError

    def numbers_on_device(self, group, state) -> dict:
        """numbers() for a step that the device may leave out; CaptureError where they depend on the step count in a way that only the host knows."""
        values = self.numbers(group, state)
        if self.counts_steps and self.numbers(group, {**state, "step": state["step"] + 1}) != values:
            raise CaptureError(f"GradScaler.step: {type(self).__name__} inside a compiled function would need to know at once whether a step was "
                               "skipped; compile up to scaler.unscale_(optimizer) and step outside, or use SGD, Adam, AdamW or RMSprop")
        return values

    def record(self, group):
        """The op record to run: inputs (parameter, gradient, *state tensors), outputs (parameter, *state tensors)."""
        raise NotImplementedError

    def count(self, group, state) -> None:
        """Advance the host part of a parameter's state by one step."""
        if self.counts_steps:
            state["step"] += 1

    # -- stepping ---------------------------------------------------------------------------------------------------

    @hooked
    def step(self, closure=None):
        """Update every parameter that has a gradient; ``closure`` recomputes the loss first and its value is returned."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            self._settle()
        for index, group in enumerate(self.param_groups):
            with set_grad_enabled(bool(group.get("differentiable"))):
                cohorts: dict = {}
                for p in group["params"]:
                    if p.grad is not None:
                        cohorts.setdefault(self._state_of(p, group).get("step"), []).append(p)
                for params in cohorts.values():
                    self._step_cohort(index, params)
        self._opt_called = True
        return loss

    def _state_of(self, p, group):
        state = self.state.get(p)
        if state is None:
            recorder, mode.recorder = mode.recorder, None       # state is made once: a replay must not make it anew
            try:
                state = {"step": 0} if self.counts_steps else {}
                state.update(self.start(p, group))
            finally:
                mode.recorder = recorder
            if state:
                self.state[p] = state
        return state

    def _step_cohort(self, index, params):
        """Step parameters of one group that have taken the same number of steps, so that they share their numbers."""
        unless = self._unless or ()
        values = self._advance(index, params, bool(unless))
        if mode.recorder is not None:
            values = self._live(index, params, values, bool(unless))
        self._update(self.param_groups[index], params, values, unless)

    def _update(self, group, params, values, unless):
        """Run the record for each parameter, with the numbers ``values``."""
        op = self.record(group)
        if group.get("differentiable"):
            return self._differentiable(op, params, values)
        if unless:
            op = guarded(op, self.from_step)
        for p in params:
            tensors = [v for k, v in self.state[p].items() if k not in HOST_STATE] if p in self.state else ()
            apply(op, p, p.grad, *tensors, *unless, out=(p, *tensors), **values)
        return None

    def _differentiable(self, op, params, values):
        """The update in operations that are recorded: parameters and state have a history afterwards."""
        for p in params:
            state = self.state.get(p, {})
            names = [k for k in state if k not in HOST_STATE]
            after = op.evaluate(registry.TENSOR_MATH, [p, p.grad, *[state[k] for k in names]], dict(values))
            state.update(zip(names, after[1:]))
            p.copy_(after[0])

    def step_unless(self, bad) -> None:
        """step() that the device leaves out where ``bad`` (0-d float32) is not 0; the host counts on, and puts that right when it is asked."""
        if self._skipped is None:
            self._skipped = zeros_like(bad)
        self._unless = bad, self._skipped
        try:
            self.step()
        finally:
            self._unless = None
        self._skipped.add_(bad)

    def _settle(self):
        """Take steps that the device left out from the host's counts."""
        if self._skipped is not None and mode.recorder is None:
            skipped = round(self._skipped.item())
            if skipped:
                for state in self.state.values():
                    if "step" in state:
                        state["step"] -= skipped
                self._skipped.zero_()

    def _advance(self, index, params, on_device):
        group = self.param_groups[index]
        for p in params:
            if p in self.state:
                self.count(group, self.state[p])
        first = self.state.get(params[0], {})
        if self.counts_steps and any(self.state[p]["step"] != first["step"] for p in params):
            raise RuntimeError("optimizer.step: parameters of a compiled step have since taken different numbers of steps; compile it again")
        return (self.numbers_on_device if on_device else self.numbers)(group, first)

    def _live(self, index, params, values, on_device):
        """The numbers as boxes, refreshed before each replay of the step being captured."""
        from ..compiler import capture
        boxes = {name: Live(value) for name, value in values.items()}

        def refresh():
            for name, value in self._advance(index, params, on_device).items():
                boxes[name].value = value
        capture.on_replay(refresh)
        return boxes

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients; ``set_to_none=False`` fills them with zeros instead."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.grad = None
                elif p.grad is not None:
                    p.grad = p.grad.detach().zero_()

    # -- groups and state -------------------------------------------------------------------------------------------

    def add_param_group(self, param_group: dict) -> None:
        """Add parameters with options of their own; what the dict leaves out comes from the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, (set, frozenset)):
            raise TypeError("optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will "
                            "change between runs. Please use a list instead.")
        names, params = _names([params] if isinstance(params, Tensor) else list(params))
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
            if not self.defaults.get("differentiable") and not (p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        if len(set(map(id, params))) != len(params):
            warnings.warn("optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; see "
                          "github.com/pytorch/pytorch/issues/40967 for more information", stacklevel=3)
        taken = {id(p) for group in self.param_groups for p in group["params"]}
        if any(id(p) in taken for p in params):
            raise ValueError("some parameters appear in more than one parameter group")
        if self.param_groups and bool(names) != ("param_names" in self.param_groups[0]):
            raise ValueError("all optimizer param groups should be with/without names. cannot add param group "
                             f"{'with names' if names else 'without names'} to the optimizer")
        group = {"params": params, **({"param_names": names} if names else {})}
        group.update((k, v) for k, v in param_group.items() if k != "params")
        for name, default in self.defaults.items():
            group.setdefault(name, default)
        self.param_groups.append(group)

    def state_dict(self) -> dict:
        """{"state": {index: {...}}, "param_groups": [...]} with parameters as indices, as PyTorch saves it."""
        self._call_hooks("state_dict_pre")
        self._settle()
        indices: dict = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                indices.setdefault(p, len(indices))
            packed = {k: v for k, v in group.items() if k != "params"}
            groups.append({**packed, "params": [indices[p] for p in group["params"]]})
        found = {"state": {indices.get(p, p): _export(state) for p, state in self.state.items()}, "param_groups": groups}
        return self._call_hooks("state_dict_post", found) or found

    def load_state_dict(self, state_dict: dict) -> None:
        """Take groups and state from ``state_dict()`` of the same kind of optimizer; state tensors are copied.

        ValueError when the groups do not match in number or size.
        """
        state_dict = state_dict.copy()
        state_dict = self._call_hooks("load_pre", state_dict) or state_dict
        saved = state_dict["param_groups"]
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(saved, self.param_groups)):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
        owner = {i: p for a, b in zip(saved, self.param_groups) for i, p in zip(a["params"], b["params"])}
        with no_grad():
            self.state = defaultdict(dict, {owner.get(i, i): _import(self.state.get(owner.get(i), {}), owner.get(i), state)
                                            for i, state in state_dict["state"].items()})
        self.param_groups = [{"params": mine["params"], **{k: v for k, v in mine.items() if k == "param_names"},
                              **{k: v for k, v in group.items() if k != "params"}} for group, mine in zip(saved, self.param_groups)]
        self._call_hooks("load_post")

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        self._opt_called = False
        self.__dict__.update(state)

    def __repr__(self):
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
            lines.append("")
        return "\n".join(lines) + ")"


class swap_in_optimizer_params_and_state:
    """Inside this context the optimizer works on other parameters and another state, which are given back on leaving.

    ``swapin_parameters`` {name: tensor} in the order of the optimizer's, ``swapin_optim_state`` of the form of state_dict().
    """

    def __init__(self, optimizer, swapin_parameters, swapin_optim_state):
        self.optimizer, self.saved = optimizer, swapin_optim_state
        groups = swapin_optim_state["param_groups"]
        given = iter(swapin_parameters.values())
        if len(groups) != len(optimizer.param_groups) or sum(len(g["params"]) for g in groups) != len(swapin_parameters):
            raise ValueError("swapin_parameters and swapin_optim_state must have as many groups and parameters as the optimizer")
        self.params = [[next(given) for _ in group["params"]] for group in groups]

    def __enter__(self):
        self.before = self.optimizer.state, [dict(group) for group in self.optimizer.param_groups]
        state = defaultdict(dict)
        for live, saved, params in zip(self.optimizer.param_groups, self.saved["param_groups"], self.params):
            live.update({k: v for k, v in saved.items() if k != "params"}, params=params)
            for p, index in zip(params, saved["params"]):
                entries = self.saved["state"].get(index, {})
                state[p] = {k: float(v) if k in HOST_STATE else v for k, v in entries.items()}
        self.optimizer.state = state

    def __exit__(self, *exc):
        self.optimizer.state, groups = self.before
        for live, group in zip(self.optimizer.param_groups, groups):
            live.clear()
            live.update(group)


def _check_ways(defaults):
    """RuntimeError for ways of computing that exclude each other; here they are all the same kernel."""
    if defaults.get("fused"):
        if defaults.get("differentiable"):
            raise RuntimeError("`fused` does not support `differentiable`")
        if defaults.get("foreach"):
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def _names(params):
    """(names, tensors) of a list of tensors or of (name, tensor) pairs."""
    pairs = [isinstance(p, tuple) for p in params]
    if not any(pairs):
        return None, params
    if not all(pairs):
        raise ValueError("all optimizer params should be with/without names. Some param names are missing")
    return [name for name, _ in params], [p for _, p in params]


def zeros_like(parameter):
    """State to start from: zeros of the parameter's shape, dtype and device."""
    return registry.namespace("torch")["zeros_like"](parameter.detach())


def _export(state):
    tensor = registry.namespace("torch")["tensor"]
    return {k: tensor(float(v), dtype=dtypes.float32) if k in HOST_STATE else v for k, v in state.items()}


def _import(current, parameter, saved):
    """A parameter's state from a saved one; tensors are written into ``current``, where a compiled step may hold them."""
    state = {}
    for name, value in saved.items():
        if name in HOST_STATE:
            state[name] = float(value)
        elif isinstance(value, Tensor):
            kept = current.get(name)
            if kept is not None and kept.shape == value.shape:
                state[name] = kept.copy_(value)
            elif parameter is not None and parameter.is_floating_point():
                state[name] = value.detach().to(device=parameter.device, dtype=parameter.dtype).clone()
            else:
                state[name] = value.detach().clone()
        else:
            state[name] = [v.detach().clone() if isinstance(v, Tensor) else v for v in value] if isinstance(value, list) else value
    return state


def check(**values) -> None:
    """ValueError for options out of range: ``lr``, ``momentum``, ... below 0, ``betas`` outside [0, 1)."""
    titles = {"lr": "learning rate", "eps": "epsilon value"}
    for name, value in values.items():
        if name == "lr" and isinstance(value, Tensor) and value.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if name == "betas":
            for i, beta in enumerate(value):
                if not 0.0 <= beta < 1.0:
                    raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
        elif not 0.0 <= value:
            raise ValueError(f"Invalid {titles.get(name, name + ' value')}: {value}")
