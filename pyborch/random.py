"""Random generators: a seed and a counter on the host; the numbers are made on the device (Philox), the same on every device."""
from __future__ import annotations

from .autograd.modes import Live, state


class Generator:
    """A stream of random numbers (torch.Generator). Streams are pyborch's own: the same seed gives other numbers than PyTorch."""

    def __init__(self, device=None):
        self.device = device
        self._seed, self._offset = 67280421310721, 0

    def manual_seed(self, seed):
        """Start the stream of ``seed`` anew; returns the generator."""
        self._seed, self._offset = int(seed) & (2 ** 64 - 1), 0
        return self

    def seed(self):
        """Seed from the system's randomness and return the seed."""
        import os
        self.manual_seed(int.from_bytes(os.urandom(8), "little") >> 1)
        return self._seed

    def initial_seed(self):
        """The seed last set."""
        return self._seed

    def get_state(self):
        """The seed and the counter as 16 bytes (a uint8 tensor, on the CPU where that device can be had)."""
        from .devices import has_cpu
        from .dtypes import uint8
        from .ops.create import frombuffer
        return frombuffer(self._seed.to_bytes(8, "little") + self._offset.to_bytes(8, "little"), dtype=uint8, device="cpu" if has_cpu() else None)

    def set_state(self, new_state):
        """Go on where :meth:`get_state` was taken; returns the generator."""
        data = new_state.tobytes()
        if len(data) != 16:
            raise RuntimeError(f"RNG state is wrong size: expected 16 bytes, got {len(data)}")
        self._seed, self._offset = int.from_bytes(data[:8], "little"), int.from_bytes(data[8:], "little")
        return self

    def draw(self, blocks: int) -> dict:
        """The seed and counter words of the next ``blocks`` blocks of four words; while recording, boxes that advance at each replay."""
        words = self._next(blocks)
        if state.recorder is None:
            return words
        boxes = {name: Live(value) for name, value in words.items()}

        def advance():
            for name, value in self._next(blocks).items():
                boxes[name].value = value
        state.recorder.on_replay(advance)
        return boxes

    def _next(self, blocks):
        at, self._offset = self._offset, self._offset + blocks
        return {"seed_low": self._seed & 0xFFFFFFFF, "seed_high": self._seed >> 32, "offset_low": at & 0xFFFFFFFF, "offset_high": at >> 32 & 0xFFFFFFFF}


default_generator = Generator()


def manual_seed(seed) -> Generator:
    """Seed the default generator; returns it."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Seed the default generator from the system's randomness."""
    return default_generator.seed()


def initial_seed() -> int:
    """The default generator's seed."""
    return default_generator.initial_seed()


def get_rng_state():
    """The default generator's state (uint8 tensor)."""
    return default_generator.get_state()


def set_rng_state(new_state) -> None:
    """Set the default generator's state."""
    default_generator.set_state(new_state)


def host_seed(generator=None) -> str:
    """A seed for Python's ``random.Random`` from a generator (or the default one), which moves on by one draw."""
    return "-".join(str(word) for word in (generator or default_generator)._next(1).values())
