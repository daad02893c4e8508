"""Matrix factorisation: embeddings of users and items with biases, from part of their ratings."""
import torch
from numbers_alike import draws, uniform
from torch import nn

USERS, ITEMS, RANK = 20, 30, 4


class Factors(nn.Module):
    def __init__(self):
        super().__init__()
        self.users, self.items = nn.Embedding(USERS, RANK), nn.Embedding(ITEMS, RANK)
        self.user_bias, self.item_bias = nn.Embedding(USERS, 1), nn.Embedding(ITEMS, 1)

    def forward(self, u, i):
        dot = (self.users(u) * self.items(i)).sum(-1)
        return dot + self.user_bias(u).squeeze(-1) + self.item_bias(i).squeeze(-1)


def main(wrap=lambda step: step):
    model = Factors()
    with torch.no_grad():
        for k, (name, p) in enumerate(model.named_parameters()):
            p.copy_(0.3 * uniform(60 + k, *p.shape)) if "bias" not in name else p.zero_()
    ratings = uniform(70, USERS, 2) @ uniform(71, 2, ITEMS) + uniform(72, USERS, 1)
    known = torch.tensor([v < 0.4 for v in draws(73, USERS * ITEMS)]).reshape(USERS, ITEMS)
    u, i = known.nonzero(as_tuple=True)
    r = ratings[known]
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.2)

    @wrap
    def step(u, i, r):
        optimizer.zero_grad()
        loss = ((model(u, i) - r) ** 2).mean() + 1e-3 * (model.users(u).pow(2).mean() + model.items(i).pow(2).mean())
        loss.backward()
        optimizer.step()
        return loss.detach()

    for _ in range(25):
        loss = step(u, i, r)
    return loss.item()


if __name__ == "__main__":
    print(main())
