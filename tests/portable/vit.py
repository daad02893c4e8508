"""A vision transformer: patches by a strided convolution, a class token, encoder layers, label-smoothed classes."""
import torch
import torch.nn as nn
from numbers_alike import fill, uniform

SIDE, PATCH, WIDTH, CLASSES, BATCH = 16, 4, 32, 4, 12


class ViT(nn.Module):
    def __init__(self, depth=2, heads=4):
        super().__init__()
        self.patchify = nn.Conv2d(3, WIDTH, PATCH, stride=PATCH)
        self.cls = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.positions = nn.Parameter(torch.zeros(1, 1 + (SIDE // PATCH) ** 2, WIDTH))
        self.blocks = nn.ModuleList([nn.TransformerEncoderLayer(WIDTH, heads, 2 * WIDTH, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
                                     for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        x = self.patchify(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], dim=1) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x[:, 0]))


def quadrants():
    """Noise with one bright quadrant; which one is the class."""
    x, y = uniform(7, BATCH, 3, SIDE, SIDE), torch.arange(BATCH) % CLASSES
    half = SIDE // 2
    for i in range(BATCH):
        row, column = divmod(i % CLASSES, 2)
        x[i, :, row * half:(row + 1) * half, column * half:(column + 1) * half] += 1.0
    return x, y


def main(wrap=lambda step: step):
    model = fill(ViT())
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda i: min(1.0, (i + 1) / 4))
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)

    @wrap
    def step(x, y):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    x, y = quadrants()
    for _ in range(8):
        loss = step(x, y)
        scheduler.step()
    return loss.item()


if __name__ == "__main__":
    print(main())
