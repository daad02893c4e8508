"""Normalisation: layer, group, instance and RMS norms over rows; batch norm over channels; unit vectors."""
from __future__ import annotations

from .. import shape as shapes
from ..autograd import apply, is_grad_enabled, no_grad
from .extremes import VAR_RECIPE
from .pointwise_plan import plan_part
from .reduce import _upcast
from .reduce_plan import PRODUCTS, SQUARES, Recipe, plan_reduce
from .registry import FUNCTIONS, OPS, Op, S, T, function, pointwise
from .rows_plan import plan_rows


pointwise("_norm_scale", lambda m, squares, *, n, eps: m.rsqrt(squares / n + eps), to="")
pointwise("_norm_centered", lambda m, x, mean, scale: (x - mean) * scale, to="")
pointwise("_norm_grad", lambda m, g, y, scale, sg, sgy, *, n: scale * (g - sg / n - y * (sgy / n)), to="")
pointwise("_norm_grad_rms", lambda m, g, y, scale, sgy, *, n: scale * (g - y * (sgy / n)), to="")
SUM_AND_PRODUCTS = Recipe("vec2<f32>", 2, "return vec2<f32>(0.0);", "return a + vec2<f32>(v, v * v1);", "return a + b;", ("a.x", "a.y"))


# Rows: x (rows, n) -> (normalised, scale)
def _rows_shape(x, *, center, eps):
    from ..dtypes import float32, float64
    return [(x.shape, x.dtype), ((x.shape[0], 1), float64 if x.dtype is float64 else float32)]


def _rows_run(plan, x, y, scale, *, center, eps):
    x = plan.contiguous(x)
    rows, n = x.meta.shape
    plan_rows(plan, "normalize", rows, n, [x, y, scale], [n, x.meta.offset, float(eps)], {"CENTER": center}, {"T": x.meta.dtype.wgsl})


def _rows_parts(plan, x, y, scale, *, center, eps):
    params = {"n": float(x.meta.shape[1]), "eps": eps}
    squares = plan.temp(scale.meta.shape, scale.meta.dtype)
    if center:
        mean = plan.temp(scale.meta.shape, scale.meta.dtype)
        plan_reduce(plan, [x], [squares, mean], (1,), VAR_RECIPE)
        plan_part(plan, OPS["_norm_scale"], [squares], [scale], params)
        plan_part(plan, OPS["_norm_centered"], [x, mean, scale], [y], {})
    else:
        plan_reduce(plan, [x], [squares], (1,), SQUARES)
        plan_part(plan, OPS["_norm_scale"], [squares], [scale], params)
        plan_part(plan, OPS["mul"], [x, scale], [y], {})


def _rows_numpy(np, x, *, center, eps):
    x = _upcast(np, x)
    d = x - x.mean(1, keepdims=True) if center else x
    scale = 1 / np.sqrt((d * d).mean(1, keepdims=True) + np.asarray(eps, d.dtype))
    return d * scale, scale


def _rows_gradient(gs, metas, ys, center):
    """With xhat = ys[0] and scale = ys[1]: linear in both incoming gradients, and again made of tensors where that is wanted."""
    xhat, scale = ys
    g, n = gs[0], metas[0].shape[1]
    if g is not None and not is_grad_enabled():
        result = apply(ROWS_GRAD, g, xhat, scale, center=center)
    elif g is not None:
        inside = g - g.mean(1, keepdim=True) if center else g
        result = scale * (inside - xhat * (g * xhat).mean(1, keepdim=True))
    else:
        result = None
    if gs[1] is not None:
        through = -gs[1] * scale * scale * xhat / n
        result = through if result is None else result + through
    return result


def _rows_grad_run(plan, g, y, scale, out, *, center):
    g, y = plan.contiguous(g), plan.contiguous(y)
    rows, n = y.meta.shape
    plan_rows(plan, "normalize_grad", rows, n, [g, y, scale, out], [n, g.meta.offset, y.meta.offset], {"CENTER": center},
              {"G": g.meta.dtype.wgsl, "T": y.meta.dtype.wgsl})


def _rows_grad_parts(plan, g, y, scale, out, *, center):
    n = {"n": float(y.meta.shape[1])}
    sums = [plan.temp(scale.meta.shape, scale.meta.dtype) for _ in range(1 + center)]
    if center:
        plan_reduce(plan, [g, y], sums, (1,), SUM_AND_PRODUCTS)
        plan_part(plan, OPS["_norm_grad"], [g, y, scale, *sums], [out], n)
    else:
        plan_reduce(plan, [g, y], sums, (1,), PRODUCTS)
        plan_part(plan, OPS["_norm_grad_rms"], [g, y, scale, *sums], [out], n)


