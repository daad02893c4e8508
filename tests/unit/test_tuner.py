"""The tuner's table: what it takes, what it refuses, and that choices follow it."""
import json

import planned
import pytest

import pyborch as torch
from pyborch import devices, kernels, tuner
from pyborch.dtypes import float32
from pyborch.ops import matmul, variants


@pytest.fixture
def device(monkeypatch):
    made = planned.Planned()
    monkeypatch.setitem(devices._backends, "webgpu", made)
    monkeypatch.setattr(devices, "_default", [made])
    return made


def product(device, n, m, k):
    metas = [devices.meta(shape, float32, device) for shape in ((n, k), (k, m), (n, m))]
    plan = kernels.Plan(matmul.MATMUL, tuple(metas[:2]), (metas[2],), (True, True, None), (), {})
    matmul.MATMUL.run(plan, *plan.operands())
    return plan.products[0]


def test_choices_are_what_was_measured(device):
    size, a, b, _ = product(device, 300, 300, 300)
    rule = variants.choose(device, size, a, b)
    other = next(c for c in variants.candidates(device, size, a, b) if c != rule)
    table = {variants.key(size, a, b): [type(other[0]).__name__, *other[0], other[1]]}
    text = json.dumps({"adapter": "planned", "version": 1, "products": table})
    assert tuner.load(text) == 1 and json.loads(tuner.export()) == json.loads(text)
    assert variants.choose(device, size, a, b) == other
    assert variants.choose(device, *product(device, 310, 300, 300)[:3]) == other and variants.choose(device, *product(device, 500, 300, 300)[:3]) != other
    tuner.clear()
    assert variants.choose(device, size, a, b) == rule


def test_all_candidates_fit_the_device(device):
    for sizes in ((512, 512, 512), (64, 4096, 9), (3, 1000, 1000), (40, 40, 100000)):
        size, a, b, _ = product(device, *sizes)
        found = variants.candidates(device, size, a, b)
        assert found[0] == variants.by_rule(device, size, a, b) and len(set(found)) == len(found) > 1
        for variant, splits in found:
            assert 1 <= splits <= size.steps[0] and variants.read([type(variant).__name__, *variant, splits]) == (variant, splits)


@pytest.mark.parametrize("text", ["", "{}", json.dumps({"adapter": "planned", "version": 1, "products": {"x": ["Tiles", 1]}}),
                                  json.dumps({"adapter": "planned", "version": 1, "products": {"x": ["Other", 1, 1]}})])
def test_other_texts_are_refused(device, text):
    with pytest.raises(ValueError, match="this is not what tuner.export"):
        tuner.load(text)
    assert device.tuned == {}


def test_another_adapters_table_is_refused(device):
    with pytest.raises(ValueError, match="measured on 'apple m3' .version 1., but this adapter is 'planned'"):
        tuner.load(json.dumps({"adapter": "apple m3", "version": 1, "products": {}}))


def test_a_device_without_timestamps_is_not_tuned(device):
    run = torch.compile(lambda x: x @ x, mode="max-autotune")
    for _ in range(3):
        run(torch.ones(300, 300))
    assert run._tuning is None and device.tuned == {}
    with pytest.raises(RuntimeError, match="Unrecognized mode=fastest, should be one of: default"):
        torch.compile(lambda x: x, mode="fastest")
