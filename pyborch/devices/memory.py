"""The buffer pool: freed GPU buffers wait by size class for the next tensor of about that size."""
from __future__ import annotations


def size_class(nbytes: int) -> int:
    """Round up to 256 bytes, then to a quarter of a power of two, so that at most a fifth is wasted."""
    if nbytes <= 256:
        return 256
    step = max(256, 1 << ((nbytes - 1).bit_length() - 3))
    return -(-nbytes // step) * step


KEEP_BYTES = 64 << 20


class Pool:
    """Buffers are integers, made and destroyed by the given functions. Storages take from and return to ``idle(size)`` themselves;
    only a new buffer comes through here, and then idle memory beyond what is in use (and 64 MiB) is given up."""

    def __init__(self, make, destroy):
        self.make, self.destroy = make, destroy
        self._idle: dict = {}
        self.reserved_bytes = 0
        self.count = 0

    def idle(self, size) -> list:
        """The free buffers of a size class; the list stays the same object."""
        return self._idle.setdefault(size, [])

    def create(self, size):
        """A new buffer of a size class."""
        idle = self.idle_bytes()
        allowed = max(KEEP_BYTES, self.reserved_bytes - idle)
        if idle > allowed:
            self.trim(allowed)
        buffer = self.make(size)
        self.reserved_bytes += size
        self.count += 1
        return buffer

    def retire(self, size) -> None:
        """A buffer of this pool was destroyed by its owner."""
        self.reserved_bytes -= size
        self.count -= 1

    def idle_bytes(self) -> int:
        """Bytes of all free buffers."""
        return sum(size * len(idle) for size, idle in self._idle.items())

    def trim(self, keep_bytes: int = 0) -> None:
        """Destroy idle buffers, the largest first, until ``keep_bytes`` of them remain."""
        excess = self.idle_bytes() - keep_bytes
        for size in sorted(self._idle, reverse=True):
            idle = self._idle[size]
            while idle and excess > 0:
                self.destroy(idle.pop())
                self.reserved_bytes -= size
                self.count -= 1
                excess -= size

    def stats(self) -> dict:
        """allocated_bytes in use, reserved_bytes altogether, buffers, idle_buffers."""
        return {"allocated_bytes": self.reserved_bytes - self.idle_bytes(), "reserved_bytes": self.reserved_bytes, "buffers": self.count,
                "idle_buffers": sum(len(idle) for idle in self._idle.values())}
