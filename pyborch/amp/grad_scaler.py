"""GradScaler: gradients of float16 products kept within its range (torch.amp.GradScaler)."""
from __future__ import annotations

import warnings

from ..autograd import apply, no_grad, state
from ..ops.create import tensor
from ..ops.registry import pointwise
from .autocast import is_autocast_available


def _update(m, scale, good, bad, *, growth, backoff, interval):
    grows = good + 1.0 >= interval
    larger = m.where(m.isfinite(scale * growth), scale * growth, scale)
    return (m.where(bad > 0.5, scale * backoff, m.where(grows, larger, scale)),
            m.where(bad > 0.5, 0.0, m.where(grows, 0.0, good + 1.0)))


UPDATE = pointwise("_amp_update", _update, to="", inplace=False)
READY, UNSCALED, STEPPED = "ready", "unscaled", "stepped"


class GradScaler:
    """Scales the loss so that float16 gradients do not vanish, takes the scale off before the step, skips steps whose gradients are not finite,
    and adapts the scale (torch.amp.GradScaler).

    >>> with torch.autocast("webgpu"):
    ...     loss = F.cross_entropy(model(x), y)
    >>> scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update()

    Inside a compiled function the device itself decides whether to step, so that nothing waits.
    """

    def __init__(self, device="webgpu", init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        self._enabled = enabled and is_autocast_available(device)
        if enabled and not self._enabled:
            warnings.warn(f"GradScaler: device '{device}' has no float16 here. Disabling.", stacklevel=2)
        if self._enabled:
            assert growth_factor > 1.0, "The growth factor must be > 1.0."
            assert backoff_factor < 1.0, "The backoff factor must be < 1.0."
        self._device, self._init_scale, self._init_good = device, init_scale, 0
        self._growth_factor, self._backoff_factor, self._growth_interval = growth_factor, backoff_factor, growth_interval
        self._scale = self._good = None
        self._stages: dict = {}      # id(optimizer) -> (stage, bad or None)

    def _numbers(self):
        """(scale, good steps in a row) as tensors; made once, outside any recording."""
        if self._scale is None:
            recorder, state.recorder = state.recorder, None
            try:
                self._scale = tensor(float(self._init_scale), device=self._device)
                self._good = tensor(float(self._init_good), device=self._device)
            finally:
                state.recorder = recorder
        return self._scale, self._good

    def scale(self, outputs):
        """``outputs`` (a tensor, or an iterable of them) times the scale."""
        if not self._enabled:
            return outputs
        if hasattr(outputs, "meta"):
            return outputs * self._numbers()[0]
        if not isinstance(outputs, (list, tuple)):
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")
        return type(outputs)(self.scale(t) for t in outputs)

    def unscale_(self, optimizer) -> None:
        """Divide the gradients of the optimizer's parameters by the scale, once per step: to clip them, for example."""
        if not self._enabled:
            return
        stage, _ = self._stages.get(id(optimizer), (READY, None))
        if stage == UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if stage == STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inverse, finite = 1.0 / self._numbers()[0], None
        with no_grad():
            for group in optimizer.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        if p.grad.dtype.name == "float16":
                            raise ValueError("Attempting to unscale FP16 gradients.")
                        flag = p.grad.mul_(inverse).isfinite().all()
                        finite = flag if finite is None else finite & flag
            self._stages[id(optimizer)] = UNSCALED, None if finite is None else 1.0 - finite.float()

    def step(self, optimizer, *args, **kwargs):
        """``optimizer.step()`` unless a gradient is infinite or NaN; returns what it returns, None if skipped."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        stage, bad = self._stages.get(id(optimizer), (READY, None))
        if stage == STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if stage == READY:
            self.unscale_(optimizer)
            _, bad = self._stages[id(optimizer)]
        assert bad is not None, "No inf checks were recorded for this optimizer."
        self._stages[id(optimizer)] = STEPPED, bad
        if state.recorder is not None:
            return optimizer.step_unless(bad)
        return optimizer.step(*args, **kwargs) if not bad.item() else None

    def update(self, new_scale=None) -> None:
        """Adapt the scale: backed off after a skipped step, grown after ``growth_interval`` good ones in a row, or set to ``new_scale``."""
        if not self._enabled:
            return
        scale, good = self._numbers()
        with no_grad():
            if new_scale is not None:
                scale.copy_(new_scale) if hasattr(new_scale, "meta") else scale.fill_(new_scale)
            else:
                found = [bad for _, bad in self._stages.values() if bad is not None]
                assert found, "No inf checks were recorded prior to update."
                bad = found[0]
                for other in found[1:]:
                    bad = bad.maximum(other)
                apply(UPDATE, scale, good, bad, out=(scale, good), growth=float(self._growth_factor), backoff=float(self._backoff_factor),
                      interval=float(self._growth_interval))
        self._stages.clear()

    def is_enabled(self) -> bool:
        """Whether it scales at all."""
        return self._enabled

    def get_scale(self) -> float:
        """The current scale; waits for the GPU."""
        return (self._init_scale if self._scale is None else self._scale.item()) if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """What the scale grows by."""
        return self._growth_factor

    def set_growth_factor(self, new_factor) -> None:
        """Grow by another factor from now on."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by after a skipped step."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor) -> None:
        """Back off by another factor from now on."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """How many good steps in a row make the scale grow."""
        return self._growth_interval

    def set_growth_interval(self, new_interval) -> None:
        """Grow after another number of steps from now on."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict:
        """The scale and its options as Python numbers; empty where it is not enabled."""
        if not self._enabled:
            return {}
        good = self._init_good if self._good is None else int(self._good.item())
        return {"scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
                "growth_interval": self._growth_interval, "_growth_tracker": good}

    def load_state_dict(self, state_dict) -> None:
        """Take over what state_dict() gave; RuntimeError where that is empty because its scaler was not enabled."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler.")
        self._init_scale, self._init_good = state_dict["scale"], state_dict["_growth_tracker"]
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
            self._good.fill_(float(self._init_good))
