"""What the compiler makes of a step: the graph, the kernels, the memory."""
import pathlib
import sys

import pytest

import pyborch as torch
from pyborch import devices, nn
from pyborch.compiler import plan
from pyborch.compiler.space import Rows, terms_of
from pyborch.nn import functional as F

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent), str(pathlib.Path(__file__).resolve().parent.parent.parent / "bench")]
import models  # noqa: E402
import planned  # noqa: E402


def compiled(step, *args, **options):
    run = torch.compile(step, options=options)
    with torch.no_grad():
        run(*args)
    return next(iter(run._programs.values()))[-1]


def trained(model, optimizer, *batch, **options):
    run = torch.compile(models.training_step(model, optimizer), options=options)
    run(*batch)
    return next(iter(run._programs.values()))[-1]


def labels(device):
    return [step.kernel.label for step, _, _ in device.work]


def test_elementwise_chains_are_one_kernel_whatever_their_shapes(device):
    compiled(lambda x, y: (torch.relu(x * 2 + y).reshape(-1).sigmoid(), x - 1), torch.ones(4, 6), torch.ones(6))
    assert len(device.work) == 1


def test_what_no_one_reads_is_not_computed(device):
    program = compiled(lambda x: [x.exp(), x * 3][1], torch.ones(5))
    assert [n.name for n in program.graph.nodes] == ["mul"]


def test_a_norm_is_one_kernel_with_what_is_before_and_after_it(device):
    x, w = torch.ones(8, 100), torch.ones(100)
    compiled(lambda x, w: F.gelu(F.layer_norm(x + 1, (100,), w, w)), x, w)
    assert len(device.work) == 1
    compiled(lambda x: (x * 0.5).softmax(-1) * 2, x)
    assert len(device.work) == 1


def test_a_convolution_takes_the_norm_the_residual_and_the_activation(device):
    block = models.Block(8, 8, 1).eval()
    compiled(lambda x: block(x), torch.ones(2, 8, 64, 64))
    assert len(device.work) == 2


def test_the_optimizer_is_one_dispatch_for_any_number_of_parameters(device):
    for make in (torch.optim.SGD, torch.optim.AdamW):
        parameters = [nn.Parameter(torch.ones(n)) for n in range(1, 60)]
        optimizer = make(parameters, lr=0.1)
        for p in parameters:
            p.grad = torch.ones_like(p)
        run = torch.compile(lambda: optimizer.step())  # noqa: B023
        run()
        run()
        assert len(device.work) == 1
        assert max(len(storage.members) for _, storages, _ in device.work for storage in storages) == 59


def test_results_in_place_stay_in_order(device):
    def step(x, y):
        before = x * 2
        x.add_(1)
        y.copy_(x.sum(0))
        return before + x
    program = compiled(step, torch.ones(4, 4), torch.ones(4))
    reads = [(a.value, a.state) for n in program.graph.nodes for a in n.reads if a.value == 0]
    assert reads[0] == (0, 0) and (0, 1) in reads


def test_the_program_can_be_read(device):
    text = repr(compiled(lambda x: x.t() + 1, torch.ones(2, 3)))
    assert text.startswith("program of 1 ops, 1 dispatches on webgpu")
    assert "add(" in text and "float32[3, 2] strides [1, 3]" in text


def test_values_alive_at_once_never_overlap_and_never_share_a_buffer_in_a_dispatch(device):
    model = models.ResNet18(width=8)
    for options in ({"recompute": False}, {"recompute": True}):
        trained(model, torch.optim.SGD(model.parameters(), lr=0.1), torch.ones(4, 3, 16, 16), torch.zeros(4, dtype=torch.int64), **options)
        spans: dict = {}
        for i, (_, storages, _) in enumerate(device.work):
            places = [s for s in storages if isinstance(s, planned.Place)]
            assert len({id(p.whole) for p in places}) == len({id(p) for p in places})
            for p in places:
                first, _, _ = spans.get(id(p), (i, i, p))
                spans[id(p)] = first, i, p
        found = list(spans.values())
        for n, (first, last, p) in enumerate(found):
            for other_first, other_last, q in found[n + 1:]:
                if p.whole is q.whole and first <= other_last and other_first <= last:
                    assert p.offset + p.words <= q.offset or q.offset + q.words <= p.offset


