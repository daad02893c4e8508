"""torch.ops.aten: inner names of PyTorch's functions."""
import pyborch as torch


def test_inner_names_and_overloads_are_the_functions():
    x = torch.tensor([[1.0, 5, 2, 4], [3, 0, 7, 6]], device="cpu")
    assert torch.ops.aten.add.Tensor(x, x).tolist() == (x + x).tolist()
    assert torch.ops.aten.slice.Tensor(x, 1, 1, 3).tolist() == [[5, 2], [0, 7]]
    out, where = torch.nn.functional.max_pool2d(x.reshape(1, 2, 4), 2, return_indices=True)
    back = torch.ops.aten.max_pool2d_with_indices_backward.default(torch.ones_like(out), x.reshape(1, 2, 4), (2, 2), (2, 2), (0, 0), (1, 1), False, where)
    assert back.tolist() == [[[0, 1, 0, 0], [0, 0, 1, 0]]]
    assert not hasattr(torch.ops.aten, "no_such_function")
