"""A mixture density network: several answers to one question, by the logarithm of a sum of Gaussians."""
import math

import torch
import torch.nn as nn
from numbers_alike import draws, fill, normal

PARTS = 3


class MixtureDensity(nn.Module):
    def __init__(self, hidden=20):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(1, hidden), nn.Tanh())
        self.pi, self.mu, self.log_sigma = (nn.Linear(hidden, PARTS) for _ in range(3))

    def forward(self, x):
        h = self.trunk(x)
        return torch.log_softmax(self.pi(h), dim=-1), self.mu(h), self.log_sigma(h).clamp(-5, 5)


def nll(log_pi, mu, log_sigma, y):
    z = (y - mu) / log_sigma.exp()
    return -torch.logsumexp(log_pi - 0.5 * z ** 2 - log_sigma - 0.5 * math.log(2 * math.pi), dim=-1).mean()


def main(wrap=lambda step: step):
    y = torch.tensor([[2 * v - 1] for v in draws(51, 96)])
    x = y + 0.3 * torch.sin(2 * math.pi * y) + 0.03 * normal(52, 96, 1)
    model = fill(MixtureDensity())
    with torch.no_grad():
        model.mu.bias.copy_(torch.tensor([-0.5, 0.0, 0.5]))
    optimizer = torch.optim.NAdam(model.parameters(), lr=0.02)

    @wrap
    def step(x, y):
        optimizer.zero_grad()
        loss = nll(*model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    for _ in range(20):
        loss = step(x, y)
    return loss.item()


if __name__ == "__main__":
    print(main())
