"""int8 layers on WebGPU: the numbers of the cpu device, with the kernels of software adapters and of hardware adapters, eager and compiled."""
import sys

import pyborch as torch
import pyborch.devices
from pyborch import nn
from pyborch.ao import quantization
from pyborch.nn import functional as F
from pyborch.ops import blocks

torch.set_default_device("cpu")      # also beside a hardware adapter
torch.manual_seed(3)
problems, count = [], 0
LAYERS = [(nn.Conv2d(3, 5, 3, padding=1), (2, 3, 7, 8)), (nn.Conv2d(8, 6, (3, 2), stride=2, padding=(2, 1), dilation=2), (2, 8, 9, 9)),
          (nn.Conv2d(16, 8, 3, groups=2, bias=False), (1, 16, 6, 5)), (nn.Conv2d(32, 40, 3, padding=1), (3, 32, 11, 11)), (nn.Linear(10, 7), (3, 4, 10)),
          (nn.Linear(300, 70), (33, 300)), (nn.Linear(2000, 9, bias=False), (5, 2000))]


class Net(nn.Module):
    """A convolution between others, with a shortcut."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.Conv2d(12, 12, 3, padding=1)
        self.third, self.fc = nn.Conv2d(12, 20, 3, 2), nn.Linear(20, 4)

    def forward(self, x):
        y = F.relu(self.norm(self.first(x)))
        return self.fc(F.relu(self.third(F.relu(self.second(y) + y))).mean((2, 3)))


def compare(name, found, wanted, bound=1e-5):
    global count
    count += wanted.numel()
    worst = ((found.cpu() - wanted).abs() / (1 + wanted.abs())).max().item()
    if not worst < bound:
        problems.append(f"{name}: {worst}")


def converted(model, x):
    prepared = quantization.prepare(model.eval())
    with torch.no_grad():
        prepared(x)
        return quantization.convert(prepared)


torch.set_default_device("webgpu")
device = pyborch.devices.backend()
torch.set_default_device("cpu")
with torch.no_grad():
    for software in (True, False):
        device.software = software
        blocks.MANY = 1 << 16 if software else 0       # outputs of a thread: one, four
        torch.autograd.forget_plans()
        for layer, shape in LAYERS:
            x = torch.randn(*[n for n in shape])
            made = converted(layer, x)
            wanted = made(x)
            compare(f"{layer}", made.to("webgpu")(x.to("webgpu")), wanted)
        x = torch.randn(3, 1, 13, 12)
        net = converted(Net(), x)
        wanted = net(x)
        step, y = torch.compile(net.to("webgpu")), x.to("webgpu")
        for _ in range(3):
            compare("compiled", step(y), wanted, 1e-4)
        labels = [s.kernel.label for s, _, _ in step.programs[-1].lowered]
        if any(label.endswith("relu+_quantize") for label in labels) is software:
            problems.append(f"software {software}: {labels}")
        for config in (quantization.Int4WeightOnlyConfig(32), quantization.Int4WeightOnlyConfig(64), quantization.Int8WeightOnlyConfig()):
            for inputs, outputs, bias in ((64, 7, True), (320, 33, False), (2048, 5, True)):
                layer = nn.Sequential(nn.Linear(inputs, outputs, bias))
                quantization.quantize_(layer, config)
                for rows in (1, 3, 4, 21):
                    x = torch.randn(rows, inputs)
                    wanted = layer.to("cpu")(x)
                    made, y = layer.to("webgpu"), x.to("webgpu")
                    compare(f"{config.bits} bits {rows} {inputs} {outputs}", made(y), wanted)
                    run = torch.compile(lambda y, made=made: torch.relu(made(y)) + 1)
                    for _ in range(2):
                        compare(f"compiled {config.bits} bits {rows} {inputs} {outputs}", run(y), torch.relu(wanted) + 1)
        for kind, size in (("Q4_0", 18), ("Q4_1", 20), ("Q8_0", 34)):
            data = bytes(b for n in range(15) for b in (n * 8, 0x38, *(n + 5 * k & 255 if k > 1 or kind != "Q4_1" else k * 0x34 for k in range(size - 2))))
            x = torch.randn(3, 96)
            made = [quantization.BlockLinear.from_bytes(data, kind, 96, 5, device=where) for where in ("cpu", "webgpu")]
            compare(kind, made[1](x.to("webgpu")), made[0](x))
            compare(f"{kind} floats", made[1].dequantize(), made[0].dequantize())
print(f"on {device.name}: {count} numbers")
print(*problems, sep="\n")
sys.exit(1 if problems else 0)