def _rows_grad_numpy(np, g, y, scale, *, center):
    inside = g - g.mean(1, keepdims=True) if center else g
    return scale * (inside - y * (g * y).mean(1, keepdims=True))


ROWS_GRAD = Op("normalize_rows_grad", lambda g, y, scale, *, center: (g.shape, g.dtype), _rows_grad_run, _rows_grad_numpy, parts=_rows_grad_parts,
               doc="The gradient of normalize_rows for its input.")
ROWS = Op("normalize_rows", _rows_shape, _rows_run, _rows_numpy, grad={"x": _rows_gradient}, parts=_rows_parts,
          doc="Rows divided by their root mean square or, centred, by their standard deviation.")


def _normalized(x, rows, eps, center):
    count = shapes.numel(x.shape)
    flat = x.reshape(rows, count // rows if rows else 0)
    return apply(ROWS, flat, center=center, eps=float(eps))[0].reshape(x.shape)


def _affine(x, weight, bias):
    if weight is not None:
        return FUNCTIONS["torch"]["addcmul"](bias, x, weight) if bias is not None else x * weight
    return x if bias is None else x + bias


def _check_normalized_shape(name, input, normalized_shape, weight, bias):
    shape = tuple(normalized_shape)
    if not shape:
        raise RuntimeError(f"Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got normalized_shape = {list(shape)}")
    for what, t in (("weight", weight), ("bias", bias)):
        if t is not None and tuple(t.shape) != shape:
            raise RuntimeError(f"Expected {what} to be of same shape as normalized_shape, but got {what} of shape {list(t.shape)} and normalized_shape = "
                               f"{list(shape)}")
    if tuple(input.shape[len(input.shape) - len(shape):]) != shape or len(input.shape) < len(shape):
        wanted = ", ".join(["*", *map(str, shape)])
        raise RuntimeError(f"Given normalized_shape={list(shape)}, expected input with shape [{wanted}], but got input of size{list(input.shape)}")
    return shapes.numel(input.shape[:len(input.shape) - len(shape)])


@function(to="torch F", samples=[S(T(3, 8), (8,)), S(T(2, 3, 4), (3, 4), T(3, 4), T(3, 4)), S(T(2, 300), (300,), T(300), T(300), eps=1e-3),
                                 S(T(8, 3, view=lambda t: t.t()), (8,), T(8))])
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05, cudnn_enable=True):
    """(x - mean) / sqrt(var + eps) over the last dims ``normalized_shape``, then * weight + bias (Ba et al. 2016)."""
    rows = _check_normalized_shape("layer_norm", input, normalized_shape, weight, bias)
    return _affine(_normalized(input, rows, eps, True), weight, bias)


@function(to="torch F", samples=[S(T(3, 8), (8,), eps=1e-5), S(T(2, 3, 4), (4,), T(4), eps=1e-6)])
def rms_norm(input, normalized_shape, weight=None, eps=None):
    """x / sqrt(mean(x^2) + eps) over the last dims, then * weight (Zhang & Sennrich 2019); eps is the dtype's epsilon unless given."""
    rows = _check_normalized_shape("rms_norm", input, normalized_shape, weight, None)
    eps = {"float16": 0.0009765625, "float32": 1.1920928955078125e-07, "float64": 2.220446049250313e-16}[input.dtype.name] if eps is None else eps
    return _affine(_normalized(input, rows, eps, False), weight, None)


@function(to="torch F", samples=[S(T(2, 6, 4), 3), S(T(2, 6, 3, 3), 2, T(6), T(6))])
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-05, cudnn_enabled=True):
    """Normalised over groups of channels (dim 1) and all positions (Wu & He 2018)."""
    if len(input.shape) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(input.shape)}")
    channels = input.shape[1]
    if channels % num_groups:
        raise RuntimeError(f"Expected number of channels in input to be divisible by num_groups, but got input of shape {list(input.shape)} and "
                           f"num_groups={num_groups}")
    per_channel = (1, channels) + (1,) * (len(input.shape) - 2)
    weight, bias = (None if t is None else t.reshape(per_channel) for t in (weight, bias))
    return _affine(_normalized(input, input.shape[0] * num_groups, eps, True), weight, bias)


