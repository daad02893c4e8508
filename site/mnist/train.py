"""Trains a small convolutional network on handwritten digits, in this browser tab. The page calls train(), then predict()."""
import json
import random
import time

import pyborch as torch
from pyborch import nn
from pyborch.io import safetensors

EPOCHS, BATCH, RATE, SMOOTHING = 10, 100, 1e-2, 0.1
TRAIN = 8000
MOVED = [(down, right) for down in range(3) for right in range(3)]  # where a 28 x 28 window lies in an image with a frame of 1


class Net(nn.Module):
    """Three convolutions and a linear layer: 21,000 weights."""

    def __init__(self):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(1, 8, 5, stride=2, padding=2), nn.BatchNorm2d(8)
        self.conv2, self.norm2 = nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16)
        self.conv3, self.norm3 = nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32)
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(32 * 7 * 7, 10)

    def forward(self, x):
        x = self.norm1(self.conv1(x)).relu()
        x = self.norm2(self.conv2(x)).relu()
        x = self.norm3(self.conv3(x)).relu()
        return self.head(self.drop(x.flatten(1)))


def load_digits(data):
    """(images, labels) on the device: images (N, 1, 28, 28) from 0 to 1."""
    count = len(data) // 785
    records = torch.frombuffer(data, dtype=torch.uint8).reshape(count, 785)
    return records[:, 1:].to(torch.float32).reshape(count, 1, 28, 28) / 255, records[:, 0].to(torch.int64)


class Demo:
    """The network, its data, and what the page may ask for. ``report`` takes a dict of news."""

    def __init__(self, report):
        self.report, self.model = report, None

    async def train(self, data, limit=0):
        """Train, test, and report the result; ``limit`` ends after that many steps."""
        await torch.init("webgpu")
        torch.manual_seed(0)
        random.seed(0)
        images, labels = load_digits(data)
        framed = nn.functional.pad(images[:TRAIN], (1, 1, 1, 1))
        self.model = model = Net()
        optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.02)
        steps = limit or EPOCHS * TRAIN // BATCH
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps + 1, pct_start=0.2)
        adapter = torch.devices.backend().name
        self.report({"kind": "start", "adapter": adapter, "steps": steps})

        @torch.compile
        def step(x, y):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y, label_smoothing=SMOOTHING)
            loss.backward()
            optimizer.step()
            return loss

        begun, order = time.time(), torch.randperm(TRAIN)
        for n in range(steps):
            at = n * BATCH % TRAIN
            if at == 0:
                order = torch.randperm(TRAIN)
            chosen = order[at:at + BATCH]
            quarters = framed.index_select(0, chosen).chunk(4)  # each quarter of the batch a little moved
            x = torch.cat([part[:, :, down:down + 28, right:right + 28] for part, (down, right) in zip(quarters, random.choices(MOVED, k=4))])
            loss = step(x, labels.index_select(0, chosen))
            schedule.step()
            if n % 5 == 4 or n + 1 == steps:
                self.report({"kind": "step", "step": n + 1, "loss": await loss.item_async(), "seconds": time.time() - begun})
        seconds = time.time() - begun
        await self.test(images[TRAIN:], labels[TRAIN:], seconds, steps, adapter)

    async def test(self, images, labels, seconds, steps, adapter):
        """Report accuracy and confusions on digits that the network has not seen, its weights, and that they load into a fresh network."""
        logits = self.logits(self.model, images)
        truth, guess = await labels.tolist_async(), await logits.argmax(1).tolist_async()
        confusion = [[0] * 10 for _ in range(10)]
        for t, g in zip(truth, guess):
            confusion[t][g] += 1
        weights = await safetensors.save_async(self.model.state_dict())
        fresh = Net()
        fresh.load_state_dict(safetensors.load(weights))
        reloaded = await (self.logits(fresh, images) - logits).abs().max().item_async()
        self.report({"kind": "done", "test_accuracy": sum(confusion[d][d] for d in range(10)) / len(truth), "train_seconds": round(seconds, 1),
                     "steps": steps, "adapter": adapter, "confusion": confusion, "weights": weights.hex(), "reloaded_max_abs_diff": reloaded,
                     "logits": (await logits.tobytes_async()).hex()})

    @staticmethod
    def logits(model, images):
        """The network's answers in eval mode, some hundred digits at a time."""
        model.eval()
        with torch.no_grad():
            return torch.cat([model(part) for part in images.split(250)])

    async def predict(self, pixels):
        """The chances of the ten classes for 784 values from 0 to 1."""
        self.model.eval()
        with torch.no_grad():
            chances = self.model(torch.tensor(list(pixels)).reshape(1, 1, 28, 28)).softmax(1)
        return json.dumps((await chances.tolist_async())[0])
