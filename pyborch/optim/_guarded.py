"""Steps that the device itself leaves out where gradients were not finite, so that no one has to wait for that news."""
from __future__ import annotations

from ..ops.registry import OPS, Pointwise


class Guarded(Pointwise):
    """An optimizer's record with two more inputs, ``bad`` and ``skipped`` (0-d): where ``bad`` is not 0 everything stays as it is.

    ``from_step(m, t, numbers)`` gives the numbers that depend on the step count t, which is the host's less those skipped.
    """

    def __init__(self, record, from_step):
        args = (*record.args, "bad", "skipped")

        def formula(m, *operands, **numbers):
            *old, bad, skipped = operands
            if from_step is not None:
                numbers = from_step(m, numbers.pop("step") - skipped, numbers)
            new = record.evaluate(m, old, numbers)
            return tuple(m.where(bad > 0.5, before, after) for before, after in zip([old[0], *old[2:]], new))
        super().__init__(record.name + "_unless", args=args)
        self.formula = formula


def guarded(record, from_step):
    """The guarded form of a record."""
    return OPS.get(record.name + "_unless") or Guarded(record, from_step)
