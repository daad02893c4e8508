"""Mixed precision: which dtype each op runs in, and what a scaler does, as PyTorch 2.13 has it."""
import pathlib
import sys

import pytest

import pyborch as torch
from pyborch import nn
from pyborch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import mixed  # noqa: E402


@pytest.fixture(autouse=True)
def on_the_cpu():
    torch.set_default_device("cpu")


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("optimizer", mixed.FROZEN)
def test_training_is_pytorchs_skipped_steps_and_scales_included(optimizer, compiled):
    assert mixed.differences(optimizer, mixed.train(torch, "cpu", optimizer, compiled)) == []


def test_products_run_in_float16_and_what_needs_range_in_float32():
    x, half = torch.randn(3, 4), torch.randn(3, 4).half()
    with torch.autocast("cpu"):
        assert (x @ x.t()).dtype is F.linear(x, x).dtype is torch.float16
        assert nn.Conv2d(1, 2, 3)(torch.ones(1, 1, 5, 5)).dtype is torch.float16
        assert F.scaled_dot_product_attention(x, x, x).dtype is torch.float16
        for f in (torch.exp, torch.log, torch.sum, lambda t: t.softmax(-1), lambda t: t.pow(2), lambda t: F.layer_norm(t, (4,)), torch.rsqrt,
                  lambda t: F.mse_loss(t, t), lambda t: F.cross_entropy(t, torch.zeros(3, dtype=torch.int64)), lambda t: t.norm()):
            assert f(half).dtype is torch.float32
        assert (half + x).dtype is torch.float32 and half.relu().dtype is torch.float16
        assert (x.double() @ x.double().t()).dtype is torch.float64
        with torch.autocast("cpu", enabled=False):
            assert (x @ x.t()).dtype is torch.float32
        assert torch.amp.is_autocast_enabled("cpu")
    assert (x @ x.t()).dtype is torch.float32 and not torch.amp.is_autocast_enabled("cpu")


def test_gradients_are_in_the_weights_own_dtype_and_copies_are_made_once():
    layer = nn.Linear(4, 4)
    with torch.autocast("cpu"):
        x = torch.randn(2, 4)
        first = torch.autograd.state.autocast.copies
        loss = layer(layer(x)).float().sum()
        assert len(first) == 2 and all(copy.dtype is torch.float16 for _, _, copy in first.values())
    loss.backward()
    assert layer.weight.grad.dtype is torch.float32


def test_a_compiled_function_is_recorded_anew_inside_and_outside():
    f = torch.compile(lambda x: x @ x)
    x = torch.eye(3)
    with torch.no_grad():
        assert f(x).dtype is torch.float32
        with torch.autocast("cpu"):
            assert f(x).dtype is f(x).dtype is torch.float16
        assert f(x).dtype is torch.float32
    assert len(f.programs) == 2


def test_changed_weights_are_copied_anew():
    w = torch.ones(2, 2, requires_grad=True)
    with torch.autocast("cpu"):
        assert (w @ w).tolist() == [[2, 2], [2, 2]]
        with torch.no_grad():
            w.mul_(2)
        assert (w @ w).tolist() == [[8, 8], [8, 8]]


def test_it_is_a_decorator_and_says_what_it_does_not_know():
    assert torch.autocast("cpu")(lambda x: x @ x)(torch.eye(2)).dtype is torch.float16
    with pytest.raises(RuntimeError, match="User specified an unsupported autocast device_type 'cuda'"):
        torch.autocast("cuda")
    with pytest.warns(UserWarning, match="target dtype is not supported"), torch.autocast("cpu", dtype=torch.float32):
        assert (torch.eye(2) @ torch.eye(2)).dtype is torch.float32
    with pytest.warns(UserWarning, match="device 'webgpu' has no float16 here"), torch.autocast("webgpu"):
        pass


def test_the_scaler_keeps_its_order_of_calls():
    p = nn.Parameter(torch.ones(2))
    optimizer, scaler = torch.optim.SGD([p], lr=1.0), torch.amp.GradScaler("cpu", init_scale=4.0)
    assert [t.item() for t in scaler.scale([torch.tensor(1.0), torch.tensor(2.0)])] == [4.0, 8.0]
    with pytest.raises(AssertionError, match="No inf checks were recorded for this optimizer."):
        scaler.step(optimizer)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    with pytest.raises(AssertionError, match="No inf checks were recorded prior to update."):
        scaler.update()
    p.grad = torch.full((2,), 4.0)
    scaler.scale(torch.tensor(1.0))
    scaler.unscale_(optimizer)
    assert p.grad.tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match=r"unscale_\(\) has already been called on this optimizer since the last update\(\)."):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"step\(\) has already been called since the last update\(\)."):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"unscale_\(\) is being called after step\(\)."):
        scaler.unscale_(optimizer)
    scaler.update(2.0)
    assert p.tolist() == [0.0, 0.0] and scaler.get_scale() == 2.0
    other = torch.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()
    disabled = torch.amp.GradScaler("cpu", enabled=False)
    assert disabled.scale(p) is p and disabled.get_scale() == 1.0 and disabled.state_dict() == {}


def test_an_optimizer_whose_numbers_follow_the_step_count_is_refused_where_it_cannot_know():
    p = nn.Parameter(torch.ones(2))
    optimizer, scaler = torch.optim.NAdam([p], lr=0.1), torch.amp.GradScaler("cpu")

    def step():
        optimizer.zero_grad()
        scaler.scale(p.sum()).backward()
        scaler.step(optimizer)
        scaler.update()
    with pytest.raises(torch.CaptureError, match="NAdam inside a compiled function would need to know at once whether a step was skipped"):
        torch.compile(step, fullgraph=True)()
