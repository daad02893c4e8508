"""Random numbers: what must hold on any device, and values for one seed that every device draws alike."""
import math

SEED_7 = {  # expression: values drawn on the CPU device
    "torch.rand(5)": [0.9545971155166626, 0.7501521706581116, 0.11417734622955322, 0.08565783500671387, 0.4069603681564331],
    "torch.randn(5)": [0.002377591095864773, -2.4868359565734863, 0.4228065311908722, 0.25241169333457947, 0.28694942593574524],
    "torch.randint(100, (5,))": [95, 75, 11, 8, 40],
    "torch.randperm(6)": [3, 1, 0, 2, 5, 4],
    "torch.empty(3).exponential_()": [3.092179536819458, 1.3869032859802246, 0.12123851478099823],
    "torch.nn.functional.dropout(torch.ones(8), 0.5)": [2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 2.0],
    "torch.nn.Linear(2, 2).weight.reshape(-1)": [0.6428974270820618, 0.353768527507782, -0.5456356406211853, -0.5859683156013489],
}

COUNT = 40_000
STATISTICS = [  # (expression of COUNT draws, mean, standard deviation, least, largest)
    ("torch.rand(COUNT)", 0.5, math.sqrt(1 / 12), 0, 1),
    ("torch.randn(COUNT)", 0, 1, -6, 6),
    ("torch.randint(3, 9, (COUNT,))", 5.5, math.sqrt(35 / 12), 3, 8),
    ("torch.bernoulli(torch.full((COUNT,), 0.3))", 0.3, math.sqrt(0.21), 0, 1),
    ("torch.empty(COUNT).uniform_(-2, 4)", 1, math.sqrt(3), -2, 4),
    ("torch.empty(COUNT).normal_(5, 0.5)", 5, 0.5, 2, 8),
    ("torch.empty(COUNT).exponential_(2.0)", 0.5, 0.5, 0, 12),
    ("torch.nn.functional.dropout(torch.ones(COUNT), 0.25)", 1, math.sqrt(1 / 3), 0, 4 / 3 + 1e-6),
]


def check_statistics(torch):
    """Mean and deviation within five standard errors, all values in range; neighbours and two draws do not go together."""
    torch.manual_seed(0)
    for expression, mean, deviation, low, high in STATISTICS:
        draw = [eval(expression, {"torch": torch, "COUNT": COUNT}).float() for _ in range(2)]
        x = draw[0]
        assert abs(x.mean().item() - mean) < 5 * deviation / math.sqrt(COUNT), (expression, x.mean().item())
        assert abs(x.std().item() - deviation) < 0.03 * deviation, (expression, x.std().item())
        assert low <= x.min().item() and x.max().item() <= high, (expression, x.min().item(), x.max().item())
        for a, b in ((x[1:], x[:-1]), tuple(draw)):
            together = ((a - mean) * (b - mean)).mean().item() / deviation ** 2
            assert abs(together) < 5 / math.sqrt(COUNT), (expression, together)


def check_order(torch):
    """A permutation holds each number once; shuffles of three come equally often; a seed repeats, a generator is its own."""
    torch.manual_seed(1)
    assert sorted(torch.randperm(1000).tolist()) == list(range(1000))
    seen = {}
    for _ in range(600):
        order = tuple(torch.randperm(3).tolist())
        seen[order] = seen.get(order, 0) + 1
    assert len(seen) == 6 and min(seen.values()) > 60, seen
    generator = torch.Generator().manual_seed(3)
    first = torch.rand(5, generator=generator).tolist()
    torch.manual_seed(3)
    torch.rand(7)
    assert torch.rand(5, generator=generator.manual_seed(3)).tolist() == first
    state = torch.get_rng_state()
    second = torch.rand(5).tolist()
    torch.set_rng_state(state)
    assert torch.rand(5).tolist() == second != first


def check_values(torch):
    """The values of seed 7, to the rounding of sines and logarithms."""
    for expression, wanted in SEED_7.items():
        torch.manual_seed(7)
        found = eval(expression, {"torch": torch}).tolist()
        assert all(abs(f - w) <= 2e-6 * max(1, abs(w)) for f, w in zip(found, wanted, strict=True)), (expression, found)


def check(torch):
    check_statistics(torch)
    check_order(torch)
    check_values(torch)

