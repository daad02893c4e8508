"""A generative adversarial network whose generator learns points on a ring."""
import math

import torch
import torch.nn as nn
from numbers_alike import draws, fill, normal

BATCH, LATENT = 32, 4


def ring(seed):
    angles = draws(seed, BATCH)
    return torch.tensor([[2 * math.cos(2 * math.pi * a), 2 * math.sin(2 * math.pi * a)] for a in angles])


def main(wrap=lambda step: step):
    generator = fill(nn.Sequential(nn.Linear(LATENT, 24), nn.LeakyReLU(0.2), nn.Linear(24, 2)), seed=1)
    discriminator = fill(nn.Sequential(nn.Linear(2, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1)), seed=20)
    criterion = nn.BCEWithLogitsLoss()
    optimizer_g = torch.optim.Adam(generator.parameters(), lr=0.01, betas=(0.5, 0.999))
    optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=0.01, betas=(0.5, 0.999))

    @wrap
    def step(real, noise):
        optimizer_d.zero_grad()
        fake = generator(noise)
        loss_d = (criterion(discriminator(real), torch.ones(BATCH, 1)) + criterion(discriminator(fake.detach()), torch.zeros(BATCH, 1)))
        loss_d.backward()
        optimizer_d.step()
        optimizer_g.zero_grad()
        loss_g = criterion(discriminator(fake), torch.ones(BATCH, 1))
        loss_g.backward()
        optimizer_g.step()
        return loss_d.detach(), loss_g.detach()

    for i in range(16):
        loss_d, loss_g = step(ring(i % 4), normal(100 + i % 4, BATCH, LATENT))
    return (loss_d + loss_g).item()


if __name__ == "__main__":
    print(main())
