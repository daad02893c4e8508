"""A variational autoencoder of binary patterns; the noise of its samples comes as an argument."""
import torch
from numbers_alike import fill, integers, normal
from torch import nn
from torch.nn import functional as F

PIXELS, LATENT, BATCH = 16, 2, 32


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(PIXELS, 24)
        self.fc21 = nn.Linear(24, LATENT)
        self.fc22 = nn.Linear(24, LATENT)
        self.fc3 = nn.Linear(LATENT, 24)
        self.fc4 = nn.Linear(24, PIXELS)

    def encode(self, x):
        h = F.relu(self.fc1(x))
        return self.fc21(h), self.fc22(h)

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x, noise):
        mu, logvar = self.encode(x)
        return self.decode(mu + noise * torch.exp(0.5 * logvar)), mu, logvar


def patterns():
    """Four patterns, each with an eighth of its pixels flipped."""
    kinds = (integers(1, 2, 4, PIXELS) == 1)[torch.arange(BATCH) % 4]
    flips = integers(2, 8, BATCH, PIXELS) == 0
    return (kinds ^ flips).float()


def main(wrap=lambda step: step):
    model = fill(VAE())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    x = patterns()

    @wrap
    def step(x, noise):
        optimizer.zero_grad()
        restored, mu, logvar = model(x, noise)
        reconstruction = F.binary_cross_entropy(restored, x, reduction="sum")
        divergence = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        loss = (reconstruction + divergence) / BATCH
        loss.backward()
        optimizer.step()
        return loss.detach()

    for i in range(20):
        loss = step(x, normal(50 + i % 4, BATCH, LATENT))
    return loss.item()


if __name__ == "__main__":
    print(main())
