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
def compiled_saved_view():
    torch.compile(saved_view, fullgraph=True)()
def identity():
    f = torch.compile(lambda x: (x, x + 1))
    a, b = f(t([1.0]))
    c, d = f(t([5.0]))
    return [v.item() for v in (a, b, c, d)]
def regrad():
    w = t([2.0], requires_grad=True)
    f = torch.compile(lambda x: x * w)
    found = []
    for wanted in (False, True, False):
        w.requires_grad_(wanted)
        found.append((f(ones(1)).requires_grad, f(ones(1)).item()))
    return found
def five_masks():
    f = torch.compile(lambda x: F.dropout(x, 0.5))
    outside = torch.rand(3)
    masks = [tuple(f(ones(64)).tolist()) for _ in range(5)]
    return len(set(masks)), len(set(torch.rand(3).tolist()) & set(outside.tolist()))
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
def attended(masked):
    q = (arange(8.).reshape(1, 2, 4) / 8).requires_grad_()
    y = F.scaled_dot_product_attention(q, q, q, attn_mask=t(masked))
    y.sum().backward()
    return y.tolist(), bool(q.grad.isfinite().all())
def padded_sample():
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(4, 2, batch_first=True)
    x = ones(2, 3, 4)
    y, _ = layer(x, x, x, key_padding_mask=t([[False, False, False], [True, True, True]]))
    y[0].sum().backward()
    return bool(y[0].isfinite().all()), bool(layer.in_proj_weight.grad[8:].isfinite().all())
def tied():
    e, l = nn.Embedding(2, 2), nn.Linear(2, 2, bias=False)
    with torch.no_grad():
        e.weight.copy_(torch.eye(2))
    l.weight = e.weight
    both = nn.Sequential(e, l)
    both(t([0])).sum().backward()
    return e.weight.grad.tolist(), len(list(both.parameters())), len(both.state_dict())
def skipped():
    p, q = ones(1, requires_grad=True), ones(1, requires_grad=True)
    o = torch.optim.AdamW([p, q], lr=.1, weight_decay=.5)
    p.grad = ones(1)
    o.step()
    o.zero_grad()
    return q.tolist(), p.grad is None, len(o.state)
def rates(name, n, *options):
    o = torch.optim.SGD([ones(1, requires_grad=True)], lr=1.)
    s, found = getattr(torch.optim.lr_scheduler, name)(o, *options), []
    for _ in range(n):
        found.append(o.param_groups[0]['lr'])
        o.step()
        s.step()
    return found
def channels(n):
    x, w = arange(n * 9.).reshape(1, n, 3, 3) / 9, arange(2 * n * 4.).reshape(2, n, 2, 2) / 4
    y = F.conv2d(x, w)
    by_hand = [[[sum((x[0, c, i:i + 2, j:j + 2] * w[o, c]).sum().item() for c in range(n)) for j in range(2)] for i in range(2)] for o in range(2)]
    back = F.conv_transpose2d(y, w)
    return ((y[0] - t(by_hand)).abs().max() / y.abs().max()).item() < 1e-5, ((back * x).sum() / (y * y).sum()).item()
def widths(n):
    x = arange(3. * n).reshape(3, n).cos()
    e = x.exp() / x.exp().sum(1, keepdim=True)
    z = (x - x.mean(1, keepdim=True)) / (x.var(1, keepdim=True, unbiased=False) + 1e-5).sqrt()
    return ((x.softmax(1) - e).abs().max() + (F.layer_norm(x, (n,)) - z).abs().max() + (x @ ones(n, n) - x.sum(1, keepdim=True)).abs().max()).item() < 1e-4
def replayed(*calls):
    f = torch.compile(lambda x, n: F.softmax(x, n))
    return [f(*c).tolist() for c in calls]
def long_chain():
    x = ones(1, requires_grad=True)
    y = x
    for _ in range(3000):
        y = y + 1
    y.sum().backward()
    return x.grad.tolist()
