"""LoRA: a frozen network is adapted to a rotated task through low-rank matrices, which are then merged into its weights."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from numbers_alike import fill, uniform


class LoRALinear(nn.Module):
    def __init__(self, base, rank=2, alpha=4.0):
        super().__init__()
        self.base, self.scale = base, alpha / rank
        for p in base.parameters():
            p.requires_grad = False
        self.lora_A = nn.Parameter(torch.empty(rank, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + self.scale * F.linear(F.linear(x, self.lora_A), self.lora_B)

    @torch.no_grad()
    def merged(self):
        layer = nn.Linear(self.base.in_features, self.base.out_features)
        layer.weight.copy_(self.base.weight + self.scale * self.lora_B @ self.lora_A)
        layer.bias.copy_(self.base.bias)
        return layer


def main(wrap=lambda step: step):
    model = fill(nn.Sequential(nn.Linear(8, 32), nn.SiLU(), nn.Linear(32, 4)))
    model[0], model[2] = LoRALinear(model[0]), LoRALinear(model[2])
    with torch.no_grad():
        for i in (0, 2):
            model[i].lora_A.copy_(uniform(30 + i, *model[i].lora_A.shape) * 0.5)
    trainable = [p for p in model.parameters() if p.requires_grad]
    assert sum(p.numel() for p in trainable) == 2 * (8 + 32) + 2 * (32 + 4)
    optimizer = torch.optim.Adam(trainable, lr=0.02)
    x = uniform(5, 64, 8)
    y = torch.tanh(x @ uniform(6, 8, 4))

    @wrap
    def step(x, y):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    for _ in range(25):
        step(x, y)
    plain = nn.Sequential(model[0].merged(), model[1], model[2].merged())
    with torch.no_grad():
        assert torch.allclose(plain(x), model(x), atol=1e-5)
        return F.mse_loss(plain(x), y).item()


if __name__ == "__main__":
    print(main())
