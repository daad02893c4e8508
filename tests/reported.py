"""Bugs that users met in other libraries, as expressions with their right values; run on every device."""
import math

INF, NAN = math.inf, math.nan
SETUP = """
nn, F, t = torch.nn, torch.nn.functional, torch.tensor
zeros, ones, arange, full = torch.zeros, torch.ones, torch.arange, torch.full
inf, nan, long = float('inf'), float('nan'), torch.int64
def grad(f, *values):
    leaves = [t(v, requires_grad=True) for v in values]
    f(*leaves).backward()
    return [x.grad.tolist() for x in leaves] if len(leaves) > 1 else leaves[0].grad.tolist()
def written(x, f):
    f(x)
    return x
def setitem(x, i, v):
    x[i] = v
    return x
def filled(layer, *shape):
    with torch.no_grad():
        for p in layer.parameters():
            p.fill_(1.0)
            if p.dim() == 1:
                p.zero_()
    return layer
def saved_view():
    w = ones(2, requires_grad=True)
    xc = ones(2) * 1
    y = (xc * w).sum()
    xc.add_(1)
    y.backward()
def written_view():
    a = ones(3, requires_grad=True).clone()
    a[0] = a[1].sin()
    a.sum().backward()
def trained(name, g, options):
    p = ones(3, requires_grad=True)
    o = getattr(torch.optim, name)([p], lr=0.1, **options)
    for v in ([g] if not isinstance(g, tuple) else g):
        p.grad = t(v)
        o.step()
    return p.tolist()
def replays():
    f = torch.compile(lambda x: x + 1)
    first = f(t([1.1]))
    f(t([1.2]))
    return first.tolist()
def twice():
    f = torch.compile(lambda a, b: a * b)
    x = t([3.0])
    return [f(x, x).item(), f(x, x).item(), f(x, t([2.0])).item()]
def reloaded():
    model = nn.Linear(1, 1)
    f = torch.compile(lambda x: model(x))
    with torch.no_grad():
        f(ones(1, 1))
        model.load_state_dict({'weight': full((1, 1), 3.0), 'bias': full((1,), 4.0)})
        return f(ones(1, 1)).item()
def batch_norm(momentum, batches, count):
    layer = nn.BatchNorm1d(count, momentum=momentum)
    for b in batches:
        y = layer(t(b))
    return layer.running_mean.tolist(), layer.running_var.tolist(), y[0].tolist()
def clipped(g, **options):
    p = zeros(2, requires_grad=True)
    p.grad = t(g)
    total = nn.utils.clip_grad_norm_([p], 1.0, **options)
    return total.item(), p.grad.tolist()
"""
CASES = [
    # views, strides, writes
    ("a scatter reads strided sources", "written(zeros(3, 2), lambda x: x.scatter_(0, zeros(3, 2, dtype=long), t([[1., 2, 3], [4, 5, 6]]).t()))", [[3, 6], [0, 0], [0, 0]]),
    ("a scatter adds up collisions", "written(zeros(3, 2), lambda x: x.scatter_add_(0, zeros(3, 2, dtype=long), t([[1., 2, 3], [4, 5, 6]]).t()))", [[6, 15], [0, 0], [0, 0]]),
    ("a strided column is written alone", "written(zeros(4, 2, dtype=long), lambda z: z[:, 0].bitwise_xor_(1))", [[1, 0]] * 4),
    ("masked_fill broadcasts", "t([[1, 2], [3, 4]]).masked_fill(t([[[True, False]], [[False, True]]]), 0)", [[[0, 2], [0, 4]], [[1, 0], [3, 0]]]),
    ("an expanded tensor refuses writes", "zeros(1, 3).expand(2, 3).add_(1)", RuntimeError),
    ("a transposed convolution fills all of its output", "filled(nn.ConvTranspose2d(1, 2, 5))(ones(1, 1, 2, 2))[0, 1, :2]", [[1, 2, 2, 2, 2, 1], [2, 4, 4, 4, 4, 2]]),
    ("a transposed operand multiplies", "t([[.7, -1.3, 2.1], [-.4, 1.9, -3.2]]).t() @ ones(2, 2)", [[.3, .3], [.6, .6], [-1.1, -1.1]]),
    ("batched products broadcast", "(ones(3, 1, 2, 4) @ ones(1, 5, 4, 6)).sum()", 3 * 5 * 2 * 6 * 4),
    ("broadcast, transposed, multiplied", "t([[0., 1]]).expand(3, 2).t() @ t([1., 2, 3]).diag()", [[0, 0, 0], [1, 2, 3]]),
    ("in place on a strided tensor", "written(arange(6.).reshape(2, 3).t(), lambda x: x.div_(x.std(1)[:, None])).sum()", 7.0710683),
    ("a view writes through", "written(zeros(2, 3), lambda x: x[:, 1].add_(1))", [[0, 1, 0], [0, 1, 0]]),
    ("slices and masks are written", "setitem(setitem(zeros(4), slice(None, None, 2), 1), t([True, False, False, True]), 5)", [5, 0, 1, 5]),
    ("a view that strides forbid", "arange(6).view(2, 3).t().view(6)", RuntimeError),
    ("a reshape copies", "arange(6).view(2, 3).t().reshape(-1)", [0, 3, 1, 4, 2, 5]),
    # sizes and thresholds
    ("argsort by columns", "((arange(24).view(3, 8) * 7919) % 101).argsort(0)[:, :4]", [[0, 0, 1, 0], [1, 1, 2, 1], [2, 2, 0, 2]]),
    ("a product past 500 rows", "((arange(512 * 64.) .view(512, 64) * 1e-4 - .3) @ (arange(64 * 32.).view(64, 32) * 1e-4 - .5))[-1, -1]", -75.37369),
    ("an outer product of 160", "torch.outer(arange(160.) / 160, arange(160.) / 160).sum()", 6320.25),
    ("a join of twenty", "torch.cat([full((2,), float(i)) for i in range(20)]).sum()", 380),
    ("constants keep their digits", "(t([3.]) * (1 / 3) == 1).item(), (t([1.]) * 16777217).item()", [True, 16777216]),
    # NaN, infinity, ranges
    ("NaN is seen", "t([1., nan, 3]).isnan(), t([1., nan, 3]) != t([1., nan, 3]), t([inf, -inf, nan, 1]).isinf()", [[False, True, False], [False, True, False], [True, True, False, False]]),
    ("NaN goes through extremes", "[f(t([1., nan, 3])) for f in (torch.max, torch.min, torch.argmax, torch.relu, lambda x: x.clamp(min=0))]", [NAN, NAN, 1, [1, NAN, 3], [1, NAN, 3]]),
    ("fmax drops NaN", "torch.fmax(t([1., nan, 3]), zeros(3))", [1, 0, 3]),
    ("the first of equals", "t([1., 3, 3]).argmax(), t([1., 1]).argmin(), t([nan, nan]).argmax()", [1, 0, 0]),
    ("tanh saturates", "t([44., 50, 90, 1000, -1000, inf, -inf]).tanh()", [1, 1, 1, 1, -1, 1, -1]),
    ("sigmoid and kin at the ends", "t([-100., 100]).sigmoid(), F.softplus(t([-100., 100])), F.silu(t([100., -1000])), F.logsigmoid(t([-100., 100]))", [[0, 1], [0, 100], [100, 0], [-100, 0]]),
    ("binary cross-entropy at the ends", "F.binary_cross_entropy_with_logits(t([1000., -1000]), zeros(2)), F.binary_cross_entropy(t([0., 1]), t([1., 0]))", [500, 100]),
    ("powers", "t([-2., -1, 0, 3]) ** 2, t([-2.]) ** 3, t([-8.]) ** (1 / 3), t([0.]) ** 0, t([-2.]) ** -1, t([0.]) ** -1", [[4, 1, 0, 9], [-8], [NAN], [1], [-.5], [INF]]),
    ("the gradient of powers", "grad(lambda x: (x ** 2).sum(), [0., -2]), grad(lambda x: (x ** 1).sum(), [0.])", [[0, -4], [1]]),
    ("log_softmax of narrow rows", "[arange(float(n)).log_softmax(0)[-1].item() for n in (1, 2, 3, 5, 31, 33)]", [0, -.3132617, -.4076059, -.4519144, -.4586751, -.4586751]),
    ("large logits", "F.cross_entropy(t([[-431., 279, 427]]), t([0])), grad(lambda x: F.cross_entropy(x, t([0])), [[-431., 279, 427]])", [858, [[-1, 0, 1]]]),
    ("the double where", "grad(lambda n: torch.where(n == 0, t(0.), 1 / torch.where(n == 0, t(1.), n)).sum(), [0., 2])", [0, -.25]),
    ("variance far from zero", "t([10000., 10001, 10002]).var()", 1),
    ("means and sums stay exact", "full((250, 250), 1.23456).sum(), ones(640).mean(), ones(100000).cumsum(0)[-1]", [77160, 1, 100000]),
    # integers and bools
    ("division of negatives", "t([-7, 7, -7, 7, -1]) // t([2, -2, -2, 2, 768]), t([-7, 7, -7, 7, -1]) % t([2, -2, -2, 2, 768]), torch.fmod(t([-7, 7, -7, 7, -1]), t([2, -2, -2, 2, 768])), "
     "torch.div(t([-7, 7, -7, 7, -1]), t([2, -2, -2, 2, 768]), rounding_mode='trunc'), t([-3.5, 3.5, -1]) % t([2., -2, 3])",
     [[-4, -4, 3, 3, -1], [1, -1, -1, 1, 767], [-1, 1, -1, 1, -1], [-3, -3, 3, 3, 0], [.5, -.5, 2]]),
    ("true division", "t(-1045000) / t(-2042500)", 0.51162791),
    ("bools as numbers", "(t([1., -1]) > 0).int(), (t([1., -1]) > 0).float(), t([True]) + t([True]), t([True, True, False]).sum()", [[1, 0], [1, 0], [True], 2]),
    ("comparisons reduce", "((t([[0., 1, 0], [1, -1, 1]]) + 1e-6) <= (t([[0., 1, 0], [1, -1, 1]]) + 1e-6)).all()", True),
    ("uint8 sums grow", "t([200, 100], dtype=torch.uint8).sum(), t([255], dtype=torch.uint8) + 1", [300, [0]]),
    ("integers do not pass through floats", "t([16777217], dtype=torch.int32) + 0, t([16777217]) == t([16777216]), t([1.9, -1.9]).int(), t([2147483647], dtype=torch.int32) + 1", [[16777217], [False], [1, -1], [-2147483648]]),
    # empty, 0-d, gradients
    ("reductions of nothing", "zeros(0).sum(), zeros(0).mean(), zeros(0).prod(), zeros(0).any(), zeros(0).all(), zeros(2, 0).sum(1)", [0, NAN, 1, False, True, [0, 0]]),
    ("the maximum of nothing", "zeros(0).max()", RuntimeError),
    ("empty products and layers", "(zeros(3, 0) @ zeros(0, 2)), tuple(nn.Linear(3, 2)(zeros(0, 3)).shape), torch.cat([zeros(0), ones(2)]), tuple(t([0, 0]).nonzero().shape)", [[[0, 0]] * 3, [0, 2], [1, 1], [0, 1]]),
    ("0-d reductions", "t(3.).sum(0), t(3.).max(-1)[0], t(3.).mean()", [3, 3, 3]),
    ("a dim that is not there", "t(3.).sum(1)", IndexError),
    ("gradients take their operand's shape", "grad(lambda x, y: (x * y).sum(), [2.], [[1., 1]]), grad(lambda x, y: (x * y).sum(), 1., [1., 1])", [[[2], [[2, 2]]], [2, [1, 1]]]),
    ("a saved view that changes", "saved_view()", RuntimeError),
    ("a saved element that changes", "written_view()", RuntimeError),
    ("ties share or pick", "grad(lambda x: x.max(), [2., 2, 1]), grad(lambda x: x.max(0)[0], [2., 2, 1]), grad(lambda x: x.relu().sum(), [0.]), grad(lambda x: x.abs().sum(), [0.]), "
     "grad(lambda x: x.clamp(0, 1).sum(), [0., 1]), grad(lambda x: x.prod(), [0., 2, 3]), grad(lambda x: x.cumprod(0).sum(), [0., 2, 3]), grad(lambda x: x.norm(), [0., 0])",
     [[.5, .5, 0], [1, 0, 0], [0], [0], [1, 1], [6, 0, 0], [9, 0, 0], [0, 0]]),
    ("repeated indices", "grad(lambda x: x[[0, 0, 2]].sum(), [1., 2, 3]), zeros(100).index_add_(0, arange(10000) % 100, ones(10000)).sum(), grad(lambda x: x.unfold(0, 2, 1).sum(), [1., 2, 3, 4])", [[2, 0, 1], 10000, [1, 2, 2, 1]]),
    ("negative indices", "t([1, 2, 0])[[-1, -3]]", [0, 1]),
    # layers and losses
    ("batch norm keeps unbiased variances", "batch_norm(1.0, [[[1., 2, 0], [3, 3, 1], [3, 4, 3]]], 3)", [[2.333333, 3, 1.333333], [1.333333, 1, 2.333333], [-1.41421, -1.22474, -1.06904]]),
    ("batch norm by cumulative mean", "batch_norm(None, [[[1.], [3]], [[5.], [5]]], 1)[:2]", [[3.5], [1.0]]),
    ("batch norm of one row", "nn.BatchNorm1d(3)(ones(1, 3))", ValueError),
    ("weighted smooth cross-entropy", "F.cross_entropy(t([[1., 2], [3, .4]]), t([-100, 1]), weight=t([.2, .3]), label_smoothing=.1)", 2.5404506),
    ("ignored rows", "F.cross_entropy(t([[1., 2, 3]] * 2), t([2, -100]), label_smoothing=.2), F.cross_entropy(t([[1., 2, 3]]), t([-100]))", [.6076059, NAN]),
    ("average pooling at the border", "F.avg_pool2d(ones(1, 1, 4, 4), (1, 2), (2, 2), (0, 1), ceil_mode=True)[0, 0]", [[.5, 1, .5]] * 2),
    ("NaN in pooling", "F.max_pool1d(t([[[nan, 1., 2, 3]]]), 2)[0, 0]", [NAN, 3]),
    ("layer norm of a constant row", "F.layer_norm(t([5., 5, 5]), (3,))", [0, 0, 0]),
    # optimizers and replay
    ("Adam steps", "trained('Adam', ([1., 2, -1], [1., 2, -1]), {}), trained('Adam', [0., 0, 0], {})", [[.8, .8, 1.2], [1, 1, 1]]),
    ("Adam's eps is outside the root", "trained('Adam', [1e-8, 0., 1.], {})", [.95, 1, .9]),
    ("clipping", "clipped([3., 4]), clipped([0., 0])", [[5, [.6, .8]], [0, [0, 0]]]),
    ("clipping of infinities", "clipped([float('inf'), 0.], error_if_nonfinite=True)", RuntimeError),
    ("a replay leaves earlier results alone", "replays()", [2.1]),
    ("the same tensor twice", "twice()", [9, 9, 6]),
    ("loaded weights are seen by a replay", "reloaded()", 7),
]


def plain(value):
    """Tensors and tuples as lists of numbers."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return [plain(v) for v in value] if isinstance(value, (tuple, list)) else value


def same(found, wanted):
    """Equal within 1e-5 relative; NaN equals NaN."""
    if isinstance(wanted, (list, tuple)):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(same, found, wanted))
    return found == wanted or (found != found and wanted != wanted) or (
        isinstance(found, (int, float)) and math.isfinite(wanted) and abs(found - wanted) <= 1e-5 * max(abs(wanted), 1))


def problem(torch, expression, wanted):
    """What is wrong about a case; empty where nothing is."""
    scope = {"torch": torch}
    exec(SETUP, scope)
    try:
        found = plain(eval(expression, scope))
    except Exception as error:  # noqa: BLE001 some cases must raise
        return "" if isinstance(wanted, type) and isinstance(error, wanted) else f"{type(error).__name__}: {error}"
    if isinstance(wanted, type):
        return f"gave {found!r} where {wanted.__name__} is due"
    return "" if same(found, plain(wanted)) else f"{found!r} instead of {wanted!r}"
