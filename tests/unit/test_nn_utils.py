"""torch.nn.utils: parametrizations, norms of weights, pruning, fused layers. The numbers are PyTorch's."""
import copy

import pytest

import pyborch as torch
from pyborch import nn
from pyborch.nn.utils import parametrizations, parametrize, prune, stateless


@pytest.fixture(autouse=True)
def on_the_cpu():
    torch.set_default_device("cpu")


def linear(inputs=3, outputs=2):
    layer = nn.Linear(inputs, outputs)
    with torch.no_grad():
        for p in layer.parameters():
            p.copy_((torch.arange(p.numel()) * 0.37).sin().reshape(p.shape))
    return layer


def rounded(t):
    return [[round(v, 4) for v in row] for row in t.tolist()]


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).transpose(-1, -2)


class Twice(nn.Module):
    def forward(self, x):
        return x * 2

    def right_inverse(self, y):
        return y / 2


def test_a_parametrized_weight_is_computed_at_each_use():
    layer = linear(3, 3)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    assert rounded(layer.weight) == rounded(layer.weight.t()) and list(layer.state_dict()) == ["bias", "parametrizations.weight.original"]
    parametrize.register_parametrization(layer, "weight", Twice())
    other = copy.deepcopy(layer)
    before = rounded(layer.weight)
    with parametrize.cached():
        assert layer.weight is layer.weight
    layer.weight.sum().backward()
    assert layer.parametrizations.weight.original.grad.tolist() == [[2, 4, 4], [0, 2, 4], [0, 0, 2]]
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and rounded(layer.weight) == before and rounded(other.weight) == before
    with pytest.raises(ValueError, match="does not have a parametrization on weight"):
        parametrize.remove_parametrizations(layer, "weight")


def test_assigning_goes_through_the_inverse():
    layer = parametrize.register_parametrization(linear(), "weight", Twice())
    layer.weight = torch.ones(2, 3)
    assert layer.parametrizations.weight.original.tolist() == [[0.5] * 3] * 2 and layer.weight.tolist() == [[1.0] * 3] * 2
    twin = parametrize.transfer_parametrizations_and_params(layer, linear())
    assert twin.weight.tolist() == layer.weight.tolist()


def test_norms_of_weights():
    x = torch.tensor([[0.1, 0.2, -0.3], [0.5, -0.6, 0.7]])
    wanted = rounded(linear()(x))
    for layer in (parametrizations.weight_norm(linear()), nn.utils.parametrizations.weight_norm(linear(), dim=None)):
        assert rounded(layer(x)) == wanted
    with pytest.warns(FutureWarning):
        layer = nn.utils.weight_norm(linear())
    assert rounded(layer(x)) == wanted and list(layer.state_dict()) == ["bias", "weight_g", "weight_v"]
    assert rounded(nn.utils.remove_weight_norm(layer)(x)) == wanted
    for layer in (parametrizations.spectral_norm(linear(), n_power_iterations=30), nn.utils.spectral_norm(linear(), n_power_iterations=30)):
        layer(x)
        (a, b), (_, d) = (layer.weight @ layer.weight.t()).tolist()
        assert (a + d) / 2 + (((a - d) / 2) ** 2 + b * b) ** 0.5 == pytest.approx(1.0, rel=1e-4)      # the larger eigenvalue


@pytest.mark.parametrize("way", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("inputs, outputs", [(3, 3), (3, 2), (2, 3)])
def test_orthogonal_weights(way, inputs, outputs):
    layer = parametrizations.orthogonal(linear(inputs, outputs), orthogonal_map=way)
    w = layer.weight if outputs <= inputs else layer.weight.t()
    assert (w @ w.t() - torch.eye(w.shape[0])).abs().max().item() < 1e-5


def test_pruning_by_size_and_by_rows():
    layer = linear(3, 4)
    prune.l1_unstructured(layer, "weight", 3)
    prune.ln_structured(layer, "weight", 1, 2, 0)
    assert sorted(layer.state_dict()) == ["bias", "weight_mask", "weight_orig"] and prune.is_pruned(layer)
    mask = layer.weight_mask.tolist()
    layer(torch.ones(1, 3)).sum().backward()
    assert layer.weight_orig.grad.tolist() == mask and sum(map(sum, mask)) <= 9
    prune.remove(layer, "weight")
    assert not prune.is_pruned(layer) and [[float(v != 0) for v in row] for row in layer.weight.tolist()] == mask
    model = nn.Sequential(linear(3, 3), linear(3, 2))
    prune.global_unstructured([(model[0], "weight"), (model[1], "weight")], prune.L1Unstructured, amount=5)
    assert model[0].weight_mask.sum().item() + model[1].weight_mask.sum().item() == 10
    with pytest.raises(ValueError, match="amount=100 should be smaller than the number of parameters to prune=6"):
        prune.l1_unstructured(linear(), "weight", 100)


def test_batch_norm_folded_into_the_layer_before_it():
    norm, x = nn.BatchNorm1d(2).eval(), torch.randn(3, 2, 5)
    norm.running_mean.copy_(torch.tensor([0.5, -1.0]))
    norm.running_var.copy_(torch.tensor([2.0, 0.5]))
    conv, layer = nn.Conv1d(2, 2, 3).eval(), linear(5, 2).eval()
    assert nn.utils.fuse_conv_bn_eval(conv, norm)(x).reshape(-1).tolist() == pytest.approx(norm(conv(x)).reshape(-1).tolist(), abs=1e-5)
    flat = x[:, 0]
    assert nn.utils.fuse_linear_bn_eval(layer, norm)(flat).reshape(-1).tolist() == pytest.approx(norm(layer(flat)).reshape(-1).tolist(), abs=1e-5)


def test_a_call_with_other_parameters():
    layer, x = linear(), torch.ones(1, 3)
    before, w = layer(x).tolist(), torch.zeros(2, 3, requires_grad=True)
    y = stateless.functional_call(layer, {"weight": w}, (x,))
    y.sum().backward()
    assert y.tolist() == [layer.bias.tolist()] and w.grad.tolist() == [[1.0] * 3] * 2 and layer(x).tolist() == before
    assert stateless.functional_call(layer, {"other": w}, (x,)).tolist() == before
    with pytest.raises(RuntimeError, match="Missing key"):
        stateless.functional_call(layer, {"weight": w}, (x,), strict=True)
