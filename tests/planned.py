"""A device that plans for WebGPU and runs nothing: what the compiler makes of a step can be looked at without a browser."""
from pyborch import devices
from pyborch.devices.memory import size_class


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


class Planned(devices.Backend):
    """``work`` is what the last program would run."""
    type, name, software, has_f16 = "webgpu", "planned", False, True
    matrices = frozenset({"f16"})
    limits = {"maxStorageBuffersPerShaderStage": 10, "maxComputeInvocationsPerWorkgroup": 256, "maxComputeWorkgroupSizeX": 256,
              "maxComputeWorkgroupStorageSize": 32768, "maxStorageBufferBindingSize": 1 << 30}

    def __init__(self):
        super().__init__()
        self.work, self.idle = [], []

    def make_form(self, dtype, numel):
        return devices.Form(self, dtype, numel, size_class(numel * 4), self.idle)

    def allocate(self, dtype, numel):
        return devices.Storage(self.form(dtype, numel), 0)

    def launch(self, plan, storages, scalars):
        return [self.allocate(f.dtype, f.numel) for f in plan.forms]

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

    def nothing(self, *args):
        pass

    write = run = prepare = forget = replay = drop = flush = synchronize = nothing
