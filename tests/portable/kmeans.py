"""k-means on three clouds of points: distances, nearest centres, means by index_add; no gradients."""
import torch
from numbers_alike import normal

CLOUDS, EACH = 3, 40


@torch.no_grad()
def main(wrap=lambda step: step):
    centers = torch.tensor([[0.0, 0.0], [4.0, 1.0], [-2.0, 4.0]])
    points = (centers.repeat_interleave(EACH, dim=0) + normal(5, CLOUDS * EACH, 2))
    means = points[[0, 3, 90]].clone()

    @wrap
    def step(points, means):
        distances = ((points[:, None] - means[None]) ** 2).sum(-1)
        nearest, which = distances.min(dim=1)
        sums = torch.zeros_like(means).index_add_(0, which, points)
        counts = torch.zeros(CLOUDS).index_add_(0, which, torch.ones(len(points)))
        return sums / counts.clamp(min=1).unsqueeze(1), nearest.mean()

    for _ in range(10):
        moved, inertia = step(points, means)
        if torch.allclose(moved, means, atol=1e-6):
            break
        means = moved
    return inertia.item()


if __name__ == "__main__":
    print(main())
