"""compile: replays are what eager calls would be; what cannot be replayed is refused."""
import pytest

import pyborch as torch
from pyborch import nn


@pytest.fixture(autouse=True)
def on_the_cpu():
    torch.set_default_device("cpu")


def counted(fn):
    """A compiled function and the list that grows when its Python code runs."""
    runs = []

    def wrapped(*args, **kwargs):
        runs.append(1)
        return fn(*args, **kwargs)
    return torch.compile(wrapped), runs


def test_it_records_once_per_shape_dtype_and_python_argument():
    f, runs = counted(lambda x, scale=1.0: x * scale + 1)
    for x in (torch.ones(2), torch.zeros(2), torch.ones(3), torch.ones(3)):
        assert f(x).tolist() == (x + 1).tolist()
    assert len(runs) == 2
    assert f(torch.ones(2), 3.0).tolist() == [4, 4]
    assert f(torch.ones(2, dtype=torch.float64)).dtype is torch.float64
    assert len(runs) == 4


def test_only_eight_programs_are_kept_and_a_ninth_shape_is_recorded_when_it_comes_again():
    f, runs = counted(lambda x: x * 2)
    for n in range(1, 9):
        f(torch.ones(n))
    assert len(f.programs) == 8
    first = f.programs[0]
    f(torch.ones(9))
    assert len(runs) == 9 and f.programs[0] is first
    f(torch.ones(9))
    assert len(runs) == 10 and len(f.programs) == 8 and first not in f.programs
    assert f(torch.ones(9)).tolist() == [2] * 9 and len(runs) == 10


def test_results_are_the_callers_own():
    f, _ = counted(lambda x: x + 1)
    first, second = f(torch.ones(2)), f(torch.zeros(2))
    third = f(torch.full((2,), 5.0))
    assert (first.tolist(), second.tolist(), third.tolist()) == ([2, 2], [1, 1], [6, 6])


def test_arguments_may_be_views_and_may_be_written():
    f, runs = counted(lambda x: x.add_(1).sum())
    data = torch.arange(12.0).reshape(4, 3)
    for k in range(4):
        f(data[k])
    assert data.tolist() == (torch.arange(12.0).reshape(4, 3) + 1).tolist()
    assert f(data[:, 0][:3]).item() == 1 + 4 + 7 + 3
    assert len(runs) == 1


def test_modes_and_swapped_parameters_are_guarded():
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5))
    f, runs = counted(lambda x: model(x))
    with torch.no_grad():
        f(torch.ones(1, 2))
        model.eval()
        assert f(torch.ones(1, 2)).tolist() == model(torch.ones(1, 2)).tolist()
        model[0].weight = nn.Parameter(torch.zeros(2, 2))
        assert f(torch.ones(1, 2)).tolist() == [model[0].bias.tolist()]
        f(torch.ones(1, 2))
    assert len(runs) == 3


def test_dropout_draws_fresh_masks_and_batch_norm_keeps_counting():
    model = nn.Sequential(nn.BatchNorm1d(4), nn.Dropout(0.5))
    f, runs = counted(lambda x: model(x))
    x = torch.randn(16, 4)
    with torch.no_grad():
        masks = {tuple((f(x) == 0).reshape(-1).tolist()) for _ in range(5)}
    assert len(masks) == 5 and len(runs) == 1
    assert model[0].num_batches_tracked.item() == 5


def test_the_same_seed_gives_the_same_masks_compiled_and_eager():
    f = torch.compile(lambda x: nn.functional.dropout(x, 0.5))
    x, found = torch.ones(32), []
    for call in (f, lambda x: nn.functional.dropout(x, 0.5)):
        torch.manual_seed(7)
        found.append([call(x).tolist() for _ in range(4)])
    assert found[0] == found[1]


def test_a_whole_step_equals_eager_with_gradients_left_in_place():
    def train(compiled):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)

        def step(x):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss
        step = torch.compile(step) if compiled else step
        losses = []
        for k in range(6):
            losses.append(step(torch.full((4, 3), 1.0 + k)).item())
            schedule.step()
        return losses, model[0].weight.grad.tolist(), model[2].bias.tolist()
    assert train(True) == train(False)


