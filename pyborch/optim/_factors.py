"""Schedules that multiply the rate: by a function, in steps, linearly, exponentially, polynomially."""
from __future__ import annotations

from bisect import bisect_right
from collections import Counter

from ._schedule import LRScheduler


class LambdaLR(LRScheduler):
    """Initial rate times ``lr_lambda(epoch)``; one function, or one per group."""

    def __init__(self, optimizer, lr_lambda, last_epoch: int = -1):
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        if len(self.lr_lambdas) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self):
        """All attributes; of callable objects (not functions) their attributes too."""
        plain = type(lambda: 0)
        return {**super().state_dict(), "lr_lambdas": [None if isinstance(f, plain) else dict(f.__dict__) for f in self.lr_lambdas]}

    def load_state_dict(self, state_dict):
        """Take what ``state_dict()`` gave."""
        super().load_state_dict(state_dict)
        for function, saved in zip(self.lr_lambdas, state_dict["lr_lambdas"]):
            if saved is not None:
                function.__dict__.update(saved)

    def get_lr(self):
        """initial_lr * lr_lambda(epoch)."""
        return [base * f(self.last_epoch) for f, base in zip(self.lr_lambdas, self.base_lrs)]


class MultiplicativeLR(LambdaLR):
    """The last rate times ``lr_lambda(epoch)``."""

    def get_lr(self):
        """lr * lr_lambda(epoch)."""
        return self._rates if self._is_initial else [rate * f(self.last_epoch) for f, rate in zip(self.lr_lambdas, self._rates)]


class StepLR(LRScheduler):
    """The rate times ``gamma`` every ``step_size`` epochs."""

    def __init__(self, optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1):
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """lr * gamma at multiples of step_size."""
        if self.last_epoch == 0 or self.last_epoch % self.step_size:
            return self._rates
        return [rate * self.gamma for rate in self._rates]

    def _get_closed_form_lr(self):
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """The rate times ``gamma`` at each of ``milestones`` (twice where one is given twice)."""

    def __init__(self, optimizer, milestones, gamma: float = 0.1, last_epoch: int = -1):
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """lr * gamma at a milestone."""
        times = self.milestones.get(self.last_epoch, 0)
        return [rate * self.gamma ** times for rate in self._rates] if times else self._rates

    def _get_closed_form_lr(self):
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma ** passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """The rate times ``factor`` for the first ``total_iters`` epochs."""

    def __init__(self, optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1):
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """lr * factor at first, lr / factor at total_iters."""
        if self.last_epoch == 0:
            return [rate * self.factor for rate in self._rates]
        if self.last_epoch != self.total_iters:
            return self._rates
        return [rate * (1.0 / self.factor) for rate in self._rates]

    def _get_closed_form_lr(self):
        return [base * (1.0 if self.last_epoch >= self.total_iters else self.factor) for base in self.base_lrs]


class LinearLR(LRScheduler):
    """The rate's factor goes from ``start_factor`` to ``end_factor`` in ``total_iters`` equal steps."""

    def __init__(self, optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0, total_iters: int = 5, last_epoch: int = -1):
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """lr times the ratio of this epoch's factor to the last one's."""
        if self.last_epoch == 0:
            return [rate * self.start_factor for rate in self._rates]
        if self.last_epoch > self.total_iters:
            return self._rates
        slope = self.end_factor - self.start_factor
        ratio = 1.0 + slope / (self.total_iters * self.start_factor + (self.last_epoch - 1) * slope)
        return [rate * ratio for rate in self._rates]

    def _get_closed_form_lr(self):
        slope = (self.end_factor - self.start_factor) * min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * (self.start_factor + slope) for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """The rate times ``gamma`` every epoch."""

    def __init__(self, optimizer, gamma: float, last_epoch: int = -1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """lr * gamma."""
        return self._rates if self._is_initial else [rate * self.gamma for rate in self._rates]

    def _get_closed_form_lr(self):
        return [base * self.gamma ** self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The rate times ``(1 - epoch / total_iters) ** power``, 0 afterwards."""

    def __init__(self, optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1):
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """lr times the ratio of this epoch's factor to the last one's."""
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates
        ratio = (1.0 - self.last_epoch / self.total_iters) / (1.0 - (self.last_epoch - 1) / self.total_iters)
        return [rate * ratio ** self.power for rate in self._rates]

    def _get_closed_form_lr(self):
        return [base * (1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power for base in self.base_lrs]
