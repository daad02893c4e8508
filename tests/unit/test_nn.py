"""Layers give PyTorch's values, gradients, names and printed forms (frozen by tests/oracle_layers.py)."""
import json

import layers
import pytest
import samples

import pyborch as torch
from pyborch import nn

GOLDEN = json.loads((samples.GOLDEN / "layers.json").read_text())


@pytest.fixture(autouse=True)
def on_the_cpu():
    torch.set_default_device("cpu")


@pytest.mark.parametrize("k", range(len(layers.CASES)), ids=[c[0][:40] for c in layers.CASES])
def test_a_layer_is_that_of_pytorch(k):
    found, wanted = layers.outcome(torch, layers.CASES[k]), GOLDEN[k]
    assert found[:3] == wanted[:3]
    assert found[3] == pytest.approx(wanted[3], rel=1e-4, abs=1e-5)
    assert found[4] == pytest.approx(wanted[4], rel=1e-4, abs=1e-4)


def test_hooks_see_inputs_outputs_and_gradients():
    layer, seen = nn.Linear(2, 1), []
    handles = [layer.register_forward_pre_hook(lambda m, a: seen.append(("in", a[0].shape))),
               layer.register_forward_hook(lambda m, a, y: y * 2),
               layer.register_full_backward_hook(lambda m, gi, go: seen.append(("back", go[0].tolist())))]
    x = torch.ones(1, 2, requires_grad=True)
    plain = nn.functional.linear(x, layer.weight, layer.bias)
    y = layer(x)
    assert y.item() == pytest.approx(2 * plain.item())
    y.sum().backward()
    assert seen == [("in", torch.Size([1, 2])), ("back", [[1.0]])] or seen == [("in", torch.Size([1, 2])), ("back", [[2.0]])]
    for handle in handles:
        handle.remove()
    assert layer(x).item() == pytest.approx(plain.item())


def test_modules_count_tied_parameters_once_and_save_them_twice():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb, self.lin = nn.Embedding(2, 2), nn.Linear(2, 2, bias=False)
            self.lin.weight = self.emb.weight

        def forward(self, i):
            return self.lin(self.emb(i))
    model = Tied()
    with torch.no_grad():
        model.emb.weight.copy_(torch.eye(2))
    model(torch.tensor([0])).sum().backward()
    assert model.emb.weight.grad.tolist() == [[2, 1], [1, 0]]
    assert len(list(model.parameters())) == 1 and len(model.state_dict()) == 2


def test_device_dtype_mode_and_gradients_go_through_a_module():
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5)).double()
    assert model[0].weight.dtype is torch.float64 and isinstance(model[0].weight, nn.Parameter)
    assert not model.eval()[1].training
    model.requires_grad_(False)
    assert not any(p.requires_grad for p in model.parameters())
    assert [name for name, _ in model.named_modules()] == ["", "0", "1"]


@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_lazy_layers_take_their_features_from_the_first_input():
    model = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        print(model[0].weight.shape)
    model(torch.ones(2, 3, 5, 5)).sum().backward()
    optimizer.step()
    assert [type(m) for m in model] == [nn.Conv2d, nn.BatchNorm2d, nn.Flatten, nn.Linear] and model[3].in_features == 36
    fresh = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2))
    fresh.load_state_dict(model.state_dict())
    assert fresh[3].weight.tolist() == model[3].weight.tolist()


def test_hooks_of_every_module_and_changes_of_a_tree():
    from pyborch.nn import hooks
    model, seen = nn.Sequential(nn.Linear(2, 2), nn.ReLU()), []
    handles = [hooks.register_module_forward_hook(lambda m, a, y: seen.append(type(m).__name__)),
               hooks.register_module_parameter_registration_hook(lambda m, name, p: seen.append(name))]
    try:
        model(torch.ones(1, 2))
        model.set_submodule("1", nn.Linear(2, 1))
    finally:
        for handle in handles:
            handle.remove()
    assert seen == ["Linear", "ReLU", "Sequential", "weight", "bias"] and model[1].out_features == 1
    model.compile()
    with torch.no_grad():
        first = model(torch.ones(1, 2)).tolist()
        assert model(torch.ones(1, 2)).tolist() == first
    with pytest.raises(AttributeError, match="Sequential has no attribute `7`"):
        model.set_submodule("7", nn.ReLU(), strict=True)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_a_compiled_step_of_a_recurrent_net_is_the_eager_one(kind):
    x = torch.randn(3, 5, 4)
    losses = []
    for compiled in (False, True):
        torch.manual_seed(0)
        model = getattr(nn, kind)(4, 6, 2, batch_first=True, bidirectional=True)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.05)

        def step(x, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            loss = (model(x)[0] - 0.5).square().mean()
            loss.backward()
            optimizer.step()
            return loss
        run = torch.compile(step, fullgraph=True) if compiled else step
        losses.append([run(x).item() for _ in range(6)])
    assert losses[1] == pytest.approx(losses[0], rel=1e-5) and losses[0][-1] < losses[0][0]


def test_gradients_of_gradients_of_recurrent_layers():
    model = nn.GRU(2, 3).double()
    x = torch.randn(4, 2, 2, dtype=torch.float64, requires_grad=True)

    def penalty(x):
        return torch.autograd.grad(model(x)[0].square().sum(), x, create_graph=True)[0].square().sum()
    found, = torch.autograd.grad(penalty(x), x)
    for place in ((0, 0, 0), (3, 1, 1)):
        ends = []
        for h in (1e-5, -1e-5):
            moved = x.detach().clone()
            moved[place] += h
            ends.append(penalty(moved.requires_grad_()).item())
        assert found[place].item() == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5)


def test_what_a_function_saved_goes_after_backward():
    x = torch.randn(4, 2, 2)
    model = nn.GRU(2, 3)
    loss = model(x)[0].sum()
    loss.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        loss.backward()


def test_old_files_lack_counts_of_batches_and_dictionaries_of_parameters_are_dictionaries():
    state = nn.BatchNorm1d(2).state_dict()
    old = {k: v for k, v in state.items() if k != "num_batches_tracked"}
    assert not nn.BatchNorm1d(2).load_state_dict(old).missing_keys
    table = nn.ParameterDict({"a": torch.ones(2)})
    assert table.setdefault("b", torch.zeros(1)).shape == (1,) and list(reversed(table)) == ["b", "a"]
    table |= {"c": torch.ones(3)}
    assert table.popitem()[0] == "c" and list(({"z": torch.ones(1)} | table).keys()) == ["z", "a", "b"]
    assert [name for name, _ in table.named_parameters()] == ["a", "b"]
