"""Python expressions over ``torch`` whose outcome (printed value, or exception and message) must be PyTorch's own."""
SETUP = """
x = torch.arange(24.0).reshape(2, 3, 4)
m = torch.tensor([[1.5, -2.0, 0.25], [4.0, 5.0, -6.5]])
i = torch.tensor([2, 0, 1])
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
F = torch.nn.functional
"""
CASES = {
    "print": [
        "m", "i", "torch.tensor(3.5)", "torch.tensor(7)", "torch.tensor(True)", "torch.tensor([True, False])", "torch.zeros(0)", "torch.zeros(2, 0)", "w", "w * 2",
        "torch.tensor([1e-8, 1.0])", "torch.tensor([1e10, 1.0])", "torch.tensor([0.1, 100.5, 12345.0])", "torch.tensor([1.0, 2.0, 300.0])",
        "torch.tensor([float('nan'), 1.0, float('inf'), -float('inf')])", "torch.arange(2000)", "torch.arange(2000.0)", "torch.zeros(30, 40)",
        "torch.zeros(3, 1200)", "x", "x.permute(2, 0, 1)", "torch.arange(100)", "torch.arange(60.0) / 7", "torch.tensor([1], dtype=torch.int32)",
        "torch.tensor([1.5], dtype=torch.float16)", "torch.tensor([1.5], dtype=torch.float64)", "torch.tensor([-1.0, -2.5])", "torch.zeros(2, 2, 2, 2)", "x.shape",
        "x.dtype", "w.sum()", "torch.tensor([[1e-5, 1.0]])", "torch.tensor([1000000.0])", "torch.tensor([123456789.0])", "torch.tensor([-0.0])",
        "torch.nn.Linear(2, 3)", "torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU())", "x.max(0)"],
    "index": [
        "x[0]", "x[-1, 1]", "x[..., 0]", "x[:, 1:3]", "x[:, ::2, 1:]", "x[None, 0].shape", "x[0, None, :, 2]", "x[:, i]", "x[:, i, 0]", "x[0, i, i]", "x[i[:2] - 1]",
        "x[:, [0, 2]]", "x[x > 20]", "x[:, torch.tensor([True, False, True])]", "x[torch.tensor([[0, 1], [1, 0]])].shape", "x[0, :, i].shape", "x[i[1], :, i].shape",
        "x[..., i].shape", "x[torch.tensor([0, -1])]", "x[True].shape", "x[:, :, -1]", "x[1:1].shape", "x[5:].shape", "m[1, 2].item()", "m[:, 1].tolist()", "x[5]",
        "x[0, 0, 0, 0]", "x['a']", "x[::-1]", "x[1.0]", "x[torch.tensor([5])]", "x[torch.tensor([0.5])]", "torch.tensor(1.0)[0]", "x[..., ...]",
        "x[:, torch.tensor([True, False])]"],
    "write": [
        "set_(m, (0,), 9.0)", "set_(m, (slice(None), 1), torch.tensor([7.0, 8.0]))", "set_(m, (m > 0,), 0.0)", "set_(m, (m > 0,), torch.tensor([1.0, 2.0, 3.0, 4.0]))",
        "set_(x, (0, i), torch.ones(3, 4))", "set_(x, (slice(None), i), 5.0)", "set_(x, (Ellipsis, 0), m)", "set_(x, (i[:2] - 1, i[:2]), 3)",
        "set_(m, (0,), torch.ones(5))",
        "set_(i, (0,), 2.9)", "m.t().add_(1)", "m[0].mul_(2) + m", "m.fill_(3)", "m.clamp_(0, 1)"],
    "error": [
        "m + torch.ones(2, 2)", "m @ m", "torch.ones(2) @ torch.ones(3)", "m.view(4)", "m.reshape(-1, 4)", "m.sum(2)", "m.sum((0, 0))",
        "torch.cat([m, torch.ones(1, 2)])",
        "torch.cat([])", "torch.stack([m, i])", "m.expand(3, 3)", "m.t().view(6)", "i.mean()", "torch.tensor([[1, 2], [3]])", "torch.tensor('a')", "bool(m)", "m.item()",
        "len(torch.tensor(1))", "F.cross_entropy(m, torch.tensor([0]))", "F.cross_entropy(m, torch.tensor([0, 5]))", "F.softmax(i, 0)", "F.dropout(m, 2.0)",
        "F.conv2d(x, torch.ones(1, 1, 3, 3))", "F.linear(m, torch.ones(4, 4))", "F.embedding(i, m)", "F.layer_norm(m, (4,))", "F.nll_loss(m, i)",
        "m.squeeze(3)", "m.permute(0)",
        "m.transpose(0, 5)", "m.narrow(0, 1, 5)", "i.add_(1.5)", "torch.ones(3).add_(m)", "torch.zeros(2, -1)", "torch.arange(0, 5, -1)", "m.gather(0, i)", "m.chunk(0)",
        "torch.full((2,), 1.0).requires_grad_().add_(1)", "w.sum().backward(torch.ones(2))", "w.backward()", "m.sum().backward()", "i.requires_grad_()", "w.numpy()",
        "torch.ones(2, 2).bool() - torch.ones(2, 2).bool()", "i ** -1", "torch.where(m, m, m)", "m.masked_fill(i, 0)", "torch.linspace(0, 1, -1)",
        "m.unflatten(0, (3, 2))",
        "torch.nn.Linear(3, 2)(torch.ones(4))", "torch.nn.BatchNorm1d(3)(torch.ones(1, 3))", "torch.optim.SGD([], lr=0.1)", "torch.optim.Adam([w], lr=-1.0)",
        "torch.nn.Linear(2, 2).load_state_dict({'weight': torch.ones(3, 2)})", "torch.max(torch.zeros(0))", "torch.zeros(0, 3).max(0)", "m.topk(9)", "F.one_hot(m)",
        "F.pad(m, (1,))", "F.mse_loss(m, 'a')", "F.max_pool2d(x, 9)", "second_backward()", "saved_changed()", "torch.autograd.grad(w.sum(), m)"],
    "autograd": [
        "grad_of(lambda: (w * w).sum())", "grad_of(lambda: (w * w).sum() + w.prod())", "grad_of(lambda: (w[0] * w[1:]).sum())", "grad_of(lambda: w.exp().log().mean())",
        "grad_of(lambda: torch.stack([w, w * 2]).max())", "hessian()", "accumulate()", "hooked()", "custom()", "through_view()", "detached()", "nograd()", "retained()",
        "inputs_only()"],
    "promote": [
        "(i + 1.5).dtype", "(i + 1).dtype", "(i * True).dtype", "(m + i).dtype", "(torch.ones(2, dtype=torch.float16) + torch.tensor(1.0)).dtype", "(i / 2).dtype",
        "(i // 2).dtype", "(torch.tensor(1, dtype=torch.int32) + i).dtype", "i.sum().dtype", "(i > 1).sum().dtype", "torch.tensor([1, 2.5]).dtype",
        "torch.tensor(2.0).dtype", "(torch.ones(2, dtype=torch.uint8) + torch.ones(2, dtype=torch.int8)).dtype", "torch.arange(3).dtype", "torch.arange(3.0).dtype",
        "i.float().dtype", "torch.promote_types(torch.uint8, torch.int8)", "torch.result_type(i, 1.5)", "(i == 1).dtype", "torch.tensor([1.9, -1.9]).int()",
        "torch.tensor([300, -1]).to(torch.uint8)", "torch.tensor([0.0, 2.0]).bool()"],
}
HELPERS = """
def set_(t, index, value):
    t[index if len(index) > 1 else index[0]] = value
    return t
def grad_of(f):
    f().backward()
    return w.grad
def hessian():
    g, = torch.autograd.grad((w ** 3).sum(), w, create_graph=True)
    return torch.autograd.grad((g * g).sum(), w)[0]
def accumulate():
    (w * 2).sum().backward()
    (w * 3).sum().backward()
    return w.grad
def hooked():
    seen = []
    y = w * 2
    y.register_hook(lambda g: g * 10)
    w.register_hook(lambda g: seen.append(g.tolist()))
    y.sum().backward()
    return seen, w.grad.tolist()
def custom():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a * 2
        @staticmethod
        def backward(ctx, g):
            a, = ctx.saved_tensors
            return g * a
    Double.apply(w).sum().backward()
    return w.grad
def through_view():
    b = torch.zeros(2, 3)
    b[0] = w * 2
    b[1, 1:].add_(w[:2])
    b[0].mul_(3)
    b.sum().backward()
    return w.grad
def detached():
    (w * w.detach()).sum().backward()
    return w.grad
def nograd():
    with torch.no_grad():
        y = w * 2
    return y.requires_grad, (w * 2).requires_grad
def retained():
    y = w * 2
    y.retain_grad()
    (y * y).sum().backward()
    return y.grad
def inputs_only():
    v = w.detach().clone().requires_grad_()
    (w * v).sum().backward(inputs=[v])
    return w.grad, v.grad
def second_backward():
    y = (w * w).sum()
    y.backward()
    y.backward()
def saved_changed():
    a = w * 2
    y = (a * a).sum()
    a.add_(1)
    y.backward()
"""


def outcome(expression, torch):
    """What an expression gives: its printed value, or [exception, message]."""
    scope = {"torch": torch}
    exec(SETUP + HELPERS, scope)
    try:
        value = eval(expression, scope)
    except Exception as error:  # noqa: BLE001 the exception is the outcome
        return [type(error).__name__, str(error)]
    return repr(value)
