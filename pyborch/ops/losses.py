"""Losses (torch.nn.functional). Classification has kernels of its own; the others are elementwise formulas and a mean."""
from __future__ import annotations

import math
import warnings

from .. import kernels
from .. import shape as shapes
from ..autograd import apply
from ..devices import meta
from ..dtypes import float32
from .pointwise_plan import plan_part
from .reduce_plan import SUMS, plan_reduce
from .registry import FUNCTIONS, OPS, Op, S, T, function, pointwise

LABELS = T(4, dtype="int64", values=(0, 2, 1, 2))
PAIR = [S(T(3, 4), T(3, 4)), S(T(3, 4), T(3, 4), reduction="sum"), S(T(3, 4), T(3, 4), reduction="none")]


def reduced(loss, reduction):
    """The mean, the sum or (none) the losses themselves."""
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f"{reduction} is not a valid value for reduction")


# Class indices
def _positions(x):
    """(number of positions, classes, inner) of (C,) or (N, C, ...)."""
    if len(x.shape) == 1:
        return 1, x.shape[0], 1
    return x.shape[0] * shapes.numel(x.shape[2:]), x.shape[1], shapes.numel(x.shape[2:])


def _target_shape(x):
    return () if len(x.shape) == 1 else (x.shape[0], *x.shape[2:])


def _nll_shape(x, target, weight=None, *, ignore_index):
    return [(_target_shape(x), x.dtype), (_target_shape(x), x.dtype)]


