"""Schedules made of others, and the one that watches a metric."""
from __future__ import annotations

import math
from bisect import bisect_right

from ._schedule import UNSAVED, LRScheduler, run
from .optimizer import Optimizer


class SequentialLR(LRScheduler):
    """One schedule after another; ``milestones`` are the epochs where the next begins."""

    def __init__(self, optimizer, schedulers: list, milestones: list, last_epoch: int = -1):
        if not schedulers:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler, but got no scheduler.")
        _same_optimizer(self, schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError("Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone points, "
                             f"but got number of schedulers {len(schedulers)} and the number of milestones to be equal to {len(milestones)}")
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        for group in optimizer.param_groups:       # each scheduler has set its first rate: start over
            group["lr"] = group["initial_lr"]
        for scheduler in schedulers:
            scheduler.last_epoch -= 1
        schedulers[0]._initial_step()
        self._last_lr = schedulers[0].get_last_lr()

    def step(self) -> None:  # type: ignore[override]
        """Step the schedule whose turn it is."""
        run(self._advance)

    def _advance(self):
        self.last_epoch += 1
        index = bisect_right(self._milestones, self.last_epoch)
        begins = index > 0 and self._milestones[index - 1] == self.last_epoch
        self._schedulers[index]._advance(0 if begins else None)
        self._last_lr = self._schedulers[index].get_last_lr()

    def state_dict(self):
        """All attributes, with the states of the schedulers under "_schedulers"."""
        state = {k: v for k, v in self.__dict__.items() if k not in UNSAVED}
        return {**state, "_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict):
        """Take what ``state_dict()`` gave."""
        super().load_state_dict(state_dict)
        for scheduler, saved in zip(self._schedulers, state_dict["_schedulers"]):
            scheduler.load_state_dict(saved)


class ChainedScheduler(SequentialLR):
    """Steps several schedules at once; their factors multiply."""

    def __init__(self, schedulers, optimizer=None):
        if not schedulers:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler to be chained, but got no scheduler.")
        optimizer = optimizer or schedulers[0].optimizer
        _same_optimizer(self, schedulers, optimizer)
        self._schedulers = schedulers
        self.optimizer = optimizer
        self._last_lr = self._rates

    def _advance(self):
        for scheduler in self._schedulers:
            scheduler._advance()
        self._last_lr = self._rates


def _same_optimizer(owner, schedulers, optimizer):
    for i, scheduler in enumerate(schedulers):
        if scheduler.optimizer is not optimizer:
            raise ValueError(f"{type(owner).__name__} expects all schedulers to belong to the same optimizer, but got scheduler "
                             f"{type(scheduler).__name__} at index {i} has {scheduler.optimizer}, which is different from "
                             f"{type(optimizer).__name__}.")


class ReduceLROnPlateau(LRScheduler):
    """The rate times ``factor`` once ``step(metric)`` has seen no improvement for more than ``patience`` epochs."""

    def __init__(self, optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10, threshold: float = 1e-4,
                 threshold_mode: str = "rel", cooldown: int = 0, min_lr=0, eps: float = 1e-8):
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        groups = len(optimizer.param_groups)
        if isinstance(min_lr, (list, tuple)) and len(min_lr) != groups:
            raise ValueError(f"expected {groups} min_lrs, got {len(min_lr)}")
        self.factor = factor
        self.optimizer = optimizer
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = list(min_lr) if isinstance(min_lr, (list, tuple)) else [min_lr] * groups
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = self._rates
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self._reset()

    def _reset(self):
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def state_dict(self):
        """All attributes but the optimizer."""
        return {k: v for k, v in self.__dict__.items() if k != "optimizer"}

    def step(self, metrics, epoch=None) -> None:  # type: ignore[override]
        """Compare ``metrics`` (a number or 0-d tensor, which is read) with the best so far."""
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._rates

    def _reduce(self):
        for group, least in zip(self.optimizer.param_groups, self.min_lrs):
            reduced = max(float(group["lr"]) * self.factor, least)
            if float(group["lr"]) - reduced > self.eps:
                group["lr"] = reduced

    @property
    def in_cooldown(self) -> bool:
        """Whether bad epochs are not counted at present."""
        return self.cooldown_counter > 0

    def is_better(self, a, best) -> bool:
        """Whether ``a`` improves on ``best`` by more than the threshold."""
        if self.mode == "min":
            return a < (best * (1.0 - self.threshold) if self.threshold_mode == "rel" else best - self.threshold)
        return a > (best * (1.0 + self.threshold) if self.threshold_mode == "rel" else best + self.threshold)
