"""pyborch's half of bench/compare, inside Pyodide: the work of each case, as bench/kernels.py times it."""
from kernels import Timer

import pyborch as torch
import pyborch.devices
from pyborch.nn import functional as F

OPS = {
    "matmul": torch.matmul,
    "conv": lambda x, w: F.conv2d(x, w, padding=1),
    "softmax": lambda x: x.softmax(-1),
    "layernorm": lambda x, weight, bias: F.layer_norm(x, (x.shape[-1],), weight, bias),
    "sum": lambda x: x.sum(),
    "relu": lambda x: torch.relu(x * 2 + 1),
}


def start():
    """The adapter's name."""
    torch.set_default_device("webgpu")
    return pyborch.devices.backend().name


def work(op, data, shapes):
    tensors = [torch.frombuffer(floats.to_bytes(), dtype=torch.float32).reshape(*shape) for floats, shape in zip(data, shapes)]
    return Add(*tensors) if op == "add" else Program(OPS[op], tensors)


class Program:
    """A compiled call of a function, repeated on the device."""

    def __init__(self, function, tensors):
        self.timer, self.tensors = Timer(torch), tensors
        self.compiled, work = self.timer.recorded(function, *tensors)
        self.per = self.timer.copies(work)
        self.handle = self.timer.device.program(work * self.per, [], [], [])

    def run(self, n):
        self.timer.device.replay(self.handle, n, [], [], [])

    def sync(self):
        self.timer.probe.item()

    def result(self):
        self.sync()  # its kernels are compiled then, and the call is a replay of them
        return self.compiled(*self.tensors).tobytes()

    def drop(self):
        self.timer.device.drop(self.handle)
        self.compiled.reset()


class Add:
    """One eager addition that is read back."""
    per = 1

    def __init__(self, x, w):
        self.x, self.w = x, w

    def run(self, n):
        for _ in range(n):
            (self.x + self.w).tobytes()

    def result(self):
        return (self.x + self.w).tobytes()

    def sync(self):
        pass

    def drop(self):
        self.x = self.w = None
