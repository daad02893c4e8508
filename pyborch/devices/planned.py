"""A device that plans for WebGPU and runs nothing: what a GPU would be told can be looked at without one."""
from __future__ import annotations

from . import Backend, Form, Storage
from .memory import size_class


class Planned(Backend):
    """``plans`` are those made for it, in order. Its limits are what WebGPU promises everywhere, with float16."""
    type, name, has_f16 = "webgpu", "planned", True
    software = False
    matrices: frozenset = frozenset()
    limits = {"maxStorageBuffersPerShaderStage": 10, "maxComputeInvocationsPerWorkgroup": 256, "maxComputeWorkgroupSizeX": 256,
              "maxComputeWorkgroupStorageSize": 32768, "maxStorageBufferBindingSize": 1 << 30}

    def __init__(self):
        super().__init__()
        self.plans, self.idle = [], []

    def make_form(self, dtype, numel):
        return Form(self, dtype, numel, size_class(numel * 4), self.idle)

    def allocate(self, dtype, numel):
        return Storage(self.form(dtype, numel), 0)

    def prepare(self, plan):
        self.plans.append(plan)

    def launch(self, plan, storages, scalars):
        return [self.allocate(f.dtype, f.numel) for f in plan.forms]

    def nothing(self, *args):
        """What only a device that runs something has to do."""

    write = run = forget = nothing
