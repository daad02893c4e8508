"""Expressions with torch.func, torch.autograd.functional and torch.distributions: PyTorch's values."""
SETUP = """
fn, af, D = torch.func, torch.autograd.functional, torch.distributions
p1, q1 = torch.tensor([0.2, 0.5, 0.9]), torch.tensor([0.3, 0.4, 0.6])
many = 40000
x, y = torch.tensor([0.5, -1.0, 2.0]), torch.tensor([1.5, 0.25, -0.75])
m = torch.tensor([[0.5, -1.0, 2.0], [1.0, 0.25, -0.5]])
f = lambda x: (x.sin() * x * x).sum()
g = lambda x, y: torch.stack([(x * y).sum(), (x.exp() * y[0]).prod()])
model = torch.nn.Linear(3, 2)
p = {"weight": m, "bias": torch.tensor([0.5, -0.5])}
"""
CASES = [
    "fn.grad(f)(x)", "fn.grad(fn.grad(lambda v: (v.sin() * v)))(x[0])", "fn.grad(lambda x, y: (x * y).sum(), argnums=(0, 1))(x, y)",
    "fn.grad_and_value(f)(x)", "fn.grad(lambda x: ((x ** 3).sum(), x + 1), has_aux=True)(x)", "fn.grad(lambda d: (d['a'] * d['b']).sum())({'a': x, 'b': y})['b']",
    "fn.grad(f)(x).requires_grad", "fn.grad(f)(x.clone().requires_grad_()).requires_grad", "fn.grad(lambda v: 0 * y.sum())(x)",
    "fn.vjp(g, x, y)[0]", "fn.vjp(g, x, y)[1](torch.tensor([1.0, 2.0]))", "fn.vjp(torch.sin, x)[1](y)", "fn.jvp(g, (x, y), (y, x))", "fn.jvp(torch.tanh, (x,), (y,))",
    "fn.jacrev(torch.sin)(x)", "fn.jacrev(g, argnums=(0, 1))(x, y)", "fn.jacfwd(g, argnums=1)(x, y)", "fn.jacfwd(lambda v: (v * v, v.sum()))(x)",
    "fn.hessian(f)(x)", "fn.jacfwd(fn.jacrev(f))(x)", "fn.linearize(torch.sin, x)[1](y)",
    "fn.vmap(torch.dot)(m, m + 1)", "fn.vmap(torch.dot, in_dims=(0, None))(m, x)", "fn.vmap(lambda v: (v, v.sum()), in_dims=1, out_dims=(1, 0))(m)",
    "fn.vmap(fn.grad(f))(m)", "torch.vmap(fn.vmap(torch.sin))(m)", "fn.functional_call(model, p, (x,))",
    "fn.vmap(fn.grad(lambda p, x: fn.functional_call(model, p, (x,)).pow(2).sum()), in_dims=(None, 0))(p, m)['weight']",
    "[t.shape for t in fn.stack_module_state([model, model])[0].values()]",
    "af.jacobian(torch.exp, x)", "af.jacobian(g, (x, y))", "af.hessian(f, x)", "af.hessian(lambda x, y: (x * y * y).sum(), (x, y))", "af.vjp(g, (x, y), torch.tensor([1.0, 2.0]))",
    "af.jvp(g, (x, y), (y, x))", "af.vhp(f, x, y)", "af.hvp(f, x, y)", "af.vjp(f, x)",
    *[f"[D.{d}.{what}]" for d in ("Normal(x, p1)", "Laplace(x, p1)", "Uniform(x, x + p1)")
      for what in ("log_prob(x + 0.1)", "entropy()", "mean", "stddev", "cdf(x + 0.1)", "batch_shape", "rsample((2,)).shape")],
    "[D.Exponential(p1).log_prob(q1), D.Exponential(p1).cdf(q1), D.Exponential(p1).icdf(q1), D.Exponential(p1).entropy(), D.Exponential(p1).stddev]",
    "[d.log_prob(torch.tensor([1.0, 0.0, 1.0])) for d in (D.Bernoulli(p1), D.Bernoulli(logits=x))]", "[D.Bernoulli(p1).entropy(), D.Bernoulli(logits=x).variance]",
    "[d.log_prob(torch.tensor([[0, 1], [2, 2]])) for d in (D.Categorical(m.abs()), D.Categorical(logits=m))]",
    "[D.Categorical(logits=m).entropy(), D.Categorical(m.abs()).sample((4,)).shape, D.Categorical(p1).sample().shape]",
    *[f"D.kl_divergence({a}, {b})" for a, b in (("D.Normal(x, p1)", "D.Normal(y, q1)"), ("D.Laplace(x, p1)", "D.Laplace(y, q1)"), ("D.Exponential(p1)", "D.Exponential(q1)"),
                                               ("D.Bernoulli(p1)", "D.Bernoulli(q1)"), ("D.Categorical(p1)", "D.Categorical(q1)"))],
    "fn.grad(lambda s: D.Normal(x, s).rsample().sum() * 0 + D.Normal(x, s).log_prob(y).sum())(p1)", "D.Bernoulli()",
    *[f"round(D.{d}.sample((many,)).float().mean().item(), 1) + 0.0" for d in ("Normal(1.0, 2.0)", "Laplace(1.0, 0.5)", "Uniform(1.0, 3.0)", "Exponential(0.5)", "Bernoulli(0.8)")],
    "fn.grad(torch.sin)(x)", "fn.grad(f, argnums=1)(x)", "af.hessian(torch.sin, x)", "af.hvp(f, x, y[:2])",
]


def plain(value):
    """Tensors as lists, structures as they are."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def outcome(torch, expression):
    """The value, or the error's type."""
    scope = {"torch": torch}
    exec(SETUP, scope)
    try:
        return plain(eval(expression, scope))
    except (RuntimeError, ValueError, IndexError) as error:
        return type(error).__name__
