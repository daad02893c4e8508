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


def test_lbfgs_finds_the_minimum_of_a_valley_as_pytorch_does():
    assert optimizing.valley(torch) == pytest.approx(GOLDEN["valley"][0], rel=1e-3)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_muon_keeps_to_pytorch_within_the_precision_of_its_bfloat16(compiled):
    weights = optimizing.matrix(torch, compiled)
    assert weights == pytest.approx(GOLDEN["matrix"], rel=1e-2, abs=1e-2)


def test_hooks_of_an_optimizer_see_steps_and_states():
    p, log = torch.tensor([1.0], requires_grad=True), []

    class Own(torch.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"lr": 0.5})

        @torch.no_grad()
        def step(self):
            self.state[p]["count"] = self.state[p].get("count", 0) + 1
            p.sub_(p.grad * self.param_groups[0]["lr"])
    optimizer = Own([p])
    optimizer.register_step_pre_hook(lambda o, args, kwargs: log.append(("pre", args == (o,))))
    handle = optimizer.register_step_post_hook(lambda o, args, kwargs: log.append(("post", p.item())))
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "more": 1})
    p.grad = torch.tensor([1.0])
    optimizer.step()
    handle.remove()
    optimizer.step()
    assert log == [("pre", True), ("post", 0.5), ("pre", True)] and p.item() == 0
    assert optimizer.state_dict()["more"] == 1 and optimizer.state_dict()["state"] == {0: {"count": 2}}


def test_a_differentiable_step_is_recorded():
    lr = torch.tensor([0.5, 0.25], requires_grad=True)
    p = torch.tensor([1.0, 2.0]) * lr
    optimizer = torch.optim.RMSprop([p], lr=0.1, differentiable=True)
    p.grad = lr * 3.0
    optimizer.step()
    p.sum().backward()
    assert lr.grad.tolist() == pytest.approx([1.0, 2.0], abs=1e-4)      # the step's size does not depend on the gradient's


def test_averages_of_weights():
    from pyborch import nn
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    mean, moving = torch.optim.swa_utils.AveragedModel(model), torch.optim.swa_utils.AveragedModel(model, avg_fn=torch.optim.swa_utils.get_ema_avg_fn(0.5))
    for value in (1.0, 2.0, 6.0):
        with torch.no_grad():
            model[0].weight.fill_(value)
        mean.update_parameters(model)
        moving.update_parameters(model)
    assert mean.module[0].weight[0, 0].item() == pytest.approx(3.0) and moving.module[0].weight[0, 0].item() == pytest.approx(3.75)
    assert mean.n_averaged.item() == 3
    batches = [torch.randn(8, 2) for _ in range(3)]
    torch.optim.swa_utils.update_bn(batches, model)
    seen = torch.cat([model[0](x) for x in batches])
    assert model[1].running_mean.tolist() == pytest.approx(seen.mean(0).tolist(), rel=1e-4, abs=1e-5) and model[1].momentum == 0.1
