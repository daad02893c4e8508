"""Logistic regression by plain gradient descent on tensors, without torch.nn; precision and recall at the end."""
import torch
from numbers_alike import normal, uniform


def main(wrap=lambda step: step):
    x = normal(21, 100, 5)
    truth = torch.tensor([1.5, -2.0, 0.5, 0.0, 1.0])
    y = (x @ truth + 0.3 * normal(22, 100) > 0.2).float()
    w = (0.01 * uniform(23, 5)).requires_grad_()
    b = torch.zeros(1, requires_grad=True)

    @wrap
    def step(x, y):
        p = torch.sigmoid(x @ w + b)
        loss = -(y * torch.log(p + 1e-7) + (1 - y) * torch.log(1 - p + 1e-7)).mean() + 1e-3 * w.dot(w)
        gw, gb = torch.autograd.grad(loss, [w, b])
        with torch.no_grad():
            w.sub_(0.5 * gw)
            b.sub_(0.5 * gb)
        return loss.detach()

    for _ in range(40):
        loss = step(x, y)
    with torch.no_grad():
        guess = x @ w + b > 0
        hits = (guess & (y == 1)).sum().item()
        precision, recall = hits / guess.sum().item(), hits / (y == 1).sum().item()
    assert precision > 0.9 and recall > 0.9
    return loss.item()


if __name__ == "__main__":
    print(main())
