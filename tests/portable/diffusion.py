"""Denoising diffusion of points on a curve: a network predicts the noise; a few steps back draw new points."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from numbers_alike import draws, fill, integers, normal

T, BATCH = 20, 64
betas = torch.linspace(1e-3, 0.2, T)
alphas_bar = torch.cumprod(1 - betas, dim=0)


class Denoiser(nn.Module):
    def __init__(self, width=32, frequencies=4):
        super().__init__()
        self.register_buffer("frequencies", 2.0 ** torch.arange(frequencies) * math.pi / T)
        self.net = nn.Sequential(nn.Linear(2 + 2 * frequencies, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2))

    def forward(self, x, t):
        angles = t[:, None].float() * self.frequencies
        return self.net(torch.cat([x, angles.sin(), angles.cos()], dim=-1))


def curve(seed):
    return torch.tensor([[2 * v - 1, math.sin(3 * (2 * v - 1))] for v in draws(seed, BATCH)])


def main(wrap=lambda step: step):
    model = fill(Denoiser())
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)

    @wrap
    def step(x, t, noise):
        optimizer.zero_grad()
        a = alphas_bar[t].unsqueeze(1)
        loss = F.mse_loss(model(a.sqrt() * x + (1 - a).sqrt() * noise, t), noise)
        loss.backward()
        optimizer.step()
        return loss.detach()

    for i in range(16):
        loss = step(curve(i % 4), integers(200 + i % 4, T, BATCH), normal(300 + i % 4, BATCH, 2))
    with torch.no_grad():
        x = normal(400, 16, 2)
        for i in reversed(range(T)):
            eps = model(x, torch.full((16,), i))
            x = (x - betas[i] / (1 - alphas_bar[i]).sqrt() * eps) / (1 - betas[i]).sqrt()
    return loss.item() + 0.1 * x.abs().mean().item()


if __name__ == "__main__":
    print(main())