@function(to="F", samples=[S(T(2, 3, 5)), S(T(2, 3, 4, 4), weight=T(3), bias=T(3))])
def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-05):
    """Normalised over the positions of each channel of each sample (Ulyanov et al. 2016)."""
    batch, channels = input.shape[:2]
    shape = (1, batch * channels, *input.shape[2:])
    repeat = lambda t: None if t is None else t.repeat(batch)  # noqa: E731
    running = [repeat(running_mean), repeat(running_var)]
    result = batch_norm(input.reshape(shape), *running, repeat(weight), repeat(bias), use_input_stats, momentum, eps)
    if use_input_stats and running_mean is not None:
        with no_grad():
            running_mean.copy_(running[0].reshape(batch, channels).mean(0))
            running_var.copy_(running[1].reshape(batch, channels).mean(0))
    return result.reshape(input.shape)


# Channels: batch norm in training
pointwise("_bn_train", lambda m, x, mean, m2, w, b, *, n, eps: (x - mean) * (m.rsqrt(m2 / n + eps) * w) + b, to="")
pointwise("_bn_train_grad", lambda m, g, x, mean, m2, w, sg, sgd, *, n, eps:
          m.rsqrt(m2 / n + eps) * w * (g - sg / n - (x - mean) * (sgd / (m2 + n * eps))), to="")
pointwise("_bn_weight_grad", lambda m, sgd, m2, *, n, eps: sgd * m.rsqrt(m2 / n + eps), to="")
pointwise("_bn_running", lambda m, mean, var, now, m2, *, momentum, n: (mean + (now - mean) * momentum, var + (m2 / n - var) * momentum), to="")
pointwise("_bn_eval", lambda m, x, mean, var, w, b, *, eps: (x - mean) * (m.rsqrt(var + eps) * w) + b, kind="float", to="",
          grad={"x": lambda m, g, var, w, eps: g * m.rsqrt(var + eps) * w, "w": lambda m, g, x, mean, var, eps: g * (x - mean) * m.rsqrt(var + eps),
                "b": lambda m, g: g, "mean": lambda m, g, var, w, eps: -g * m.rsqrt(var + eps) * w,
                "var": lambda m, g, x, mean, var, w, eps: -0.5 * g * (x - mean) * w * m.rsqrt(var + eps) / (var + eps)})
TWO_SUMS = Recipe("vec2<f32>", 2, "return vec2<f32>(0.0);", "return a + vec2<f32>(v, v * (v1 - c0));", "return a + b;", ("a.x", "a.y"))


def _others(rank):
    """All dims but that of the channels."""
    return (0, *range(2, rank))


def _bn_shape(x, w, b, *, eps):
    return [(x.shape, x.dtype), ((x.shape[1],), x.dtype), ((x.shape[1],), x.dtype)]


def _per_channel(plan, operand, rank):
    """A vector over channels as an operand that broadcasts along dim 1."""
    from ..devices import meta
    from ..kernels import Operand
    m = operand.meta
    return Operand(meta((m.shape[0],) + (1,) * (rank - 2), m.dtype, m.device, (m.strides[0],) + (1,) * (rank - 2), m.offset), operand.slot)