def test_gradients_accumulate_where_the_step_does_not_clear_them():
    w = torch.ones(2, requires_grad=True)

    def step(x):
        loss = (w * x).sum()
        loss.backward()
        return loss
    f, runs = counted(step)
    for k in range(5):
        f(torch.full((2,), 1.0))
        assert w.grad.tolist() == [k + 1.0] * 2
    assert len(runs) <= 3


def test_what_a_replay_cannot_repeat_is_refused_where_the_whole_graph_is_wanted():
    with pytest.raises(torch.CaptureError, match="reading a value"):
        torch.compile(lambda x: x * x.sum().item(), fullgraph=True)(torch.ones(2))
    kept = []

    def leaks(x):
        kept.append(x * 2)
        return x
    f = torch.compile(leaks, fullgraph=True)
    with pytest.raises(torch.CaptureError, match="outlive each call"):
        for _ in range(4):
            f(torch.ones(2))
    assert not torch.autograd.state.recorder


def test_else_it_runs_eagerly_with_a_warning_that_says_what_and_where():
    f, runs = counted(lambda x: x * x.sum().item())
    with pytest.warns(UserWarning, match=r"reading a value .* \(at .*test_compile.py:\d+\)"):
        assert f(torch.ones(2)).tolist() == [2, 2]
    assert f(torch.full((2,), 2.0)).tolist() == [8, 8]
    assert len(runs) == 2
    kept = []
    g = torch.compile(lambda x: kept.append(x * 2))
    with pytest.warns(UserWarning, match="outlive each call"):
        for k in range(5):
            g(torch.full((2,), float(k)))
    assert [t.tolist() for t in kept] == [[2.0 * k] * 2 for k in range(5)]


def test_a_failure_while_recording_leaves_eager_mode_as_it_was():
    def broken(x):
        raise ValueError("mine")
    with pytest.raises(ValueError, match="mine"):
        torch.compile(broken)(torch.ones(1))
    assert (torch.ones(2) + 1).tolist() == [2, 2]


def test_a_result_that_still_needs_gradients_stays_eager_with_a_warning():
    model = nn.Linear(2, 1)
    f = torch.compile(model)
    with pytest.warns(UserWarning, match="still needs gradients"):
        f(torch.ones(1, 2)).sum().backward()
    f(torch.ones(1, 2)).sum().backward()
    assert model.weight.grad.tolist() == [[2, 2]]
    assert f.state_dict().keys() == model.state_dict().keys()


def test_many_calls_in_one_give_what_single_calls_give():
    weight = torch.zeros(2)

    def step(x):
        weight.add_(x)
        return {"sum": weight.sum(), "noise": torch.rand(1)}
    f, runs = counted(step)
    torch.manual_seed(0)
    found = f.run(5, torch.arange(10.0).reshape(5, 2))
    assert found["sum"].tolist() == [1.0, 6.0, 15.0, 28.0, 45.0]
    assert len(set(found["noise"].reshape(-1).tolist())) == 5
    assert f.run(2, torch.ones(2, 2))["sum"].tolist() == [47.0, 49.0]
    assert len(runs) == 1
    with pytest.raises(RuntimeError, match=r"needs its k \(=3\) parts along dim 0, but one is of shape \[2, 2\]"):
        f.run(3, torch.ones(2, 2))


def test_many_calls_in_one_work_where_nothing_can_be_replayed():
    f = torch.compile(lambda x: x.mul_(2))
    x = torch.ones(3, 2)
    assert f.run(3, x).tolist() == [[2.0, 2.0]] * 3 and x.tolist() == [[2.0, 2.0]] * 3


def test_a_read_holds_what_was_there_when_it_began():
    x = torch.ones(2)
    reading = x.tolist_async()
    x.add_(1)
    with pytest.raises(StopIteration) as done:
        reading.send(None)
    assert done.value.value == [1.0, 1.0]
