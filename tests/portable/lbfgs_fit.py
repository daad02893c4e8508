"""A damped oscillation fitted to noisy samples with LBFGS and its closure."""
import torch
from numbers_alike import normal


def curve(t, p):
    amplitude, decay, frequency, phase = p
    return amplitude * torch.exp(-decay * t) * torch.cos(frequency * t + phase)


def main(wrap=lambda step: step):
    t = torch.linspace(0, 4, 60)
    y = curve(t, torch.tensor([2.0, 0.5, 3.0, 0.4])) + 0.02 * normal(31, 60)
    p = torch.tensor([1.5, 0.3, 2.8, 0.0], requires_grad=True)
    optimizer = torch.optim.LBFGS([p], lr=1.0, max_iter=15, history_size=8, line_search_fn="strong_wolfe")

    @wrap
    def measure(t, y):
        optimizer.zero_grad()
        loss = ((curve(t, p) - y) ** 2).mean()
        loss.backward()
        return loss.detach()

    for _ in range(2):
        optimizer.step(lambda: measure(t, y))
    final = ((curve(t, p) - y) ** 2).mean()
    assert abs(p[2].item() - 3.0) < 0.05
    return final.item()


if __name__ == "__main__":
    print(main())
