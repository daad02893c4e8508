"""A neural ordinary differential equation: Runge and Kutta's steps through a network that learns a spiral."""
import torch
import torch.nn as nn
from numbers_alike import fill, uniform

STEPS, DT = 5, 0.2


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 20), nn.Tanh(), nn.Linear(20, 2))

    def forward(self, t, y):
        return self.net(y ** 3)


class Spiral(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("A", torch.tensor([[-0.1, 2.0], [-2.0, -0.1]]))

    def forward(self, t, y):
        return (y ** 3) @ self.A


def odeint(field, y):
    """The path from ``y`` at STEPS + 1 times, by the classical rule of fourth order."""
    path, t = [y], 0.0
    for _ in range(STEPS):
        k1 = field(t, y)
        k2 = field(t + DT / 2, y + DT / 2 * k1)
        k3 = field(t + DT / 2, y + DT / 2 * k2)
        k4 = field(t + DT, y + DT * k3)
        y = y + DT / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        t += DT
        path.append(y)
    return torch.stack(path)


def main(wrap=lambda step: step):
    start = uniform(41, 16, 2)
    with torch.no_grad():
        truth = odeint(Spiral(), start)
    field = fill(Field())
    optimizer = torch.optim.Adam(field.parameters(), lr=0.02)

    @wrap
    def step(start, truth):
        optimizer.zero_grad()
        loss = (odeint(field, start) - truth).abs().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    for _ in range(10):
        loss = step(start, truth)
    return loss.item()


if __name__ == "__main__":
    print(main())