def test_recomputation_needs_less_memory_and_only_a_few_dispatches_more(device):
    model = models.ResNet18(width=8)
    batch = torch.ones(8, 3, 32, 32), torch.zeros(8, dtype=torch.int64)
    kept, again = (trained(model, torch.optim.SGD(model.parameters(), lr=0.1), *batch, recompute=choice) for choice in (False, True))
    assert again.shared_bytes < 0.75 * kept.shared_bytes
    assert kept.dispatches <= again.dispatches <= kept.dispatches + 20


def test_options_that_do_not_exist_are_refused():
    with pytest.raises(RuntimeError, match="Unexpected optimization option speed"):
        torch.compile(lambda x: x, options={"speed": 9})


def test_addresses_of_strided_and_broadcast_operands():
    meta = devices.meta((3, 1, 5), torch.float32, None, (5, 0, 1), 7)
    found = terms_of(meta, (2, 3, 4, 5))
    value = lambda i: found.offset + sum(i // inner % size * stride for inner, size, stride in found.terms)  # noqa: E731
    assert [value(i) for i in (0, 4, 5, 20, 60, 119)] == [7, 11, 7, 12, 7, 21]
    rows = Rows((2, 3, 4, 5), (0, 2))
    assert (rows.outputs, rows.count) == (15, 8)
    along = rows.row_terms(found)
    assert along.linear and along.offset == 7
    assert rows.row_terms(terms_of(devices.meta((4, 1), torch.float32, None), (2, 3, 4, 5))) is None


def test_places_are_found_side_by_side():
    sizes, places = plan.share({"a": (0, 9), "b": (0, 3), "c": (2, 9), "d": (4, 9)}, {"a": 128, "b": 64, "c": 64, "d": 64},
                               {v: {v} for v in "abcd"})
    assert sum(sizes) == 128 + 128
    assert places["b"] == places["d"]


def test_what_was_computed_already_is_not_computed_again(device):
    program = compiled(lambda x: (x.exp() + 1) * (x.exp() + 1).sum(1, keepdim=True), torch.ones(3, 4))
    assert [n.name for n in program.graph.nodes].count("exp") == 1
    assert [n.name for n in program.graph.nodes].count("add") == 1


def test_a_changed_value_or_new_noise_is_computed_anew(device):
    def changed(x):
        first = x.exp().sum()
        x.add_(1)
        return first + x.exp().sum()
    assert [n.name for n in compiled(changed, torch.ones(3)).graph.nodes].count("exp") == 2
    program = compiled(lambda x: torch.rand_like(x) - torch.rand_like(x), torch.ones(3))
    assert sum(n.kind == "opaque" for n in program.graph.nodes) == 2


def test_cross_entropy_is_a_kernel_of_rows_forward_and_one_backward(device):
    x, y = torch.ones(8, 10, requires_grad=True), torch.zeros(8, dtype=torch.int64)

    def step():
        x.grad = None
        loss = F.cross_entropy(x, y)
        loss.backward()
        return loss.detach()
    run = torch.compile(step)
    run()
    assert len(device.work) == 3  # rows, the means over them, rows


def test_a_scaled_step_that_may_be_skipped_is_one_dispatch_too(device):
    parameters = [nn.Parameter(torch.ones(n)) for n in range(2, 40)]
    optimizer, scaler = torch.optim.AdamW(parameters, lr=0.1), torch.amp.GradScaler("webgpu")

    def step():
        optimizer.zero_grad()
        loss = sum(p.square().sum() for p in parameters)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()
    run = torch.compile(step)
    for _ in range(3):
        run()
    assert [label for label in labels(device) if "adam_step_unless" in label] == ["adam_step_unless"]


def test_programs_share_the_memory_they_compute_in(device):
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
    run = torch.compile(model)
    with torch.no_grad():
        run(torch.ones(64, 16))
        before = {id(storage) for storage in device.scratch}
        run(torch.ones(32, 16))
    assert before and {id(storage) for storage in device.scratch} == before
    run.reset()
    device.work = []
    assert not device.scratch


def written_out(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) * 0.5
    return scores.masked_fill(mask == 0, -torch.inf).softmax(-1) @ v


def test_attention_written_out_is_one_kernel(device):
    q, k, v = (torch.ones(2, 3, 5, 8) for _ in range(3))
    for attend in (lambda q, k, v, mask: (q @ k.mT / 3).softmax(-1) @ v, lambda q, k, v, mask: (mask[0, 0] + q @ k.mT).softmax(-1) @ v,
                   lambda q, k, v, mask: torch.bmm(torch.where(mask[0] != 0, torch.bmm(q[0], k[0].mT), -1e9).softmax(-1), v[0]),
                   lambda q, k, v, mask: torch.einsum("bhls,bhsd->bhld", torch.einsum("bhld,bhsd->bhls", q, k).softmax(-1), v), written_out):
        compiled(attend, q, k, v, torch.ones(1, 1, 5, 5))
        assert sum(label.startswith("attention") for label in labels(device)) == 1 and len(device.work) <= 2


def test_attention_whose_scores_are_needed_stays_as_it_is(device):
    q, k, v, mask = *(torch.ones(2, 3, 5, 8) for _ in range(3)), torch.ones(5, 5)

    def with_weights(q, k, v):
        weights = (q @ k.mT).softmax(-1)
        return weights @ v, weights

    def with_change(q, k, v):
        scores = q @ k.mT
        q.add_(1)
        return scores.softmax(-1) @ v
    for attend in (with_weights, with_change, lambda q, k, v: (q @ k.mT).softmax(-2) @ v, lambda q, k, v: (q @ k.mT + 1).softmax(-1) @ v):
        compiled(attend, q, k, v)
        assert not any(label.startswith("attention") for label in labels(device))
    w = torch.ones(2, 3, 5, 8, requires_grad=True)

    def step():
        w.grad = None
        loss = written_out(w, k, v, mask).sum()
        loss.backward()
        return loss.detach()
    torch.compile(step)()
    assert not any(label.startswith("attention") for label in labels(device))


def kernels_of(program):
    return {step.kernel for step, _, _ in program.lowered}


@pytest.mark.parametrize("make", [lambda: models.ResNet18(width=8), lambda: models.ViT(size=16, patch=4, dim=24, depth=2, heads=3, classes=10)])
def test_from_the_second_batch_size_on_kernels_serve_all_sizes(device, make):
    model = make()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    step = torch.compile(models.training_step(model, optimizer))
    for n in (32, 33, 37, 41):
        step(torch.ones(n, 3, 16, 16), torch.zeros(n, dtype=torch.int64))
    first, second, third, fourth = map(kernels_of, step.programs)
    assert second - first and not fourth - third - second


def test_a_size_of_its_own_for_every_call_is_not_recorded(device):
    step = torch.compile(lambda x: x * 2 + 1)
    for n in range(1, 30):
        step(torch.ones(n))
    assert len(step.programs) == 8 and {len(p.arguments) for p in step.programs} == {1}
    fixed, free = torch.compile(lambda x: x * 3 + 1, dynamic=False), torch.compile(lambda x: x * 3 + 1, dynamic=True)
    counts = []
    for run in (fixed, free):
        for n in (3, 4, 5):
            run(torch.ones(n))
        counts.append(len({k for p in run.programs for k in kernels_of(p)}))
    assert counts == [3, 1]


def test_large_tensors_are_padded_by_fours(device):
    compiled(lambda x: torch.nn.functional.pad(x, (4, 4)), torch.ones(1024, 512))
    assert [step.kernel.label for step, _, _ in device.work] == ["_fill", "clone"]


def test_large_chains_go_by_fours_where_all_results_can(device):
    large = torch.ones(1024, 512)
    for function, by_fours in ((lambda x: torch.relu(x * 2 + 1), True), (lambda x: x + large[0], True), (lambda x: x.t() + 1, False),
                               (lambda x: x[:, :511] * 2, False), (lambda x: x[:8] * 2, False)):
        compiled(function, large)
        text = device.work[0][0].kernel.text
        assert ("array<vec4<f32>>" in text) is by_fours, text[-900:]
