"""Averages of weights over a training run, plain or exponential, and the schedule that goes with them (torch.optim.swa_utils)."""
from __future__ import annotations

import copy
import math
from itertools import chain

from .. import dtypes
from ..autograd import no_grad
from ..nn.module import Module
from ..nn.norm import _BatchNorm
from ..ops import registry
from ._cycles import _per_group
from ._schedule import LRScheduler

torch = registry.namespace("torch")
__all__ = ["AveragedModel", "SWALR", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn", "update_bn"]


def _check_decay(decay):
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_avg_fn(decay: float = 0.999):
    """A function of (average, current, number averaged): ``decay * average + (1 - decay) * current``."""
    _check_decay(decay)

    def ema_update(ema_param, current_param, num_averaged):
        with no_grad():
            return decay * ema_param + (1 - decay) * current_param
    return ema_update


def get_swa_avg_fn():
    """A function of (average, current, number averaged): the plain mean of all so far."""
    def swa_update(averaged_param, current_param, num_averaged):
        with no_grad():
            return averaged_param + (current_param - averaged_param) / (num_averaged + 1)
    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999):
    """As get_ema_avg_fn for lists of tensors, in place."""
    _check_decay(decay)

    def ema_update(ema_param_list, current_param_list, _):
        with no_grad():
            for average, current in zip(ema_param_list, current_param_list):
                if average.is_floating_point():
                    average.lerp_(current, 1 - decay)
                else:
                    average.copy_(average * decay + current * (1 - decay))
    return ema_update


def get_swa_multi_avg_fn():
    """As get_swa_avg_fn for lists of tensors, in place."""
    def swa_update(averaged_param_list, current_param_list, num_averaged):
        with no_grad():
            for average, current in zip(averaged_param_list, current_param_list):
                average.copy_(average + (current - average) / (num_averaged + 1))
    return swa_update


class AveragedModel(Module):
    """A copy of ``model`` whose weights are averages: ``update_parameters(model)`` takes the model's present ones into them.

    The mean unless ``avg_fn`` or ``multi_avg_fn`` says otherwise; ``use_buffers`` averages buffers too (else they are copied).
    """

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers: bool = False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", torch["tensor"](0, dtype=dtypes.int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def update_parameters(self, model) -> None:
        """Take the weights of ``model`` into the averages. The first ones are taken as they are; nothing is read from the device."""
        with no_grad():
            mine, theirs = ([p.detach() for p in (chain(m.parameters(), m.buffers()) if self.use_buffers else m.parameters())] for m in (self.module, model))
            theirs = [p.to(average.device) for p, average in zip(theirs, mine)]
            many = self.multi_avg_fn or (None if self.avg_fn else get_swa_multi_avg_fn())
            if many is not None:
                for kind in dict.fromkeys((average.device, average.dtype) for average in mine):
                    chosen = [i for i, average in enumerate(mine) if (average.device, average.dtype) == kind]
                    many([mine[i] for i in chosen], [theirs[i] for i in chosen], self.n_averaged)
            else:
                for average, p in zip(mine, theirs):
                    average.copy_(self.avg_fn(average, p, self.n_averaged))
            first = self.n_averaged == 0
            for average, p in zip(mine, theirs):
                average.copy_(torch["where"](first, p, average))
            if not self.use_buffers:
                for average, buffer in zip(self.module.buffers(), model.buffers()):
                    average.detach().copy_(buffer.detach().to(average.device))
            self.n_averaged.add_(1)


def update_bn(loader, model, device=None) -> None:
    """Compute the running statistics of all batch norms anew, as plain averages over the batches of ``loader`` (the first part of each)."""
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not norms:
        return
    momenta, training = [norm.momentum for norm in norms], model.training
    with no_grad():
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None
        model.train()
        for batch in loader:
            x = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(x if device is None else x.to(device))
        for norm, momentum in zip(norms, momenta):
            norm.momentum = momentum
        model.train(training)


class SWALR(LRScheduler):
    """From the present rate to ``swa_lr`` (a number, or one per group) in ``anneal_epochs``, by a cosine or linearly; then constant."""

    def __init__(self, optimizer, swa_lr, anneal_epochs: int = 10, anneal_strategy: str = "cos", last_epoch: int = -1):
        for rate, group in zip(_per_group("swa_lr", optimizer, swa_lr), optimizer.param_groups):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _way(self, step):
        """How much of the way is done at a step, 0 to 1."""
        t = max(0, min(1, step / max(1, self.anneal_epochs)))
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self):
        """Each group's rate: where it began, found from its present rate, and swa_lr, mixed."""
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._way(step - 1), self._way(step)
        rates = []
        for group in self.optimizer.param_groups:
            target = group["swa_lr"]
            start = target if before == 1 else (group["lr"] - before * target) / (1 - before)
            rates.append(target * now + start * (1 - now))
        return rates
