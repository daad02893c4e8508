"""The buffer pool: freed GPU buffers wait by size class for the next tensor of about that size."""
from __future__ import annotations


def size_class(nbytes: int) -> int:
    """Round up to 256 bytes, then to a quarter of a power of two, so that at most a fifth is wasted."""
    if nbytes <= 256:
        return 256
    step = max(256, 1 << ((nbytes - 1).bit_length() - 3))
    return -(-nbytes // step) * step


class Pool:
    """Buffers are integers. ``free`` maps a size class to idle buffers; the device appends to it directly."""

    def __init__(self, create, destroy, limit: int):
        self.create, self.destroy, self.limit = create, destroy, limit
        self.free: dict = {}
        self.created_bytes = 0
        self.live_count = 0
        self.tick = 0

    def take(self, nbytes: int):
        """(buffer, size class) of at least ``nbytes``."""
        size = size_class(nbytes)
        idle = self.free.get(size)
        if idle:
            return idle.pop(), size
        if idle is None:
            self.free[size] = []
        if self.created_bytes + size > self.limit and self.idle_bytes():
            self.trim()
        self.created_bytes += size
        self.live_count += 1
        return self.create(size), size

    def idle_bytes(self) -> int:
        return sum(size * len(idle) for size, idle in self.free.items())

    def trim(self, keep_bytes: int = 0) -> None:
        """Destroy idle buffers, the largest first, until ``keep_bytes`` of them remain."""
        excess = self.idle_bytes() - keep_bytes
        for size in sorted(self.free, reverse=True):
            idle = self.free[size]
            while idle and excess > 0:
                self.destroy(idle.pop())
                self.created_bytes -= size
                self.live_count -= 1
                excess -= size
            if not idle:
                del self.free[size]

    def settle(self) -> None:
        """Called once per submit: keep at most as much idle memory as is in use, and 64 MiB."""
        idle = self.idle_bytes()
        allowed = max(64 << 20, self.created_bytes - idle)
        if idle > allowed:
            self.trim(allowed)

    def stats(self) -> dict:
        idle = self.idle_bytes()
        return {"allocated_bytes": self.created_bytes - idle, "reserved_bytes": self.created_bytes, "buffers": self.live_count,
                "idle_buffers": sum(len(v) for v in self.free.values())}
