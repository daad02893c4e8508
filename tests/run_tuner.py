"""The tuner on WebGPU: a training step whose products are timed between its calls, before and after it is recorded anew."""
import json
import sys

import pyborch as torch
import pyborch.devices
from pyborch import nn, tuner
from pyborch.nn import functional as F

torch.set_default_device("webgpu")
device = pyborch.devices.backend()
problems = []


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(3, 8, 3), nn.Linear(8 * 36, 5)

    def forward(self, x):
        return self.fc(F.relu(self.conv(x)).flatten(1))


def training(steps=None):
    """Losses of so many eager steps; else of compiled ones until their products are tuned and 10 more, and the compiled function."""
    torch.manual_seed(5)
    model, x, y = Net(), torch.randn(4, 3, 8, 8), torch.tensor([0, 1, 2, 3])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.005)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    if steps is not None:
        return [step(x, y).item() for _ in range(steps)]
    run, losses, left = torch.compile(step, mode="max-autotune"), [], 10
    while left and len(losses) < 2000:
        losses.append(run(x, y).item())
        left -= run._tuning is None and bool(run.programs)
    return losses, run


def compare(losses):
    wanted = training(len(losses))
    if not max(abs(a - b) for a, b in zip(wanted, losses)) < 1e-4:
        problems.append(f"losses {losses} differ from {wanted}")


found, run = training()
compare(found)
if len(run.programs) != 1 or run._tuning is not None:
    problems.append(f"{len(run.programs)} programs, tuning {run._tuning}")
print(f"tuned in {len(found) - 10} steps")
text = tuner.export()
table = json.loads(text)["products"]
print(f"on {device.name}: {len(table)} products", *(f"  {key}: {choice}" for key, choice in table.items()), sep="\n")
if len(table) < 4 or json.loads(device.wait(device.bridge.recall(f"tuned {device.name}"))) != table:
    problems.append(f"not remembered: {text}")
again, run = training()
compare(again)
if len(again) > 20:
    problems.append(f"a second function took {len(again)} steps")
tuner.clear()
if tuner.load(text) != len(table) or device.tuned != table:
    problems.append("what was exported does not come back")
before = device.stats()["programs"]
del run, again
import gc  # noqa: E402

gc.collect()
if device.stats()["programs"] > before:
    problems.append("programs are left over")
print(*problems, sep="\n")
sys.exit(1 if problems else 0)
