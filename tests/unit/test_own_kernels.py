"""The contract of users' own kernels, on the CPU device."""
import pytest
from own_kernels import picked, scaled

import pyborch as torch


def test_a_kernel_takes_part_in_autograd():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = scaled()(x, factor=3.0)
    y.sum().backward()
    assert y.tolist() == [3, 6, 9] and x.grad.tolist() == [3, 3, 3]


def test_several_inputs_and_outputs():
    rows, reach = picked()(torch.tensor([[1.0, -5.0], [2.0, 3.0]]), torch.tensor([1, 0, 1]))
    assert rows.tolist() == [[2, 3], [1, -5], [2, 3]] and reach.tolist() == [3, 5, 3]


@pytest.mark.parametrize("call, error, words", [
    (lambda: scaled()(torch.ones(2)), TypeError, "missing the number 'factor'"),
    (lambda: scaled()(torch.ones(2), factor=1.0, by=2), TypeError, "unexpected keyword argument 'by'"),
    (lambda: scaled()(torch.ones(2, dtype=torch.int64), factor=1.0), TypeError, "x must be a tensor of torch.float32, not a tensor of torch.int64"),
    (lambda: scaled()([1.0], factor=1.0), TypeError, "not list"),
    (lambda: scaled()(torch.ones(2), torch.ones(2), factor=1.0), TypeError, r"takes 1 tensors \(x\) but 2 were given"),
    (lambda: scaled(reference=None)(torch.ones(2), factor=1.0), NotImplementedError, "no reference="),
    (lambda: torch.kernels.compile("", inputs={"x": "float33"}, outputs={"y": "x"}), TypeError, "needs a dtype"),
    (lambda: torch.kernels.compile("", inputs={"x": "float32"}, outputs={"y": "x"}, params={"n": "i64"}), TypeError, "not 'i64'"),
    (lambda: torch.kernels.compile("", inputs={}, outputs={}), TypeError, "at least one input"),
])
def test_what_does_not_keep_to_the_contract_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
