"""Users' own kernels on WebGPU: values, gradients, views, compiled functions, and what is said of WGSL that does not compile."""
from own_kernels import picked, scaled

import pyborch as torch

torch.set_default_device("webgpu")
x = torch.arange(200.0).reshape(10, 20).requires_grad_()
scale, take = scaled(), picked()
y = scale(x.t(), factor=0.5)
assert torch.equal(y, x.detach().t() * 0.5) and y.shape == (20, 10)
(y * y).sum().backward()
assert torch.equal(x.grad, x.detach() / 2), x.grad
with torch.no_grad():
    assert torch.equal(scale(x[3:], factor=2.0), x[3:] * 2)
    rows, reach = take(x, torch.tensor([4, 0, 9]))
    assert torch.equal(rows, x[torch.tensor([4, 0, 9])]) and reach.tolist() == [99, 19, 199]
    step = torch.compile(lambda x, at: take(scale(x + 1, factor=2.0).relu(), at)[0].sum())
    for k in range(4):
        at = torch.tensor([k, k + 1])
        assert step(x, at).item() == ((x[k:k + 2] + 1) * 2).sum().item(), k
    assert len(step.programs) == 1
bad = torch.kernels.compile("@compute @workgroup_size(64) fn main() { y[0] = nothing; }", inputs={"x": "float32"}, outputs={"y": "x"}, name="bad")
try:
    bad(torch.ones(3)).tolist()
    raise SystemExit("WGSL that does not compile went through")
except torch.DeviceError as error:
    assert "nothing" in str(error) and "bad" in str(error), error
assert torch.ones(3).tolist() == [1, 1, 1]
print("own kernels")
