"""Style transfer: a picture's pixels are optimised to have one picture's features and another one's Gram matrices."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from numbers_alike import fill, uniform

SIDE = 16


def gram(features):
    b, c, h, w = features.shape
    flat = features.reshape(b, c, h * w)
    return torch.bmm(flat, flat.transpose(1, 2)) / (c * h * w)


def features_of(layers, x):
    found = []
    for layer in layers:
        x = F.relu(layer(x))
        found.append(x)
        x = F.avg_pool2d(x, 2)
    return found


def main(wrap=lambda step: step):
    layers = fill(nn.ModuleList([nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 12, 3, padding=1)])).requires_grad_(False)
    content, style = uniform(11, 1, 3, SIDE, SIDE), uniform(12, 1, 3, SIDE, SIDE).sign() * 0.7
    wanted_content = features_of(layers, content)[-1]
    wanted_style = [gram(f) for f in features_of(layers, style)]
    picture = content.clone().requires_grad_(True)
    optimizer = torch.optim.Adam([picture], lr=0.05)

    @wrap
    def step():
        optimizer.zero_grad()
        found = features_of(layers, picture)
        content_loss = F.mse_loss(found[-1], wanted_content)
        style_loss = sum(F.mse_loss(gram(f), w) for f, w in zip(found, wanted_style))
        smoothness = (picture[..., 1:] - picture[..., :-1]).abs().mean() + (picture[..., 1:, :] - picture[..., :-1, :]).abs().mean()
        loss = content_loss + 100.0 * style_loss + 0.01 * smoothness
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            picture.clamp_(-1, 1)
        return loss.detach()

    for _ in range(15):
        loss = step()
    return loss.item()


if __name__ == "__main__":
    print(main())
