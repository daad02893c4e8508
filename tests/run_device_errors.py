"""What a GPU device refuses comes as an exception that names it, and work goes on afterwards."""
import pyborch as torch
import pyborch.devices
from pyborch import kernels
from pyborch.ops.registry import Op

torch.set_default_device("webgpu")
backend = pyborch.devices.backend()


def fails(kind, words, call):
    try:
        call()
    except kind as error:
        assert words in str(error), str(error)
        return
    raise AssertionError(f"no {kind.__name__} about {words}")


def broken_run(plan, x, y):
    plan.dispatch(kernels.Kernel("broken", "@compute @workgroup_size(1) fn main() { not WGSL }"), [], [], 1)


BROKEN = Op("broken", lambda x: (x.shape, x.dtype), broken_run, None)
x = torch.ones(3)
fails(torch.DeviceError, "broken", lambda: torch.autograd.apply(BROKEN, x).tolist())
assert (x + 1).tolist() == [2, 2, 2]
fails(torch.DeviceError, "in one buffer", lambda: torch.zeros(1 << 40))
fails(TypeError, "float64", lambda: torch.zeros(2, dtype=torch.float64))
fails(OverflowError, "int64", lambda: torch.tensor([1 << 40]))
fails(OverflowError, "int64", lambda: torch.full((2,), 1 << 40))
fails(torch.DeviceError, "numpy", lambda: torch.ones(1, device="cpu"))
assert (x * 2).tolist() == [2, 2, 2]
backend.bridge.destroy()
fails(torch.DeviceLost, "lost", lambda: (x + 1).tolist())
torch.set_default_device("webgpu")
assert (torch.ones(2) + 1).tolist() == [2, 2]
print("ok")
