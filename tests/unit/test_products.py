"""Products, convolutions and pooling: what samples cannot say. Errors in PyTorch's words, out=, and second derivatives."""
import pytest

import pyborch as torch
from pyborch.ops import registry

F = registry.namespace("F")


def ones(*shape):
    return torch.ones(*shape)


ERRORS = [
    (lambda: ones(2, 3) @ ones(4, 5), "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)"),
    (lambda: ones(3, 2, 3) @ ones(4, 5), "mat1 and mat2 shapes cannot be multiplied (6x3 and 4x5)"),
    (lambda: ones(2, 4) @ ones(3), "size mismatch, got input (2), mat (2x4), vec (3)"),
    (lambda: ones(2, 2, 3) @ ones(2, 4, 5), "Expected size for first two dimensions of batch2 tensor to be: [2, 3] but got: [2, 4]."),
    (lambda: torch.mm(ones(2, 3), ones(3, 5).double()), "expected m1 and m2 to have the same dtype, but got: float != double"),
    (lambda: torch.mm(ones(3), ones(3, 5)), "self must be a matrix"),
    (lambda: torch.dot(ones(3), ones(4)),
     "inconsistent tensor size, expected tensor [3] and src [4] to have the same number of elements, but got 3 and 4 elements "
     "respectively"),
    (lambda: F["linear"](ones(2, 3), ones(5, 4)), "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)"),
    (lambda: torch.einsum("ij,jk->il", ones(2, 3), ones(3, 2)),
     "einsum(): output subscript l does not appear in the equation for any input operand"),
    (lambda: F["conv2d"](ones(1, 3, 8, 8), ones(4, 2, 3, 3)),
     "Given groups=1, weight of size [4, 2, 3, 3], expected input[1, 3, 8, 8] to have 2 channels, but got 3 channels instead"),
    (lambda: F["conv2d"](ones(8, 8), ones(4, 2, 3, 3)),
     "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [8, 8]"),
    (lambda: F["conv2d"](ones(1, 3, 2, 2), ones(4, 3, 3, 3)),
     "Calculated padded input size per channel: (2 x 2). Kernel size: (3 x 3). Kernel size can't be greater than actual input size"),
    (lambda: F["conv2d"](ones(1, 3, 8, 8), ones(4, 3, 3, 3), padding="same", stride=2),
     "padding='same' is not supported for strided convolutions"),
    (lambda: F["max_pool2d"](ones(1, 3, 2, 2), 3), "Given input size: (3x2x2). Calculated output size: (3x0x0). Output size is too small"),
    (lambda: F["max_pool2d"](ones(1, 3, 8, 8), 3, padding=2),
     "pad should be at most half of effective kernel size, but got pad=2, kernel_size=3 and dilation=1"),
]


@pytest.mark.parametrize("call, words", ERRORS, ids=[words[:40] for _, words in ERRORS])
def test_errors_are_pytorchs(call, words):
    with pytest.raises(RuntimeError) as caught:
        call()
    assert str(caught.value) == words


def test_out_may_be_strided():
    target = torch.zeros(3, 2).t()
    torch.mm(torch.arange(4.0).reshape(2, 2), torch.ones(2, 3), out=target)
    assert target.tolist() == [[1.0] * 3, [5.0] * 3]


def _curvature(function, *shapes):
    """d/dt of the gradient along a direction, by the tape and by finite differences of the tape's own gradient."""
    tensors = [(torch.arange(float(torch.ones(*s).numel())).reshape(*s) * 0.37).sin().double().requires_grad_() for s in shapes]
    directions = [(t.detach() * 1.7 + 0.3).cos() for t in tensors]

    def along(points, create_graph):
        y = function(*points)
        gradients = torch.autograd.grad((y * y * y).sum(), points, create_graph=create_graph)
        return sum((g * d).sum() for g, d in zip(gradients, directions))
    exact = torch.autograd.grad(along(tensors, True), tensors)
    exact = sum((g * d).sum() for g, d in zip(exact, directions)).item()
    steps = [along([(t.detach() + e * d).requires_grad_() for t, d in zip(tensors, directions)], False).item() for e in (1e-5, -1e-5)]
    return exact, (steps[0] - steps[1]) / 2e-5


@pytest.mark.parametrize("function, shapes", [
    (lambda x, w: F["conv2d"](x, w, None, 2, 1, 1, 2), [(2, 4, 5, 4), (2, 2, 3, 3)]),
    (lambda x, w: F["conv_transpose2d"](x, w, None, 2, 1, 1), [(2, 2, 3, 3), (2, 3, 3, 2)]),
    (lambda x: F["avg_pool2d"](x, 3, 2, 1), [(1, 2, 5, 4)]),
    (lambda x: F["unfold"](x, 2, 1, 1), [(1, 2, 3, 3)]),
    (lambda x, w, b: F["linear"](x, w, b), [(2, 3, 4), (5, 4), (5,)]),
], ids=["conv2d", "conv_transpose2d", "avg_pool2d", "unfold", "linear"])
def test_second_derivatives(function, shapes):
    exact, measured = _curvature(function, *shapes)
    assert exact == pytest.approx(measured, rel=1e-5)


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"attn_mask": "bool"}, {"attn_mask": "added"}, {"scale": 0.3}, {"enable_gqa": True}])
def test_attention_is_the_same_whether_or_not_a_gradient_is_wanted(options):
    torch.manual_seed(1)
    masks = {"bool": torch.rand(5, 7) > 0.5, "added": torch.randn(5, 7)}
    options = {k: masks.get(v, v) if isinstance(v, str) else v for k, v in options.items()}
    q, k, v = torch.randn(2, 4, 5, 6), torch.randn(2, 2 if "enable_gqa" in options else 4, 7, 6), torch.randn(2, 2 if "enable_gqa" in options else 4, 7, 3)
    wanted = torch.nn.functional.scaled_dot_product_attention(q.clone().requires_grad_(), k, v, **options).detach()
    with torch.no_grad():
        found = torch.nn.functional.scaled_dot_product_attention(q, k, v, **options)
    assert wanted.shape == found.shape and (wanted - found).abs().max().item() < 1e-5


def test_the_attention_op_in_its_primitive_form():
    from pyborch.autograd import apply
    from pyborch.ops.attention import ATTENTION
    torch.manual_seed(1)
    q, k, v, mask = torch.randn(2, 3, 5, 6), torch.randn(2, 3, 7, 6), torch.randn(2, 3, 7, 4), torch.rand(5, 7) > 0.5
    mask[2] = True
    scores = q @ k.mT * 0.3
    for kind, fill, wanted in (("filled", -torch.inf, scores.masked_fill(mask, -torch.inf)), ("seen", -9.0, torch.where(mask, scores, -9.0))):
        wanted = wanted.softmax(-1) @ v
        found = apply(ATTENTION, q, k, v, mask, scale=0.3, causal=False, mask_is=kind, fill=fill, primitive=True)
        assert torch.allclose(wanted, found, atol=1e-6, equal_nan=True) and bool(wanted.isnan().any()) is (kind == "filled")
