"""Contrastive learning after SimCLR: two noisy views of a point attract, all others repel."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from numbers_alike import fill, normal, uniform

BATCH, TEMPERATURE = 16, 0.5


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(10, 32), nn.LayerNorm(32), nn.GELU())
        self.projector = nn.Linear(32, 8, bias=False)

    def forward(self, x):
        return F.normalize(self.projector(self.backbone(x)), dim=-1)


def nt_xent(z1, z2):
    z = torch.cat([z1, z2])
    similarity = z @ z.t() / TEMPERATURE
    similarity = similarity.masked_fill(torch.eye(2 * BATCH, dtype=torch.bool), float("-inf"))
    targets = torch.cat([torch.arange(BATCH) + BATCH, torch.arange(BATCH)])
    return F.cross_entropy(similarity, targets)


def main(wrap=lambda step: step):
    model = fill(Encoder())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9, weight_decay=1e-4)
    points = uniform(81, BATCH, 10)

    @wrap
    def step(a, b):
        optimizer.zero_grad()
        loss = nt_xent(model(a), model(b))
        loss.backward()
        optimizer.step()
        return loss.detach()

    for i in range(15):
        loss = step(points + 0.1 * normal(90 + i % 3, BATCH, 10), points + 0.1 * normal(95 + i % 3, BATCH, 10))
    return loss.item()


if __name__ == "__main__":
    print(main())
