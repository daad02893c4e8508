"""LRScheduler: host arithmetic on ``param_groups[i]["lr"]``, also inside compiled steps."""
from __future__ import annotations

import warnings

from ..autograd import state as mode
from .optimizer import Optimizer

UNSAVED = ("optimizer", "lr_lambdas", "_anneal_func", "_scale_fn_ref", "_schedulers")


def run(advance, *args) -> None:
    """Advance a schedule now, and again before each replay of a compiled step that is being captured."""
    advance(*args)
    if mode.recorder is not None:
        from ..compiler import capture
        capture.on_replay(lambda: advance(*args))


class LRScheduler:
    """Base class: after each ``step()`` the groups' rates are what ``get_lr()`` returns. ``last_epoch=-1`` starts anew."""

    _get_lr_called_within_step = False

    def __init__(self, optimizer, last_epoch: int = -1):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with last_epoch >= 0.\n"
                               "This typically happens when:\n1. You're trying to resume training from a checkpoint but haven't properly "
                               "loaded the optimizer state\n2. You're using last_epoch >= 0 for a fresh training run (not recommended)")
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self):
        self._step_count = 0
        self._is_initial = True
        self._advance()
        self._is_initial = False

    @property
    def _rates(self):
        return [group["lr"] for group in self.optimizer.param_groups]

    def get_lr(self) -> list:
        """The rates for ``self.last_epoch``, one per group; a schedule writes this."""
        raise NotImplementedError

    def get_last_lr(self) -> list:
        """The rates that the last ``step()`` set."""
        return self._last_lr

    def step(self, epoch=None) -> None:
        """Move to the next epoch (or to ``epoch``, deprecated); call it after ``optimizer.step()``."""
        if self._step_count == 1 and not self.optimizer._opt_called:
            warnings.warn("Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call "
                          "them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result "
                          "in PyTorch skipping the first value of the learning rate schedule. See more details at "
                          "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate", stacklevel=2)
        if epoch is not None:
            warnings.warn("The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
                          "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
                          "form is used instead of the new chainable form, where available. Please open an issue if you are unable to "
                          "replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose.", stacklevel=2)
        run(self._advance, epoch)

    def _advance(self, epoch=None):
        self._step_count += 1
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self._get_lr_called_within_step = True
        closed = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
        rates = closed() if closed else self.get_lr()
        self._get_lr_called_within_step = False
        self._set(rates)

    def _set(self, rates):
        for group, rate in zip(self.optimizer.param_groups, rates):
            group["lr"] = rate
        self._last_lr = self._rates

    def state_dict(self) -> dict:
        """All attributes but the optimizer and functions."""
        state = {k: v for k, v in self.__dict__.items() if k not in UNSAVED}
        state["_get_lr_called_within_step"] = False
        return state

    def load_state_dict(self, state_dict: dict) -> None:
        """Take what ``state_dict()`` gave."""
        self.__dict__.update({k: v for k, v in state_dict.items() if k not in UNSAVED})