def _nll_run(plan, x, target, weight, loss, scale, *, ignore_index):
    x, target = plan.contiguous(x), plan.contiguous(target)
    count, classes, inner = _positions(x.meta)
    stored = x.meta.dtype.wgsl
    names = [("read", "x", stored), ("read", "target_class", "i32")]
    text = "fn class_weight(c: u32) -> f32 { return 1.0; }"
    if weight is not None:
        weight = plan.contiguous(weight)
        names.append(("read", "weights", weight.meta.dtype.wgsl))
        text = "fn class_weight(c: u32) -> f32 { return f32(weights[p.w_offset + c]); }"
    names += [("read_write", "loss", stored), ("read_write", "scale", stored)]
    text += "\n" + "\n".join(f"@group(0) @binding({k}) var<storage, {a}> {n}: array<{t}>;" for k, (a, n, t) in enumerate(names))
    words = [count, classes, inner, ignore_index, x.meta.offset, target.meta.offset, weight.meta.offset if weight else 0]
    plan.dispatch(kernels.from_file("nll", types={"T": stored}, text=text), [x, target, *([weight] if weight else []), loss, scale], words, -(-count // 64))


pointwise("_nll_pick", lambda m, x, t, *, inner, size: m.where(m.place(inner, size) == t, -x, 0.0), fixed={"t": "i32"}, to="")
pointwise("_nll_finish", lambda m, picked, t, *, ignore, size: (m.where(t == ignore, 0.0, m.where((t < 0) | (t >= size), math.nan, picked)),
                                                                m.where(t == ignore, 0.0, 1.0)), fixed={"t": "i32"}, to="")
pointwise("_nll_back", lambda m, g, t, scale, *, inner, size: m.where(m.place(inner, size) == t, -(g * scale), 0.0), fixed={"t": "i32"}, to="")


def _per_position(x, shape):
    """An operand (N, ...) as (N, 1, ...), beside the classes of ``shape``."""
    m, at = x.meta, min(len(shape) - 1, 1)
    view = meta((*m.shape[:at], 1, *m.shape[at:]), m.dtype, m.device, (*m.strides[:at], 0, *m.strides[at:]), m.offset)
    return kernels.Operand(view, x.slot)


def _nll_parts(plan, x, target, weight, loss, scale, *, ignore_index):
    if weight is not None:
        return _nll_run(plan, x, target, weight, loss, scale, ignore_index=ignore_index)
    shape = x.meta.shape
    _, classes, inner = _positions(x.meta)
    target, loss, scale = (_per_position(operand, shape) for operand in (target, loss, scale))
    found, picked = plan.temp(shape, float32), plan.temp(loss.meta.shape, float32)
    plan_part(plan, OPS["_nll_pick"], [x, target], [found], {"inner": inner, "size": classes})
    plan_reduce(plan, [found], [picked], (min(len(shape) - 1, 1),), SUMS["f32"])
    plan_part(plan, OPS["_nll_finish"], [picked, target], [loss, scale], {"ignore": ignore_index, "size": classes})
    return None


def _nll_grad_parts(plan, g, target, scale, out, *, shape):
    _, classes, inner = _positions(out.meta)
    operands = [_per_position(operand, shape) for operand in (g, target, scale)]
    plan_part(plan, OPS["_nll_back"], operands, [out], {"inner": inner, "size": classes})


def _nll_numpy(np, x, target, weight, *, ignore_index):
    columns = x.reshape(1, -1, 1) if x.ndim == 1 else x.reshape(x.shape[0], x.shape[1], -1)
    t = target.reshape(columns.shape[0], -1)
    ignored = t == ignore_index
    bad = ~ignored & ((t < 0) | (t >= columns.shape[1]))
    if bad.any():
        raise IndexError(f"Target {t[bad][0]} is out of bounds.")
    safe = np.where(ignored, 0, t)
    scale = np.where(ignored, 0, 1 if weight is None else weight[safe]).astype(x.dtype)
    loss = -np.take_along_axis(columns, safe[:, None, :], 1)[:, 0] * scale
    return np.where(ignored, 0, loss).reshape(target.shape), scale.reshape(target.shape)


def _nll_grad_run(plan, g, target, scale, out, *, shape):
    g, target, scale = plan.contiguous(g), plan.contiguous(target), plan.contiguous(scale)
    count, classes, inner = _positions(out.meta)
    words = [out.meta.numel, classes, inner, g.meta.offset, target.meta.offset, scale.meta.offset]
    plan.dispatch(kernels.from_file("nll_grad", types={"T": g.meta.dtype.wgsl}), [g, target, scale, out], words, -(-out.meta.numel // 256))


def _nll_grad_numpy(np, g, target, scale, *, shape):
    rows = (1, shape[0], 1) if len(shape) == 1 else (shape[0], shape[1], -1)
    out = np.zeros(shape, g.dtype).reshape(rows)
    t = target.reshape(out.shape[0], -1)
    safe = np.where((t < 0) | (t >= out.shape[1]), 0, t)
    np.put_along_axis(out, safe[:, None, :], (-g * scale).reshape(t.shape)[:, None, :], 1)
    return out.reshape(shape)


NLL_GRAD = Op("nll_grad", lambda g, target, scale, *, shape: (shape, g.dtype), _nll_grad_run, _nll_grad_numpy, parts=_nll_grad_parts,
              grad={"g": lambda gs, tensors, shape: apply(NLL, gs[0], tensors[1], None, ignore_index=-(1 << 30))[0] * tensors[2]},
              doc="The gradient of nll for its input.")
NLL = Op("nll", _nll_shape, _nll_run, _nll_numpy, parts=_nll_parts,
         grad={"x": lambda gs, target, ys, metas: apply(NLL_GRAD, gs[0], target, ys[1].detach(), shape=tuple(metas[0].shape))},
         doc="The negative log likelihood of target classes, and what each target weighs.")


def _check_classes(input, target):
    rank = len(input.shape)
    if rank < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {rank})")
    if rank > 1 and input.shape[0] != target.shape[0]:
        raise ValueError(f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({target.shape[0]}).")
    if target.dtype.kind == "f" or target.dtype.name == "bool":
        raise RuntimeError(f"expected scalar type Long but found {target.dtype.title}")
    wanted = _target_shape(input)
    if tuple(target.shape) != wanted:
        if rank == 2 and len(target.shape) > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        raise RuntimeError(f"Expected target size {list(wanted)}, got {list(target.shape)}")


@function(to="F", samples=[S(T(4, 3, low=-2, high=0), LABELS), S(T(4, 3), LABELS, T(3, low=0.2, grad=False)), S(T(4, 3), LABELS, ignore_index=2, reduction="sum"),
                           S(T(2, 3, 2), T(2, 2, dtype="int64", values=(0, 2, 1, 2)), reduction="none"), S(T(3), T(dtype="int64", values=(2,)))])
def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """-input[target] for log probabilities (N, C, ...) and class indices (N, ...), weighted per class; the mean divides by the weights."""
    _check_classes(input, target)
    loss, scale = apply(NLL, input, target, weight, ignore_index=ignore_index)
    return loss.sum() / scale.sum() if reduction == "mean" else reduced(loss, reduction)


@function(to="F", samples=[S(T(4, 3, low=-3, high=3), LABELS), S(T(4, 3), LABELS, T(3, low=0.2, grad=False), label_smoothing=0.1),
                           S(T(4, 3), LABELS, ignore_index=2), S(T(4, 3), T(4, 3, low=0.0)), S(T(4, 3), T(4, 3, low=0.0), T(3, low=0.2, grad=False), label_smoothing=0.2),
                           S(T(2, 3, 2), T(2, 2, dtype="int64", values=(0, 2, 1, 2)), reduction="sum"), S(T(4, 3), LABELS, label_smoothing=0.3, reduction="none")])
def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
    """nll_loss of log_softmax over classes (dim 1). ``target``: class indices (N, ...) or probabilities of the shape of ``input``."""
    dim = 0 if len(input.shape) == 1 else 1
    if target.shape == input.shape and target.dtype.kind == "f":
        return _soft_cross_entropy(input, target, weight, reduction, label_smoothing, dim)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    logs = input.log_softmax(dim)
    hard = nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    return hard if label_smoothing == 0.0 else _smoothed(logs, hard, target, weight, ignore_index, reduction, label_smoothing, dim)


def _smoothed(logs, hard, target, weight, ignore_index, reduction, smoothing, dim):
    classes = logs.shape[dim]
    present = (target != ignore_index).to(logs.dtype)
    if weight is None:
        spread, total = -logs.sum(dim) * present, present.sum()
    else:
        spread = -(logs * weight.reshape((classes,) + (1,) * (logs.dim() - dim - 1))).sum(dim) * present
        total = apply(NLL, logs.detach(), target, weight, ignore_index=ignore_index)[1].sum()
    spread = spread.sum() / total if reduction == "mean" else reduced(spread, reduction)
    return hard * (1.0 - smoothing) + spread * (smoothing / classes)


def _soft_cross_entropy(input, target, weight, reduction, smoothing, dim):
    classes = input.shape[dim]
    if smoothing:
        target = target * (1.0 - smoothing) + smoothing / classes
    logs = input.log_softmax(dim)
    if weight is not None:
        logs = logs * weight.reshape((classes,) + (1,) * (input.dim() - dim - 1))
    loss = -(logs * target).sum(dim)
    return loss.sum() / max(loss.numel(), 1) if reduction == "mean" else reduced(loss, reduction)


# Elementwise losses
def _warn_sizes(input, target):
    if target.size() != input.size():
        warnings.warn(f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely lead to incorrect "
                      "results due to broadcasting. Please ensure they have the same size.", stacklevel=3)


def _elementwise(name, op, samples, defaults=(), doc=""):
    """A loss that is one formula and a reduction."""
    def loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None, **options):
        _warn_sizes(input, target)
        values = apply(OPS[op], input, target, **{k: float(options.pop(k, v)) for k, v in defaults})
        if options:
            raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(options))}'")
        return reduced(values if weight is None else values * weight, reduction)
    loss.__doc__ = doc
    function(to="F", name=name, samples=samples)(loss)


pointwise("_squared_error", lambda m, x, t: m.square(x - t), to="", grad={"x": lambda m, g, x, t: 2.0 * g * (x - t), "t": lambda m, g, x, t: -2.0 * g * (x - t)})
pointwise("_absolute_error", lambda m, x, t: m.abs(x - t), to="", grad={"x": lambda m, g, x, t: g * m.sign(x - t), "t": lambda m, g, x, t: -g * m.sign(x - t)})
pointwise("_smooth_l1", lambda m, x, t, *, beta: m.where(m.abs(x - t) < beta, 0.5 * m.square(x - t) / beta, m.abs(x - t) - 0.5 * beta), to="",
          grad={"x": lambda m, g, x, t, beta: g * m.where(m.abs(x - t) < beta, (x - t) / beta, m.sign(x - t)),
                "t": lambda m, g, x, t, beta: -g * m.where(m.abs(x - t) < beta, (x - t) / beta, m.sign(x - t))})
pointwise("_huber", lambda m, x, t, *, delta: m.where(m.abs(x - t) < delta, 0.5 * m.square(x - t), delta * (m.abs(x - t) - 0.5 * delta)), to="",
          grad={"x": lambda m, g, x, t, delta: g * m.where(m.abs(x - t) < delta, x - t, delta * m.sign(x - t)),
                "t": lambda m, g, x, t, delta: -g * m.where(m.abs(x - t) < delta, x - t, delta * m.sign(x - t))})
pointwise("_bce", lambda m, x, t: -(t * m.clamp_min(m.log(x), -100.0) + (1.0 - t) * m.clamp_min(m.log1p(-x), -100.0)), kind="float", to="",
          grad={"x": lambda m, g, x, t: g * (x - t) / m.clamp_min(x * (1.0 - x), 1e-12),
                "t": lambda m, g, x: g * (m.clamp_min(m.log1p(-x), -100.0) - m.clamp_min(m.log(x), -100.0))})
_elementwise("mse_loss", "_squared_error", PAIR, doc="Mean (or sum, or none) of (input - target)^2.")
_elementwise("l1_loss", "_absolute_error", PAIR, doc="Mean (or sum, or none) of |input - target|.")


@function(to="F", samples=PAIR + [S(T(3, 4), T(3, 4), beta=0.3)])
def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """Squared error below ``beta`` (divided by 2 beta), absolute error above."""
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    _warn_sizes(input, target)
    if beta == 0:
        return reduced(apply(OPS["_absolute_error"], input, target), reduction)
    return reduced(apply(OPS["_smooth_l1"], input, target, beta=float(beta)), reduction)


@function(to="F", samples=PAIR + [S(T(3, 4), T(3, 4), delta=0.3)])
def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """Squared error below ``delta``, delta times absolute error above."""
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    _warn_sizes(input, target)
    values = apply(OPS["_huber"], input, target, delta=float(delta))
    return reduced(values if weight is None else values * weight, reduction)


CHANCES = [S(T(3, 4, low=0.1, high=0.9), T(3, 4, low=0.0)), S(T(3, 4, low=0.1, high=0.9), T(3, 4, low=0.0), T(3, 4, low=0.1, grad=False), reduction="sum")]


@function(to="F", samples=CHANCES)
def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """-(t log x + (1 - t) log(1 - x)) for probabilities; logs are bounded by -100."""
    if target.shape != input.shape:
        raise ValueError(f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. Please ensure they have "
                         "the same size.")
    values = apply(OPS["_bce"], input, target)
    return reduced(values if weight is None else values * weight, reduction)


@function(to="F", samples=[S(T(3, 4, low=-3, high=3), T(3, 4, low=0.0)), S(T(3, 4), T(3, 4, low=0.0), T(4, low=0.1, grad=False), pos_weight=T(4, low=0.5, grad=False))])
def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
    """binary_cross_entropy of sigmoid(input), without overflow; ``pos_weight`` weighs the positive part."""
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    log_sigmoid = FUNCTIONS["F"]["logsigmoid"]
    if pos_weight is None:
        values = (1.0 - target) * input - log_sigmoid(input)
    else:
        values = (1.0 - target) * input - (1.0 + (pos_weight - 1.0) * target) * log_sigmoid(input)
    return reduced(values if weight is None else values * weight, reduction)


@function(to="F", samples=[S(T(3, 4, low=-3, high=0), T(3, 4, low=0.1)), S(T(3, 4, low=-3, high=0), T(3, 4, low=-3, high=0), log_target=True, reduction="batchmean")])
def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """target * (log target - input) for log probabilities ``input``; "batchmean" divides the sum by the batch size."""
    values = target.exp() * (target - input) if log_target else target.xlogy(target) - target * input
    if reduction == "batchmean":
        return values.sum() / input.shape[0]
    return reduced(values, reduction)


@function(to="F", samples=[S(T(3, 4), T(3, 4), T(3, 4, low=0.2)), S(T(3, 4), T(3, 4), T(3, 1, low=0.2), full=True)])
def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """0.5 * (log var + (input - target)^2 / var), plus 0.5 log(2 pi) where ``full``."""
    if not hasattr(var, "meta"):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = float(var) * input.new_ones(input.shape)
    elif var.meta.device.type == "cpu" and var.numel() and bool((var.detach() < 0).any()):
        raise ValueError("var has negative entry/entries")
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif input.shape[:-1] != var.shape[:-1] or var.shape[-1] != 1:
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    var = var.clamp_min(eps) if not var.requires_grad else var + (var.detach().clamp_min(eps) - var.detach())
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


@function(to="F", samples=[S(T(3, 4), T(3, 4, low=0.1)), S(T(3, 4, low=0.2), T(3, 4, low=0.1), log_input=False)])
def poisson_nll_loss(input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"):
    """exp(input) - target * input, or for plain rates input - target * log(input + eps)."""
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + FUNCTIONS["torch"]["where"](target <= 1, 0.0, stirling)
    return reduced(loss, reduction)
