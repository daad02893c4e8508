"""A denoising autoencoder of sine waves through a bottleneck of three numbers."""
import math

import torch
from numbers_alike import draws, fill, normal
from torch import nn, optim

LENGTH = 24


class Autoencoder(nn.Module):
    def __init__(self, hidden=20, code=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(LENGTH, hidden), nn.Tanh(), nn.Linear(hidden, code))
        self.decoder = nn.Sequential(nn.Linear(code, hidden), nn.Tanh(), nn.Linear(hidden, LENGTH))

    def forward(self, x):
        code = self.encoder(x)
        return self.decoder(code), code


def waves(seed, count):
    phases = draws(seed, count)
    return torch.tensor([[math.sin(2 * math.pi * (i / LENGTH + p)) for i in range(LENGTH)] for p in phases])


def main(wrap=lambda step: step):
    model = fill(Autoencoder())
    optimizer = optim.RMSprop(model.parameters(), lr=5e-3, alpha=0.9)
    clean = waves(1, 32)

    @wrap
    def step(noisy, clean):
        optimizer.zero_grad()
        restored, code = model(noisy)
        loss = nn.functional.mse_loss(restored, clean) + 1e-3 * code.abs().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.detach()

    for i in range(25):
        loss = step(clean + 0.1 * normal(10 + i % 3, 32, LENGTH), clean)
    return loss.item()


if __name__ == "__main__":
    print(main())
