"""The device that plans and runs nothing, with what the compiler asks of one: what it makes of a step can be looked at without a browser."""
from pyborch.devices import planned


class Place:
    """A part of a buffer."""

    def __init__(self, whole, offset, words):
        self.whole, self.offset, self.words = whole, offset, words


class Arena:
    """Storages gathered into one buffer."""

    def __init__(self, members):
        self.members = members

    def holds(self):
        return True


class Planned(planned.Planned):
    """``work`` is what the last program would run."""
    matrices = frozenset({"f16"})

    def __init__(self):
        super().__init__()
        self.work = []

    def can_gather(self, storages):
        return True

    def gather(self, storages):
        return Arena(storages)

    def span(self, storage):
        if isinstance(storage, Place):
            return id(storage.whole), storage.whole.form.size, 4 * storage.offset, 4 * storage.words
        return id(storage), storage.form.size, 0, storage.form.size

    def part(self, storage, offset, words):
        return Place(storage, offset, words)

    def program(self, work, inputs, outputs, live):
        self.work = work
        return 0

    def read(self, storage):
        return bytes(storage.numel * storage.dtype.itemsize)

    def ready(self, handle):
        return True

    prepare = replay = drop = flush = synchronize = planned.Planned.nothing
