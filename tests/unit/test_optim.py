"""Optimizers (eager and compiled) and schedules give PyTorch's numbers (frozen by tests/oracle_optim.py)."""
import json

import optimizing
import pytest
import samples

import pyborch as torch

GOLDEN = json.loads((samples.GOLDEN / "optim.json").read_text())
RUNS = [(name, k) for name, options in optimizing.OPTIMIZERS.items() for k in range(len(options))]
SCHEDULES = [(name, k) for name, options in optimizing.SCHEDULES.items() for k in range(len(options))]


@pytest.fixture(autouse=True)
def on_the_cpu():
    torch.set_default_device("cpu")


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("name, k", RUNS)
def test_weights_after_eight_steps(name, k, compiled):
    found = optimizing.weights(torch, name, optimizing.OPTIMIZERS[name][k], compiled)
    assert found == pytest.approx(GOLDEN["weights"][name][k], rel=2e-5, abs=2e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, k", SCHEDULES)
def test_rates_of_a_schedule(name, k):
    assert optimizing.rates(torch, name, optimizing.SCHEDULES[name][k]) == pytest.approx(GOLDEN["rates"][name][k], rel=1e-12, abs=1e-15)


def test_state_goes_to_another_optimizer():
    def made():
        p = torch.tensor([1.0, 2.0], requires_grad=True)
        return p, torch.optim.Adam([p], lr=0.1)

    def step(p, optimizer):
        optimizer.zero_grad()
        (p * p).sum().backward()
        optimizer.step()
    first, second = made(), made()
    for _ in range(3):
        step(*first)
    state = first[1].state_dict()
    assert state["state"][0]["step"].item() == 3 and set(state["state"][0]) == {"step", "exp_avg", "exp_avg_sq"}
    second[0].data.copy_(first[0].data)
    second[1].load_state_dict(state)
    step(*first)
    step(*second)
    assert first[0].tolist() == second[0].tolist()
