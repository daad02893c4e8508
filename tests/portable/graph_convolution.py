"""A graph convolutional network that tells two communities apart from two labelled nodes; edges by index_add."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from numbers_alike import draws, fill, uniform

NODES = 24


class GraphConv(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x, source, target, norm):
        x = self.linear(x)
        return torch.zeros_like(x).index_add(0, target, x[source] * norm[:, None])


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = GraphConv(8, 16), GraphConv(16, 2)

    def forward(self, x, *edges):
        return self.conv2(F.relu(self.conv1(x, *edges)), *edges)


def graph():
    """Edges within halves are likely, between them rare; self-loops; symmetric normalisation."""
    v, pairs = iter(draws(61, NODES * NODES)), [(i, i) for i in range(NODES)]
    for i in range(NODES):
        for j in range(i):
            if next(v) < (0.4 if (i < NODES // 2) == (j < NODES // 2) else 0.04):
                pairs += [(i, j), (j, i)]
    source, target = torch.tensor(pairs).t()
    degree = torch.zeros(NODES).index_add(0, target, torch.ones(len(target)))
    return source, target, (degree[source] * degree[target]).rsqrt()


def main(wrap=lambda step: step):
    edges = graph()
    x = uniform(62, NODES, 8)
    labels = (torch.arange(NODES) >= NODES // 2).long()
    known = torch.tensor([0, 5, 12, 20])
    model = fill(GCN())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=5e-4)

    @wrap
    def step(x, *edges):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x, *edges)[known], labels[known])
        loss.backward()
        optimizer.step()
        return loss.detach()

    for _ in range(25):
        loss = step(x, *edges)
    return loss.item()


if __name__ == "__main__":
    print(main())
