"""A multilayer perceptron that learns two moons, with a DataLoader, weight decay and a learning-rate schedule."""
import math

import torch
import torch.nn as nn
from numbers_alike import draws, fill, uniform
from torch.utils.data import DataLoader, TensorDataset


class MLP(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 2))

    def forward(self, x):
        return self.net(x)


def moons(count):
    """Points on two half circles, and which of them."""
    angles, labels = draws(3, count), [i % 2 for i in range(count)]
    points = [[math.cos(math.pi * a), math.sin(math.pi * a)] if k == 0 else [1 - math.cos(math.pi * a), 0.5 - math.sin(math.pi * a)]
              for a, k in zip(angles, labels)]
    return torch.tensor(points) + 0.1 * uniform(4, count, 2), torch.tensor(labels)


def main(wrap=lambda step: step):
    points, labels = moons(128)
    loader = DataLoader(TensorDataset(points, labels), batch_size=32, shuffle=False)
    model = fill(MLP())
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=6)

    @wrap
    def step(x, y):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    for _epoch in range(6):
        total = 0.0
        for x, y in loader:
            total += step(x, y).item()
        scheduler.step()
    return total / len(loader)


if __name__ == "__main__":
    print(main())