def two_reads():
    x = t([[.1, .7, .2]])
    best = x.argmax(1)
    first = best.tolist()
    return first, x.tolist(), best.tolist(), first
def one_written():
    x = t([1., 2, 3, 4])
    x[:3].copy_(t([7., 8, 9]))
    return x.tolist()
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
    ("one row of odd strides multiplies", "(arange(64.).reshape(1, 8, 8)[:, 7, :] @ ones(3, 8).t()), arange(13.).expand(1, 1, 13, 13)[0, 0, 12].int()", [[[476] * 3], list(range(13))]),
    ("collisions on views", "written(zeros(2, 3), lambda x: x[:, 1].index_add_(0, t([0, 0, 1]), t([1., 2, 4])))", [[0, 3, 0], [0, 4, 0]]),
    ("odd counts of narrow elements", "[torch.arange(n).to(d)[1:].tolist() for n in (2, 4, 6) for d in (torch.uint8, torch.int8, torch.bool)]", [[1], [1], [True], [1, 2, 3], [1, 2, 3], [True] * 3, [1, 2, 3, 4, 5], [1, 2, 3, 4, 5], [True] * 5]),
    ("the rest of a buffer is kept", "one_written()", [7, 8, 9, 4]),
    # sizes and thresholds
    ("argsort by columns", "((arange(24).view(3, 8) * 7919) % 101).argsort(0)[:, :4]", [[0, 0, 1, 0], [1, 1, 2, 1], [2, 2, 0, 2]]),
    ("a product past 500 rows", "((arange(512 * 64.) .view(512, 64) * 1e-4 - .3) @ (arange(64 * 32.).view(64, 32) * 1e-4 - .5))[-1, -1]", -75.37369),
    ("an outer product of 160", "torch.outer(arange(160.) / 160, arange(160.) / 160).sum()", 6320.25),
    ("a join of twenty", "torch.cat([full((2,), float(i)) for i in range(20)]).sum()", 380),
    ("constants keep their digits", "(t([3.]) * (1 / 3) == 1).item(), (t([1.]) * 16777217).item()", [True, 16777216]),
    ("outer products about thresholds", "[torch.outer(arange(float(n)), ones(n)).sum().item() for n in (127, 128, 129, 130, 255, 256, 257, 258)]", [n * n * (n - 1) / 2 for n in (127, 128, 129, 130, 255, 256, 257, 258)]),
    ("channels that four does not divide", "[channels(n) for n in range(1, 10)]", [[True, 1]] * 9),
    ("widths that four does not divide", "[widths(n) for n in (*range(1, 10), 31, 33, 63, 65)]", [True] * 13),
    ("more rows than one side of a grid", "(arange(65536. * 2 + 2).reshape(-1, 2) % 2).softmax(1)[-1], ones(4097, 33).cumsum(1)[-1, -1], zeros(65537, 1).add(1).sum()", [[.26894142, .73105858], 33, 65537]),
    ("the maximum wherever it sits", "[zeros(n).index_fill(0, t([i]), 1.).argmax().item() for n, i in ((88, 44), (86, 43), (84, 42), (300, 257))]", [44, 43, 42, 257]),
    ("the same op with other attributes", "(lambda x: [x.softmax(0)[0], x.softmax(1)[0], x.sum(0), x.sum(1), F.max_pool1d(x[None], 2, 1)[0, 0], F.max_pool1d(x[None], 2, 2)[0, 0]])(t([[1., 2, 3], [3, 2, 1]]))",
     [[.1192029, .5, .8807971], [.0900306, .2447285, .6652410], [4, 4, 4], [6, 6], [2, 3], [2]]),
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
    ("rows whose keys are all masked", "attended([[False, False], [True, False]])", [[[[0, 0, 0, 0], [0, .125, .25, .375]]], True]),
    ("a sample of padding alone leaves shared weights finite", "padded_sample()[0]", True),
    ("additive masks of -1e9", "(t([[1., 2, 3]]) + t([[0., -1e9, -1e9]])).softmax(1), t([[-1e9, -1e9]]).softmax(1)", [[[1, 0, 0]], [[.5, .5]]]),
    ("the traps of where", "torch.where(t([100.]) <= 0, t([100.]).exp(), 1 + t([100.])), grad(lambda x: torch.where(x > 0, x.sqrt(), x).sum(), [-1., -4])", [[101], [NAN, NAN]]),
    ("infinite logits of others", "grad(lambda x: F.cross_entropy(x, t([0])), [[1., 2, -inf]])", [[[-.7310586, .7310586, 0]]][0]),
    ("rows of -inf", "full((2, 3), -inf).max(1)[0], full((2, 3), -inf).logsumexp(1), F.max_pool1d(full((1, 1, 2), -inf), 2)[0, 0]", [[-INF, -INF], [-INF, -INF], [-INF]]),
    ("sums of millions", "ones((1 << 24) + 2).sum(), full((4500, 4500), -1.).mean()", [16777218, -1]),
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
    ("3,000 steps of a tape", "long_chain()", [1]),
    ("heavy collisions", "zeros(4).index_add_(0, arange(100000) % 4, ones(100000)), written(zeros(100), lambda c: setitem(c, arange(1000) % 100, c[arange(1000) % 100] + 1)).sum()", [[25000] * 4, 100]),
    ("written elements have no gradient", "grad(lambda x: setitem(x * 1, 0, 1.).sum(), [1., 2])", [0, 1]),
    ("overwritten values have none of their own", "[grad(lambda x, f=f: (f(x * 1) * 2).sum(), [1., 2]) for f in (lambda y: y.fill_(1.), lambda y: y.zero_(), lambda y: y.copy_(t([5., 6])), "
     "lambda y: y.uniform_(), lambda y: y.bernoulli_(.5), lambda y: y.lt_(1.), lambda y: y.floor_(), lambda y: setitem(y, slice(None), 3.))]", [[0, 0]] * 8),
    ("tied weights", "tied()", [[[2, 1], [1, 0]], 1, 2]),
    ("data-dependent shapes", "t([3., 1, 2]).topk(2)[0], t([0, 1, 1]).nonzero(), t([1., 2]).masked_select(t([False, True]))", [[3, 2], [[1], [2]], [2]]),
    # layers and losses
    ("batch norm keeps unbiased variances", "batch_norm(1.0, [[[1., 2, 0], [3, 3, 1], [3, 4, 3]]], 3)", [[2.333333, 3, 1.333333], [1.333333, 1, 2.333333], [-1.41421, -1.22474, -1.06904]]),
    ("batch norm by cumulative mean", "batch_norm(None, [[[1.], [3]], [[5.], [5]]], 1)[:2]", [[3.5], [1.0]]),
    ("batch norm of one row", "nn.BatchNorm1d(3)(ones(1, 3))", ValueError),
    ("weighted smooth cross-entropy", "F.cross_entropy(t([[1., 2], [3, .4]]), t([-100, 1]), weight=t([.2, .3]), label_smoothing=.1)", 2.5404506),
    ("ignored rows", "F.cross_entropy(t([[1., 2, 3]] * 2), t([2, -100]), label_smoothing=.2), F.cross_entropy(t([[1., 2, 3]]), t([-100]))", [.6076059, NAN]),
    ("average pooling at the border", "F.avg_pool2d(ones(1, 1, 4, 4), (1, 2), (2, 2), (0, 1), ceil_mode=True)[0, 0]", [[.5, 1, .5]] * 2),
    ("NaN in pooling", "F.max_pool1d(t([[[nan, 1., 2, 3]]]), 2)[0, 0]", [NAN, 3]),
    ("layer norm of a constant row", "F.layer_norm(t([5., 5, 5]), (3,))", [0, 0, 0]),
    ("layer norm, then a scale", "F.layer_norm(t([[1., 3], [2, 6]]), (2,)) * t([[1., 1], [10, 10]])", [[-.999995, .999995], [-9.99999, 9.99999]]),
    ("resizing", "(lambda x: [F.interpolate(x, scale_factor=2, mode='bilinear')[0, 0, 0], F.interpolate(x, size=2, mode='bilinear', align_corners=True)[0, 0]])(arange(1., 10).reshape(1, 1, 3, 3)), "
     "F.interpolate(arange(1., 17).reshape(1, 1, 4, 4), size=(3, 1), mode='bilinear')[0, 0, :, 0], F.interpolate(arange(5.).reshape(1, 1, 5), size=3)[0, 0], F.interpolate(arange(5.).reshape(1, 1, 5), size=3, mode='nearest-exact')[0, 0]",
     [[[1, 1.25, 1.75, 2.25, 2.75, 3], [[1, 3], [7, 9]]], [3.1666667, 8.5, 13.8333333], [0, 1, 3], [0, 2, 4]]),
    # optimizers and replay
    ("Adam steps", "trained('Adam', ([1., 2, -1], [1., 2, -1]), {}), trained('Adam', [0., 0, 0], {})", [[.8, .8, 1.2], [1, 1, 1]]),
    ("Adam's eps is outside the root", "trained('Adam', [1e-8, 0., 1.], {})", [.95, 1, .9]),
    ("weight decay of both kinds", "trained('Adam', [1., 2, -1], {'weight_decay': .1}), trained('AdamW', [1., 2, -1], {'weight_decay': .1})", [[.9, .9, 1.1], [.89, .89, 1.09]]),
    ("Adam over three steps", "[trained('Adam', ([v] * 3, [w] * 3, [u] * 3), dict(betas=(.9, b), amsgrad=a))[0] for v, w, u, b, a in ((1., 2., -1., .999, False), (10., .1, .1, .5, True), (10., .1, .1, .5, False))]", [.7614729, .8008738, .7361418]),
    ("parameters without gradients are left alone", "skipped()", [[1], True, 1]),
    ("schedules", "rates('StepLR', 5, 2, .1), rates('CosineAnnealingLR', 5, 4)", [[1, 1, .1, .1, .01], [1, .853553391, .5, .146446609, 0]]),
    ("reads do not disturb each other", "two_reads()", [[1], [[.1, .7, .2]], [1], [1]]),
    ("a replay with another attribute", "replayed((t([[0., 0], [0, 0]]), 0), (t([[1., 1, 1]]), 1), (t([[0., inf]]) * 0, 1))", [[[.5, .5]] * 2, [[1 / 3] * 3], [[NAN, NAN]]]),
    ("clipping", "clipped([3., 4]), clipped([0., 0])", [[5, [.6, .8]], [0, [0, 0]]]),
    ("clipping of infinities", "clipped([float('inf'), 0.], error_if_nonfinite=True)", RuntimeError),
    ("a replay leaves earlier results alone", "replays()", [2.1]),
    ("the same tensor twice", "twice()", [9, 9, 6]),
    ("a compiled saved view that changes", "compiled_saved_view()", RuntimeError),
    ("an argument given back by a replay", "identity()", [1, 2, 5, 6]),
    ("gradients wanted and not wanted in turn", "regrad()", [[False, 2], [True, 2], [False, 2]]),
    ("five replays, five masks, and noise outside goes on", "five_masks()", [5, 0]),
    ("loaded weights are seen by a replay", "reloaded()", 7),
]

ON_CPU = [  # a GPU device reads 0 there and writes nothing, so that no step waits for a check
    ("indices out of range", "nn.Embedding(10, 2)(t([10]))", IndexError),
    ("a gather out of range", "t([1., 2, 3]).gather(0, t([3]))", RuntimeError),
    ("a negative gather", "t([1., 2, 3]).gather(0, t([-1]))", RuntimeError),
    ("a class out of range", "F.cross_entropy(zeros(1, 3), t([3]))", IndexError),
    ("an index_select out of range", "t([1., 2, 3]).index_select(0, t([3]))", IndexError),
    ("a scatter out of range", "zeros(3).scatter_(0, t([3]), ones(1))", RuntimeError),
    ("a class for one_hot out of range", "F.one_hot(t([3]), 3)", RuntimeError),
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