def _bn_run(plan, x, w, b, y, mean, m2, *, eps):
    rank = len(x.meta.shape)
    n = float(x.meta.numel // x.meta.shape[1])
    plan_reduce(plan, [x], [m2, mean], _others(rank), VAR_RECIPE)
    plan_part(plan, OPS["_bn_train"], [x, *[_per_channel(plan, t, rank) for t in (mean, m2, w, b)]], [y], {"n": n, "eps": eps})


def _bn_numpy(np, x, w, b, *, eps):
    x = _upcast(np, x)
    axes, along = _others(x.ndim), (1, -1) + (1,) * (x.ndim - 2)
    n, mean = x.size // x.shape[1], x.mean(axes, dtype=np.float64)
    m2 = ((x - mean.reshape(along)) ** 2).sum(axes)
    scale = w / np.sqrt(m2 / n + eps)
    return (x - mean.reshape(along)) * scale.reshape(along) + b.reshape(along), mean, m2


def _bn_gradient(gs, x, w, ys, eps):
    if is_grad_enabled():
        return _bn_gradient_of_tensors(gs[0], x, w, eps)
    return apply(BN_GRAD, gs[0], x, w, ys[1], ys[2], eps=eps)


def _bn_gradient_of_tensors(g, x, w, eps):
    """The same gradient made of tensor operations, for second derivatives."""
    axes, along = list(_others(x.dim())), (1, -1) + (1,) * (x.dim() - 2)
    centered = x - x.mean(axes, keepdim=True)
    scale = (centered.square().mean(axes, keepdim=True) + eps).rsqrt()
    xhat, gw = centered * scale, g * w.reshape(along)
    gx = scale * (gw - gw.mean(axes, keepdim=True) - xhat * (gw * xhat).mean(axes, keepdim=True))
    return gx, (g * xhat).sum(axes), g.sum(axes)


def _bn_grad_shape(g, x, w, mean, m2, *, eps):
    return [(x.shape, g.dtype), (w.shape, g.dtype), (w.shape, g.dtype)]


def _bn_grad_run(plan, g, x, w, mean, m2, gx, gw, gb, *, eps):
    rank = len(x.meta.shape)
    params = {"n": float(x.meta.numel // x.meta.shape[1]), "eps": eps}
    sgd = plan.temp(mean.meta.shape, mean.meta.dtype)
    plan_reduce(plan, [g, x], [gb, sgd], _others(rank), TWO_SUMS, [mean])
    plan_part(plan, OPS["_bn_train_grad"], [g, x, *[_per_channel(plan, t, rank) for t in (mean, m2, w, gb, sgd)]], [gx], params)
    plan_part(plan, OPS["_bn_weight_grad"], [sgd, m2], [gw], params)


def _bn_grad_numpy(np, g, x, w, mean, m2, *, eps):
    axes, along = _others(x.ndim), (1, -1) + (1,) * (x.ndim - 2)
    n, centered = x.size // x.shape[1], x - mean.reshape(along)
    sg, sgd = g.sum(axes), (g * centered).sum(axes)
    scale = 1 / np.sqrt(m2 / n + eps)
    gx = (scale * w).reshape(along) * (g - (sg / n).reshape(along) - centered * (sgd / (m2 + n * eps)).reshape(along))
    return gx, sgd * scale, sg


BN_GRAD = Op("batch_norm_grad", _bn_grad_shape, _bn_grad_run, _bn_grad_numpy,
             doc="The gradients of batch_norm for its input, weight and bias.")
BATCH_NORM = Op("batch_norm", _bn_shape, _bn_run, _bn_numpy, grad={("x", "w", "b"): _bn_gradient},
                doc="Channels normalized over a batch, with the batch's means and sums of squared distances.")


@function(to="F", samples=[S(T(4, 3, 5), None, None, training=True), S(T(4, 3), None, None, T(3), T(3), training=True),
                                 S(T(2, 3, 4, 4), T(3, grad=False), T(3, low=0.5, grad=False), T(3), T(3)),
                                 S(T(3, 2, 5, 6), T(2, grad=False), T(2, low=0.5, grad=False), T(2), T(2), training=True, momentum=0.2)])
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05):
    """Normalised over all but the channels (dim 1): by the batch's statistics in training (running ones are updated in place, with the
    unbiased variance), by the running ones otherwise (Ioffe & Szegedy 2015)."""
    channels, count = input.shape[1], input.meta.numel // max(input.shape[1], 1)
    if training and count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    for name, t in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        if t is not None and t.meta.numel != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {t.meta.numel}")
    if not training and running_mean is None:
        raise RuntimeError("Expected running_mean and running_var to be defined when training=False")
    weight = input.new_ones((channels,)) if weight is None else weight
    bias = input.new_zeros((channels,)) if bias is None else bias
    if not training:
        along = (channels,) + (1,) * (len(input.shape) - 2)
        return apply(OPS["_bn_eval"], input, *[t.reshape(along) for t in (running_mean, running_var, weight, bias)], eps=float(eps))
    result, mean, m2 = apply(BATCH_NORM, input, weight, bias, eps=eps)
    if running_mean is not None:
        with no_grad():
            apply(OPS["_bn_running"], running_mean, running_var, mean.detach(), m2.detach(), out=(running_mean, running_var), momentum=float(momentum),
                  n=float(count - 1))
    return result


@function(to="F", samples=[S(T(3, 4)), S(T(2, 3, 4), 1.0, 2)])
def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """x / max(norm(x), eps) along ``dim``."""
    length = input.norm(p, dim, keepdim=True).clamp_min(eps)
    return input / length.expand_as(input)


@function(to="torch F", samples=[S(T(3, 4), T(3, 4)), S(T(2, 3, 4), T(3, 4), dim=-1)])
def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """The cosine of the angle between vectors along ``dim``."""
    x1, x2 = FUNCTIONS["torch"]["broadcast_tensors"](x1, x2)
    lengths = [x.norm(2, dim, keepdim=True).clamp_min(eps) for x in (x1, x2)]
    return ((x1 / lengths[0]) * (x2 / lengths[1])).sum(dim)
