"""One small network, its starting weights, its data and its order of steps, in plain Python: PyTorch and pyborch must draw the same loss curve."""
import random

STEPS, BATCH, SIDE = 50, 16, 14


def numbers(name, count, scale):
    """Reproducible numbers in (-scale, scale), exact in float32."""
    generator = random.Random(name)
    return [round((2 * generator.random() - 1) * scale * 65536) / 65536 for _ in range(count)]


def build(torch):
    nn = torch.nn
    model = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 12, 3, stride=2, padding=1),
                          nn.BatchNorm2d(12), nn.ReLU(), nn.Flatten(), nn.Linear(12 * 16, 32), nn.ReLU(), nn.Linear(32, 10))
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() > 1:
                fan_in = p.numel() // p.shape[0]
                p.copy_(torch.tensor(numbers(name, p.numel(), fan_in ** -0.5)).reshape(tuple(p.shape)))
            elif "bias" in name:
                p.zero_()
    return model


def batches(torch):
    """The batches of digits-like noise: class k brightens row k."""
    found = []
    for b in range(8):
        labels = [(7 * i + 3 * b) % 10 for i in range(BATCH)]
        pixels = numbers(f"batch {b}", BATCH * SIDE * SIDE, 1.0)
        for i, label in enumerate(labels):
            for x in range(SIDE):
                pixels[(i * SIDE + label) * SIDE + x] += 1.0
        found.append((torch.tensor(pixels).reshape(BATCH, 1, SIDE, SIDE), torch.tensor(labels)))
    return found


def losses(torch, compiled=False):
    """The losses of 50 steps of AdamW."""
    model, data = build(torch), batches(torch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)

    def step(x, t):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), t)
        loss.backward()
        optimizer.step()
        return loss
    if compiled:
        step = torch.compile(step)
    return [step(*data[i % len(data)]).item() for i in range(STEPS)]
