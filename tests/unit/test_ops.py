"""Every op record's samples on the CPU device, forward and gradient, against values frozen from PyTorch 2.13."""
import pytest
import samples

import pyborch
from pyborch.ops.registry import OPS, RECORDS

# made by chance or by the host alone: tested in test_random.py and by what uses them
WITHOUT_SAMPLES = {
    "rand", "rand_like", "randn", "randn_like", "randint", "randint_like", "randperm", "bernoulli", "normal", "multinomial", "uniform_", "normal_",
    "exponential_", "bernoulli_", "random_", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_dropout", "alpha_dropout",
    "feature_alpha_dropout", "gumbel_softmax",
    "tensor", "as_strided_scatter", "as_tensor", "from_numpy", "frombuffer", "empty", "empty_like", "new_empty", "new_tensor", "allclose", "equal", "fill_", "zero_",
    "view_as", "reshape_as", "expand_as", "broadcast_tensors", "sum_to_size", "meshgrid"}


@pytest.fixture(autouse=True)
def on_the_cpu():
    pyborch.set_default_device("cpu")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name, record in RECORDS.items() if record.samples])
def test_samples_agree_with_pytorch(name):
    count, failures = samples.check(pyborch, {name})
    assert not failures, "\n".join(failures)
    assert count


def test_every_record_has_samples():
    assert sorted(name for name, record in RECORDS.items() if not record.samples) == sorted(WITHOUT_SAMPLES)


def test_every_op_has_a_reference():
    assert [op.name for op in OPS.values() if not callable(op.reference)] == []


def test_the_comparison_sees_a_wrong_value():
    good = {"out": [["float32", [2], [1.0, 2.0]]], "grad": []}
    assert samples.compare(good, good) == ""
    assert "element 1" in samples.compare({"out": [["float32", [2], [1.0, 2.001]]], "grad": []}, good)
    assert "instead of" in samples.compare({"out": [["int64", [2], [1, 2]]], "grad": []}, good)
